//! The page as text: untrusted names stay text, there are no external references, the numbers are those of the findings.

use crate::html_synthetic::{NASTY, busy, compared, compared_in_full, invalid, points, run};
use plimsoll_report::collect::repeats::repeats;
use plimsoll_report::findings::comparison::ComparedLevel;
use plimsoll_report::findings::{
    ClientRow, ClientSpread, FailureCount, Fairness, Findings, Generator, Reason, Report, Run, ServerSide, Stage,
    Users, Validity,
};
use plimsoll_report::text::{Section, Sections, Style};
use plimsoll_report::{html, text};
use serde_json::Value;

/// Ceiling for a typical page, bytes.
const TYPICAL: usize = 2_000_000;
/// Ceiling for any page, bytes.
const LARGEST: usize = 6_000_000;

/// The page without its scripts and its data: the markup for an HTML parser.
fn markup(page: &str) -> String {
    let mut markup = String::new();
    let mut rest = page;
    while let Some(start) = rest.find("<script") {
        let (before, script) = rest.split_at(start);
        markup.push_str(before);
        rest = script.split_once("</script>").expect("every script ends").1;
    }
    markup.push_str(rest);
    markup
}

fn embedded(page: &str) -> &str {
    let start = "<script type=\"application/json\" id=\"findings\">";
    page.split_once(start).expect("the data are there").1.split_once("</script>").expect("and end").0
}

#[test]
fn hostile_names_stay_text() {
    let page = crate::page(&busy());
    let markup = markup(&page);
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    // Four elements: findings, charts, the library, our script. A name that got through would add one.
    assert_eq!(page.matches("</script>").count(), 4);
    for raw in ["<img", "onerror=alert(2)>", "<!--", "' onmouseover='alert(3)\""] {
        assert!(!markup.contains(raw), "{raw} is in the markup");
    }
    for shown in [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&quot;&gt;&lt;img src=x onerror=alert(2)&gt;",
        "&lt;/script&gt;&lt;script&gt;alert(4)//",
        "invoice\\u{202e}fdp.exe",
        "\\u{1b}[31mred\\u{85}\\u{2028}\\u{2029}\\u{200b}line\\u{a}break",
        "&amp;lt;b&amp;gt; {{7*7}}",
        "طلب\\u{2069} наряд 注文",
    ] {
        assert!(markup.contains(shown), "{shown} is not shown");
    }
    let acting = |c: &char| matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    assert_eq!(page.chars().find(acting), None, "a character that acts is in the page");
}

#[test]
fn names_in_runs_and_comparisons_stay_text() {
    let comparison = html::page(&compared_in_full([busy(), run()])).unwrap();
    for (page, facts) in [(crate::page(&run()), true), (comparison, true), (html::compact(&compared()).unwrap(), false)]
    {
        let markup = markup(&page);
        assert_eq!(page.matches("</script>").count(), 4);
        assert!(!markup.contains("<img") && markup.contains("&quot;&gt;&lt;img src=x onerror=alert(2)&gt;"));
        assert!(!page.contains('\u{202e}') && markup.contains("invoice\\u{202e}fdp.exe") == facts);
    }
}

#[test]
fn attributes_hold_whatever_a_name_holds() {
    let mut findings = busy();
    for (row, name) in findings.groups.iter_mut().zip(NASTY) {
        row.group = name.into();
    }
    for map in &mut findings.heat_maps {
        map.group = NASTY[1].into();
    }
    findings.source.tool = NASTY[1].into();
    let markup = markup(&crate::page(&findings));
    assert!(!markup.contains("<img"));
    assert!(markup.contains("aria-label=\"Latency heat map, &quot;&gt;&lt;img"));
}

#[test]
fn data_come_back_as_they_were() {
    for findings in [busy(), invalid()] {
        let page = crate::page(&findings);
        let data = embedded(&page);
        assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<Report>(data).unwrap().only(), Some(&findings));
    }
}

#[test]
fn nothing_outside_is_referred_to() {
    let page = crate::page(&busy());
    let markup = markup(&page);
    for attribute in
        [" src=", " srcset=", " action=", " data=", "<iframe", "<object", "<embed", "<base", "@import", "url("]
    {
        // Names full of markup are shown with their quotes escaped, never as an attribute of ours.
        let ours = markup.replace("&lt;img src=x onerror", "");
        assert!(!ours.contains(attribute), "{attribute}");
    }
    for part in markup.split(" href=\"").skip(1) {
        assert!(part.starts_with('#') || part.starts_with("data:"), "{}", &part[..40.min(part.len())]);
    }
    assert!(!markup.contains("https://"));
    // The only address is the name of the SVG vocabulary in the icon, which is not loaded.
    assert_eq!(markup.matches("http://").count(), markup.matches("xmlns='http://www.w3.org/2000/svg'").count());
    let policy = "content=\"default-src 'none'; script-src 'sha256-";
    assert!(markup.contains(policy) && !markup.contains("unsafe-eval"));
}

