// The last minutes, second by second, and the sums of any part of them. No page in here.
const sums = (() => {
  const DIMENSIONS = ['client', 'share', 'operation', 'file'];
  const SHARE = 1, FILE = 3;
  const KEPT = 300, TABLE = 60;
  // `held`: the end of a second that is shown for longer than it is kept. The seconds of its tables stay.
  // `step`: how often the clock of the capture had been set back.
  let edges = [], seconds = [], held = null, step = 0;

  // A key is a text that no other key has: of a name or of none, and for a file with its share.
  const key = (names, place) => (place === null ? null : JSON.stringify(names[place]));
  function sumOf([, count, errors, waited, timed, response, longest, flat]) {
    const rows = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
    return { count, errors, waited, timed, response, longest, rows };
  }
  function cell(names, raw) {
    const [client, share, operation, file] = raw[0];
    const keys = [client, share, operation].map((place) => key(names, place));
    keys.push(file === null ? null : JSON.stringify([names[share], names[file]]));
    return { keys, sum: sumOf(raw) };
  }
  // Its time is not one that came before, although it may look like one: the page may have missed the step.
  const isBehindStep = (second) => second.step !== undefined && second.step !== step;
  // A second that came before, as after a lost connection, changes nothing.
  function add(second) {
    if (isBehindStep(second)) {
      step = second.step;
      backTo(second.start_s);
    }
    const last = seconds.length ? seconds[seconds.length - 1].start_s : -Infinity;
    if (second.start_s <= last) return false;
    second.cells = second.cells.map((raw) => cell(second.names, raw));
    // By client, by share and by operation: only where a cell stands for others, and then these are exact.
    if (second.sums) second.sums = second.sums.map((by) => new Map(by.map((raw) => [key(second.names, raw[0]), sumOf(raw)])));
    delete second.names;
    seconds.push(second);
    seconds = seconds.filter((other) => isRecent(other) || (held !== null && other.start_s >= held - TABLE && other.start_s < held));
    return true;
  }
  const isRecent = (second) => second.start_s > seconds[seconds.length - 1].start_s - KEPT;

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
      if (keys[place] !== null) {
        if (keys[place] !== wanted) return false;
      } else if (place === FILE && keys[SHARE] !== null && keys[SHARE] !== shareOf(wanted)) return false;
      else known = null;
    }
    return known;
  }
  const shareOf = (file) => JSON.stringify(JSON.parse(file)[0]);
  // The sum of a single key, where it is known although cells stand for others.
  function exact(second, within) {
    if (within.length !== 1 || !second.sums || within[0][0] === FILE) return null;
    const by = second.sums[within[0][0]];
    return by.has(null) ? null : by.get(within[0][1]) || nothing();
  }
  // The middle of a row of the heat map, at most the longest.
  function percentile(sum, percent) {
    if (sum.timed === 0) return null;
    let left = Math.max(1, Math.ceil((percent / 100) * sum.timed * (1 - 4 * Number.EPSILON)));
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
  // A table by one dimension, while it is made: sums by key, and the keys to which further requests may belong.
  function tableBy(place) {
    const sums = new Map(), keys = new Set(), shares = new Set();
    let all = false;
    function unclear(cell) {
      if (cell[place] !== null) keys.add(cell[place]);
      else if (place === FILE && cell[SHARE] !== null) shares.add(cell[SHARE]);
      else all = true;
    }
    function addTo(key, sum) {
      if (!sums.has(key)) sums.set(key, nothing());
      merge(sums.get(key), sum);
    }
    return {
      unclear,
      addCell(cell, sum) {
        if (cell[place] === null) unclear(cell);
        addTo(cell[place], sum);
      },
      addAll(by) {
        by.forEach((sum, key) => addTo(key, sum));
        all = all || by.has(null);
      },
      // Key, sum, and whether this is only a part of the key's requests; longest waits first, others last.
      rows() {
        const order = ([a, one], [b, other]) => (a === null) - (b === null) || other.waited - one.waited || (a < b ? -1 : 1);
        const atLeast = (key) => key !== null && (all || keys.has(key) || (place === FILE && shares.size > 0 && shares.has(shareOf(key))));
        return [...sums].sort(order).map(([key, sum]) => [key, sum, atLeast(key)]);
      },
    };
  }
  // Tables by every dimension of the seconds up to `end`, the sum of all of it, and the number of requests that may belong there.
  function tables(end, within) {
    const chosen = between(end - TABLE, end);
    const total = nothing(), by = DIMENSIONS.map((_, place) => tableBy(place));
    let unknown = 0;
    for (const second of chosen) {
      const { cells, sums } = second, others = [];
      const hasSums = (place) => within.length === 0 && sums && place !== FILE;
      by.forEach((table, place) => hasSums(place) && table.addAll(sums[place]));
      let found = 0, most = 0;
      for (const { keys, sum } of cells) {
        const belongs = isWithin(keys, within);
        if (belongs) {
          merge(total, sum);
          found += sum.count;
          by.forEach((table, place) => hasSums(place) || table.addCell(keys, sum));
        } else if (belongs === null) {
          others.push(keys);
          most += sum.count;
        }
      }
      const all = exact(second, within), missing = all ? Math.min(most, Math.max(0, all.count - found)) : most;
      unknown += missing;
      if (missing > 0) by.forEach((table) => others.forEach(table.unclear));
    }
    const incomplete = chosen.some((second) => second.lost_packets > 0 || second.interface_down);
    return { seconds: Math.max(1, chosen.length), total, unknown, incomplete, by: by.map((table) => table.rows()) };
  }
  // The numbers of a second within a part; those of all are exact.
  function figures(second, within) {
    const { lost_packets: lost, waiting, oldest_ns: oldest, interface_down: down } = second, incomplete = lost > 0 || down;
    if (within.length === 0) {
      const { operations: count, errors, bytes, bytes_at_least: bytesAtLeast, queue_depth: depth, p50_ns: p50, p99_ns: p99, max_ns: max, heat, service } = second;
      return { count, errors, bytes, bytesAtLeast, depth, p50, p99, max, heat, service, lost, incomplete, down, waiting, oldest, exact: true, atLeast: false };
    }
    const part = nothing(), all = exact(second, within);
    let atLeast = false;
    if (all) merge(part, all);
    else {
      for (const { keys, sum } of second.cells) {
        const belongs = isWithin(keys, within);
        if (belongs) merge(part, sum);
        atLeast = atLeast || belongs === null;
      }
    }
    return { count: part.count, errors: part.errors, bytes: null, depth: null, p50: percentile(part, 50), p99: percentile(part, 99),
      max: part.timed ? part.longest : null, heat: [...part.rows], service: null, lost, incomplete, down, waiting: null, oldest: null,
      exact: false, atLeast };
  }
  function together(rows) {
    const all = nothing();
    rows.forEach(([, sum]) => merge(all, sum));
    return all;
  }
  return { DIMENSIONS, KEPT, add, isBehindStep, backTo, between, figures, tables, together, percentile,
    setEdges: (ns) => { edges = ns; }, edges: () => edges, hold: (end) => { held = end; },
    all: () => seconds.filter(isRecent), hosts: () => Object.assign({}, ...seconds.map((second) => second.hosts)) };
})();
