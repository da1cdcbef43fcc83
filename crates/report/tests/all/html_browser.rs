//! The page in a browser without a network: every chart is drawn with the numbers of the findings; zoom, hover and series toggles work
//! without console errors; the same without scripts and on paper.
//!
//! Needs Chromium. `PLIMSOLL_SCREENSHOTS=DIR` keeps pages, pictures of them and a printout.

use crate::html_synthetic::{busy, compared, compared_in_full, invalid, points, run};
use plimsoll_report::findings::Findings;
use plimsoll_report::findings::comparison::ComparedLevel;
use plimsoll_report::html;
use plimsoll_testkit::browser::Browser;
use serde_json::{Value, json};
use std::path::Path;

/// Charts of a capture's page that has all data, and of a run's.
const CAPTURE: [&str; 10] =
    ["heat", "throughput", "rate", "mean", "percentiles", "cumulative", "decades", "mix", "depth", "service-octaves"];
const RUN: [&str; 7] =
    ["load-throughput", "load-response", "throughput-response", "load-groups", "load-data", "fairness", "highest-data"];
/// Charts that only a comparison's page has.
const COMPARISON: [&str; 3] = ["differences-chart", "compared-throughput", "compared-mean"];

fn open(browser: &mut Browser, findings: &Findings) -> Vec<String> {
    open_page(browser, &crate::page(findings))
}

/// Opens a page and names the charts that it drew.
fn open_page(browser: &mut Browser, page: &str) -> Vec<String> {
    browser.open(page);
    let drawn = browser.value("Object.keys(charts)");
    let ids: Vec<String> = drawn.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(browser.value("document.documentElement.dataset.charts"), format!("drawn:{}", ids.len()));
    ids
}

/// The pixels of a chart's canvas after all pending updates, evaluated by `then`.
fn pixels(browser: &mut Browser, id: &str, then: &str) -> Value {
    // A copy is read: the page's own canvas is not made for it.
    browser.value(&format!(
        "(() => {{ charts['{id}'].getZr().flush(); const c = document.querySelector('[data-chart={id}] canvas'); \
           const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {{ willReadFrequently: true }}); \
           copy.drawImage(c, 0, 0); return ({then})(copy.getImageData(0, 0, c.width, c.height).data.buffer); }})()"
    ))
}

/// The picture on a canvas, as a text that differs if the picture does.
fn look(browser: &mut Browser, id: &str) -> Value {
    let digest = "b => crypto.subtle.digest('SHA-256', b).then(d => Array.from(new Uint8Array(d)).join())";
    pixels(browser, id, digest)
}

fn extent(browser: &mut Browser, id: &str) -> (f64, f64) {
    let z = browser.value(&format!("(z => [z.start, z.end])(charts['{id}'].getOption().dataZoom[0])"));
    (z[0].as_f64().unwrap(), z[1].as_f64().unwrap())
}

fn painted(browser: &mut Browser, id: &str) {
    let colours = pixels(browser, id, "b => new Set(new Uint32Array(b)).size");
    assert!(colours.as_u64().unwrap() > 4, "{id} is blank: {colours} colours");
}

fn zooms(browser: &mut Browser, id: &str) {
    if browser.value(&format!("charts['{id}'].getOption().dataZoom.length")) == 0 {
        return;
    }
    let place = format!("document.querySelector('[data-chart={id}]')");
    let whole = look(browser, id);
    let middle = browser.middle(&place);
    browser.wheel_with_control(middle, -240.0);
    browser.next_frame();
    let (start, end) = extent(browser, id);
    assert!(end - start < 99.0, "{id}: the wheel zooms, {start} to {end}");
    assert_ne!(look(browser, id), whole, "{id}: zoom shows");
    browser
        .click(&format!("document.querySelector('.controls[data-for={id}] [aria-label=\"Show the whole extent\"]')"));
    assert_eq!(extent(browser, id), (0.0, 100.0), "{id}: all is shown again");
    browser.value(&format!("{place}.focus()"));
    browser.key("+", 187);
    assert_eq!(extent(browser, id), (25.0, 75.0), "{id}: zoom by key");
    browser.key("ArrowRight", 39);
    assert_eq!(extent(browser, id), (35.0, 85.0), "{id}: move by key");
    browser.key("0", 48);
    assert_eq!(extent(browser, id), (0.0, 100.0), "{id}: whole by key");
}