#[test]
fn numbers_are_those_of_the_findings() {
    let findings = busy();
    let markup = markup(&crate::page(&findings));
    let read = findings.operations.iter().find(|row| row.procedure == "READ_ANDX").unwrap();
    let line = markup.split("<th scope=\"row\">READ_ANDX").nth(1).unwrap().split("</tr>").next().unwrap();
    let cells: Vec<&str> =
        line.split("<td").skip(1).map(|cell| cell.split('>').nth(1).unwrap().trim_end_matches("</td")).collect();
    let times = read.response_time.unwrap();
    let plain = |cell: &str| cell.replace(',', "").parse::<f64>().unwrap();
    let expected = [
        times.min_s,
        times.max_s,
        times.p50_s,
        times.mean_s,
        times.stddev_s.unwrap(),
        times.p90_s,
        times.p95_s,
        times.p99_s,
        times.p999_s,
    ];
    assert_eq!(plain(cells[0]), read.count as f64);
    assert_eq!(plain(cells[3]), read.errors as f64);
    for (cell, s) in cells[5..14].iter().zip(expected) {
        assert!((plain(cell) - s * 1e3).abs() <= 0.0005, "{cell} is not {s} s");
    }
}

#[test]
fn a_request_is_counted_once() {
    let findings = busy();
    let markup = markup(&crate::page(&findings));
    let once = findings.operations.iter().filter(|row| row.parent.is_none());
    let tile = markup.split("<dt>Operations</dt><dd><strong>").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(tile.replace(',', "").parse::<u64>().unwrap(), once.map(|row| row.count).sum::<u64>());
    assert!(findings.operations.iter().any(|row| row.parent.is_some()), "there are subcommands to count twice");
}

#[test]
fn validity_is_said_first() {
    let valid = markup(&crate::page(&busy()));
    assert!(valid.contains("<p class=\"stamp valid\">Valid</p>") && !valid.contains("must not be used"));
    let not = markup(&crate::page(&invalid()));
    assert!(not.contains("<p class=\"stamp invalid\">Invalid</p>"));
    assert!(not.contains("62 % of the packets were dropped by the capture."));
}

#[test]
fn partial_numbers_need_not_be_incomplete() {
    let validity = Validity::of([Reason::partial("the load generator was late")]);
    let markup = markup(&crate::page(&Findings { validity, ..run() }));
    assert!(markup.contains("Some numbers are incomplete or not reliable.") && !markup.contains("data are missing"));
}

#[test]
fn the_rate_of_a_capture_counts_answered_requests() {
    let mut findings = busy();
    findings.operations.iter_mut().for_each(|row| row.answered = 0);
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("<small>0.0/s answered on average</small>"));
}

/// A run has no capture, and its client stops waiting before the run ends.
#[test]
fn requests_without_a_response_have_no_age_in_a_run() {
    let unanswered = busy().unanswered;
    assert!(markup(&crate::page(&busy())).contains("Age, ms"));
    let of_a_run = markup(&crate::page(&Findings { unanswered, ..run() }));
    assert!(of_a_run.contains("Requests without a response.") && !of_a_run.contains("Age, ms"));
}

#[test]
fn each_reason_has_its_own_verdict() {
    let mut findings = run();
    let reasons = || [Reason::invalid("it was late"), Reason::partial("it was interrupted")];
    findings.validity = Validity::of(reasons());
    findings.stages[0].validity = Validity::of(reasons().into_iter().skip(1));
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("<li>Invalid: it was late</li><li>Partial: it was interrupted</li>"));
    assert!(markup.contains("(partial)</summary><div class=\"notice\"><ul><li>Partial: it was interrupted</li>"));
}

#[test]
fn fairness_that_may_be_the_generators_is_marked() {
    let mut findings = run();
    assert!(!markup(&crate::page(&findings)).contains("The load generator, not the server, may cause the differences"));
    findings.stages.iter_mut().for_each(|stage| stage.fairness.attributable = false);
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("* The load generator, not the server, may cause the differences"));
    let jain = findings.stages.iter().find(|stage| stage.fairness.clients > 1).and_then(|stage| stage.fairness.jain);
    assert!(markup.contains(&format!("<td>{:.3}*</td>", jain.unwrap())));
    assert!(markup.contains("At levels marked *"));
}

/// The charts that the script draws, by their figure's id.
fn charts(page: &str, id: &str) -> Vec<Value> {
    let start = "<script type=\"application/json\" id=\"charts\">";
    let all = page.split_once(start).expect("the charts are there").1.split_once("</script>").expect("and end").0;
    let all: Vec<Value> = serde_json::from_str(all).unwrap();
    let of = all.into_iter().filter(|figure| figure["id"] == id);
    of.flat_map(|figure| figure["choices"].as_array().unwrap().clone()).map(|choice| choice["chart"].clone()).collect()
}

