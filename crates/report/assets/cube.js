// The cube of the page (#cube, #cells): what requests of any clients, servers, shares, operations, statuses and times add up to.
// crates/report/src/collect/drill_down/encode.rs writes the cells that are read here.
'use strict';
const cube = (() => {
  const about = JSON.parse(document.getElementById('cube').textContent);
  const DIMENSIONS = about.dimensions.length;
  const TIME = DIMENSIONS;
  // Bins per octave are 2 to this power, before neighbours are joined.
  const OCTAVE = 5;

  // ---- reading
  const text = atob(document.getElementById('cells').textContent);
  let at = 0;
  const byte = () => text.charCodeAt(at++);
  function number() {
    let sum = 0;
    for (let scale = 1; ; scale *= 128) {
      const b = byte();
      sum += (b & 127) * scale;
      if (b < 128) return sum;
    }
  }
  function lowest(bin) {
    const fine = bin * 2 ** about.joined, shift = Math.max(0, (fine >> OCTAVE) - 1);
    return (fine - (shift << OCTAVE)) * 2 ** shift;
  }
  // Cells, column by column. Entries of the cell's three histograms begin at starts[3 * cell], … and end where the next begins.
  const cells = { keys: [], bin: [], count: [], errors: [], bytes: [], unknown: [], waited: [], starts: [], longest: [], bins: [], counts: [] };
  function histogram(is_there) {
    cells.starts.push(cells.bins.length);
    if (!is_there) { cells.longest.push(0); return 0; }
    let bin = 0;
    for (let left = number(); left > 0; left--) {
      const step = number(), several = step % 2;
      bin += (step - several) / 2;
      cells.bins.push(bin);
      cells.counts.push(several ? number() + 2 : 1);
    }
    const longest = (number() + Math.ceil(lowest(bin) / about.unit_ns)) * about.unit_ns;
    cells.longest.push(longest);
    return longest;
  }
  while (at < text.length) {
    const keys = about.dimensions.map(number);
    let bin = -1;
    for (let left = number(); left > 0; left--) {
      bin += number();
      const count = number(), flags = byte();
      cells.keys.push(...keys);
      cells.bin.push(bin);
      cells.count.push(count);
      cells.errors.push(flags & 1 ? count : flags & 2 ? number() : 0);
      cells.bytes.push(flags & 4 ? number() : 0);
      cells.unknown.push(flags & 8 ? number() : 0);
      const waited = flags & 128 ? null : number() * about.unit_ns;
      const longest = Math.max(histogram(flags & 16), histogram(flags & 32));
      histogram(flags & 64);
      cells.waited.push(waited === null ? longest : waited);
    }
  }
  cells.starts.push(cells.bins.length);
  for (const name of ['keys', 'bins', 'starts']) cells[name] = Uint32Array.from(cells[name]);
  for (const name of ['counts', 'count', 'waited', 'longest']) cells[name] = Float64Array.from(cells[name]);
  let first = Infinity, last = 0;
  for (const bin of cells.bins) { first = Math.min(first, bin); last = Math.max(last, bin); }
  const width = cells.bins.length ? last - first + 1 : 0;

  // ---- adding up
  // Response times and service times: in the histograms 0 and 1, 0 and 2 of a cell.
  const KINDS = [[0, 1], [0, 2]];
  function nothing() {
    return { count: 0, errors: 0, bytes: 0, unknown: 0, waited: 0, longest: [0, 0], times: KINDS.map(() => new Float64Array(width)) };
  }
  function add(sum, cell) {
    sum.count += cells.count[cell];
    sum.errors += cells.errors[cell];
    sum.bytes += cells.bytes[cell];
    sum.unknown += cells.unknown[cell];
    sum.waited += cells.waited[cell];
    KINDS.forEach((histograms, kind) => {
      const times = sum.times[kind];
      for (const one of histograms) {
        const from = cells.starts[3 * cell + one], to = cells.starts[3 * cell + one + 1];
        for (let i = from; i < to; i++) times[cells.bins[i] - first] += cells.counts[i];
        if (to > from) sum.longest[kind] = Math.max(sum.longest[kind], cells.longest[3 * cell + one]);
      }
    });
  }

  // What is left by filters: `chosen` holds for each dimension a set of places of keys, or null for all; `time` is [first bin, bin after
  // the last] or null. A table, like the series, leaves its own filter out, so that it shows what else could be chosen.
  function query(chosen, time) {
    const found = { total: nothing(), tables: about.dimensions.map((d) => Array.from({ length: d.keys.length + 1 }, nothing)),
      moments: Array.from({ length: about.bins }, nothing) };
    const misses = (cell, d) => (d === TIME ? time && !(cells.bin[cell] >= time[0] && cells.bin[cell] < time[1])
      : chosen[d] && !chosen[d].has(cells.keys[cell * DIMENSIONS + d]));
    for (let cell = 0; cell < cells.count.length; cell++) {
      let missed = 0, which = -1;
      for (let d = 0; d <= TIME && missed < 2; d++) if (misses(cell, d)) { missed++; which = d; }
      if (missed > 1) continue;
      if (missed === 0) add(found.total, cell);
      for (let d = 0; d < DIMENSIONS; d++) if (missed === 0 || which === d) add(found.tables[d][cells.keys[cell * DIMENSIONS + d]], cell);
      if ((missed === 0 || which === TIME) && cells.bin[cell] >= 0) add(found.moments[cells.bin[cell]], cell);
    }
    return found;
  }

  // Nearest rank; the middle of its bin, at most the longest time, and that where the rank is the last. In ns; null without times.
  function percentile(sum, kind, percent) {
    const times = sum.times[kind];
    let total = 0, below = 0;
    for (const count of times) total += count;
    if (total === 0) return null;
    const rank = Math.min(total, Math.max(1, Math.ceil((percent / 100) * total * (1 - 4 * Number.EPSILON))));
    if (rank === total) return sum.longest[kind];
    let bin = -1;
    while (below < rank) below += times[++bin];
    const low = lowest(bin + first), next = lowest(bin + first + 1);
    return Math.min(low + Math.floor((next - low) / 2), sum.longest[kind]);
  }
  const longest = (sum, kind) => (sum.times[kind].some((count) => count > 0) ? sum.longest[kind] : null);

  const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
  const whole = { count: sum(cells.count), waited: sum(cells.waited) };
  return { about, whole, query, percentile, longest, edge: (bin) => lowest(bin + first) };
})();