fn toggles(browser: &mut Browser, id: &str) {
    let buttons = format!("document.querySelectorAll('.controls[data-for={id}] button[data-series]')");
    let count = browser.value(&format!("{buttons}.length")).as_u64().unwrap();
    // What follows the mouse is gone when it is: tooltips take a tenth of a second to hide.
    browser.mouse_to(1.0, 1.0);
    browser.value("new Promise(done => setTimeout(() => done(1), 300))");
    for i in 0..count {
        let one = format!("{buttons}[{i}]");
        let before = look(browser, id);
        browser.click(&one);
        assert_eq!(browser.value(&format!("{one}.getAttribute('aria-pressed')")), "false", "{id}");
        let shown = format!("charts['{id}'].getOption().legend[0].selected[{one}.dataset.series]");
        assert_eq!(browser.value(&shown), false, "{id}");
        let has_numbers = browser.value(&format!(
            "charts['{id}'].getOption().series.some(s => s.name === {one}.dataset.series && s.data.some(d => d[1] > 0))"
        ));
        if has_numbers == true {
            assert_ne!(look(browser, id), before, "{id}: series {i} goes");
        }
        browser.click(&one);
        assert_eq!(browser.value(&shown), true, "{id}");
        assert_eq!(look(browser, id), before, "{id}: series {i} comes back");
    }
}