/// FSCT's columns as curves: the axis counts users, with the planned and the achieved rate.
#[test]
fn users_have_charts_of_overload_and_throughput() {
    let mut findings = run();
    assert!(charts(&crate::page(&findings), "users-overload").is_empty(), "nobody has a schedule");
    findings.stages.retain(|stage| stage.curve.as_deref() == Some("SMB"));
    for (stage, (users, overload)) in
        findings.stages.iter_mut().zip([(100, 0.0), (200, 0.0), (300, 0.08), (400, 0.5), (500, 0.8)])
    {
        stage.asked_per_s = Some(users as f64 / 11.0);
        stage.curve = None;
        stage.users = Some(Users { users, overload, failed_share: overload / 10.0, ..Users::default() });
    }
    let page = crate::page(&findings);
    let [overload] = &charts(&page, "users-overload")[..] else { panic!("one chart") };
    assert_eq!(overload["x"]["name"], "users");
    let series = overload["series"].as_array().unwrap();
    assert_eq!((&series[0]["name"], &series[1]["name"]), (&"overload".into(), &"errors".into()));
    assert_eq!(series[0]["x"], serde_json::json!([100.0, 200.0, 300.0, 400.0, 500.0]));
    assert_eq!(series[0]["y"], serde_json::json!([0.0, 0.0, 8.0, 50.0, 80.0]));
    let [throughput] = &charts(&page, "users-throughput")[..] else { panic!("one chart") };
    assert_eq!(throughput["series"][1]["name"], "planned");
    assert_eq!(throughput["series"][1]["y"][0], 100.0 / 11.0);
    assert_eq!(charts(&page, "load-response")[0]["x"]["name"], "users");
    let curves = plimsoll_report::collect::curves::curves(&findings.stages);
    assert_eq!((curves[0].load.as_str(), curves[0].points[4].load), ("users", 500.0));
    assert!(curves[0].knee.missing.as_deref().is_some_and(|why| why.contains("a schedule")));
}

/// The server's disk metrics show whether a stream came from disks or from the cache.
#[test]
fn the_share_of_data_from_disks_stands_below_the_servers_numbers() {
    let mut findings = run();
    let rates = [(1e8, Some(0.0)), (1e8, Some(9.7e7)), (0.0, Some(5.0)), (1e8, None)];
    for (stage, (read, disk_read_bytes_per_s)) in findings.stages.iter_mut().zip(rates) {
        stage.read_bytes_per_s = read;
        stage.server = Some(ServerSide { disk_read_bytes_per_s, ..ServerSide::default() });
    }
    let [first, second] = [0, 1].map(|at| findings.stages[at].words());
    let said = format!("as a percentage of the file data that clients read: {first} 0 %; {second} 97 %.");
    assert!(markup(&crate::page(&findings)).contains(&said), "{said}");
}

/// Poo and Tan's figure 12 has those without errors, too.
#[test]
fn the_chart_of_errors_has_every_client() {
    let mut findings = run();
    let at_four = findings.stages.iter_mut().find(|stage| stage.clients == 4).unwrap();
    at_four.spread.clients = clients([(10, 0), (8, 0), (10, 5), (12, 0)]);
    findings.stages.retain(|stage| stage.clients <= 4);
    let errors = charts(&crate::page(&findings), "client-errors");
    assert_eq!(errors[0]["x"]["names"], serde_json::json!(["client 1", "client 2", "client 3", "client 4"]));
    assert_eq!(errors[0]["series"][0]["y"], serde_json::json!([0.0, 0.0, 5.0, 0.0]));
    findings.stages.iter_mut().for_each(|stage| stage.spread.clients.iter_mut().for_each(|one| one.errors = 0));
    assert!(charts(&crate::page(&findings), "client-errors").is_empty(), "nobody has errors");
}

/// Iterations and errors of each client; all have the mean response time.
fn clients<const N: usize>(of: [(u64, u64); N]) -> Vec<ClientRow> {
    let mean = of.iter().map(|(iterations, _)| *iterations).sum::<u64>() as f64 / N as f64;
    let row = |(client, &(iterations, errors)): (u32, &(u64, u64))| ClientRow {
        client,
        iterations,
        iterations_ratio: Some(iterations as f64 / mean),
        actions: iterations,
        errors,
        mean_s: Some(0.002),
        mean_ratio: Some(1.0),
        thread: 0,
    };
    (1..).zip(&of).map(row).collect()
}

/// Poo and Tan's figure 11 for every client, and the same for two servers.
#[test]
fn every_client_stands_beside_the_others() {
    let mut report = compared();
    let level = varied().stages.into_iter().find(|stage| stage.clients == 4).unwrap();
    for (side, served) in
        report.sides.iter_mut().zip([[(10, 0), (10, 0), (10, 0), (10, 0)], [(19, 0), (1, 0), (10, 2), (10, 0)]])
    {
        let mut stage = level.clone();
        stage.spread.clients = clients(served);
        side.stages = vec![stage];
    }
    let page = html::page(&report).unwrap();
    let charts = charts(&page, "each-client");
    assert_eq!(charts.len(), 2, "iterations and response time of the one level");
    assert_eq!(charts[0]["x"]["names"], serde_json::json!(["1", "2", "3", "4"]));
    let series = charts[0]["series"].as_array().unwrap();
    assert_eq!((&series[0]["name"], &series[1]["name"]), (&"A".into(), &"B".into()));
    assert_eq!(
        (&series[0]["y"], &series[1]["y"]),
        (&serde_json::json!([1.0, 1.0, 1.0, 1.0]), &serde_json::json!([1.9, 0.1, 1.0, 1.0]))
    );
    let style = Style { sections: Sections::NONE.with(Section::Clients), ..Style::default() };
    let text = text::to_string(&report, &style);
    let second = text.lines().skip_while(|line| !line.starts_with("B: 4 clients")).nth(2).unwrap();
    let cells: Vec<&str> = second.split_whitespace().collect();
    assert_eq!(cells, ["client", "2", "1", "0.10", "1", "0", "0.00200", "1.00"], "{text}");
}

