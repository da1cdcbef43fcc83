// The last minutes, second by second, and the sums of any part of them. No page in here.
const sums = (() => {
  const DIMENSIONS = ['client', 'share', 'operation', 'file'];
  const KEPT = 300, TABLE = 60;
  let edges = [], seconds = [];

  // A key is a text that no other key has: of a name or of none, and for a file with its share.
  const key = (names, place) => (place === null ? null : JSON.stringify(names[place]));
  function cell(names, raw) {
    const [[client, share, operation, file], count, errors, waited, timed, response, longest, flat] = raw;
    const rows = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
    const keys = [client, share, operation].map((place) => key(names, place));
    keys.push(file === null ? null : JSON.stringify([names[share], names[file]]));
    return { keys, sum: { count, errors, waited, timed, response, longest, rows } };
  }
  // A second that came before, as after a lost connection, changes nothing.
  function add(second) {
    const last = seconds.length ? seconds[seconds.length - 1].start_s : -Infinity;
    if (second.start_s <= last) return false;
    second.cells = second.cells.map((raw) => cell(second.names, raw));
    delete second.names;
    seconds.push(second);
    const first = second.start_s - KEPT;
    seconds = seconds.filter((other) => other.start_s > first);
    return true;
  }

  // The clock of the capture was set back: later seconds come again.
  function backTo(start) {
    seconds = seconds.filter((second) => second.start_s < start);
  }

  const nothing = () => ({ count: 0, errors: 0, waited: 0, timed: 0, response: 0, longest: 0, rows: new Map() });
  function merge(into, sum) {
    for (const name of ['count', 'errors', 'waited', 'timed', 'response']) into[name] += sum[name];
    into.longest = Math.max(into.longest, sum.longest);
    for (const [row, count] of sum.rows) into.rows.set(row, (into.rows.get(row) || 0) + count);
  }
  // Yes, no, or null where it is among all others.
  function isWithin(keys, within) {
    let known = true;
    for (const [place, wanted] of within) {
      if (keys[place] === null) known = null;
      else if (keys[place] !== wanted) return false;
    }
    return known;
  }
  // The middle of a row of the heat map, at most the longest.
  function percentile(sum, percent) {
    if (sum.timed === 0) return null;
    let left = Math.max(1, Math.ceil((percent / 100) * sum.timed));
    for (const [row, count] of [...sum.rows].sort((a, b) => a[0] - b[0])) {
      left -= count;
      if (left <= 0) {
        const from = edges[row];
        const middle = row + 1 < edges.length ? Math.sqrt(Math.max(from, 1) * edges[row + 1]) : from;
        return Math.min(middle, sum.longest);
      }
    }
    return sum.longest;
  }

  const between = (from, to) => seconds.filter((second) => second.start_s >= from && second.start_s < to);
  // Tables by every dimension of the seconds up to `end`, the sum of all of it, and of what may belong there.
  function tables(end, within) {
    const chosen = between(end - TABLE, end);
    const total = nothing(), unknown = nothing(), by = DIMENSIONS.map(() => new Map());
    for (const { cells } of chosen) {
      for (const { keys, sum } of cells) {
        const belongs = isWithin(keys, within);
        if (belongs === false) continue;
        merge(belongs ? total : unknown, sum);
        if (!belongs) continue;
        keys.forEach((key, place) => {
          if (!by[place].has(key)) by[place].set(key, nothing());
          merge(by[place].get(key), sum);
        });
      }
    }
    const order = ([a, one], [b, other]) => (a === null) - (b === null) || other.waited - one.waited || (a < b ? -1 : 1);
    return { seconds: Math.max(1, chosen.length), total, unknown, by: by.map((rows) => [...rows].sort(order)) };
  }
  // The numbers of a second within a part; those of all are exact.
  function figures(second, within) {
    const { lost_packets: lost, waiting, oldest_ns: oldest } = second, incomplete = lost > 0 || second.interface_down;
    if (within.length === 0) {
      const { operations: count, errors, bytes, queue_depth: depth, p50_ns: p50, p99_ns: p99, max_ns: max, heat, service } = second;
      return { count, errors, bytes, depth, p50, p99, max, heat, service, lost, incomplete, waiting, oldest, exact: true };
    }
    const part = nothing();
    second.cells.forEach(({ keys, sum }) => isWithin(keys, within) && merge(part, sum));
    return { count: part.count, errors: part.errors, bytes: null, depth: null, p50: percentile(part, 50), p99: percentile(part, 99),
      max: part.timed ? part.longest : null, heat: [...part.rows], service: null, lost, incomplete, waiting: null, oldest: null,
      exact: false };
  }
  return { DIMENSIONS, KEPT, add, backTo, between, figures, tables, percentile,
    setEdges: (ns) => { edges = ns; }, edges: () => edges, all: () => seconds };
})();