/// The mouse over the first point shows a tooltip of elements without untrusted markup.
fn hovers(browser: &mut Browser, id: &str) {
    let place = format!("document.querySelector('[data-chart={id}]')");
    browser.middle(&place);
    let at = browser.value(&format!(
        "(() => {{ const c = charts['{id}'], o = c.getOption(), s = o.series[0]; \
           const i = s.data.findIndex(d => d[1] !== null && d[1] !== undefined); const d = s.data[i]; \
           const cell = s.dimensions && d.length === 5; \
           const p = c.convertToPixel({{ seriesIndex: 0 }}, cell ? [(d[0] + d[2]) / 2, Math.sqrt(d[1] * d[3])] : [d[0], d[1]]); \
           const r = {place}.getBoundingClientRect(); return [r.x + p[0], r.y + p[1]]; }})()"
    ));
    browser.mouse_to(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    let tip = browser.value(&format!(
        "new Promise(done => setTimeout(() => done((t => t && [t.textContent, t.querySelectorAll(':not(div,p,span,i,b)').length])\
         ({place}.querySelector('.tip'))), 250))"
    ));
    assert!(tip[0].as_str().is_some_and(|text| text.len() > 3), "{id}: a tooltip at {at}, not {tip}");
    assert_eq!(tip[1], 0, "{id}: no name became an element");
}

/// Looks at all charts, and uses mouse and keys on those that only this page has (`own`); with `PLIMSOLL_EXACT=1` on all.
fn chart_by_chart(browser: &mut Browser, ids: &[String], own: &[&str]) {
    let is_exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    assert!(own.iter().all(|own| ids.iter().any(|id| id == own)), "{own:?} of {ids:?}");
    for id in ids {
        painted(browser, id);
        if is_exact || own.contains(&id.as_str()) {
            hovers(browser, id);
            zooms(browser, id);
            toggles(browser, id);
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
}

/// The numbers in a chart's series, as the canvas has them: all but what stands at the x axis.
fn numbers(browser: &mut Browser, id: &str, series: usize) -> Vec<Value> {
    let data = browser.value(&format!("charts['{id}'].getOption().series[{series}].data.map(d => d[1])"));
    data.as_array().unwrap().clone()
}

fn same(charted: &[Value], findings: impl IntoIterator<Item = Option<f64>>, what: &str) {
    let findings: Vec<Value> = findings.into_iter().map(|n| json!(n)).collect();
    assert!(!findings.is_empty(), "{what}");
    assert_eq!(charted.len(), findings.len(), "{what}");
    for (a, b) in charted.iter().zip(&findings) {
        assert_eq!(a.as_f64(), b.as_f64(), "{what}");
    }
}

#[test]
fn a_capture_is_drawn_reacts_and_shows_its_numbers() {
    let Some(mut browser) = Browser::start("capture") else { return };
    let findings = busy();
    let ids = open(&mut browser, &findings);
    assert_eq!(ids, CAPTURE);
    let bin = findings.series.bin_s;
    let rate = |n: &u64| Some(*n as f64 / bin);
    same(&numbers(&mut browser, "throughput", 0), findings.series.read_bytes.iter().map(rate), "read");
    same(&numbers(&mut browser, "throughput", 1), findings.series.write_bytes.iter().map(rate), "written");
    same(&numbers(&mut browser, "rate", 0), findings.series.operations.iter().map(rate), "operations");
    same(&numbers(&mut browser, "rate", 1), findings.series.errors.iter().map(rate), "errors");
    same(&numbers(&mut browser, "mean", 0), findings.series.response_mean_s.iter().copied(), "mean");
    for (i, row) in findings.groups.iter().enumerate() {
        let points = row.percentiles.iter();
        same(&numbers(&mut browser, "percentiles", i), points.clone().map(|p| Some(p.value_s)), &row.group);
        same(&numbers(&mut browser, "cumulative", i), points.map(|p| Some(p.percentile)), &row.group);
    }
    let depth = &findings.queue_depth;
    same(&numbers(&mut browser, "depth", 0), depth.at_arrival.iter().map(|d| Some(d.share * 100.0)), "at arrival");
    same(&numbers(&mut browser, "depth", 1), depth.over_time.iter().map(|d| Some(d.share * 100.0)), "over time");
    chart_by_chart(&mut browser, &ids, &CAPTURE);
}

#[test]
fn every_heat_map_can_be_chosen() {
    let Some(mut browser) = Browser::start("heat") else { return };
    let findings = busy();
    open(&mut browser, &findings);
    let maps = findings.heat_maps.iter().filter(|map| !map.cells.is_empty());
    for (i, map) in maps.enumerate() {
        browser.value(&format!(
            "(s => {{ s.value = '{i}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('.controls[data-for=heat] select'))"
        ));
        let drawn = browser.value("charts.heat.getOption().series[0].data.map(d => d[4])");
        let cells: Vec<u64> = map.cells.iter().map(|cell| cell.2).collect();
        assert_eq!(drawn, json!(cells), "{}", map.group);
        painted(&mut browser, "heat");
        assert_eq!(browser.value("document.activeElement.tagName"), "SELECT", "the focus stays where it was");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn charts_over_time_zoom_together() {
    let Some(mut browser) = Browser::start("together") else { return };
    open(&mut browser, &busy());
    browser.click("document.querySelector('.controls[data-for=throughput] [aria-label=\"Zoom in\"]')");
    for id in ["heat", "throughput", "rate", "mean"] {
        let (start, end) = extent(&mut browser, id);
        assert!((start - 25.0).abs() < 0.1 && (end - 75.0).abs() < 0.1, "{id}: {start} to {end}");
    }
    assert_eq!(extent(&mut browser, "percentiles"), (0.0, 100.0), "percentiles have another axis");
}

#[test]
fn a_run_shows_its_load_curves() {
    let Some(mut browser) = Browser::start("run") else { return };
    let findings = run();
    let ids = open(&mut browser, &findings);
    assert_eq!(ids.iter().filter(|id| RUN.contains(&id.as_str())).count(), RUN.len(), "{ids:?}");
    for (i, curve) in ["SMB", "NFS"].into_iter().enumerate() {
        let levels: Vec<_> =
            findings.levels.iter().filter(|level| level.facts.curve.as_deref() == Some(curve)).collect();
        let rates = || levels.iter().map(|level| Some(level.operations_per_s));
        let means = || levels.iter().map(|level| Some(level.response_time.unwrap().mean_s));
        same(&numbers(&mut browser, "load-throughput", i), rates(), curve);
        same(&numbers(&mut browser, "load-response", i), means(), curve);
        same(&numbers(&mut browser, "throughput-response", i), means(), curve);
        let x = browser.value(&format!("charts['throughput-response'].getOption().series[{i}].data.map(d => d[0])"));
        same(x.as_array().unwrap(), rates(), curve);
    }
    chart_by_chart(&mut browser, &ids, &RUN);
}

#[test]
fn a_comparison_is_the_same_page_with_more_series() {
    let Some(mut browser) = Browser::start("comparison") else { return };
    let report = compared_in_full([busy(), run()]);
    let (comparison, findings) = (report.comparison.as_ref().unwrap(), &report.sides);
    let ids = open_page(&mut browser, &html::page(&report).unwrap());
    assert_eq!(ids[..3], COMPARISON);
    // Service times in powers of two have a chart for each operation of one side; two sides would be too many.
    assert_eq!(ids.iter().filter(|id| CAPTURE.contains(&id.as_str())).count(), CAPTURE.len() - 1, "{ids:?}");
    for (i, chart, metric) in [(0, "compared-throughput", 0), (1, "compared-throughput", 0), (1, "compared-mean", 1)] {
        let of = |level: &ComparedLevel| level.rows[0].metrics[metric].estimates[i].as_ref().map(|e| e.value);
        same(&numbers(&mut browser, chart, i), comparison.levels.iter().map(of), chart);
    }
    let rows = comparison.levels[0].rows.iter().flat_map(|row| &row.metrics);
    let relative = rows.map(|metric| Some(metric.differences[0].as_ref().unwrap().relative.unwrap() * 100.0));
    same(&numbers(&mut browser, "differences-chart", 0), relative, "differences");
    for (i, side) in findings.iter().enumerate() {
        let rate = |n: &u64| Some(*n as f64 / side.series.bin_s);
        same(&numbers(&mut browser, "rate", 2 * i), side.series.operations.iter().map(rate), "operations");
    }
    // A chart of one capture, here with more series.
    chart_by_chart(&mut browser, &ids, &[&COMPARISON[..], &["rate"]].concat());
}

#[test]
fn a_history_shows_every_number_that_is_chosen() {
    let Some(mut browser) = Browser::start("history") else { return };
    let history = crate::history::three_weeks_history();
    assert_eq!(open_page(&mut browser, &html::history(&history).unwrap()), ["history"]);
    let mut metrics: Vec<_> = history.series[0].metrics.iter().collect();
    metrics.sort_by_key(|metric| metric.changes.is_empty());
    for (place, metric) in metrics.into_iter().enumerate() {
        browser.value(&format!(
            "(s => {{ s.value = '{place}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('.controls[data-for=history] select'))"
        ));
        let runs = history.series[0].runs.iter().zip(&metric.points).filter(|(run, _)| run.counted);
        let values = runs.map(|(_, point)| Some(point.as_ref()?.value));
        same(&numbers(&mut browser, "history", 0), values, &metric.label());
        painted(&mut browser, "history");
    }
    assert_eq!(browser.value(include_str!("browser/contrast.js")), json!([]));
}

#[test]
fn every_point_of_two_servers_is_on_one_sheet() {
    let Some(mut browser) = Browser::start("compact") else { return };
    let report = points();
    let comparison = report.comparison.as_ref().unwrap();
    let ids = open_page(&mut browser, &html::compact(&report).unwrap());
    let drawn = ["points-data", "points-operations", "points-read", "points-write", "points-open", "points-other"];
    assert_eq!(ids, drawn);
    for (id, group, metric, times) in [
        ("points-data", None, "bytes", 8.0),
        ("points-read", Some("Read"), "mean", 1.0),
        ("points-other", Some("Other"), "mean", 1.0),
    ] {
        for side in 0..2 {
            let of = |level: &ComparedLevel| {
                let row = level.rows.iter().find(|row| row.name == group.unwrap_or("All"))?;
                let found = row.metrics.iter().find(|one| one.metric == metric)?;
                Some(found.estimates[side].as_ref()?.value * times)
            };
            same(&numbers(&mut browser, id, side), comparison.levels.iter().map(of), id);
        }
    }
    assert_eq!(browser.value(include_str!("browser/contrast.js")), json!([]));
    chart_by_chart(&mut browser, &ids, &drawn);
    browser.media("print", "light");
    let shown = "Array.from(document.querySelectorAll('SELECTOR')).filter(e => e.checkVisibility()).length";
    assert_eq!(browser.value(&shown.replace("SELECTOR", ".static svg")), drawn.len());
    assert_eq!(pages(&mut browser), 1, "seven load levels and two servers are one sheet");
}

#[test]
fn a_level_unfolds_and_its_tables_can_be_read() {
    let Some(mut browser) = Browser::start("levels") else { return };
    open(&mut browser, &run());
    let shown = "Array.from(document.querySelectorAll('details table')).filter(e => e.checkVisibility()).length";
    assert_eq!(browser.value(shown), 0);
    browser.click("document.querySelector('details summary')");
    assert_eq!(browser.value(shown), 3, "groups, operations and decades of one level");
    assert_eq!(browser.value(include_str!("browser/contrast.js")), json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Sheets that the page takes on paper.
fn pages(browser: &mut Browser) -> usize {
    let file = browser.folder().join("page.pdf");
    browser.print(&file);
    String::from_utf8_lossy(&std::fs::read(&file).unwrap()).matches("/Type /Page\n").count()
}

#[test]
fn a_comparison_without_its_subjects_reports_shows_the_differences() {
    let Some(mut browser) = Browser::start("differences") else { return };
    let ids = open_page(&mut browser, &html::page(&compared()).unwrap());
    assert_eq!(ids, COMPARISON);
    assert_eq!(browser.value(include_str!("browser/contrast.js")), json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_missing_leaves_no_hole() {
    let Some(mut browser) = Browser::start("missing") else { return };
    let mut findings = busy();
    findings.heat_maps.clear();
    findings.series = Default::default();
    findings.queue_depth = Default::default();
    assert_eq!(open(&mut browser, &findings), ["percentiles", "cumulative", "decades", "mix", "service-octaves"]);
    findings.groups.clear();
    findings.operations.clear();
    assert_eq!(open(&mut browser, &findings), Vec::<String>::new());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn numbers_at_the_edge_are_drawn() {
    let Some(mut browser) = Browser::start("edge") else { return };
    let mut findings = busy();
    // A first row that begins at nought, times of nought, one operation in all.
    findings.heat_maps.truncate(1);
    findings.heat_maps[0].edges_s[0] = 0.0;
    findings.heat_maps[0].cells = vec![(0, 0, 1)];
    findings.groups.truncate(1);
    findings.groups[0].percentiles[0].value_s = 0.0;
    let ids = open(&mut browser, &findings);
    assert_eq!(ids, CAPTURE);
    ids.iter().for_each(|id| hovers(&mut browser, id));
    chart_by_chart(&mut browser, &ids, &[]);
}

/// If a server has an operation only now and then, a line without marks shows nothing.
#[test]
fn points_without_neighbours_are_drawn() {
    let Some(mut browser) = Browser::start("alone") else { return };
    let mut findings = busy();
    // A line of 100 points usually has no marks.
    for (every, marked) in [(1, false), (2, true)] {
        findings.series.response_mean_s = (0..100).map(|bin| (bin % every == 0).then_some(1e-3)).collect();
        open(&mut browser, &findings);
        assert_eq!(browser.value("charts.mean.getOption().series[0].showSymbol"), marked, "every {every}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn dark_pages_follow_the_reader_and_every_text_can_be_read() {
    let Some(mut browser) = Browser::start("contrast") else { return };
    open(&mut browser, &invalid());
    let light = look(&mut browser, "throughput");
    for scheme in ["light", "dark"] {
        browser.media("screen", scheme);
        let faint = browser.value(include_str!("browser/contrast.js"));
        assert_eq!(faint, json!([]), "{scheme}: text with a contrast below 4.5 to 1");
    }
    assert_ne!(look(&mut browser, "throughput"), light, "charts change with the theme");
    browser.media("screen", "light");
    assert_eq!(look(&mut browser, "throughput"), light);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_keyboard_reaches_everything_and_shows_where_it_is() {
    let Some(mut browser) = Browser::start("keyboard") else { return };
    open(&mut browser, &run());
    let mut reached = Vec::new();
    for _ in 0..400 {
        browser.key("Tab", 9);
        let here = browser.value(
            "(e => e === document.body ? null : [e.tagName + '.' + e.className, getComputedStyle(e).outlineWidth, \
             e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent])(document.activeElement)",
        );
        if here.is_null() {
            break;
        }
        assert_ne!(here[1], "0px", "{here}: the focus shows");
        assert_ne!(here[2], "", "{here}: it has a name");
        reached.push(here[0].as_str().unwrap().to_owned());
    }
    assert_eq!(reached.first().map(String::as_str), Some("A.skip"));
    let charts = reached.iter().filter(|e| *e == "DIV.chart").count();
    assert_eq!(browser.value("document.querySelectorAll('.chart').length"), charts, "{reached:?}");
    for control in ["BUTTON.", "SELECT.", "DIV.scroll"] {
        assert!(reached.iter().any(|e| e == control), "{control} in {reached:?}");
    }
}

#[test]
fn without_scripts_the_pictures_stand() {
    let Some(mut browser) = Browser::start("no-scripts") else { return };
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(&crate::page(&run()));
    let root = browser.call("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let mut find = |selector: &str| {
        let asked = json!({ "nodeId": root, "selector": selector });
        browser.call("DOM.querySelectorAll", asked)["nodeIds"].as_array().unwrap().clone()
    };
    assert_eq!(find("canvas").len(), 0);
    let pictures = find(".static svg");
    assert_eq!(pictures.len(), CAPTURE.len() + RUN.len());
    for picture in pictures {
        // It has a box only where it is shown.
        let width = browser.call("DOM.getBoxModel", json!({ "nodeId": picture }))["model"]["width"].clone();
        assert!(width.as_u64().unwrap() > 400, "{width}");
    }
}

#[test]
fn paper_has_pictures_and_whole_tables() {
    let Some(mut browser) = Browser::start("paper") else { return };
    open(&mut browser, &busy());
    browser.media("print", "light");
    let shown = "Array.from(document.querySelectorAll('SELECTOR')).filter(e => e.checkVisibility()).length";
    assert_eq!(browser.value(&shown.replace("SELECTOR", ".static svg")), CAPTURE.len());
    assert_eq!(browser.value(&shown.replace("SELECTOR", "canvas, nav")), 0);
    let pages = pages(&mut browser);
    assert!((5..40).contains(&pages), "{pages} pages");
}

#[test]
fn pictures_for_the_documentation() {
    let Some(folder) = std::env::var_os("PLIMSOLL_SCREENSHOTS") else { return };
    let Some(mut browser) = Browser::start("pictures") else { return };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    let mut shot = |findings: &Findings, name: &str, (width, height): (u32, u32), scheme: &str| {
        let page = crate::page(findings);
        std::fs::write(folder.join(name).with_extension("html"), &page).unwrap();
        browser.size(width, height);
        browser.media("", scheme);
        browser.open(&page);
        browser.picture(&folder.join(name));
    };
    shot(&busy(), "report-capture-light.png", (1360, 2300), "light");
    shot(&run(), "report-run-dark.png", (1360, 2300), "dark");
    shot(&invalid(), "report-invalid-narrow.png", (600, 1600), "light");
    let page = html::page(&compared_in_full([busy(), run()])).unwrap();
    std::fs::write(folder.join("report-comparison.html"), &page).unwrap();
    browser.size(1360, 1900);
    browser.media("", "light");
    browser.open(&page);
    browser.picture(&folder.join("report-comparison.png"));
    browser.open(&crate::page(&run()));
    browser.print(&folder.join("report-print.pdf"));
    let page = html::compact(&points()).unwrap();
    std::fs::write(folder.join("report-compact.html"), &page).unwrap();
    browser.open(&page);
    browser.picture(&folder.join("report-compact.png"));
    browser.print(&folder.join("report-compact.pdf"));
    let page = html::history(&crate::history::three_weeks_history()).unwrap();
    std::fs::write(folder.join("history.html"), &page).unwrap();
    browser.open(&page);
    browser.picture(&folder.join("history.png"));
}