/// Two servers, two sizes: no line connects points of different sizes, data has an axis in bits, and the maxima of each server and size
/// are compared.
#[test]
fn several_servers_have_curves_of_each_size() {
    let mut report = compared();
    let stages = varied().stages;
    for (side, rate) in report.sides.iter_mut().zip([1.0, 2.0]) {
        side.stages = stages.clone();
        side.stages.iter_mut().for_each(|stage| stage.read_bytes_per_s *= rate);
        side.stages.iter_mut().for_each(|stage| stage.write_bytes_per_s = 0.0);
    }
    let comparison = report.comparison.as_mut().unwrap();
    let first = comparison.levels[0].clone();
    let words = stages.iter().map(|stage| stage.words());
    comparison.levels = words.map(|level| ComparedLevel { level, ..first.clone() }).collect();
    let page = html::page(&report).unwrap();
    let compared = charts(&page, "compared-mean");
    assert_eq!(compared.len(), 2, "a chart a size");
    assert_eq!(compared[0]["x"]["names"], serde_json::json!(["1", "2", "4", "8", "16"]));
    let trade = charts(&page, "throughput-response");
    assert_eq!((&trade[0]["x"]["unit"], &trade[1]["x"]["unit"]), (&"bits_per_second".into(), &"per_second".into()));
    assert_eq!(trade[0]["series"].as_array().unwrap().len(), 4);
    assert_eq!(charts(&page, "load-data")[0]["y"]["unit"], "bits_per_second");
    let [most] = &charts(&page, "highest-data")[..] else { panic!("one chart") };
    assert_eq!(most["x"]["names"], serde_json::json!(["block=1kB", "block=30kB"]));
    let series = most["series"].as_array().unwrap();
    assert_eq!((&series[0]["name"], &series[1]["name"]), (&"A, read".into(), &"B, read".into()));
    let best = |curve: &str| {
        let own = stages.iter().filter(|stage| stage.validity.valid && stage.curve.as_deref() == Some(curve));
        own.map(|stage| 8.0 * stage.read_bytes_per_s).fold(0.0, f64::max)
    };
    assert_eq!(series[0]["y"], serde_json::json!([best("block=1kB"), best("block=30kB")]), "only valid levels");
    let row = format!("<td>{:.1}</td>", 2.0 * best("block=1kB") / 1e6);
    assert!(markup(&page).contains(&row), "{row} is in the table");
}

/// The times of an operation before and after, and their numbers.
#[test]
fn a_comparison_has_charts_of_each_procedure() {
    let mut report = compared();
    assert!(charts(&html::page(&report).unwrap(), "procedure-times").is_empty(), "it has no procedures");
    let level = &mut report.comparison.as_mut().unwrap().levels[1];
    let mut rows = level.rows[1..2].to_vec();
    rows.push(rows[0].clone());
    for (row, (name, rate)) in rows.iter_mut().zip([("CLOSE", 900.0), ("CREATE", 1000.0)]) {
        (row.scope, row.name) = ("procedure".to_owned(), name.to_owned());
        row.metrics[0].estimates[0].as_mut().unwrap().value = rate;
        row.metrics[0].estimates[1].as_mut().unwrap().value = 800.0;
        row.metrics[1].estimates[0].as_mut().unwrap().value = rate / 1e6;
    }
    level.rows.extend(rows);
    let page = html::page(&report).unwrap();
    let [times] = &charts(&page, "procedure-times")[..] else { panic!("the other levels have no procedures") };
    assert_eq!(times["x"]["names"], serde_json::json!(["CREATE", "CLOSE"]));
    assert_eq!((&times["series"][0]["name"], &times["series"][1]["name"]), (&"A".into(), &"B".into()));
    assert_eq!(times["series"][0]["y"], serde_json::json!([1e-3, 9e-4]));
    assert_eq!(charts(&page, "procedure-rates")[0]["series"][1]["y"], serde_json::json!([800.0, 800.0]));
}

#[test]
fn tables_are_tables_to_a_screen_reader() {
    let markup = markup(&crate::page(&busy()));
    assert_eq!(markup.matches("<table").count(), markup.matches("<caption").count());
    assert_eq!(markup.matches("<th").count() - markup.matches("<thead").count(), markup.matches(" scope=\"").count());
    assert_eq!(markup.matches("class=\"chart\"").count(), 10);
    assert_eq!(markup.matches("<svg viewBox=\"0 0 960 290\" role=\"img\" aria-label=\"").count(), 10);
}

/// A number of the page, in the JSON's unit.
fn number(text: &str) -> f64 {
    let of = |unit: &str, factor: f64| Some(text.strip_suffix(unit)?.replace(',', "").parse::<f64>().unwrap() * factor);
    let units = [("/s", 1.0), (" ns", 1e-9), (" µs", 1e-6), (" ms", 1e-3), (" s", 1.0)];
    units.into_iter().find_map(|(unit, factor)| of(unit, factor)).unwrap_or_else(|| panic!("{text} has no unit"))
}

