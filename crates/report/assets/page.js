// Draws the report's charts from the findings in the page (#findings). Nothing here fetches; text from captures
// reaches the page through textContent and the canvas only, never as markup.
'use strict';
(() => {
  const root = document.documentElement;
  const findings = JSON.parse(document.getElementById('findings').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const charts = new Map();
  const HEAT_STEPS = 10;
  // Below this share of the time axis a bin or two are left: nothing more to see.
  const NARROWEST = 0.5;

  // ---- numbers as text, as src/html/units.rs writes them
  const count = (n) => n.toLocaleString('en-US', { maximumFractionDigits: 0 });
  const digits = (n) => (Math.abs(n) < 9.995 ? n.toFixed(2) : Math.abs(n) < 99.95 ? n.toFixed(1) : count(n));
  function duration(s) {
    const size = Math.abs(s);
    if (size === 0) return '0 s';
    if (size < 999.5e-9) return (s * 1e9).toFixed(0) + ' ns';
    if (size < 999.5e-6) return digits(s * 1e6) + ' µs';
    if (size < 999.5e-3) return digits(s * 1e3) + ' ms';
    return digits(s) + ' s';
  }
  const edge = (s) => duration(s).replace(/\.0+ /, ' ');
  const percent = (p) => (p > 0 && p < 0.05 ? '< 0.1 %' : p.toFixed(1) + ' %');
  function clock(startNs, s) {
    const at = new Date(startNs / 1e6 + s * 1e3);
    return Number.isNaN(at.getTime()) ? '' : at.toISOString().slice(11, 23) + ' UTC';
  }
  const at = (s) => edge(Number(s.toPrecision(6)));

  // ---- theme
  const css = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
  let theme;
  function readTheme() {
    const list = (letter, n) => Array.from({ length: n }, (_, i) => css(letter + i));
    theme = { ink: css('ink'), soft: css('soft'), rule: css('rule'), card: css('card'), wash: css('wash'), sea: css('sea'),
      series: list('s', 9), heat: list('h', HEAT_STEPS) };
  }
  const color = (i) => theme.series[i % theme.series.length];

  // ---- parts of options
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
  function base(extra) {
    return {
      animation: false,
      textStyle: { color: theme.soft, fontFamily: 'system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif' },
      grid: { left: 78, right: 26, top: 16, bottom: 70 },
      legend: { show: false },
      ...extra,
    };
  }
  const tooltip = (trigger, formatter) => ({
    trigger, formatter, confine: true, transitionDuration: 0, backgroundColor: theme.card, borderColor: theme.rule,
    textStyle: { color: theme.ink }, axisPointer: { type: 'line', lineStyle: { color: theme.soft } },
  });
  const lines = () => ({
    axisLine: { lineStyle: { color: theme.rule } }, axisTick: { lineStyle: { color: theme.rule } },
    splitLine: { lineStyle: { color: theme.rule, width: 1 } }, axisLabel: { color: theme.soft },
  });
  const timeAxis = (end) => ({
    type: 'value', min: 0, max: end, name: 'since the start', nameLocation: 'middle', nameGap: 26,
    ...lines(), splitLine: { show: false }, axisLabel: { color: theme.soft, formatter: at, hideOverlap: true, showMaxLabel: false },
  });
  const logAxis = (low, high) => ({
    type: 'log', min: low, max: high, ...lines(), axisLabel: { color: theme.soft, formatter: edge }, minorTick: { show: false },
  });
  function zoom() {
    const common = { xAxisIndex: 0, filterMode: 'none', minSpan: NARROWEST };
    return [
      { type: 'inside', ...common, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, moveOnMouseMove: true },
      { type: 'slider', ...common, height: 18, bottom: 8, brushSelect: true, showDataShadow: false, showDetail: false,
        borderColor: theme.rule, fillerColor: theme.sea + '22', backgroundColor: 'transparent',
        handleStyle: { color: theme.card, borderColor: theme.sea }, moveHandleStyle: { color: theme.rule } },
    ];
  }
  const decadeBelow = (s) => 10 ** Math.floor(Math.log10(s) + 1e-9);
  const decadeAbove = (s) => 10 ** Math.ceil(Math.log10(s) - 1e-9);

  // ---- charts; each returns its option, series in the order of src/html/charts.rs
  const series = findings.series;
  const seriesEnd = () => series.operations.length * series.bin_s;
  function overTime(unit, show, named, area) {
    const start = series.start_ns;
    return base({
      xAxis: timeAxis(seriesEnd()),
      yAxis: { type: 'value', name: unit, min: 0, nameGap: 8, ...lines() },
      grid: { left: 78, right: 26, top: 30, bottom: 70 },
      dataZoom: zoom(),
      tooltip: tooltip('axis', (points) => {
        const from = points[0].value[2];
        return tip(at(from) + ' – ' + at(from + series.bin_s) + ' · ' + clock(start, from),
          points.map((p) => [p.seriesName, p.value[1] === null ? '–' : show(p.value[1]), p.color]));
      }),
      series: named.map(([name, values], i) => ({
        name, type: 'line', showSymbol: values.length < 60, symbolSize: 4, sampling: 'max', color: color(i),
        lineStyle: { width: 1.6 }, areaStyle: area ? { opacity: 0.12 } : undefined, connectNulls: false,
        data: values.map((v, bin) => [(bin + 0.5) * series.bin_s, v, bin * series.bin_s]),
      })),
    });
  }
  const perSecond = (values, scale) => values.map((n) => (n / series.bin_s) * scale);
  const rateText = (v) => (v < 100 ? v.toFixed(1) : count(v)) + '/s';

  let heatGroup = 0;
  const heatMaps = findings.heat_maps.filter((map) => map.cells.length > 0);
  function heat() {
    const map = heatMaps[heatGroup];
    const edges = map.edges_s.slice();
    // A logarithmic axis has no nought: a first row that begins there is drawn as one decade.
    if (edges[0] <= 0) edges[0] = edges[1] / 10;
    let most = 1;
    const column = new Float64Array(map.columns);
    for (const [c, , n] of map.cells) { most = Math.max(most, n); column[c] += n; }
    const level = (n) => (most <= 1 ? HEAT_STEPS - 1 : Math.min(HEAT_STEPS - 1, Math.floor((Math.log(Math.max(n, 1)) / Math.log(most)) * HEAT_STEPS)));
    const span = map.column_s;
    return base({
      xAxis: timeAxis(map.columns * span),
      yAxis: { ...logAxis(decadeBelow(edges[0]), decadeAbove(edges[edges.length - 1])), z: 3 },
      dataZoom: zoom(),
      tooltip: tooltip('item', (p) => {
        const [x0, y0, x1, y1, n] = p.value;
        const c = map.cells[p.dataIndex][0];
        return tip(edge(y0) + ' – ' + edge(y1), [
          [at(x0) + ' – ' + at(x1), clock(map.start_ns, x0)],
          ['Operations', count(n)],
          ['Share of the moment', percent((n / column[c]) * 100)],
        ]);
      }),
      series: [{
        name: map.group, type: 'custom', clip: true, progressive: 0, encode: { x: [0, 2], y: [1, 3] },
        dimensions: ['from', 'low', 'to', 'high', 'operations'],
        renderItem: (_, api) => {
          const [left, bottom] = api.coord([api.value(0), api.value(1)]);
          const [right, top] = api.coord([api.value(2), api.value(3)]);
          // Whole pixels: neighbours touch without a seam.
          const x = Math.floor(left), y = Math.floor(top);
          return { type: 'rect', shape: { x, y, width: Math.max(1, Math.floor(right) - x), height: Math.max(1, Math.floor(bottom) - y) },
            style: { fill: theme.heat[level(api.value(4))] }, emphasis: { style: { stroke: theme.ink, lineWidth: 1.5 } } };
        },
        data: map.cells.map(([c, r, n]) => [c * span, edges[r], (c + 1) * span, edges[r + 1], n]),
      }],
    });
  }

  const curves = findings.groups.filter((g) => g.percentiles.length > 0);
  const RARITY = [[0, '0 %'], [Math.log10(2), '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %'], [6, '99.9999 %']];
  function percentiles() {
    let low = Infinity, high = 0, end = 1;
    const data = curves.map((g) => {
      const rarest = Math.max(0, Math.log10(g.response_time ? g.response_time.count : 10));
      let u = 0;
      return g.percentiles.map((p) => {
        u = Math.max(u, Math.min(rarest, p.percentile < 100 ? -Math.log10(1 - p.percentile / 100) : rarest));
        if (p.value_s > 0) { low = Math.min(low, p.value_s); high = Math.max(high, p.value_s); }
        end = Math.max(end, u);
        return [u, p.value_s > 0 ? p.value_s : null, p.percentile];
      });
    });
    const ticks = RARITY.filter(([u]) => u <= end);
    return base({
      xAxis: { type: 'value', min: 0, max: end, ...lines(), name: 'share of the operations that were at least as fast',
        nameLocation: 'middle', nameGap: 28,
        axisTick: { customValues: ticks.map((t) => t[0]), lineStyle: { color: theme.rule } },
        axisLabel: { color: theme.soft, customValues: ticks.map((t) => t[0]),
          formatter: (v) => (RARITY.find(([u]) => Math.abs(u - v) < 1e-6) || [0, ''])[1] },
        splitLine: { show: false } },
      yAxis: logAxis(decadeBelow(low), decadeAbove(high)),
      dataZoom: zoom(),
      tooltip: tooltip('item', (p) => tip(p.seriesName, [[p.value[2] + ' % took up to', duration(p.value[1])]])),
      series: data.map((points, i) => ({ name: curves[i].group, type: 'line', color: color(i), data: points,
        showSymbol: true, symbolSize: 5, lineStyle: { width: 1.8 }, emphasis: { focus: 'series' } })),
    });
  }

  const barred = findings.groups.filter((g) => g.distribution.some((b) => b.count > 0));
  function decades() {
    const exponent = (b) => Math.round(Math.log10(b.below_s));
    const used = barred.flatMap((g) => g.distribution.map(exponent));
    const low = used.reduce((a, b) => Math.min(a, b)), high = used.reduce((a, b) => Math.max(a, b));
    const names = Array.from({ length: high - low + 1 }, (_, i) => (i === 0 ? 'below ' : edge(10 ** (low + i - 1)) + ' – ') + edge(10 ** (low + i)));
    return base({
      grid: { left: 78, right: 26, top: 16, bottom: 34 },
      xAxis: { type: 'category', data: names, ...lines(), splitLine: { show: false } },
      yAxis: { type: 'value', max: 100, ...lines(), axisLabel: { color: theme.soft, formatter: '{value} %' } },
      tooltip: { ...tooltip('axis', (points) => tip(points[0].name,
        points.filter((p) => p.value[2] > 0).map((p) => [p.seriesName, percent(p.value[1]) + ' (' + count(p.value[2]) + ')', p.color]))),
        axisPointer: { type: 'shadow', shadowStyle: { color: theme.soft + '18' } } },
      series: barred.map((g, i) => {
        const total = g.distribution.reduce((sum, b) => sum + b.count, 0);
        return { name: g.group, type: 'bar', color: color(i), barGap: '8%', barCategoryGap: '18%', barMinHeight: 1,
          data: g.distribution.filter((b) => b.count > 0).map((b) => [exponent(b) - low, (b.count / total) * 100, b.count]) };
      }),
    });
  }

  const OPTIONS = {
    heat,
    throughput: () => overTime('MB/s', (v) => digits(v) + ' MB/s',
      [['Read', perSecond(series.read_bytes, 1e-6)], ['Written', perSecond(series.write_bytes, 1e-6)]], true),
    rate: () => overTime('1/s', rateText, [['Operations', perSecond(series.operations, 1)], ['Errors', perSecond(series.errors, 1)]], true),
    mean: () => overTime('ms', (v) => duration(v / 1e3), [['Mean response time', series.response_mean_s.map((s) => (s === null ? null : s * 1e3))]]),
    percentiles,
    decades,
  };
  const ON_TIME = ['heat', 'throughput', 'rate', 'mean'];
  const timeEnd = (name) => (name === 'heat' ? heatMaps[heatGroup].columns * heatMaps[heatGroup].column_s : seriesEnd());

  // ---- zoom: charts with a time axis move together
  let moving = false;
  function window_(chart) {
    const z = chart.getOption().dataZoom[0];
    return [z.start, z.end];
  }
  function zoomTo(name, start, end) {
    const width = Math.min(100, Math.max(NARROWEST, end - start));
    const from = Math.min(100 - width, Math.max(0, start));
    charts.get(name).dispatchAction({ type: 'dataZoom', start: from, end: from + width });
  }
  function follow(name) {
    if (moving || !ON_TIME.includes(name)) return;
    moving = true;
    const [start, end] = window_(charts.get(name));
    for (const other of ON_TIME) {
      if (other === name || !charts.has(other)) continue;
      const scale = timeEnd(name) / timeEnd(other);
      charts.get(other).dispatchAction({ type: 'dataZoom', start: Math.min(100, start * scale), end: Math.min(100, end * scale) });
    }
    moving = false;
  }
  function step(name, factor, shift) {
    const [start, end] = window_(charts.get(name));
    const half = ((end - start) / 2) * factor, middle = (start + end) / 2 + (end - start) * shift;
    zoomTo(name, middle - half, middle + half);
  }
  const KEYS = {
    '+': (n) => step(n, 0.5, 0), '=': (n) => step(n, 0.5, 0), '-': (n) => step(n, 2, 0), '0': (n) => zoomTo(n, 0, 100),
    ArrowLeft: (n) => step(n, 1, -0.2), ArrowRight: (n) => step(n, 1, 0.2),
  };

  // ---- controls: ordinary buttons, for keyboards and screen readers
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
  function controls(name) {
    const bar = document.querySelector('.controls[data-for=' + name + ']');
    bar.textContent = '';
    const option = charts.get(name).getOption();
    if (name === 'heat') {
      const label = element('label', 'Operations of ');
      const select = element('select');
      heatMaps.forEach((map, i) => select.append(new Option(map.group === 'All' ? 'all groups' : map.group, String(i), false, i === heatGroup)));
      select.addEventListener('change', () => { heatGroup = Number(select.value); redraw('heat'); });
      label.append(select);
      bar.append(label, ramp(heatMaps[heatGroup].cells.reduce((m, c) => Math.max(m, c[2]), 1)));
    } else if (option.series.length > 1) {
      option.series.forEach((s, i) => {
        const b = button(s.name, undefined, () => charts.get(name).dispatchAction({ type: 'legendToggleSelect', name: s.name }));
        const swatch = element('i', undefined, 'swatch s' + (i % theme.series.length));
        b.prepend(swatch);
        b.dataset.series = s.name;
        b.setAttribute('aria-pressed', 'true');
        bar.append(b);
      });
    }
    bar.append(element('span', undefined, 'space'));
    if (option.dataZoom && option.dataZoom.length) {
      bar.append(button('+', 'Zoom in', () => step(name, 0.5, 0)), button('−', 'Zoom out', () => step(name, 2, 0)),
        button('←', 'Move left', () => step(name, 1, -0.2)), button('→', 'Move right', () => step(name, 1, 0.2)),
        button('Whole', 'Show the whole extent', () => zoomTo(name, 0, 100)));
    }
  }

  // ---- drawing
  function option(name) {
    const built = OPTIONS[name]();
    built.legend.data = built.series.map((s) => s.name);
    return built;
  }
  function redraw(name) {
    const chart = charts.get(name);
    const old = chart.getOption();
    const kept = old.dataZoom && old.dataZoom.length ? window_(chart) : null;
    const focused = document.activeElement && document.activeElement.closest('.controls[data-for=' + name + '] select');
    const fresh = option(name);
    if (name !== 'heat' && old.legend && old.legend[0]) fresh.legend.selected = old.legend[0].selected;
    if (kept) fresh.dataZoom.forEach((z) => { z.start = kept[0]; z.end = kept[1]; });
    chart.setOption(fresh, { notMerge: true });
    if (name === 'heat') controls(name);
    if (focused) document.querySelector('.controls[data-for=heat] select').focus();
  }
  function draw(place) {
    const name = place.dataset.chart;
    const chart = echarts.init(place, null, { renderer: 'canvas' });
    charts.set(name, chart);
    chart.setOption(option(name));
    controls(name);
    chart.on('datazoom', () => follow(name));
    chart.on('legendselectchanged', (event) => {
      for (const b of document.querySelectorAll('.controls[data-for=' + name + '] button[data-series]')) {
        b.setAttribute('aria-pressed', String(event.selected[b.dataset.series] !== false));
      }
    });
    place.addEventListener('keydown', (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || !chart.getOption().dataZoom.length) return;
      event.preventDefault();
      act(name);
    });
    new ResizeObserver(() => { if (place.clientWidth > 0) chart.resize(); }).observe(place);
  }

  readTheme();
  const places = document.querySelectorAll('.chart');
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
  dark.addEventListener('change', () => { readTheme(); for (const name of charts.keys()) redraw(name); });

  // ---- #selftest: a test opens the page so, and reads the verdict from the page
  function selftest() {
    const wrong = [];
    const check = (what, holds) => { if (!holds) wrong.push(what); };
    const near = (a, b) => Math.abs(a - b) < 0.01;
    for (const [name, chart] of charts) {
      const painted = chart.getDom().querySelector('canvas');
      check(name + ': painted', painted && painted.width > 0 && new Set(painted.getContext('2d').getImageData(0, 0, painted.width, painted.height).data).size > 2);
      const opt = () => chart.getOption();
      if (opt().dataZoom && opt().dataZoom.length) {
        zoomTo(name, 25, 50);
        check(name + ': zoom', near(window_(chart)[0], 25) && near(window_(chart)[1], 50));
        if (name === 'throughput' && charts.has('rate')) check('zoom together', near(window_(charts.get('rate'))[0], 25));
        chart.getDom().dispatchEvent(new KeyboardEvent('keydown', { key: '+' }));
        check(name + ': zoom by key', near(window_(chart)[1] - window_(chart)[0], 12.5));
        zoomTo(name, 0, 100);
      }
      const bar = document.querySelector('.controls[data-for=' + name + ']');
      for (const b of bar.querySelectorAll('button[data-series]')) {
        b.click();
        check(name + ': hide ' + b.dataset.series, opt().legend[0].selected[b.dataset.series] === false && b.getAttribute('aria-pressed') === 'false');
        b.click();
        check(name + ': show ' + b.dataset.series, opt().legend[0].selected[b.dataset.series] === true && b.getAttribute('aria-pressed') === 'true');
      }
      const tipOption = opt().tooltip[0];
      const point = opt().series[0].data[0];
      const fake = { name: '<b>x</b>', seriesName: '\u003cimg src=x>', value: point, dataIndex: 0, color: 'red' };
      const shown = tipOption.formatter(tipOption.trigger === 'axis' ? [fake] : fake);
      check(name + ': tooltip is no markup', !shown.querySelector('img, p b') && shown.textContent.length > 3);
    }
    const select = document.querySelector('.controls[data-for=heat] select');
    for (let i = 0; select && i < heatMaps.length; i++) {
      const current = document.querySelector('.controls[data-for=heat] select');
      current.value = String(i);
      current.dispatchEvent(new Event('change'));
      const now = charts.get('heat').getOption().series[0];
      const sum = (rows, at_) => rows.reduce((total, row) => total + row[at_], 0);
      check('heat map of ' + heatMaps[i].group, now.data.length === heatMaps[i].cells.length && sum(now.data, 4) === sum(heatMaps[i].cells, 2));
    }
    if (select) { heatGroup = 0; redraw('heat'); }
    for (const name of charts.keys()) redraw(name);
    root.dataset.selftest = wrong.length ? 'failed: ' + wrong.join('; ') : 'passed:' + charts.size;
  }
  if (location.hash === '#selftest') {
    root.dataset.errors = '0';
    addEventListener('error', () => { root.dataset.errors = String(Number(root.dataset.errors) + 1); });
    addEventListener('securitypolicyviolation', (event) => { root.dataset.violation = event.violatedDirective; });
    selftest();
  }
})();
