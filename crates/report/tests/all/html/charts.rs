//! Charts of load, servers, clients and comparisons.

use super::*;

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
    assert!(charts(&crate::page(&findings), "users-overload").is_empty(), "no user has a schedule");
    findings.levels.retain(|level| level.facts.curve.as_deref() == Some("SMB"));
    for (level, (users, overload)) in
        findings.levels.iter_mut().zip([(100, 0.0), (200, 0.0), (300, 0.08), (400, 0.5), (500, 0.8)])
    {
        level.facts.asked_per_s = Some(users as f64 / 11.0);
        level.facts.curve = None;
        level.users = Some(Users { users, overload, failed_share: overload / 10.0, ..Users::default() });
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
    let curves = plimsoll_report::collect::curves::curves(&findings.levels);
    assert_eq!((curves[0].load.as_str(), curves[0].points[4].load), ("users", 500.0));
    assert!(curves[0].knee.missing.as_deref().is_some_and(|why| why.contains("a schedule")));
}

/// The server's disk metrics show whether a stream came from disks or from the cache.
#[test]
fn the_share_of_data_from_disks_stands_below_the_servers_numbers() {
    let mut findings = run();
    let rates = [(1e8, Some(0.0)), (1e8, Some(9.7e7)), (0.0, Some(5.0)), (1e8, None)];
    for (level, (read, disk_read_bytes_per_s)) in findings.levels.iter_mut().zip(rates) {
        level.read_bytes_per_s = read;
        level.facts.server = Some(ServerSide { disk_read_bytes_per_s, ..ServerSide::default() });
    }
    let [first, second] = [0, 1].map(|at| findings.levels[at].words());
    let said = format!("as a percentage of the file data that clients read: {first} 0 %; {second} 97 %.");
    assert!(markup(&crate::page(&findings)).contains(&said), "{said}");
}

/// Poo and Tan's figure 12 has those without errors, too.
#[test]
fn the_chart_of_errors_has_every_client() {
    let mut findings = run();
    let at_four = findings.levels.iter_mut().find(|level| level.facts.clients == 4).unwrap();
    at_four.facts.spread.clients = clients([(10, 0), (8, 0), (10, 5), (12, 0)]);
    findings.levels.retain(|level| level.facts.clients <= 4);
    let errors = charts(&crate::page(&findings), "client-errors");
    assert_eq!(errors[0]["x"]["names"], serde_json::json!(["client 1", "client 2", "client 3", "client 4"]));
    assert_eq!(errors[0]["series"][0]["y"], serde_json::json!([0.0, 0.0, 5.0, 0.0]));
    findings.levels.iter_mut().for_each(|level| level.facts.spread.clients.iter_mut().for_each(|one| one.errors = 0));
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
    let at_four = varied().levels.into_iter().find(|level| level.facts.clients == 4).unwrap();
    for (side, served) in
        report.sides.iter_mut().zip([[(10, 0), (10, 0), (10, 0), (10, 0)], [(19, 0), (1, 0), (10, 2), (10, 0)]])
    {
        let mut level = at_four.clone();
        level.facts.spread.clients = clients(served);
        side.levels = vec![level];
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
    let levels = varied().levels;
    for (side, rate) in report.sides.iter_mut().zip([1.0, 2.0]) {
        side.levels = levels.clone();
        side.levels.iter_mut().for_each(|level| level.read_bytes_per_s *= rate);
        side.levels.iter_mut().for_each(|level| level.write_bytes_per_s = 0.0);
    }
    let comparison = report.comparison.as_mut().unwrap();
    let first = comparison.levels[0].clone();
    let words = levels.iter().map(|level| level.words());
    comparison.levels = words.map(|level_name| ComparedLevel { level_name, ..first.clone() }).collect();
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
        let own =
            levels.iter().filter(|level| level.facts.validity.valid && level.facts.curve.as_deref() == Some(curve));
        own.map(|level| 8.0 * level.read_bytes_per_s).fold(0.0, f64::max)
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