/// The page's repeats equal those in the JSON, which are made from the stages.
#[test]
fn repeats_are_those_of_the_json() {
    let mut findings = run();
    let first = findings.stages[0].clone();
    findings.stages = (0..3u32)
        .map(|repeat| {
            let (mut stage, times) = (first.clone(), 1.0 + f64::from(repeat) / 10.0);
            (stage.number, stage.curve) = (repeat, Some(format!("repeat {}", repeat + 1)));
            stage.operations_per_s *= times;
            stage.response_time = stage.response_time.map(|of| plimsoll_report::findings::Times {
                mean_s: of.mean_s * times,
                p50_s: of.p50_s * times,
                p99_s: of.p99_s * times,
                ..of
            });
            stage
        })
        .collect();
    findings.repeats = repeats(&findings.stages);
    let page = crate::page(&findings);
    let json: serde_json::Value = serde_json::from_str(embedded(&page)).unwrap();
    let level = &json["sides"][0]["repeats"][0];
    assert_eq!((&level["stages"], &level["valid"]), (&serde_json::json!([0, 1, 2]), &true.into()));
    let table =
        markup(&page).split("id=\"repeats-caption\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
    let cells: Vec<&str> = table.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap()).collect();
    assert_eq!(cells[0], "3");
    let of = ["operations_per_s", "response_mean_s", "response_p50_s", "response_p99_s"];
    let from = [
        first.operations_per_s,
        first.response_time.unwrap().mean_s,
        first.response_time.unwrap().p50_s,
        first.response_time.unwrap().p99_s,
    ];
    for ((name, cell), one) in of.into_iter().zip(&cells[1..]).zip(from) {
        let spread = |field: &str| level[name][field].as_f64().unwrap();
        let half = level[name]["interval"]["high"].as_f64().unwrap() - spread("mean");
        let numbers: Vec<f64> = cell
            .trim_end_matches(')')
            .split(['±', '('])
            .flat_map(|part| part.split(" to "))
            .map(|text| number(text.trim()))
            .collect();
        for (shown, expected) in numbers.iter().zip([spread("mean"), half, spread("min"), spread("max")]) {
            // Three digits.
            assert!((shown / expected - 1.0).abs() < 0.006, "{name}: {shown} is not {expected}: {cell}");
        }
        assert_eq!(numbers.len(), 4);
        // Values of 1, 1.1 and 1.2 times a number: the deviation is a tenth of it, and Student's t with two degrees is 4.303.
        assert!((spread("mean") / one - 1.1).abs() < 1e-9 && (spread("max") / one - 1.2).abs() < 1e-9);
        assert!((half / one - 4.302_653 * 0.1 / 3f64.sqrt()).abs() < 1e-6, "{half} of {one}");
    }
    // Other values of the varied parameter are other levels, not repeats.
    for stage in &mut findings.stages {
        stage.curve = Some(format!("block={}B, repeat 1", stage.number));
    }
    assert!(repeats(&findings.stages).is_empty());
}

