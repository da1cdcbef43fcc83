// The drill-down: tables, a heat map and series of what is chosen in them. src/html/drill_down.rs has the places that are filled here. The
// address holds what is chosen: a link shows the same, and the browser's back button takes the last choice back.
(() => {
  const { count, tip, element, button, lines, bytes } = page;
  const { about } = cube;
  const TIMES = ['response time', 'service time'];
  const PERCENTILES = [['p50', 50], ['p95', 95], ['p99', 99]];
  // Rows of the heat map per octave; bins of the cube are joined to them.
  const ROWS_PER_OCTAVE = 4;
  const root = document.getElementById('drill');
  const part = (name) => root.querySelector('[data-part=' + name + ']');
  let chosen = nothing(), found, heat, series, rate;

  // ---- what is chosen, and the address that says it
  function nothing() {
    return { keys: about.dimensions.map(() => null), time: null, kind: 0, cursor: 0 };
  }
  const isChosen = () => chosen.time !== null || chosen.keys.some((keys) => keys);
  const edge = (bin) => about.start_ms + bin * about.bin_ms;
  const instant = (ms) => new Date(ms).toISOString();
  function address(state) {
    const said = new URLSearchParams();
    about.dimensions.forEach((d, i) => (state.keys[i] || new Set()).forEach((key) => said.append(d.flag, d.keys[key - 1].name)));
    if (state.time) ['from', 'to'].forEach((name, i) => said.append(name, instant(edge(state.time[i]))));
    if (state.kind === 1) said.append('times', 'service');
    return '#drill?' + said;
  }
  function read(fragment) {
    const state = nothing(), said = new URLSearchParams(fragment.slice('#drill?'.length));
    about.dimensions.forEach((d, i) => {
      const places = said.getAll(d.flag).map((name) => d.keys.findIndex((key) => key.name === name) + 1).filter((place) => place > 0);
      if (places.length) state.keys[i] = new Set(places);
    });
    const time = ['from', 'to'].map((name) => Math.round((Date.parse(said.get(name)) - about.start_ms) / about.bin_ms));
    if (time[0] >= 0 && time[0] < time[1] && time[1] <= about.bins) state.time = time;
    state.kind = said.get('times') === 'service' ? 1 : 0;
    return state;
  }
  // The address changes first; what is shown follows it. Anchors of other sections leave the choice alone.
  // At once: the event comes later, and a choice made before it would start from the old one and undo this.
  const go = (change) => { location.hash = address({ ...chosen, ...change }); follow(); };
  let followed = location.hash;
  function follow() {
    const fragment = location.hash;
    if (fragment === followed || (fragment !== '' && !fragment.startsWith('#drill?'))) return;
    followed = fragment;
    chosen = { ...read(fragment), cursor: chosen.cursor };
    show();
  }
  function toggle(dimension, key) {
    const keys = chosen.keys.slice(), places = new Set(keys[dimension]);
    if (!places.delete(key)) places.add(key);
    keys[dimension] = places.size ? places : null;
    go({ keys });
  }
  const clear = () => go({ keys: nothing().keys, time: null });

  // ---- numbers
  const THOUSANDTHS = new Intl.NumberFormat('en-US', { minimumFractionDigits: 3, maximumFractionDigits: 3 });
  const ms = (ns) => (ns === null ? '–' : THOUSANDTHS.format(ns / 1e6));
  const seconds = (ns) => THOUSANDTHS.format(ns / 1e9);
  const percent = (part_, whole) => (whole > 0 ? page.percent((part_ / whole) * 100) : '–');
  // The number itself stands beside the text, for programs.
  function data(text, value) {
    const cell = element('data', text);
    cell.value = value === null ? '' : String(value);
    return cell;
  }
  const payload = (sum) => (sum.unknown > 0 ? (sum.bytes > 0 ? '≥ ' + bytes(sum.bytes) : 'unknown') : bytes(sum.bytes));
  const percentiles = (sum) => PERCENTILES.map(([name, p]) => [name, cube.percentile(sum, chosen.kind, p)]).concat([['max', cube.longest(sum, chosen.kind)]]);

  // ---- filters, and the command that has the same
  function span(time) {
    const [from, to] = time.map(edge).map(instant), day = (text) => text.slice(0, 10);
    return day(from) + ' ' + from.slice(11, 23) + ' to ' + (day(from) === day(to) ? '' : day(to) + ' ') + to.slice(11, 23) + ' UTC';
  }
  function chips() {
    const place = part('filters'), hadFocus = place.contains(document.activeElement);
    place.textContent = '';
    const chip = (flag, name, remove) => {
      const b = button('', 'Remove the filter ' + flag + ' ' + name, remove);
      b.className = 'chip';
      b.append(element('small', flag), element('bdi', name), element('span', '×'));
      place.append(b);
    };
    about.dimensions.forEach((d, i) => (chosen.keys[i] || []).forEach((key) => chip(d.flag, d.keys[key - 1].name, () => toggle(i, key))));
    if (chosen.time) chip('time', span(chosen.time), () => go({ time: null }));
    if (isChosen()) place.append(button('Clear', 'Remove all filters (Escape)', clear));
    else place.append(element('span', 'No filter: all requests.', 'note'));
    // Who removes a filter by keyboard goes on with the next one, or in the tables.
    if (hadFocus) (place.querySelector('button') || root.querySelector('tbody button') || part('heat')).focus({ preventScroll: true });
  }
  const quoted = (text) => (/^[A-Za-z0-9._\/\-+=:@,]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");
  // Null where no command says the same: names that a terminal does not show, filters of the page that are in the way.
  function command() {
    if (!about.command) return null;
    const flags = [], excluded = new Set(), replaced = new Set();
    for (const [i, d] of about.dimensions.entries()) {
      for (const key of chosen.keys[i] || []) {
        const { name, plain, without } = d.keys[key - 1];
        if (!plain || (d.flag === 'operation' && about.command.filters.some((filter) => filter.startsWith('--operation ')))) return null;
        flags.push('--' + d.flag + ' ' + quoted(name));
        for (const other of without || []) if (![...chosen.keys[i]].some((one) => d.keys[one - 1].name === other)) excluded.add('--' + d.flag + ' ' + quoted('!' + other));
        replaced.add(d.flag);
      }
    }
    flags.push(...excluded);
    const given = (flag) => about.command.filters.find((filter) => filter.startsWith('--' + flag + ' '));
    if (chosen.time) {
      // The first and the last bin may be wider than what the page's own filters let in.
      [['from', chosen.time[0] === 0], ['to', chosen.time[1] === about.bins]].forEach(([flag, outermost], i) => {
        flags.push((outermost && given(flag)) || '--' + flag + ' ' + instant(edge(chosen.time[i])));
        replaced.add(flag);
      });
    }
    const kept = about.command.filters.filter((filter) => !replaced.has(filter.slice(2, filter.indexOf(' '))));
    return [about.command.start, ...kept, ...flags].join(' ');
  }
  function said() {
    const text = command(), place = part('command');
    place.textContent = '';
    if (text !== null) place.append('The same in a terminal: ', element('code', text));
    else if (about.command) place.append('No option of plimsoll filters by these values.');
  }

  // ---- tiles
  function tiles() {
    const place = part('total'), { total } = found;
    place.textContent = '';
    const tile = (number, name, text, value, note) => {
      const box = element('div'), strong = element('strong'), dd = element('dd');
      strong.dataset.number = number;
      strong.append(data(text, value));
      dd.append(strong, element('small', note));
      box.append(element('dt', name), dd);
      place.append(box);
    };
    tile('count', 'Requests', count(total.count), total.count, percent(total.count, cube.whole.count) + ' of all');
    tile('errors', 'Errors', count(total.errors), total.errors, percent(total.errors, total.count) + ' of the requests');
    for (const [name, ns] of percentiles(total)) tile(name, name, ns === null ? '–' : page.duration(ns / 1e9), ns, TIMES[chosen.kind]);
    tile('waited', 'Time waited', page.duration(total.waited / 1e9), total.waited, percent(total.waited, cube.whole.waited) + ' of all');
    tile('bytes', 'Data', payload(total), total.bytes, 'read and written');
  }

  // ---- tables
  // Long names break behind what separates their parts.
  function breakable(name) {
    const box = element('bdi');
    name.split(/(?<=[_\\\/:.])/).forEach((word) => box.append(word, element('wbr')));
    return box;
  }
  function row(dimension, place, sum, all) {
    const d = about.dimensions[dimension], key = d.keys[place - 1], line = element('tr'), head = element('th');
    head.scope = 'row';
    const name = place === 0 ? (d.others > 0 ? count(d.others) + ' others' : 'others') : key.name;
    if (place > 0 && name !== null) {
      const pick = button('', undefined, () => {});
      pick.append(breakable(name));
      pick.dataset.key = name;
      pick.setAttribute('aria-pressed', String(Boolean(chosen.keys[dimension] && chosen.keys[dimension].has(place))));
      head.append(pick);
      line.dataset.place = place;
    } else {
      head.append(element('span', name === null ? 'unknown' : name, 'note'));
    }
    line.append(head);
    const cell = (name_, text, value, className) => {
      const td = element('td', undefined, className);
      td.dataset.number = name_;
      td.append(data(text, value));
      line.append(td);
      return td;
    };
    cell('count', count(sum.count), sum.count);
    cell('errors', count(sum.errors), sum.errors, sum.errors > 0 ? 'error' : 'nought');
    for (const [name_, ns] of percentiles(sum)) cell(name_, ms(ns), ns);
    cell('waited', seconds(sum.waited), sum.waited);
    cell('share', percent(sum.waited, all), all > 0 ? sum.waited / all : null, 'bar').style.setProperty('--w', (all > 0 ? (sum.waited / all) * 100 : 0).toFixed(1) + '%');
    return line;
  }
  function table(dimension) {
    const d = about.dimensions[dimension], sums = found.tables[dimension];
    const body = part('table-' + d.flag).querySelector('tbody'), rows = [];
    const all = sums.reduce((waited, sum) => waited + sum.waited, 0);
    const order = sums.map((_, place) => place).filter((place) => sums[place].count > 0 || (chosen.keys[dimension] && chosen.keys[dimension].has(place)));
    order.sort((a, b) => (a === 0) - (b === 0) || sums[b].waited - sums[a].waited || sums[b].count - sums[a].count);
    order.forEach((place) => rows.push(row(dimension, place, sums[place], all)));
    // Who walks through the rows by keyboard stays where he is.
    const focus = document.activeElement && body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    body.replaceChildren(...rows);
    const again = focus !== undefined && [...body.querySelectorAll('button')].find((b) => b.dataset.key === focus);
    if (again) again.focus({ preventScroll: true });
  }

  // ---- charts
  const axisOfTime = () => ({ type: 'value', min: 0, max: (about.bins * about.bin_ms) / 1e3, ...lines(false), name: 'since ' + instant(about.start_ms).slice(0, 23).replace('T', ' ') + ' UTC',
    nameLocation: 'middle', nameGap: 27, axisLabel: { ...lines(false).axisLabel, formatter: page.at, showMaxLabel: false } });
  const common = () => ({ animation: false, textStyle: page.font(), grid: { left: 78, right: 26, top: 14, bottom: 46 }, legend: { show: false } });
  const start = (bin) => (bin * about.bin_ms) / 1e3;
  // What is chosen of the time lies between two lines; the cursor of the keyboard is a mark at the bottom.
  function marks(withCursor) {
    const theme = page.theme();
    const edges = chosen.time ? chosen.time.map(start) : [];
    const cursor = withCursor && document.activeElement === part('heat') ? [chosen.cursor] : [];
    return [{ type: 'custom', silent: true, z: 5, tooltip: { show: false }, encode: { x: 0 }, data: edges.map((x) => [x]),
      renderItem: (p, api) => {
        const { y, height } = p.coordSys, x = api.coord([api.value(0), 0])[0];
        return { type: 'line', shape: { x1: x, x2: x, y1: y, y2: y + height }, style: { stroke: theme.ink, lineWidth: 1.5 } };
      } },
    { type: 'custom', silent: true, z: 6, tooltip: { show: false }, encode: { x: 0 }, data: cursor.map((bin) => [start(bin), start(bin + 1)]),
      renderItem: (p, api) => {
        const { y, height } = p.coordSys, [x, to] = [0, 1].map((i) => api.coord([api.value(i), 0])[0]);
        return { type: 'rect', shape: { x, y, width: Math.max(2, to - x), height }, style: { fill: 'transparent', stroke: theme.sea, lineWidth: 2 } };
      } }];
  }
  function heatOption() {
    const theme = page.theme(), kind = chosen.kind, step = Math.max(1, 32 / 2 ** about.joined / ROWS_PER_OCTAVE);
    const cells = [], rows = new Map();
    found.moments.forEach((sum, bin) => {
      rows.clear();
      sum.times[kind].forEach((n, time) => { if (n > 0) rows.set(Math.floor(time / step), (rows.get(Math.floor(time / step)) || 0) + n); });
      rows.forEach((n, at) => cells.push([start(bin), Math.max(1, cube.edge(at * step)) / 1e9, start(bin + 1), cube.edge((at + 1) * step) / 1e9, n]));
    });
    const most = cells.reduce((high, cell) => Math.max(high, cell[4]), 1);
    const all = (i, best, begin) => (cells.length ? cells.reduce((found_, cell) => best(found_, cell[i]), begin) : 1);
    const decade = (round, s) => 10 ** round(Math.log10(s));
    const level = (n) => Math.min(theme.heat.length - 1, most <= 1 ? theme.heat.length : Math.floor((Math.log(n) / Math.log(most)) * theme.heat.length));
    return { ...common(), xAxis: axisOfTime(),
      yAxis: { type: 'log', min: decade(Math.floor, all(1, Math.min, Infinity)), max: decade(Math.ceil, all(1, Math.max, 0) * 1.01), ...lines(true), z: 3,
        minorTick: { show: false }, axisLabel: { ...lines(true).axisLabel, formatter: page.at } },
      tooltip: { ...page.tooltip(), trigger: 'item', formatter: (p) => tip(page.duration(p.value[1]) + ' – ' + page.duration(p.value[3]),
        [[TIMES[kind], ''], ['Sent', span([Math.round((p.value[0] * 1e3) / about.bin_ms), Math.round((p.value[2] * 1e3) / about.bin_ms)])], ['Requests', count(p.value[4])]]) },
      series: [{ type: 'custom', clip: true, progressive: 0, encode: { x: [0, 2], y: [1, 3] }, data: cells,
        renderItem: (_, api) => {
          const [left, bottom] = api.coord([api.value(0), api.value(1)]), [right, top] = api.coord([api.value(2), api.value(3)]);
          const x = Math.floor(left), y = Math.floor(top);
          return { type: 'rect', shape: { x, y, width: Math.max(1, Math.floor(right) - x), height: Math.max(1, Math.floor(bottom) - y) },
            style: { fill: theme.heat[level(api.value(4))] }, emphasis: { style: { stroke: theme.ink, lineWidth: 1.5 } } };
        } }, ...marks(true)] };
  }
  const moment = (show) => (list) => {
    const lines_ = list.filter((p) => p.seriesType === 'line'), bin = lines_[0].dataIndex;
    return tip(span([bin, bin + 1]), lines_.map((p) => [p.seriesName, p.value[1] === null ? '–' : show(p.value[1]), p.color]));
  };
  function lineOption(all, y, show) {
    // A point without neighbours is no line.
    const alone = (values) => values.some((value, bin) => value !== null && (values[bin - 1] ?? values[bin + 1] ?? null) === null);
    const drawn = all.map(([name, values, color]) => ({ name, type: 'line', color: page.color(color), showSymbol: alone(values), symbol: 'circle', symbolSize: 3, lineStyle: { width: 1.6 },
      connectNulls: false, data: values.map((value, bin) => [start(bin + 0.5), value]) }));
    return { ...common(), xAxis: axisOfTime(), yAxis: { ...lines(true), minorTick: { show: false }, ...y },
      tooltip: { ...page.tooltip(), trigger: 'axis', formatter: moment(show) }, series: drawn.concat(marks(false)) };
  }
  function charts() {
    heat.setOption(heatOption(), { notMerge: true });
    const points = found.moments.map(percentiles);
    const of = (i) => points.map((all) => (all[i][1] === null ? null : Math.max(all[i][1], 1) / 1e9));
    const label = (format) => ({ ...lines(true).axisLabel, formatter: format });
    series.setOption(lineOption(['p50', 'p95', 'p99', 'max'].map((name, i) => [name, of(i), i]), { type: 'log', axisLabel: label(page.at) }, page.duration), { notMerge: true });
    const per = (n) => (n * 1e3) / about.bin_ms;
    rate.setOption(lineOption([['Requests', found.moments.map((sum) => per(sum.count)), 0], ['Errors', found.moments.map((sum) => per(sum.errors)), 1]],
      { type: 'value', axisLabel: label(page.tickPerSecond) }, page.perSecond), { notMerge: true });
  }

  // ---- choosing a time: mouse, or the arrow keys and Enter
  function spoken() {
    const place = part('heat'), sum = found.moments[chosen.cursor];
    place.setAttribute('aria-valuenow', String(chosen.cursor));
    if (!sum) return;
    const [, , p99] = percentiles(sum);
    place.setAttribute('aria-valuetext', span([chosen.cursor, chosen.cursor + 1]) + ': ' + count(sum.count) + ' requests' + (p99[1] === null ? '' : ', p99 ' + page.duration(p99[1] / 1e9)));
  }
  const overlay = () => { heat.setOption({ series: [{}, ...marks(true)] }); spoken(); };
  const choose = (a, b) => {
    const time = [Math.min(a, b), Math.max(a, b) + 1];
    go({ time: chosen.time && chosen.time[0] === time[0] && chosen.time[1] === time[1] ? null : time });
  };
  function pickTime(place) {
    let from = null;
    const binAt = (event) => {
      if (!heat.containPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY])) return null;
      const bin = Math.floor((heat.convertFromPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY])[0] * 1e3) / about.bin_ms);
      return Math.min(about.bins - 1, Math.max(0, bin));
    };
    heat.getZr().on('mousedown', (event) => { from = binAt(event); });
    heat.getZr().on('mouseup', (event) => {
      const to = binAt(event);
      if (from !== null && to !== null) { chosen.cursor = to; choose(event.event.shiftKey && chosen.time ? chosen.time[0] : from, to); }
      from = null;
    });
    // The cursor starts where it was; with Shift it leaves its beginning behind.
    let anchor = null;
    const move = (event, by) => {
      if (event.shiftKey && anchor === null) anchor = chosen.cursor;
      if (!event.shiftKey) anchor = null;
      chosen.cursor = Math.min(about.bins - 1, Math.max(0, chosen.cursor + by));
      overlay();
    };
    const KEYS = { ArrowLeft: (e) => move(e, -1), ArrowRight: (e) => move(e, 1), PageDown: (e) => move(e, -10), PageUp: (e) => move(e, 10),
      Home: (e) => move(e, -about.bins), End: (e) => move(e, about.bins), Enter: () => choose(anchor === null ? chosen.cursor : anchor, chosen.cursor), ' ': () => KEYS.Enter() };
    place.addEventListener('keydown', (event) => {
      if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      KEYS[event.key](event);
    });
    for (const name of ['focus', 'blur']) place.addEventListener(name, overlay);
  }

  // ---- showing
  function show() {
    found = cube.query(chosen.keys, chosen.time);
    chips();
    said();
    tiles();
    about.dimensions.forEach((d, i) => { if (part('table-' + d.flag)) table(i); });
    charts();
    spoken();
    root.querySelectorAll('[name=drill-times]').forEach((radio, i) => { radio.checked = i === chosen.kind; });
    root.querySelectorAll('[data-part=kind]').forEach((place) => { place.textContent = TIMES[chosen.kind]; });
  }
  const draw = (name) => {
    const place = part(name), drawn = echarts.init(place, null, { renderer: 'canvas' });
    new ResizeObserver(() => { if (place.clientWidth > 0) drawn.resize(); }).observe(place);
    return drawn;
  };
  [heat, series, rate] = ['heat', 'series', 'rate'].map(draw);
  part('heat').setAttribute('aria-valuemax', String(Math.max(0, about.bins - 1)));
  pickTime(part('heat'));
  root.querySelectorAll('[name=drill-times]').forEach((radio, kind) => radio.addEventListener('change', () => go({ kind })));
  about.dimensions.forEach((d, i) => {
    const place = part('table-' + d.flag);
    if (!place) return;
    place.addEventListener('click', (event) => {
      const line = event.target.closest('tr[data-place]');
      if (line) toggle(i, Number(line.dataset.place));
    });
  });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape' && isChosen()) { event.preventDefault(); clear(); } });
  addEventListener('hashchange', follow);
  page.onTheme(() => charts());
  chosen = { ...read(location.hash.startsWith('#drill?') ? location.hash : ''), cursor: 0 };
  show();
  if (location.hash.startsWith('#drill?')) document.getElementById('drill-down').scrollIntoView();
  document.documentElement.dataset.drill = 'ready';
})();
