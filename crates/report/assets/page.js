// Draws the page's charts (#charts) on canvases; src/html/chart.rs says what they are. Nothing here fetches; names from
// captures reach the page through textContent and the canvas only, never as markup.
'use strict';
const page = (() => {
  const root = document.documentElement;
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  const findings = data('findings');
  const figures = new Map(data('charts').map((figure) => [figure.id, figure]));
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const charts = new Map();
  const chosen = new Map();
  const HEAT_STEPS = 10;
  const FONT = 'system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
  // Below this share of an axis a bin or two are left: nothing more to see.
  const NARROWEST = 0.5;
  const RARITY = [[0, '0 %'], [Math.log10(2), '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %'], [6, '99.9999 %']];

  // ---- numbers as text, as src/html/units.rs writes them
  // One formatter for all: making one takes longer than its work.
  const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
  const count = (n) => WHOLE.format(n);
  const digits = (n) => (Math.abs(n) < 9.995 ? n.toFixed(2) : Math.abs(n) < 99.95 ? n.toFixed(1) : count(n));
  function scaled(n, steps) {
    const [factor, unit] = steps.find(([, , below]) => Math.abs(n) < below) || steps[steps.length - 1];
    return factor === 1 && (unit === 'B' || unit === 'bit') ? n.toFixed(0) + ' ' + unit : unit === 'ns' ? (n * factor).toFixed(0) + ' ns' : digits(n * factor) + ' ' + unit;
  }
  const SECONDS = [[1e9, 'ns', 999.5e-9], [1e6, 'µs', 999.5e-6], [1e3, 'ms', 999.5e-3], [1, 's', Infinity]];
  const BYTES = [[1, 'B', 1e3], [1e-3, 'kB', 999.5e3], [1e-6, 'MB', 999.5e6], [1e-9, 'GB', 999.5e9], [1e-12, 'TB', Infinity]];
  const BITS = [[1, 'bit', 1e3], [1e-3, 'kbit', 999.5e3], [1e-6, 'Mbit', 999.5e6], [1e-9, 'Gbit', 999.5e9], [1e-12, 'Tbit', Infinity]];
  const duration = (s) => (s === 0 ? '0 s' : scaled(s, SECONDS));
  const SHOW = {
    count: (n) => (Number.isInteger(n) ? count(n) : digits(n)),
    seconds: duration,
    per_second: (n) => (n < 100 ? n.toFixed(1) : count(n)) + '/s',
    bytes_per_second: (n) => scaled(n, BYTES) + '/s',
    bits_per_second: (n) => scaled(n, BITS) + '/s',
    percent: (p) => (p > 0 && p < 0.05 ? '< 0.1 %' : p.toFixed(1) + ' %'),
    ratio: (n) => n.toFixed(2),
  };
  // A tick is a round number: it needs no digits that mean nothing.
  const tick = (unit) => (n) => SHOW[unit](Number(n.toPrecision(6))).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
  const at = tick('seconds');
  function clock(startNs, s) {
    if (startNs === undefined || startNs === null) return '';
    const instant = new Date(startNs / 1e6 + s * 1e3);
    return Number.isNaN(instant.getTime()) ? '' : ' · ' + instant.toISOString().slice(11, 23) + ' UTC';
  }

  // ---- theme
  const css = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
  let theme;
  function readTheme() {
    const list = (letter, n) => Array.from({ length: n }, (_, i) => css(letter + i));
    theme = { ink: css('ink'), soft: css('soft'), rule: css('rule'), card: css('card'), sea: css('sea'),
      series: list('s', 9), heat: list('h', HEAT_STEPS) };
  }
  const color = (i) => theme.series[i % theme.series.length];

  // ---- elements
  function element(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }
  // Tooltips are elements built here, so that no name is ever parsed as markup.
  function tip(heading, lines) {
    const box = element('div', undefined, 'tip');
    box.append(element('p', heading));
    for (const [name, value, mark] of lines) {
      const line = element('div');
      const label = element('span');
      if (mark) {
        const swatch = element('i', undefined, 'swatch');
        swatch.style.color = mark;
        label.append(swatch);
      }
      label.append(name);
      line.append(label, element('b', value));
      box.append(line);
    }
    return box;
  }

  // ---- axes
  const lines = (split) => ({
    axisLine: { lineStyle: { color: theme.rule } }, axisTick: { lineStyle: { color: theme.rule } },
    splitLine: { show: split, lineStyle: { color: theme.rule, width: 1 } },
    nameTextStyle: { color: theme.soft }, axisLabel: { color: theme.soft, hideOverlap: true },
  });
  function axis(of, upright) {
    const parts = lines(upright);
    const named = upright ? { name: of.name, nameGap: 12, nameTextStyle: { color: theme.soft, align: 'left', padding: [0, 0, 0, -60] } }
      : { name: of.name, nameLocation: 'middle', nameGap: 27 };
    if (of.scale === 'names') return { type: 'category', data: of.names, ...parts, ...named };
    const label = { ...parts.axisLabel, formatter: tick(of.unit) };
    if (of.scale === 'rarity') {
      const ticks = RARITY.filter(([u]) => u <= of.high).map(([u]) => u);
      return { type: 'value', min: of.low, max: of.high, ...parts, ...named, axisTick: { ...parts.axisTick, customValues: ticks },
        axisLabel: { ...label, customValues: ticks, formatter: (v) => (RARITY.find(([u]) => Math.abs(u - v) < 1e-6) || [0, ''])[1] } };
    }
    const whole = { type: of.scale === 'log' ? 'log' : 'value', min: of.low, max: of.high, minorTick: { show: false }, ...parts, ...named };
    return { ...whole, axisLabel: of.scale === 'time' ? { ...label, showMaxLabel: false } : label };
  }
  function zoom() {
    const common = { xAxisIndex: 0, filterMode: 'none', minSpan: NARROWEST };
    return [
      { type: 'inside', ...common, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, moveOnMouseMove: true },
      { type: 'slider', ...common, height: 18, bottom: 8, brushSelect: true, showDataShadow: false, showDetail: false,
        borderColor: theme.rule, fillerColor: theme.sea + '22', backgroundColor: 'transparent',
        handleStyle: { color: theme.card, borderColor: theme.sea }, moveHandleStyle: { color: theme.rule } },
    ];
  }

  // ---- series, by shape (src/html/chart.rs)
  const points = (s) => s.y.map((y, i) => [s.x ? s.x[i] : i, y]);
  // A point without neighbours is no line.
  const isAlone = (y, i) => y[i] !== null && (y[i - 1] ?? y[i + 1] ?? null) === null;
  function line(s) {
    const few = s.y.length < 60;
    return { type: 'line', showSymbol: few || s.y.some((_, i) => isAlone(s.y, i)), symbolSize: few ? 4 : 3, sampling: 'max', lineStyle: { width: 1.6 },
      areaStyle: s.filled ? { opacity: 0.12 } : undefined, connectNulls: false, data: points(s) };
  }
  const curve = (s) => ({ type: 'line', symbol: 'circle', showSymbol: true, symbolSize: 6, lineStyle: { width: 1.8 }, emphasis: { focus: 'series' }, data: points(s) });
  const bars = (s) => ({ type: 'bar', barGap: '8%', barCategoryGap: '18%', barMinHeight: 1, data: points(s) });
  // A curve that turns back has no band, which would fold over itself: an upright stroke at each point.
  function strokes(s) {
    return { name: s.name, type: 'custom', silent: true, clip: true, color: color(s.color), z: 1, tooltip: { show: false }, encode: { x: 0, y: [1, 2] },
      data: s.x.map((x, i) => [x, s.low[i], s.high[i]]),
      renderItem: (_, api) => {
        const [[x1, y1], [x2, y2]] = [1, 2].map((i) => api.coord([api.value(0), api.value(i)]));
        return { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: color(s.color), lineWidth: 1.2, opacity: 0.5 } };
      } };
  }
  // The band behind a curve has its name, so that both are hidden together.
  function band(s) {
    if (s.x.some((x, i) => i > 0 && x < s.x[i - 1])) return strokes(s);
    const outline = (api) => s.low.map((v, i) => api.coord([s.x[i], v])).concat(s.high.map((v, i) => api.coord([s.x[i], v])).reverse());
    return { name: s.name, type: 'custom', silent: true, clip: true, color: color(s.color), z: 1, tooltip: { show: false }, data: [[s.x[0], s.low[0]]],
      renderItem: (_, api) => ({ type: 'polygon', shape: { points: outline(api) }, style: { fill: color(s.color), opacity: 0.16 } }) };
  }
  function ranges(s) {
    const data_ = s.y.map((y, i) => [s.x[i], y, s.low[i], s.high[i]]);
    return { type: 'custom', data: data_, encode: { x: 0, y: [1, 2, 3] },
      renderItem: (_, api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const ends = [2, 3].map((i) => api.coord([api.value(0), api.value(i)])[1]);
        const stroke = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: color(s.color), lineWidth: 2 } });
        return { type: 'group', children: [stroke(x, ends[0], x, ends[1]), ...ends.map((e) => stroke(x - 7, e, x + 7, e)),
          { type: 'circle', shape: { cx: x, cy: y, r: 5 }, style: { fill: color(s.color) } }] };
      } };
  }
  // Places on the axis to the right, over whatever else is drawn.
  function marks(now) {
    const all = now.x.marks || [];
    const place = (p, api) => {
      const { y, height } = p.coordSys, x = api.coord([api.value(0), now.y.low])[0];
      const { name: text, upright } = all[p.dataIndex];
      const name = { type: 'text', x: x + (upright ? 15 : 3), y: y + 3, rotation: upright ? -Math.PI / 2 : 0, style: { text, fill: theme.soft, fontSize: 11 } };
      return { type: 'group', children: [name,
        { type: 'line', shape: { x1: x, y1: y, x2: x, y2: y + height }, style: { stroke: theme.soft, lineDash: [3, 3] } }] };
    };
    return all.length ? [{ type: 'custom', silent: true, clip: true, z: 4, tooltip: { show: false }, encode: { x: 0 }, data: all.map((m) => [m.at]), renderItem: place }] : [];
  }
  const mapOf = (pointer) => pointer.split('/').slice(1).reduce((value, key) => value[key], findings);
  function cells(s) {
    const map = mapOf(s.map);
    const edges = map.edges_s.slice();
    // A logarithmic axis has no nought: a first row that begins there is drawn as one decade.
    if (edges[0] <= 0) edges[0] = edges[1] / 10;
    const most = fullest(map), span = map.column_s;
    const level = (n) => (most <= 1 ? HEAT_STEPS - 1 : Math.min(HEAT_STEPS - 1, Math.floor((Math.log(Math.max(n, 1)) / Math.log(most)) * HEAT_STEPS)));
    return { type: 'custom', clip: true, progressive: 0, encode: { x: [0, 2], y: [1, 3] }, dimensions: ['from', 'low', 'to', 'high', 'operations'],
      renderItem: (_, api) => {
        const [left, bottom] = api.coord([api.value(0), api.value(1)]);
        const [right, top] = api.coord([api.value(2), api.value(3)]);
        // Whole pixels: neighbours touch without a seam.
        const x = Math.floor(left), y = Math.floor(top);
        return { type: 'rect', shape: { x, y, width: Math.max(1, Math.floor(right) - x), height: Math.max(1, Math.floor(bottom) - y) },
          style: { fill: theme.heat[level(api.value(4))] }, emphasis: { style: { stroke: theme.ink, lineWidth: 1.5 } } };
      },
      data: map.cells.map(([c, r, n]) => [c * span, edges[r], (c + 1) * span, edges[r + 1], n]) };
  }
  const fullest = (map) => map.cells.reduce((most, cell) => Math.max(most, cell[2]), 1);
  const SHAPES = { line, curve, bars, range: ranges, cells };

  // ---- tooltips, by shape of the chart's series
  function tooltip(chart, shape, owners) {
    const { x, y } = chart;
    const show = SHOW[y.unit];
    const of = (p) => owners[p.seriesIndex];
    const value = (p) => (p.value[1] === null ? '–' : show(p.value[1]));
    const counted = (p) => (of(p).counts && of(p).counts[p.dataIndex] !== undefined ? ' (' + count(of(p).counts[p.dataIndex]) + ')' : '');
    function place(p) {
      const s = of(p), i = p.dataIndex;
      const rows = [[y.name || 'value', value(p), p.color]];
      if (s.between && s.low) rows.push([s.between, show(s.low[i]) + ' – ' + show(s.high[i])]);
      if (x.scale === 'rarity') return tip(s.name, [[s.labels[i], value(p), p.color]]);
      if (x.scale !== 'names') rows.unshift([x.name, SHOW[x.unit](p.value[0])]);
      return tip((s.labels && s.labels[i]) || s.name, rows);
    }
    function moment(list) {
      const shown = list.filter((p) => p.seriesType !== 'custom');
      const i = shown[0].dataIndex, width = of(shown[0]).x[0] * 2;
      return tip(at(i * width) + ' – ' + at((i + 1) * width) + clock(x.start_ns, i * width), shown.map((p) => [p.seriesName, value(p), p.color]));
    }
    const name = (list) => tip(list[0].name, list.filter((p) => p.value[1] > 0).map((p) => [p.seriesName, value(p) + counted(p), p.color]));
    function cell(p) {
      const map = mapOf(of(p).map), column = map.cells[p.dataIndex][0];
      const [x0, y0, x1, y1, n] = p.value;
      const all = map.cells.reduce((sum, c) => sum + (c[0] === column ? c[2] : 0), 0);
      return tip(show(y0) + ' – ' + show(y1), [[at(x0) + ' – ' + at(x1), clock(map.start_ns, x0).slice(3)],
        ['Operations', count(n)], ['Share of the operations of this interval', SHOW.percent((n / all) * 100)]]);
    }
    const [trigger, formatter] = { line: ['axis', moment], bars: ['axis', name], curve: ['item', place], range: ['item', place], cells: ['item', cell] }[shape];
    const pointer = shape === 'bars' ? { type: 'shadow', shadowStyle: { color: theme.soft + '18' } } : { type: 'line', lineStyle: { color: theme.soft } };
    return { trigger, formatter, confine: true, transitionDuration: 0, backgroundColor: theme.card, borderColor: theme.rule,
      textStyle: { color: theme.ink }, axisPointer: pointer };
  }

  // ---- a chart's option
  const chart = (id) => figures.get(id).choices[chosen.get(id) || 0].chart;
  function option(id) {
    const now = chart(id);
    const shape = now.series[0].shape, zoomed = now.x.scale !== 'names';
    const drawn = now.series.map((s) => ({ name: s.name, color: color(s.color), ...SHAPES[s.shape](s) }));
    const bands = now.series.filter((s) => s.shape === 'curve' && s.low).map(band).concat(marks(now));
    return {
      animation: false,
      textStyle: { color: theme.soft, fontFamily: FONT },
      grid: { left: 78, right: 26, top: now.y.name ? 34 : 16, bottom: zoomed ? 70 : now.x.name ? 50 : 34 },
      legend: { show: false, data: now.series.map((s) => s.name) },
      xAxis: axis(now.x, false), yAxis: { ...axis(now.y, true), z: shape === 'cells' ? 3 : 0 },
      dataZoom: zoomed ? zoom() : [],
      tooltip: tooltip(now, shape, now.series.concat(bands.map(() => null))),
      series: drawn.concat(bands),
    };
  }

  // ---- zoom: charts with a time axis move together
  const onTime = (id) => chart(id).x.scale === 'time';
  let moving = false;
  function extent(id) {
    const z = charts.get(id).getOption().dataZoom[0];
    return [z.start, z.end];
  }
  function zoomTo(id, start, end) {
    const width = Math.min(100, Math.max(NARROWEST, end - start));
    const from = Math.min(100 - width, Math.max(0, start));
    charts.get(id).dispatchAction({ type: 'dataZoom', start: from, end: from + width });
  }
  function follow(id) {
    if (moving || !onTime(id)) return;
    moving = true;
    const [start, end] = extent(id);
    for (const other of charts.keys()) {
      if (other === id || !onTime(other)) continue;
      const scale = chart(id).x.high / chart(other).x.high;
      charts.get(other).dispatchAction({ type: 'dataZoom', start: Math.min(100, start * scale), end: Math.min(100, end * scale) });
    }
    moving = false;
  }
  function step(id, factor, shift) {
    const [start, end] = extent(id);
    const half = ((end - start) / 2) * factor, middle = (start + end) / 2 + (end - start) * shift;
    zoomTo(id, middle - half, middle + half);
  }
  const KEYS = {
    '+': (id) => step(id, 0.5, 0), '=': (id) => step(id, 0.5, 0), '-': (id) => step(id, 2, 0), '0': (id) => zoomTo(id, 0, 100),
    ArrowLeft: (id) => step(id, 1, -0.2), ArrowRight: (id) => step(id, 1, 0.2),
  };

  // ---- controls: ordinary buttons, for keyboards and screen readers
  const bar = (id) => document.querySelector('.controls[data-for=' + id + ']');
  function button(text, label, act) {
    const b = element('button', text);
    b.type = 'button';
    if (label) { b.setAttribute('aria-label', label); b.title = label; }
    b.addEventListener('click', act);
    return b;
  }
  function ramp(most) {
    const box = element('span', undefined, 'ramp');
    const steps = element('span');
    for (let i = 0; i < HEAT_STEPS; i++) steps.append(element('i', undefined, 'h' + i));
    box.append('1', steps, count(most) + ' operations');
    return box;
  }
  function choice(id) {
    const figure = figures.get(id);
    const label = element('label', figure.choose + ' ');
    const select = element('select');
    figure.choices.forEach((c, i) => select.append(new Option(c.name, String(i), false, i === (chosen.get(id) || 0))));
    select.addEventListener('change', () => { chosen.set(id, Number(select.value)); redraw(id); controls(id); bar(id).querySelector('select').focus(); });
    label.append(select);
    return label;
  }
  function toggles(id) {
    const hidden = (charts.get(id).getOption().legend[0] || {}).selected || {};
    const buttons = element('span', undefined, 'toggles');
    buttons.setAttribute('role', 'group');
    buttons.setAttribute('aria-label', 'Series shown');
    for (const s of chart(id).series) {
      const b = button(s.name, undefined, () => charts.get(id).dispatchAction({ type: 'legendToggleSelect', name: s.name }));
      b.prepend(element('i', undefined, 'swatch s' + (s.color % theme.series.length)));
      b.dataset.series = s.name;
      b.setAttribute('aria-pressed', String(hidden[s.name] !== false));
      buttons.append(b);
    }
    return buttons;
  }
  function controls(id) {
    const now = chart(id), place = bar(id);
    place.textContent = '';
    if (figures.get(id).choices.length > 1) place.append(choice(id));
    if (now.series[0].shape === 'cells') place.append(ramp(fullest(mapOf(now.series[0].map))));
    if (now.series.length > 1) place.append(toggles(id));
    place.append(element('span', undefined, 'space'));
    if (now.x.scale !== 'names') {
      place.append(button('+', 'Zoom in', () => step(id, 0.5, 0)), button('−', 'Zoom out', () => step(id, 2, 0)),
        button('←', 'Move left', () => step(id, 1, -0.2)), button('→', 'Move right', () => step(id, 1, 0.2)),
        button('Whole', 'Show the whole extent', () => zoomTo(id, 0, 100)));
    }
  }

  // ---- drawing
  function redraw(id) {
    const old = charts.get(id).getOption();
    const kept = old.dataZoom && old.dataZoom.length ? extent(id) : null;
    const fresh = option(id);
    if (old.legend && old.legend[0]) fresh.legend.selected = old.legend[0].selected;
    if (kept) fresh.dataZoom.forEach((z) => { z.start = kept[0]; z.end = kept[1]; });
    charts.get(id).setOption(fresh, { notMerge: true });
  }
  function draw(place) {
    const id = place.dataset.chart;
    const drawn = echarts.init(place, null, { renderer: 'canvas' });
    charts.set(id, drawn);
    drawn.setOption(option(id));
    controls(id);
    drawn.on('datazoom', () => follow(id));
    drawn.on('legendselectchanged', (event) => {
      for (const b of bar(id).querySelectorAll('button[data-series]')) b.setAttribute('aria-pressed', String(event.selected[b.dataset.series] !== false));
    });
    place.addEventListener('keydown', (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || chart(id).x.scale === 'names') return;
      event.preventDefault();
      act(id);
    });
    new ResizeObserver(() => { if (place.clientWidth > 0) drawn.resize(); }).observe(place);
  }

  readTheme();
  const places = document.querySelectorAll('.chart[data-chart]');
  root.classList.add('drawn');
  try {
    places.forEach(draw);
    root.dataset.charts = 'drawn:' + charts.size;
  } catch (error) {
    // The pictures and tables say the same.
    root.classList.remove('drawn');
    root.dataset.charts = 'failed';
    throw error;
  }
  const followers = [];
  dark.addEventListener('change', () => { readTheme(); for (const id of charts.keys()) redraw(id); followers.forEach((follower) => follower()); });

  // ---- what drill.js draws with
  return {
    count, duration, element, button, tip, lines, color, at, percent: SHOW.percent, perSecond: SHOW.per_second, tickPerSecond: tick('per_second'), bytes: (n) => scaled(n, BYTES),
    theme: () => theme, onTheme: (follower) => followers.push(follower), font: () => ({ color: theme.soft, fontFamily: FONT }),
    tooltip: () => ({ confine: true, transitionDuration: 0, backgroundColor: theme.card, borderColor: theme.rule, textStyle: { color: theme.ink },
      axisPointer: { type: 'line', lineStyle: { color: theme.soft } } }),
  };
})();