/// Each level of a run has its own tables of Appendix A, with distinct names.
#[test]
fn every_load_level_has_its_own_tables() {
    let findings = run();
    let markup = markup(&crate::page(&findings));
    assert_eq!(markup.matches("<details>").count(), findings.stages.len());
    let mut ids: Vec<&str> = markup.split(" id=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    for stage in &findings.stages {
        for table in ["groups", "operations", "decades"] {
            assert!(
                ids.contains(&format!("level-{}-{table}-caption", stage.number).as_str()),
                "{table} of {}",
                stage.level
            );
        }
    }
    ids.sort_unstable();
    assert_eq!(ids.windows(2).find(|pair| pair[0] == pair[1]), None, "an id stands twice");
    let means = markup.split("id=\"load-groups-caption\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert_eq!(means.matches("<tr>").count(), findings.stages.len() + 1);
    // One level has the page to itself.
    let mut one = run();
    one.stages.truncate(1);
    assert!(!crate::page(&one).contains("<details>"));
}

/// A line a subject a level, and a mark only where there is something to differ from.
#[test]
fn the_compact_page_has_every_point_of_every_subject() {
    let report = points();
    let comparison = report.comparison.as_ref().unwrap();
    let markup = markup(&html::compact(&report).unwrap());
    let table = markup.split("class=\"points\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert_eq!(table.matches("<tr>").count(), 1 + 2 * comparison.levels.len());
    let lines: Vec<&str> = table.split("<tr>").skip(2).collect();
    let marks = |line: &str| ["▲", "▼", "<small>=</small>"].map(|mark| line.matches(mark).count());
    // Operations, data and seven groups, at the first level and at the last: reads differ under load only.
    assert_eq!([marks(lines[0]), marks(lines[1])], [[0, 0, 0], [8, 0, 1]]);
    assert_eq!([marks(lines[12]), marks(lines[13])], [[0, 0, 0], [9, 0, 0]]);
    assert!(lines[1].contains("16.2 MB/s") && lines[1].contains("130 Mbit/s"), "{}", lines[1]);
    let worse = html::compact(&compared()).unwrap();
    assert!(worse.contains("▼5 %*") && worse.contains("--fail-if"), "what was asked to fail is told");
}

#[test]
fn typical_pages_are_small() {
    let page = crate::page(&busy());
    assert!(page.len() < TYPICAL, "{} bytes, {} of them data", page.len(), embedded(&page).len());
}

/// Ten million operations or ninety thousand: a page is made of statistics, and those are bounded.
#[test]
fn a_page_does_not_grow_with_the_traffic() {
    let few = busy();
    let mut many = few.clone();
    let times = |n: &mut u64| *n *= 120;
    for row in many.operations.iter_mut().chain(&mut many.groups) {
        let sums = row.payload_bytes.iter_mut().chain(&mut row.wire_bytes);
        sums.chain([&mut row.count, &mut row.answered]).for_each(times);
        row.distribution.iter_mut().for_each(|bucket| times(&mut bucket.count));
    }
    many.heat_maps.iter_mut().flat_map(|map| &mut map.cells).for_each(|cell| times(&mut cell.2));
    many.series.operations.iter_mut().chain(&mut many.series.read_bytes).for_each(times);
    assert!(many.groups.iter().map(|row| row.count).sum::<u64>() > 10_000_000);
    let (few, many) = (crate::page(&few).len(), crate::page(&many).len());
    assert!(many < few * 11 / 10, "{few} bytes become {many}: digits only");
}

/// Every cell of every heat map in use, every bin, all breakdown rows: the largest page that there can be.
#[test]
fn the_largest_page_is_below_its_bound() {
    let mut findings = busy();
    let edges_s: Vec<f64> = (0..=82).map(|i| 1e-6 * 10_f64.powf(f64::from(i) / 10.0)).collect();
    let full: Vec<(u32, u32, u64)> =
        (0..300).flat_map(|column| (0..82).map(move |row| (column, row, 123_456))).collect();
    for map in &mut findings.heat_maps {
        (map.columns, map.edges_s, map.cells) = (300, edges_s.clone(), full.clone());
    }
    let page = crate::page(&findings);
    assert!(page.len() < LARGEST, "{} bytes with {} heat maps", page.len(), findings.heat_maps.len());
}

#[test]
fn odd_findings_make_a_page() {
    // No series, no maps; maps that begin at nought, have no cells, or cells outside their edges; times of nought.
    let mut findings = busy();
    findings.series = Default::default();
    findings.heat_maps.clear();
    assert!(!crate::page(&findings).contains("data-chart=\"heat\""));

    let mut findings = busy();
    findings.heat_maps[0].edges_s[0] = 0.0;
    findings.heat_maps[0].cells.push((u32::MAX, u32::MAX, u64::MAX));
    findings.heat_maps[1].cells.clear();
    findings.series.bin_s = 0.0;
    findings.span = Default::default();
    for row in findings.groups.iter_mut().chain(&mut findings.operations) {
        row.distribution.push(plimsoll_report::findings::Bucket { below_s: 0.0, count: u64::MAX });
        row.percentiles.insert(0, plimsoll_report::findings::PercentilePoint { percentile: 0.0, value_s: 0.0 });
        row.count = u64::MAX;
    }
    crate::page(&findings);
}

#[test]
fn a_run_shows_its_load_levels_and_no_packets() {
    let mut findings = busy();
    let row = findings.operations[0].clone();
    findings.run = Some(Run { target: NASTY[1].into(), workload: "mixed".into(), ..Run::default() });
    findings.stages = vec![Stage {
        overhead: None,
        pace: vec!["no think time".to_owned(), "time-out 30.0 s".to_owned()],
        server: None,
        counters: None,
        session_requests: Vec::new(),
        guarantees: None,
        channels: None,
        number: 0,
        level: "17 clients".into(),
        curve: None,
        varied: None,
        share: None,
        clients: 17,
        depth: 1,
        outstanding: 17,
        connections: 17,
        asked_per_s: None,
        iterations_per_s: 4321.0,
        span: findings.span,
        validity: findings.validity.clone(),
        count: 5,
        expected: 0,
        errors: 0,
        refused: 0,
        failed: 0,
        unanswered: 0,
        operations_per_s: 4321.0,
        operations_per_s_interval: None,
        read_bytes_per_s: 0.0,
        write_bytes_per_s: 0.0,
        response_time: row.response_time,
        response_mean_interval: None,
        response_time_from_intended: None,
        headline: plimsoll_report::findings::Headline::ResponseTime,
        operations: vec![row],
        groups: vec![],
        queue_depth: findings.queue_depth.clone(),
        generator: Generator::default(),
        fairness: Fairness::default(),
        spread: ClientSpread::default(),
        silence: plimsoll_report::findings::Silence::default(),
        short_reads: plimsoll_report::findings::ShortReads::default(),
        interruption: None,
        failures: vec![FailureCount { cause: "timed out".into(), count: 123 }],
        users: None,
        iterations: vec![],
    }];
    let markup = markup(&crate::page(&findings));
    for shown in ["17 clients", "4,321/s", "timed out", "id=\"levels\""] {
        assert!(markup.contains(shown), "{shown} is not shown");
    }
    assert!(!markup.contains("id=\"packets\"") && !markup.contains("<img"));
}

/// Failures, slowest requests and unknown values: text and page say the same, and nothing beyond the known facts.
#[test]
fn a_run_claims_only_what_its_levels_show() {
    let mut findings = run();
    let failure = |cause: &str, count| FailureCount { cause: cause.into(), count };
    for stage in &mut findings.stages {
        stage.span.elapsed_s = Some(2.0);
        stage.validity = Validity::default();
        stage.failures = vec![
            failure("connection attempt: connection refused", 24),
            failure("lost connection: connection reset", 6),
            failure("connection reset", 1),
        ];
        stage.silence.unanswered_wait_s = Some(1_000.0);
        stage.generator.unmatched_responses = 6;
    }
    let levels = findings.stages.len() as u64;
    let style = text::Style { colour: false, width: 200, sections: text::Sections::ALL };
    let both = |findings: &Findings| (crate::shown(findings, &style), markup(&crate::page(findings)));
    let (shown, page) = both(&findings);
    assert!(findings.stages.iter().all(|stage| stage.failed() == 1), "connections are no actions");
    let connections = format!("{} failed attempts to connect, {} lost connections", 24 * levels, 6 * levels);
    assert!(
        shown.contains(&connections) && page.contains(&format!("{} attempts to connect failed", 24 * levels)),
        "{shown}"
    );
    assert!(shown.contains("≥ 1000000") && page.contains("max ≥ "), "the longest wait is a lower bound");
    assert!(shown.contains("6 responses matched no outstanding request") && page.contains("6 responses matched no"));
    assert!(shown.contains("no think time") && shown.contains("time-out 30.0 s") && page.contains("time-out 30.0 s"));
    assert!(shown.contains("actions outstanding: ") && shown.contains("an action may be several requests"));
    assert!(
        !page.contains("sent to the server") && page.contains("The measured phases lasted"),
        "pauses are no part of it"
    );
    // Without valid levels there is no maximum; and a level that was not run is not 0.
    for stage in &mut findings.stages {
        stage.validity = Validity::invalid("it was late");
        (stage.span.elapsed_s, stage.operations_per_s) = (None, 0.0);
    }
    let (shown, page) = both(&findings);
    assert!(page.contains("No load level is valid, so the highest throughput is unknown"), "{page}");
    let level = &findings.stages[0].level;
    let row = shown.lines().find(|line| line.trim_start().starts_with(level.as_str()) && line.contains(" ! ")).unwrap();
    assert!(row.split(" ! ").nth(1).unwrap().trim_start().starts_with('-'), "{row}");
}

/// Between levels there are pauses, warm-ups and connections to make: nothing is measured there.
#[test]
fn rates_of_a_run_leave_out_what_lies_between_levels() {
    let mut findings = run();
    let levels = findings.stages.len();
    assert!(levels > 1);
    findings.span.elapsed_s = Some(1_000.0);
    findings.stages.iter_mut().for_each(|stage| stage.span.elapsed_s = Some(2.0));
    assert_eq!(findings.measured_s(), Some(2.0 * levels as f64));
    let style = text::Style { colour: false, width: 100, sections: text::Sections::ALL };
    let shown = crate::shown(&findings, &style);
    let row = shown.split("averaged over the measured time").nth(1).expect("the table is there");
    let together = row.lines().find_map(|line| line.trim().strip_prefix("Together")).expect("all of them");
    let cells: Vec<f64> = together.split_whitespace().take(2).map(|cell| cell.parse().unwrap()).collect();
    assert!((cells[1] / (cells[0] / (2.0 * levels as f64)) - 1.0).abs() < 0.006, "{together}");
    let capture = busy();
    assert_eq!(capture.measured_s(), capture.span.elapsed_s);
}

/// A run of two curves whose levels have the same words, as with `--vary`.
fn varied() -> Findings {
    let mut findings = run();
    for stage in &mut findings.stages {
        stage.level = format!("{} clients", stage.clients);
        stage.curve = stage.curve.as_ref().map(|name| format!("block={}", if name == "SMB" { "1kB" } else { "30kB" }));
    }
    findings.curves = plimsoll_report::collect::curves::curves(&findings.stages);
    findings
}

#[test]
fn levels_of_several_curves_say_which_one() {
    let findings = varied();
    let page = crate::page(&findings);
    let markup = markup(&page);
    for table in ["levels-caption", "load-groups-caption", "silence-caption", "generator-caption", "failures-caption"] {
        let body = markup.split_once(&format!("id=\"{table}\"")).expect(table).1.split("</table>").next().unwrap();
        let heads: Vec<&str> = body.split("scope=\"row\">").skip(1).filter_map(|row| row.split('<').next()).collect();
        assert!(!heads.is_empty() && heads.iter().all(|head| head.contains("block=")), "{table}: {heads:?}");
        let mut distinct = heads.clone();
        distinct.dedup();
        assert_eq!(distinct, heads, "{table}");
    }
    let charts = page.split_once("id=\"charts\">").unwrap().1.split("</script>").next().unwrap();
    assert!(charts.contains("16 clients, block=30kB") && !charts.contains("\"4 clients\""), "{charts}");
    assert!(markup.contains("<em>16 clients, block="), "the story names the level with its value");
}

/// Past its highest throughput a closed loop's curve iterations back: a band would fold over itself.
#[test]
fn a_curve_that_turns_back_has_strokes_and_no_band() {
    let figure = |findings: &Findings| {
        let page = crate::page(findings);
        let figure = page.split_once("id=\"figure-throughput-response\"").unwrap().1;
        figure.split("</figure>").next().unwrap().to_owned()
    };
    let mut findings = run();
    findings.stages.retain(|stage| stage.curve.as_deref() == Some("SMB"));
    assert!(figure(&findings).contains("class=\"band"), "throughput rises: a band");
    let last = findings.stages.len() - 1;
    findings.stages[last].operations_per_s = findings.stages[0].operations_per_s;
    assert!(!figure(&findings).contains("class=\"band"), "throughput falls: strokes");
}

#[test]
fn long_names_of_levels_do_not_lie_over_each_other() {
    let mut findings = varied();
    let start = findings.heat_maps[0].start_ns;
    let end = f64::from(findings.heat_maps[0].columns) * findings.heat_maps[0].column_s;
    let step = end / findings.stages.len() as f64;
    for (place, stage) in (0_u32..).zip(&mut findings.stages) {
        stage.span.first_ns = Some(start + (f64::from(place) * step * 1e9) as i64);
    }
    let page = crate::page(&findings);
    let heat = page.split_once("id=\"figure-heat\"").unwrap().1.split("</figure>").next().unwrap();
    assert!(heat.contains("rotate(90 ") && heat.contains("block=30kB"), "they go down along their lines");
}

/// A run whose question is where the time of a call goes, with a warm server and a cold local disk.
fn of_calls(remote_disk: f64, local_disk: f64) -> Findings {
    use plimsoll_report::findings::calls::{CallPhase, Calls, LocalCall};
    let mut findings = run();
    let phase = |local, from_disk, response_s| CallPhase {
        call: "random".into(),
        local,
        calls: if local { 252_870 } else { 11_000 },
        outstanding: 1,
        response_s: Some(response_s),
        from_disk: Some(from_disk),
        ..CallPhase::default()
    };
    findings.run.as_mut().unwrap().calls = Some(Box::new(Calls {
        phases: vec![phase(false, remote_disk, 176e-6), phase(true, local_disk, 100e-6)],
        beside_local: vec![LocalCall { call: "random".into(), remote_s: 176e-6, local_s: 100e-6 }],
        ..Calls::default()
    }));
    findings
}

fn summary_of(findings: &Findings) -> String {
    let page = crate::page(findings);
    page.split_once("<section id=\"summary\"").unwrap().1.split("</section>").next().unwrap().to_owned()
}

#[test]
fn a_breakdown_leads_with_its_calls_and_counts_local_ones_apart() {
    let summary = summary_of(&of_calls(0.0, 0.97));
    for said in
        ["on the target: random 176 µs", "11,000 calls were made on the target and 252,870 in a local directory"]
    {
        assert!(summary.contains(said), "{said}: {summary}");
    }
    for false_said in ["sent to the server", "Highest throughput", "by operation group"] {
        assert!(!summary.contains(false_said), "{false_said}: {summary}");
    }
}

#[test]
fn a_warm_server_is_not_compared_with_a_cold_disk() {
    let style = text::Style { colour: false, width: 100, sections: text::Sections::ALL };
    let shown = |remote, local| {
        let findings = of_calls(remote, local);
        let page = crate::page(&findings);
        let table =
            page.split_once("id=\"calls-local-caption\"").unwrap().1.split("</table>").next().unwrap().to_owned();
        (table, crate::shown(&findings, &style))
    };
    let (alike, differ) = (shown(0.96, 0.97), shown(0.0, 0.97));
    assert!(alike.0.contains("<td>1.8</td>") && alike.1.contains("1.76"), "{}", alike.0);
    assert!(!differ.0.contains("<td>1.8</td>") && !differ.1.contains("1.76"), "{}", differ.0);
    assert!(differ.0.contains("97.0 %") && differ.1.contains("otherwise one side may read"), "{}", differ.1);
}

#[test]
fn a_search_leads_with_the_capacity() {
    use plimsoll_report::findings::capacity::Capacity;
    let mut findings = run();
    let found = Capacity {
        unit: "clients".into(),
        outcome: "found".into(),
        low: Some(12.0),
        high: Some(13.0),
        objectives: vec!["p99 < 20ms".into()],
        ..Capacity::default()
    };
    findings.run.as_mut().unwrap().capacity = Some(Box::new(found));
    let summary = summary_of(&findings);
    let story = summary.split_once("class=\"story\"").unwrap().1;
    assert!(story.starts_with("><strong>Capacity: 12 clients (95 % interval 12 to 13)."), "{story}");
    assert!(!summary.contains("Highest throughput") && !summary.contains("The highest throughput was"), "{summary}");
}

/// Names of functions come from the programs that were sampled.
#[test]
fn a_flame_graph_is_a_picture_without_scripts() {
    let page = crate::page(&crate::example::run());
    assert_eq!(page.matches("</script>").count(), 4);
    let graph = page.split_once("id=\"flame-server\"").unwrap().1.split_once("</figure>").unwrap().0;
    // The whole width for both calls; a frame begins where the one before it in its row ends, below its caller's left edge.
    for frame in [
        "<svg class=\"s7\" x=\"0.0\" y=\"34\" width=\"720.0\" height=\"17\"><title>getattr: 60 samples, 60.0 %</title>",
        "<svg class=\"s7\" x=\"720.0\" y=\"34\" width=\"480.0\" height=\"17\"><title>ahead: 40 samples, 40.0 %</title>",
        "<svg class=\"s1\" x=\"960.0\" y=\"0\" width=\"120.0\" height=\"17\"><title>tcp_sendmsg (kernel): 10 samples, 10.0 %</title>",
        "<svg class=\"s4\" x=\"1140.0\" y=\"17\" width=\"60.0\" height=\"17\"><title>(no symbol) (smbd): 5 samples, 5.0 %</title>",
        "<text x=\"3\" y=\"12.5\">&lt;script&gt;alert(7)&lt;/script&gt;\\u{1b}[2J\\u{202e}</text>",
    ] {
        assert!(graph.contains(frame), "{frame}: {graph}");
    }
    assert!(graph.contains("5 of 100 samples (5.0 %) are in functions without a symbol."));
}
