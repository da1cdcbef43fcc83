// The live view: what is chosen, and the page that shows it. Every name becomes text, never markup.
(() => {
  // FURTHER is the key of the sum of all rows that are not shown: no key of a row is equal to it.
  const ROWS = 12, HEAT_STEPS = 10, FURTHER = 'further';
  const at = (id) => document.getElementById(id);
  const root = document.documentElement;
  // Colours are read once per colour scheme. Each look makes an object that the browser keeps for a while.
  const colors = new Map();
  function css(name) {
    if (!colors.has(name)) colors.set(name, getComputedStyle(root).getPropertyValue('--' + name).trim());
    return colors.get(name);
  }
  // The keys that it is within, outermost first: [place of the dimension, key]. `end` is the end of the second shown where that is not the latest.
  let within = [], end = null, state = {}, hosts = {}, connected = false, marks = [], drawn = false;

  // ---- numbers
  // What rounds to 1000 would be 1.00e+3 with three digits: it has no point, and a time has the next unit.
  const digits = (n) => (n === 0 ? '0' : n >= 999.5 ? Math.round(n).toString() : n.toPrecision(3));
  function time(ns) {
    if (ns === null || ns === undefined) return '–';
    for (const [unit, of] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) if (ns >= 0.9995 * of) return digits(ns / of) + ' ' + unit;
    return digits(ns) + ' ns';
  }
  const instant = (s) => new Date(s * 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
  // The text of a place with nothing but text. Its node stays, because hundreds of numbers change each second.
  function write(place, text) {
    const node = place.firstChild || place;
    if (node.textContent !== text) node.textContent = text;
  }
  const say = (id, text) => write(at(id), text);
  function name(place, key) {
    if (key === null) return 'not told apart';
    const value = JSON.parse(key);
    if (place === 3) return (value[0] === null ? '' : value[0] + ' ') + (value[1] === null ? '(unknown)' : value[1]);
    if (value === null) return '(unknown)';
    return place === 0 && hosts[value] ? value + ' (' + hosts[value] + ')' : value;
  }
  function button(text, action) {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = text;
    made.addEventListener('click', action);
    return made;
  }

  // ---- what is chosen
  function enter(place, key) {
    within = within.filter(([other]) => other !== place).concat([[place, key]]);
    context();
  }
  function leave(place) {
    within = within.filter(([other]) => other !== place);
    context();
  }
  // What is not stored cannot be shown: the nearest second that is.
  function show(second) {
    const all = sums.all();
    end = second === null || all.length === 0 ? null : Math.min(Math.max(second, all[0].start_s), latest() - 1) + 1;
    sums.hold(end);
    draw();
  }
  const latest = () => { const all = sums.all(); return all.length ? all[all.length - 1].start_s + 1 : null; };

  // ---- the page
  function tiles(now) {
    const about = now.exact ? '' : ' ~', partial = now.incomplete || now.atLeast ? ' *' : '', least = now.atLeast ? '≥ ' : '';
    say('rate', least + digits(now.count));
    say('p50', time(now.p50) + about + partial);
    say('p99', time(now.p99) + about + partial);
    say('max', time(now.max) + partial);
    say('errors', least + digits(now.errors));
    say('depth', now.depth === null ? '–' : digits(now.depth));
    say('waiting', now.waiting === null ? '–' : String(now.waiting));
    say('oldest', now.waiting ? 'the oldest for ' + time(now.oldest) : now.waiting === null && now.down ? 'unknown: interface down' : state.stopped && end === null ? 'unknown: no packets' : 'requests');
    say('data', now.bytes === null ? '–' : (now.bytesAtLeast ? '≥ ' : '') + digits(now.bytes / 1e6) + ' MB');
    say('lost', String(now.lost));
  }
  // A second that did not arrive.
  function noTiles() {
    ['rate', 'p50', 'p99', 'max', 'errors', 'depth', 'waiting', 'data', 'lost'].forEach((id) => say(id, '–'));
    say('oldest', 'requests');
  }
  function losses() {
    const lost = state.losses || {};
    const said = [['kernel', 'packet', 'lost by the kernel'], ['freezes', 'time', 'the buffer was full'],
      ['interface', 'packet', 'lost by the interface'], ['reported', 'packet', 'lost, as the input reports'], ['downs', 'time', 'the interface was down']]
      .filter(([id]) => lost[id] > 0).map(([id, what, text]) => lost[id] + ' ' + what + (lost[id] === 1 ? ' ' : 's ') + text);
    at('losses').hidden = said.length === 0;
    say('losses', 'INCOMPLETE: ' + said.join(', ') + '. Seconds with losses are hatched; percentiles with * cover only a part of the operations.');
    at('tile-lost').hidden = state.losses === null;
  }
  function notices() {
    const shown = [...at('notices').children].map((line) => line.textContent), now = state.notices || [];
    if (shown.join('\n') === now.join('\n')) return;
    at('notices').replaceChildren(...now.map((text) => {
      const line = document.createElement('p');
      line.className = 'notice';
      line.textContent = text;
      return line;
    }));
  }
  // What goes on in a run, and the levels that are over.
  let ran = '';
  function run() {
    const now = JSON.stringify(state.run || null);
    if (now === ran) return;
    ran = now;
    at('run').hidden = !state.run;
    if (!state.run) return;
    const text = (name, said) => { const made = document.createElement(name); made.textContent = said; return made; };
    at('going').replaceChildren(...state.run.lines.map((line) => text('li', line)));
    at('finished').hidden = state.run.levels.length === 0;
    document.querySelector('#levels tbody').replaceChildren(...state.run.levels.map((cells) => {
      const line = document.createElement('tr');
      line.append(...cells.map((cell, i) => text(i ? 'td' : 'th', cell)));
      line.firstChild.scope = 'row';
      return line;
    }));
  }
  // Rows stay the elements that they are: a click or the focus is not lost when numbers change. A row whose key is gone is used again.
  const rows = sums.DIMENSIONS.map(() => new Map()), unused = sums.DIMENSIONS.map(() => []);
  const isNamed = (key) => key !== null && key !== FURTHER;
  function newRow(place, key) {
    const line = document.createElement('tr'), head = document.createElement('th');
    head.scope = 'row';
    head.append(isNamed(key) ? button('', () => enter(place, line.key)) : '');
    line.append(head, ...Array.from({ length: 5 }, () => document.createElement('td')));
    return line;
  }
  function rowOf(place, key) {
    if (rows[place].has(key)) return rows[place].get(key);
    const line = (isNamed(key) && unused[place].pop()) || newRow(place, key);
    line.key = key;
    rows[place].set(key, line);
    return line;
  }
  function release(place, key) {
    if (isNamed(key) && unused[place].length < ROWS) unused[place].push(rows[place].get(key));
    rows[place].delete(key);
  }
  function fill(line, place, [key, sum, atLeast, text], found) {
    const head = line.firstChild, label = head.firstChild;
    if (head.title !== text) {
      head.title = text;
      write(label, text);
    }
    const waited = found.total.waited > 0 ? ((100 * sum.waited) / found.total.waited).toFixed(1) + ' %' : '–';
    const mean = sum.timed ? sum.response / sum.timed : null, least = atLeast ? '≥ ' : '', part = atLeast || found.incomplete ? ' *' : '';
    // More requests may also belong to the whole, so a share of it is no lower bound.
    const cells = [found.unknown > 0 ? waited + ' *' : least + waited, least + digits(sum.count / found.seconds), time(mean) + part, time(sums.percentile(sum, 99)) + part, least + sum.errors];
    cells.forEach((cell, i) => write(line.children[i + 1], cell));
  }
  function table(place, shown, found) {
    const body = document.querySelector('#table-' + sums.DIMENSIONS[place] + ' tbody'), focused = document.activeElement;
    shown.forEach((row, i) => {
      const line = rowOf(place, row[0]);
      fill(line, place, row, found);
      if (body.children[i] !== line) body.insertBefore(line, body.children[i] || null);
    });
    while (body.children.length > shown.length) body.lastChild.remove();
    const keys = new Set(shown.map(([key]) => key));
    [...rows[place].keys()].filter((key) => !keys.has(key)).forEach((key) => release(place, key));
    if (focused !== document.activeElement && body.contains(focused)) focused.focus();
  }
  // Tables with all rows.
  const whole = sums.DIMENSIONS.map(() => false);
  const plural = (place, count) => sums.DIMENSIONS[place] + (count === 1 ? '' : 's');
  function tables(until) {
    const found = sums.tables(until, within);
    found.by.forEach((all, place) => {
      const texts = all.map((row) => [...row, name(place, row[0])]);
      const named = texts.filter(([key]) => key !== null), nameless = texts.filter(([key]) => key === null);
      const first = named.slice(0, whole[place] ? named.length : ROWS), rest = named.slice(first.length);
      const further = rest.length ? [[FURTHER, sums.together(rest), rest.some((row) => row[2]), rest.length + ' further ' + plural(place, rest.length)]] : [];
      table(place, first.concat(further, nameless), found);
      const more = at('more-' + sums.DIMENSIONS[place]);
      more.hidden = named.length <= ROWS;
      say(more.id, whole[place] ? 'Show the first ' + ROWS : 'Show all ' + named.length);
    });
    const more = within.length && found.unknown ? 'Up to ' + found.unknown + ' more requests may belong to this selection: the page has only their sum.' : '';
    say('unknown', more);
  }
  function context() {
    const hadFocus = at('within').contains(document.activeElement);
    at('within').replaceChildren(...within.map(([place, key]) => button(sums.DIMENSIONS[place] + ' ' + name(place, key) + ' ×', () => leave(place))));
    draw();
    // After a filter was removed by keyboard, the focus is on the next filter, or in the tables. Drawing may have removed rows.
    if (hadFocus) (at('within').querySelector('button') || document.querySelector('tbody button') || at('pause')).focus({ preventScroll: true });
  }
  function draw() {
    drawn = false;
    const until = end === null ? latest() : end;
    const away = !connected && !state.ended;
    const down = state.down_since_s == null ? '' : 'INTERFACE DOWN since ' + instant(state.down_since_s);
    // A pipe without packets: nobody knows whether the server or the pipe is silent, nor who waits.
    const stopped = end === null && state.stopped;
    const look = 'stamp ' + (away || down ? 'away' : end === null && !state.ended && !stopped ? 'live' : '');
    if (at('state').className !== look) at('state').className = look;
    const now = end !== null ? 'PAUSED' : state.ended ? 'END' : state.silent ? 'NO PACKETS YET' : down ? '' : stopped ? 'NO PACKETS' : 'LIVE';
    say('state', away ? 'DISCONNECTED' : [now, down].filter((part) => part).join(', '));
    say('pause', end === null ? 'Pause' : 'Live');
    notices();
    losses();
    run();
    const leading = state.times || 'Response times';
    say('times', leading);
    ['p50', 'p99', 'max'].forEach((id) => write(at(id).nextElementSibling, leading.replace('Response times', 'response time')));
    say('diagnosis', state.diagnosis || '');
    if (until === null) return;
    const shown = sums.between(until - 1, until)[0];
    say('moment', instant(until - 1));
    at('back').value = until - latest();
    const figures = shown && sums.figures(shown, within);
    if (figures) tiles(stopped ? { ...figures, waiting: null } : figures);
    else noTiles();
    const stored = new Set(sums.all().map((second) => second.start_s));
    [...at('marks').children].forEach((mark, i) => {
      mark.disabled = !stored.has(marks[i]);
      mark.title = mark.disabled ? 'This second is no longer stored' : '';
    });
    tables(until);
    charts(until);
  }
  // Nothing is drawn where nobody looks.
  function drawSoon() {
    if (!drawn) {
      drawn = true;
      requestAnimationFrame(draw);
    }
  }

  // ---- charts
  const heat = echarts.init(at('heat'), null, { renderer: 'canvas' });
  const service = echarts.init(at('service'), null, { renderer: 'canvas' });
  const course = echarts.init(at('course'), null, { renderer: 'canvas' });
  // If the page grows, its scroll bar also makes the charts narrower.
  [heat, service, course].forEach((chart) => new ResizeObserver(() => chart.resize()).observe(chart.getDom()));
  const axisLook = () => ({ axisLine: { lineStyle: { color: css('rule') } }, splitLine: { lineStyle: { color: css('rule') } }, axisLabel: { color: css('soft'), hideOverlap: true } });
  function rectangle(fill) {
    return (_, api) => {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]), [right, y] = api.coord([api.value(0) + 1, api.value(2)]);
      return { type: 'rect', shape: { x: Math.floor(x), y: Math.floor(y), width: Math.max(1, Math.floor(right) - Math.floor(x)), height: Math.max(1, Math.floor(bottom) - Math.floor(y)) },
        style: { fill: fill(api.value(3)) } };
    };
  }
  // Lines from corner to corner, which leave what is below them readable. One canvas serves every second.
  let hatching = null;
  function hatched() {
    if (hatching) return hatching;
    const tile = document.createElement('canvas'), size = 8;
    tile.width = tile.height = size;
    const pen = tile.getContext('2d');
    pen.strokeStyle = css('bad');
    for (const from of [-size, 0, size]) {
      pen.moveTo(from, size);
      pen.lineTo(from + size, 0);
    }
    pen.stroke();
    hatching = { image: tile, repeat: 'repeat' };
    return hatching;
  }
  function charts(until) {
    const edges = sums.edges(), last = latest(), first = last - sums.KEPT;
    const all = sums.all().map((second) => [second.start_s, sums.figures(second, within)]);
    const cellsOf = (of) => all.flatMap(([s, now]) => (now[of] || []).map(([r, n]) => [s, Math.max(edges[r], 100) / 1e9, (edges[r + 1] || edges[r] * 1.26) / 1e9, n]));
    const cells = cellsOf('heat'), served = cellsOf('service'), both = cells.concat(served);
    const most = both.reduce((most, cell) => Math.max(most, cell[3]), 1);
    const steps = Array.from({ length: HEAT_STEPS }, (_, i) => css('h' + i));
    const level = (n) => steps[most <= 1 ? HEAT_STEPS - 1 : Math.min(HEAT_STEPS - 1, Math.floor((Math.log(Math.max(n, 1)) / Math.log(most)) * HEAT_STEPS))];
    const low = both.reduce((low, cell) => Math.min(low, cell[1]), 1e-3), high = both.reduce((high, cell) => Math.max(high, cell[2]), 1e-2);
    const lossy = all.filter(([, now]) => now.incomplete).map(([s]) => [s, low, high, 0]);
    const x = () => ({ type: 'value', min: first, max: last, ...axisLook(), axisLabel: { ...axisLook().axisLabel, formatter: (s) => instant(s).slice(11, 19) } });
    const cursor = [[until - 1, low, high, 0]], shade = (color, opacity) => (s) => ({ ...s, style: { fill: color, opacity } });
    // Without parts, all cells are on one canvas, and stay the elements that they are.
    const layer = (data, fill, look) => ({ type: 'custom', clip: true, silent: true, progressive: 0, encode: { x: 0, y: [1, 2] }, data,
      renderItem: (p, api) => (look ? look(rectangle(fill)(p, api)) : rectangle(fill)(p, api)) });
    const grid = { left: 70, right: 60, top: 16, bottom: 26 };
    const replace = { notMerge: true, lazyUpdate: true };
    const map = (chart, data) => chart.setOption({ animation: false, grid, xAxis: x(), yAxis: { type: 'log', min: low, max: high, ...axisLook(), axisLabel: { ...axisLook().axisLabel, formatter: (s) => time(s * 1e9) } },
      series: [layer(data, level), layer(lossy, hatched), layer(cursor, () => css('ink'), shade(css('ink'), 0.25))] }, replace);
    map(heat, cells);
    map(service, served);
    say('served', within.length ? 'Service times: leave the selection to see them' : 'Service times, last 5 minutes');
    const valueAt = (data, i) => (data[i] ? data[i][1] : null);
    function line(title, yAxisIndex, color, type, of) {
      // A second that did not arrive breaks the line.
      const data = all.flatMap(([s, now], i) => (i > 0 && all[i - 1][0] < s - 1 ? [[s - 0.5, null]] : []).concat([[s + 0.5, of(now)]]));
      // A point without neighbours is no line.
      const showSymbol = data.some((_, i) => valueAt(data, i) !== null && valueAt(data, i - 1) === null && valueAt(data, i + 1) === null);
      // The dashes tell the lines apart without colours.
      return { name: title, type: 'line', yAxisIndex, showSymbol, symbol: 'circle', symbolSize: 3, lineStyle: { width: 1.5, color, type }, itemStyle: { color }, data };
    }
    const times = all.flatMap(([, now]) => [now.p50, now.p99]).filter((ns) => ns > 0).map((ns) => ns / 1e9);
    // Not replaced: what was clicked in the legend stays hidden.
    course.setOption({ animation: false, grid: { ...grid, top: 34 }, legend: { textStyle: { color: css('soft') }, top: 0 }, xAxis: x(),
      yAxis: [{ type: 'value', min: 0, ...axisLook() }, { type: 'log', min: Math.min(...times, 1e-3), max: Math.max(...times, 1e-3) * 1.1, ...axisLook(), splitLine: { show: false }, axisLabel: { ...axisLook().axisLabel, formatter: (s) => time(s * 1e9) } }],
      series: [line('op/s', 0, css('s0'), 'solid', (now) => now.count), line('p50', 1, css('s2'), 'dotted', (now) => (now.p50 ? now.p50 / 1e9 : null)),
        line('p99', 1, css('s1'), 'dashed', (now) => (now.p99 ? now.p99 / 1e9 : null))] }, { lazyUpdate: true });
  }
  [heat, service].forEach((map) => map.getZr().on('click', ({ offsetX, offsetY }) => {
    if (map.containPixel('grid', [offsetX, offsetY])) show(Math.floor(map.convertFromPixel({ xAxisIndex: 0 }, offsetX)));
  }));

  // ---- what people press
  sums.DIMENSIONS.forEach((dimension, place) => at('more-' + dimension).addEventListener('click', () => {
    whole[place] = !whole[place];
    draw();
  }));
  at('pause').addEventListener('click', () => show(end === null && latest() !== null ? latest() - 1 : null));
  at('back').addEventListener('input', () => {
    const back = Number(at('back').value);
    show(back === 0 || latest() === null ? null : latest() - 1 + back);
  });
  at('mark').addEventListener('click', () => {
    if (latest() === null) return;
    const second = (end === null ? latest() : end) - 1;
    marks = marks.filter((other) => other !== second).concat([second]).slice(-ROWS);
    at('marks').replaceChildren(...marks.map((other) => button(instant(other).slice(11, 19), () => show(other))));
  });
  // With a background: the reader of the copy may have the other colour scheme, or print it.
  function pictureOf(chart) {
    const shown = chart.querySelector('canvas'), filled = document.createElement('canvas'), picture = document.createElement('img');
    filled.width = shown.width;
    filled.height = shown.height;
    const pen = filled.getContext('2d');
    pen.fillStyle = css('card');
    pen.fillRect(0, 0, filled.width, filled.height);
    pen.drawImage(shown, 0, 0);
    picture.src = filled.toDataURL();
    picture.alt = chart.closest('figure').querySelector('h3').textContent;
    picture.className = 'chart';
    return picture;
  }
  // A copy without scripts: charts as pictures, everything else as it is shown.
  at('save').addEventListener('click', () => {
    const copy = root.cloneNode(true);
    const pictures = [...document.querySelectorAll('.chart')].map(pictureOf);
    copy.querySelectorAll('.chart').forEach((chart, i) => chart.replaceWith(pictures[i]));
    copy.querySelectorAll('#marks button').forEach((mark) => mark.replaceWith(' marked ' + mark.textContent));
    copy.querySelectorAll('script, link, noscript, .controls button, .controls input, .more').forEach((part) => part.remove());
    const style = document.createElement('style');
    style.textContent = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText).join('\n');
    copy.querySelector('head').append(style);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(['<!DOCTYPE html>\n' + copy.outerHTML], { type: 'text/html' }));
    link.download = 'plimsoll-' + at('moment').textContent.replace(/[^0-9]+/g, '-') + 'live.html';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });

  // ---- what comes
  const events = new EventSource('events');
  const on = (event, action) => events.addEventListener(event, (message) => { hear(); action(JSON.parse(message.data)); drawSoon(); });
  // Without seconds, the server sends an empty event every 10 s. A browser does not notice that a tunnel is broken.
  const SILENT_MS = 25000;
  let heard = Date.now();
  function hear() {
    heard = Date.now();
    if (!connected) drawSoon();
    connected = true;
  }
  function disconnect() {
    // After the end there are no more events: do not connect again.
    if (state.ended) events.close();
    connected = false;
    drawSoon();
  }
  setInterval(() => { if (connected && Date.now() - heard > SILENT_MS) disconnect(); }, 1000);
  events.addEventListener('open', hear);
  events.addEventListener('alive', hear);
  events.addEventListener('error', disconnect);
  on('about', (about) => {
    sums.setEdges(about.edges_ns);
    say('input', about.input);
    document.title = about.input + ': live';
  });
  function showLatest() {
    end = null;
    sums.hold(null);
  }
  on('second', (second) => {
    if (sums.isBehindStep(second)) showLatest();
    sums.add(second);
    hosts = sums.hosts();
  });
  on('back', ({ start_s }) => {
    sums.backTo(start_s);
    showLatest();
  });
  on('state', (now) => { state = now; });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colors.clear();
    hatching = null;
    drawSoon();
  });
})();
