//! A comparison: its numbers, its text and its JSON, held to its schema.

mod conditions;
mod losses;
mod page;

use plimsoll_model::{Guarantees, Procedure, Protocol, Validity};
use plimsoll_report::collect::comparison::{
    Contestant, Ignore, IterationCost, LevelRuns, LoadPoint, MeasuredRun, Order,
};
use plimsoll_report::findings::capacity::Capacity;
use plimsoll_report::findings::comparison::{ComparedMetric, ComparedVerdict, Comparison};
use plimsoll_report::findings::ranking::RankedBy;
use plimsoll_report::findings::{Fairness, Findings, LevelFacts, LoadLevel, MovedNumber, Report, Run};
use plimsoll_report::html;
use plimsoll_report::json::{Layout, write};
use plimsoll_report::text::{LINES, Style, compact_to_string, screen, to_string};
use plimsoll_stats::{Interval, IntervalWidth, Intervals};
use serde_json::Value;

const S: i64 = 1_000_000_000;

/// Thirty seconds of SMB2 READ, 100 per second of 4 KiB, whose times scatter around `mean_us`, differently in every second.
fn run(mean_us: u64, failing: u64) -> MeasuredRun {
    run_of(100, mean_us, failing)
}

/// The same with `count` per second.
fn run_of(count: u64, mean_us: u64, failing: u64) -> MeasuredRun {
    run_over((Protocol::Smb2, 8), count, mean_us, failing)
}

/// The same of another procedure.
fn run_over((protocol, code): (Protocol, u16), count: u64, mean_us: u64, failing: u64) -> MeasuredRun {
    let mut intervals = Intervals::new(IntervalWidth::USUAL);
    for second in 0..30_u64 {
        let mut interval = Interval::at(second as i64 * S, IntervalWidth::USUAL);
        let row = interval.row_mut(Procedure::of(protocol, code));
        for at in 0..count {
            let ns = mean_us * 10 * (80 + (at * 37 + second * 11) % 41);
            row.count += 1;
            row.payload_bytes += 4096;
            row.response.record(ns);
            row.histogram.record(ns);
        }
        row.errors = failing;
        intervals.add(interval);
    }
    MeasuredRun { span_ns: (0, 30 * S), intervals }
}

fn contestant(name: &str, runs: Vec<MeasuredRun>) -> Contestant {
    let findings = Findings { name: name.to_owned(), ..Findings::default() };
    let level = LevelRuns { level_name: "4 clients".to_owned(), point: None, runs, findings: None };
    Contestant { findings, levels: vec![level] }
}

fn compared(a: Vec<MeasuredRun>, b: Vec<MeasuredRun>, order: Order) -> Report {
    let both = vec![contestant("old", a), contestant("new", b)];
    Report::compare(both, order, vec!["The workloads differ.".to_owned()])
}

/// How its sides differ.
fn of(report: &Report) -> &Comparison {
    report.comparison.as_ref().unwrap()
}

fn metric<'a>(report: &'a Report, scope: &str, metric: &str) -> &'a ComparedMetric {
    let row = of(report).levels[0].rows.iter().find(|row| row.scope == scope).unwrap();
    row.metrics.iter().find(|one| one.metric == metric).unwrap()
}

fn verdict(report: &Report, name: &str) -> &'static str {
    metric(report, "all", name).differences[0].as_ref().unwrap().verdict.label()
}

/// The point of this number of clients, with valid numbers.
fn point(load_name: &str, clients: u64) -> LoadPoint {
    LoadPoint {
        curve: None,
        load_name: load_name.to_owned(),
        load: clients as f64,
        pace: Vec::new(),
        outstanding: clients,
        valid: true,
        moved: Vec::new(),
        guarantees: None,
        iteration: None,
    }
}

/// The contestant with a known load.
fn asked(mut one: Contestant) -> Contestant {
    for level in &mut one.levels {
        level.point = Some(point(&level.level_name, 4));
    }
    one
}

/// More operations per second may be more requests: without a load they are neither better nor worse.
#[test]
fn a_throughput_of_unknown_load_is_more_or_fewer() {
    let [few, many] = [50, 100].map(|count| contestant("capture", vec![run_of(count, 1000, 0)]));
    let report = |a: &Contestant, b: &Contestant, load: bool| {
        let both = vec![a.clone(), b.clone()];
        Report::compare_as(both, Order::Apart, Vec::new(), Ignore { load, ..Ignore::default() })
    };
    let verdicts = |report: &Report| ["throughput", "bytes"].map(|name| verdict(report, name));
    assert_eq!(verdicts(&report(&few, &many, false)), ["more"; 2]);
    assert_eq!(verdicts(&report(&many, &few, false)), ["fewer"; 2]);
    assert_eq!(verdicts(&report(&few, &asked(many.clone()), false)), ["more"; 2], "only one load is known");
    assert_eq!(verdicts(&report(&asked(few.clone()), &asked(many.clone()), false)), ["better"; 2]);
    assert_eq!(verdicts(&report(&few, &many, true)), ["better"; 2], "ignored");
    let same = report(&few, &few, false);
    assert_eq!(verdicts(&same), ["none shown"; 2]);
    assert_eq!(metric(&same, "all", "throughput").differences[0].as_ref().unwrap().detectable, None);
    let found = report(&few, &many, false);
    let (text, style) = (to_string(&found, &Style::plain(80)), Style::plain(80));
    let says = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says(&text).contains("B and A differ in throughput: op/s +100 % ("), "{text}");
    assert!(says(&text).contains("No difference except in throughput was shown between B and A."), "{text}");
    assert!(text.contains("more *") && !text.contains("better *"), "{text}");
    assert!(compact_to_string(&found, &style).contains("100 >*"), "{}", compact_to_string(&found, &style));
    let first = screen(&found, &style);
    assert!(first.contains("All operations op/s") && !first.contains("READ op/s"), "{first}");
    let pages = [html::page(&found).unwrap(), html::compact(&found).unwrap()];
    assert!(pages.iter().all(|page| !page.contains("class=\"better\"")), "{}", pages[0]);
    assert!(pages[0].contains("neither better nor worse") && pages[1].contains("△100 %*"), "{}", pages[1]);
}

/// A capture with fewer of the slow operations is faster on the same server.
#[test]
fn another_mix_of_operations_is_no_difference_of_their_times() {
    let mixed = |reads: u64, read_us: u64, creates: u64| {
        let mut run = run_of(reads, read_us, 0);
        run.intervals.merge(&run_over((Protocol::Smb2, 5), creates, 300, 0).intervals);
        contestant("capture", vec![run])
    };
    let report = |a: Contestant, b: Contestant| Report::compare(vec![a, b], Order::Apart, Vec::new());
    // Every second has the same times of CREATE: a number of requests that 41 divides.
    let found = report(mixed(50, 2000, 41), mixed(50, 2000, 451));
    assert_eq!(["mean", "p50"].map(|name| verdict(&found, name)), ["cannot tell"; 2]);
    assert_eq!(metric(&found, "procedure", "mean").differences[0].as_ref().unwrap().verdict.label(), "none shown");
    let says = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [screen(&found, &Style::plain(80)), to_string(&found, &Style::plain(80))].map(says) {
        assert!(text.contains("The mix of operations differs between B and A ("), "{text}");
        assert!(text.contains("READ 55 % → 10.0 %"), "{text}");
        assert!(text.contains("No single operation was shown to differ.") && !text.contains("is better"), "{text}");
        assert!(!text.contains("too short"), "{text}");
    }
    let rare = report(mixed(1, 90_000, 99), mixed(4, 90_000, 96));
    assert_eq!(verdict(&rare, "mean"), "cannot tell", "few requests that take long move the mean");
    let slower = report(mixed(50, 2000, 50), mixed(60, 3000, 40));
    assert_eq!(verdict(&slower, "mean"), "worse", "READ is slower");
    let mix = of(&slower).levels[0].mixes[0].as_ref();
    assert!(mix.is_some_and(|mix| mix.contains("READ 50 % → 60 %")), "conditions need it: {mix:?}");
    let alike = report(mixed(50, 2000, 50), mixed(50, 3000, 50));
    assert_eq!((verdict(&alike, "mean"), of(&alike).levels[0].mixes[0].as_ref()), ("worse", None));
    let asked = report(asked(mixed(50, 2000, 41)), asked(mixed(50, 2000, 451)));
    assert_eq!(verdict(&asked, "mean"), "better", "both had the same load");
}

/// The shares and the mean hardly differ, but the percentile is a READ in one capture and a CREATE in the other.
#[test]
fn a_mix_that_moves_only_a_percentile_is_no_difference_of_times() {
    // Every second has the same times: numbers of requests that 41 divides.
    let mixed = |creates: u64| {
        let mut run = run_of(984, 1000, 0);
        run.intervals.merge(&run_over((Protocol::Smb2, 5), creates, 2000, 0).intervals);
        contestant("capture", vec![run])
    };
    let report = |a: u64, b: u64| Report::compare(vec![mixed(a), mixed(b)], Order::Apart, Vec::new());
    for found in [report(41, 82), report(82, 41)] {
        assert!(of(&found).levels[0].mixes[0].is_some(), "{:?}", of(&found).levels[0].mixes);
        assert_eq!(["mean", "p50", "p95"].map(|name| verdict(&found, name)), ["cannot tell"; 3]);
    }
    let same = report(41, 41);
    assert_eq!((verdict(&same, "p95"), &of(&same).levels[0].mixes[0]), ("none shown", &None));
}

/// A capture that lacks half of its operations shows half of the rate, and that is no difference.
#[test]
fn what_a_capture_lacks_is_no_difference_of_rates() {
    let verdicts = |missing: Option<f64>| {
        let (mut a, b) = (contestant("old", vec![run_of(50, 100, 0)]), contestant("new", vec![run(100, 0)]));
        let unseen = &mut a.findings.unseen;
        (unseen.share_missing, unseen.share_missing_low, unseen.share_missing_high) = (missing, missing, missing);
        let report = Report::compare(vec![asked(a), asked(b)], Order::Apart, Vec::new());
        ["throughput", "bytes"].map(|name| verdict(&report, name))
    };
    assert_eq!(verdicts(Some(0.5)), ["cannot tell", "cannot tell"]);
    let few = verdicts(Some(0.01));
    assert_eq!(few, ["better", "cannot tell"], "one in a hundred is not the half, but moved any amount of data");
    assert_eq!(verdicts(None), ["better", "better"]);
}

/// If a cut hides the main operation of an NFSv4 COMPOUND, it may belong to any group, but always to all operations.
#[test]
fn what_is_not_recognised_is_no_difference_of_a_group() {
    let verdicts = |beside: u64| {
        let mut cut = run_of(50, 100, 0);
        let mut interval = Interval::at(0, IntervalWidth::USUAL);
        interval.row_mut(Procedure::of(Protocol::Nfs4, 1)).count = beside * 30;
        cut.intervals.add(interval);
        let both = [run(100, 0), cut].map(|run| asked(contestant("capture", vec![run])));
        let report = Report::compare(both.to_vec(), Order::Apart, Vec::new());
        ["group", "procedure", "all"]
            .map(|scope| metric(&report, scope, "throughput").differences[0].as_ref().unwrap().verdict.label())
    };
    assert_eq!(verdicts(0), ["worse"; 3]);
    assert_eq!(verdicts(1), ["worse"; 3], "one in fifty is not the half");
    assert_eq!(verdicts(60)[..2], ["cannot tell"; 2]);
}

/// The tables of load levels are a report's own, with a line for each level of each side.
#[test]
fn sides_stand_beside_each_other_in_the_tables_of_a_report() {
    use crate::example;
    let found = compared(vec![run(1000, 0)], vec![run(1100, 0)], Order::Apart);
    let mut other = example::run();
    for level in &mut other.levels {
        level.operations_per_s *= 2.0;
    }
    let sides = [example::run(), other].into_iter().zip(["A", "B"]);
    let sides = sides.map(|(side, letter)| Findings { letter: letter.to_owned(), ..side }).collect();
    let found = Report { sides, ..found };
    let text = to_string(&found, &Style::plain(100));
    assert_eq!(text.matches("Load levels (response times").count(), 1, "one table for both: {text}");
    let names = |what: &str| -> Vec<String> {
        let lines = text.split_once(what).unwrap().1.lines().skip(2).take_while(|line| !line.is_empty());
        lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).filter(|name| name.len() == 1).collect()
    };
    let lines = names("Load levels (response times");
    assert!(lines.len() >= 2 && lines.contains(&"A".to_owned()) && lines.contains(&"B".to_owned()), "{text}");
    assert_eq!(lines, names("Load generator and fairness"), "{text}");
    let page = html::page(&found).unwrap();
    for table in ["levels-caption", "generator-caption", "silence-caption"] {
        let body = page.split(&format!("id=\"{table}\"")).nth(1).unwrap().split("</table>").next().unwrap();
        assert!(body.contains(">A: ") && body.contains(">B: "), "{table}: {body}");
    }
}

/// A capture has no silences, but its levels have a table, as in the page.
#[test]
fn levels_of_captures_have_a_table_in_the_terminal() {
    use crate::example;
    let found = compared(vec![run(1000, 0)], vec![run(1100, 0)], Order::Apart);
    let sides = ["A", "B"].map(|letter| Findings { letter: letter.to_owned(), run: None, ..example::run() });
    let found = Report { sides: sides.to_vec(), ..found };
    let text = to_string(&found, &Style::plain(100));
    assert_eq!(text.matches("Load levels of captures (response times").count(), 1, "{text}");
    assert!(!text.contains("Silences, requests without a response"), "{text}");
    assert!(html::page(&found).unwrap().contains("levels-captured-caption"));
}

#[test]
fn ten_per_cent_are_worse_and_nothing_is_nothing() {
    let found = compared(vec![run(1000, 0)], vec![run(1100, 0)], Order::Apart);
    for name in ["mean", "p50", "p90"] {
        assert_eq!(verdict(&found, name), "worse", "{name}");
    }
    assert_eq!(verdict(&found, "throughput"), "none shown");
    let mean = metric(&found, "procedure", "mean").differences[0].as_ref().unwrap();
    assert!((mean.relative.unwrap() - 0.1).abs() < 1e-9 && mean.holm_significant, "{mean:?}");
    assert!(mean.relative_low.unwrap() > 0.08 && mean.relative_high.unwrap() < 0.12, "{mean:?}");
    let same = compared(vec![run(1000, 3)], vec![run(1000, 3)], Order::Apart);
    let all = of(&same).levels[0]
        .rows
        .iter()
        .flat_map(|row| &row.metrics)
        .flat_map(|metric| metric.differences.iter().flatten());
    assert!(all.clone().count() > 20 && all.clone().all(|difference| difference.verdict == ComparedVerdict::NotShown));
    assert_eq!(of(&same).method.tested, all.count() as u64);
}

#[test]
fn of_numbers_that_must_not_be_used_nobody_can_tell_whether_they_are_worse() {
    let mut both = [contestant("old", vec![run(1000, 0)]), contestant("new", vec![run(1500, 0)])];
    both[1].findings.validity = Validity::invalid("It was late.");
    let found = Report::compare(both.to_vec(), Order::Apart, Vec::new());
    let metrics = || of(&found).levels[0].rows.iter().flat_map(|row| &row.metrics);
    let all: Vec<_> = metrics().flat_map(|metric| metric.differences.iter().flatten()).collect();
    assert!(
        all.len() > 20 && all.iter().all(|one| one.verdict == ComparedVerdict::CannotTell && !one.holm_significant),
        "{all:?}"
    );
    assert_eq!((of(&found).method.tested, of(&found).levels[0].invalid.as_slice()), (0, ["B".to_owned()].as_slice()));
    let text = to_string(&found, &Style::default());
    assert!(!text.contains("by chance"), "of no tested difference: {text}");
    assert!(!text.contains("worse *") && text.contains("the numbers of B at this level must not be used"), "{text}");
    assert_eq!(text.matches("It was late.").count(), 1, "{text}");
    let compact = compact_to_string(&found, &Style::default());
    assert!(!compact.contains("-*"), "{compact}");
    for page in [html::page(&found).unwrap(), html::compact(&found).unwrap()] {
        assert!(!page.contains("class=\"worse\"") && !page.contains("(worse)"), "{page}");
        let markup = page.split("<script").next().unwrap();
        assert!(!markup.contains("by chance"), "of no tested difference");
        assert_eq!(markup.matches("It was late.").count(), 1, "the verdict of a side stands once");
    }
    // A level's own validity decides, where it has one.
    let point = |valid| Some(LoadPoint { valid, ..point("4 clients", 4) });
    both[1].levels[0].point = point(true);
    let found = Report::compare(both.to_vec(), Order::Apart, Vec::new());
    assert_eq!(verdict(&found, "mean"), "worse");
    both[0].levels[0].point = point(false);
    let found = Report::compare(both.to_vec(), Order::Apart, Vec::new());
    assert_eq!(verdict(&found, "mean"), "cannot tell");
}

/// A contestant of one level with this load, and with these numbers moved by the load generator's lateness.
fn loaded(clients: u64, mean_us: u64, moved: &[&str]) -> Contestant {
    let words = format!("{clients} clients");
    let mut one = contestant(&words, vec![run(mean_us, 0)]);
    one.levels[0].level_name = words.clone();
    one.levels[0].point = Some(LoadPoint { pace: vec!["no think time".to_owned()], ..point(&words, clients) });
    let mut level =
        LoadLevel { facts: LevelFacts { load_name: words, clients, ..LevelFacts::default() }, ..LoadLevel::default() };
    let number = |name: &&str| MovedNumber { number: (*name).to_owned(), reported: 1.5e-3, on_time: 0.7e-3 };
    level.facts.generator.moved = moved.iter().map(number).collect();
    one.findings.levels = vec![level];
    one
}

/// The single runs of a search may be INVALID although its result is valid.
#[test]
fn the_first_screen_says_which_levels_of_a_search_are_invalid_and_compares_the_capacities() {
    let search = |low: f64, high: f64, invalid: bool| {
        let mut one = loaded(4, 1000, &[]);
        let (unit, objectives) = ("clients".to_owned(), vec!["p99 < 50ms".to_owned()]);
        let capacity = Capacity { unit, objectives, low: Some(low), high: Some(high), ..Capacity::default() };
        one.findings.run = Some(Run { capacity: Some(Box::new(capacity)), ..Run::default() });
        if invalid {
            one.findings.levels[0].facts.validity = Validity::invalid("It was late.");
            one.levels[0].point.as_mut().unwrap().valid = false;
        }
        one
    };
    let found = Report::compare(vec![search(4.0, 5.0, false), search(6.0, 7.0, true)], Order::Apart, Vec::new());
    let screen = screen(&found, &Style::plain(80));
    let (before, after) = screen.split_once("Compared with A").unwrap();
    assert!(
        before.contains("* A carries 4 to 5 clients, B carries 6 to 7 clients (p99 < 50ms): B carries"),
        "{screen}"
    );
    assert!(after.contains("! At 4 clients: the numbers of B are INVALID: It was late."), "{screen}");
    assert!(screen.lines().count() <= LINES, "{screen}");
    assert_eq!(of(&found).capacities[0].verdict, ComparedVerdict::Better);
}

/// A filter looks at the transactions of a recording: their findings have no load levels.
#[test]
fn moved_numbers_of_a_load_without_levels_have_no_verdict() {
    let mut late = loaded(4, 1500, &[]);
    late.findings.levels.clear();
    late.levels[0].point.as_mut().unwrap().moved = vec!["mean".to_owned()];
    let found = Report::compare(vec![late, loaded(4, 1000, &[])], Order::Apart, Vec::new());
    assert_eq!(["mean", "p50"].map(|name| verdict(&found, name)), ["cannot tell", "better"]);
    assert_eq!(of(&found).levels[0].moved[0], ["mean"]);
}

/// Likewise of the guarantees.
#[test]
fn different_guarantees_of_loads_without_levels_refuse_a_ranking() {
    let side = |signing: &str| {
        let mut one = loaded(4, 1000, &[]);
        one.findings.levels.clear();
        let signing = Some(signing.to_owned());
        one.levels[0].point.as_mut().unwrap().guarantees = Some(Guarantees { signing, ..Guarantees::default() });
        one
    };
    let refused = |other: &str| {
        let found = Report::compare(vec![side("none"), side(other)], Order::Apart, Vec::new());
        of(&found).refused.clone()
    };
    assert_eq!(refused("none"), None);
    assert!(refused("AES-128-GMAC").unwrap().contains("different guarantees"));
}

/// One server twice; the load generator was late on one side.
#[test]
fn numbers_that_the_load_generator_moved_have_no_verdict() {
    let found = |moved: &[&str]| {
        let both = vec![loaded(4, 1500, moved), loaded(4, 1000, &[])];
        Report::compare(both, Order::Apart, Vec::new())
    };
    assert_eq!(["mean", "p50"].map(|name| verdict(&found(&[]), name)), ["better", "better"]);
    let late = found(&["mean", "p90", "max", "p95 from the intended start"]);
    assert_eq!(
        ["mean", "p90", "p50", "p95"].map(|name| verdict(&late, name)),
        ["cannot tell", "cannot tell", "better", "better"]
    );
    let group = metric(&late, "group", "mean").differences[0].as_ref().unwrap();
    assert_eq!((group.verdict.label(), group.holm_significant), ("cannot tell", false), "the thread is the same");
    assert_eq!(of(&late).levels[0].moved[1], Vec::<String>::new());
    let text = to_string(&late, &Style::default());
    assert!(text.contains("Cannot tell mean and p90: the load generator of A was late."), "{text}");
    assert!(!text.contains("mean response time -33 %"), "{text}");
}

/// A server that is asked for twice as much does twice as much.
#[test]
fn different_loads_have_no_verdict_unless_that_is_ignored() {
    let both = vec![loaded(4, 1000, &[]), loaded(8, 1500, &[])];
    let found = |ignore: Ignore| {
        let loads = "A had 4 clients, B had 8 clients: the loads differ, so a difference may come from the load";
        let warnings = vec!["The facts differ.".to_owned(), loads.to_owned()];
        Report::compare_as(both.clone(), Order::Apart, warnings, ignore)
    };
    let unlike = found(Ignore::default());
    assert_eq!(["mean", "throughput"].map(|name| verdict(&unlike, name)), ["cannot tell"; 2]);
    assert!(metric(&unlike, "all", "mean").differences[0].as_ref().unwrap().relative_low.unwrap() > 0.4);
    let text = to_string(&unlike, &Style::default());
    assert!(!text.contains("B is worse") && text.contains("--ignore-load"), "{text}");
    let first = screen(&unlike, &Style::plain(80));
    let at = |words: &str| first.find(words).unwrap_or_else(|| panic!("{words} is not in {first}"));
    assert!(at("the loads differ") < at("The facts differ."), "{first}");
    let page = html::page(&unlike).unwrap();
    assert!(!page.contains("class=\"worse\"") && page.contains("the loads differ"), "{page}");
    let judged = found(Ignore { load: true, ..Ignore::default() });
    assert_eq!(verdict(&judged, "mean"), "worse");
    assert_eq!(of(&judged).levels[0].other_loads, [None]);
}

/// Rounding is no difference, and a difference of a baseline that may be zero has an interval.
#[test]
fn a_difference_of_rounding_is_zero() {
    let mut found = compared(vec![run(1000, 0)], vec![run(1000, 0)], Order::Apart);
    let throughput = metric(&found, "all", "throughput").differences[0].as_ref().unwrap();
    assert_eq!(throughput.value.to_bits(), 0.0_f64.to_bits(), "{throughput:?}");
    let levels = &mut found.comparison.as_mut().unwrap().levels;
    let all = levels[0].rows.iter_mut().find(|row| row.scope == "all").unwrap();
    let difference = all.metrics[0].differences[0].as_mut().unwrap();
    (difference.value, difference.low, difference.high) = (0.0, -9.5, 9.25);
    (difference.relative, difference.relative_low, difference.relative_high) = (None, None, None);
    let text = to_string(&found, &Style::default());
    assert!(text.contains("0 (-9.50 … 9.25)"), "{text}");
}

/// A sweep of 1 and 2 clients, 100 and 200 reads per second, with `requests` requests per iteration at each load.
fn swept(protocol: (Protocol, u16), requests: [f64; 2], workload: &str) -> Contestant {
    let level = |(clients, requests): (u64, f64)| {
        let iteration = Some(IterationCost { requests, seconds: Some(requests * 2e-3), count: 100_000 });
        let words = format!("{clients} clients");
        let point = LoadPoint { iteration, ..point(&words, clients) };
        let runs = vec![run_over(protocol, 100 * clients, 1000, 0)];
        LevelRuns { level_name: words, point: Some(point), runs, findings: None }
    };
    let run = Some(Run { workload_sha256: workload.to_owned(), ..Run::default() });
    let levels = [1, 2].into_iter().zip(requests).map(level).collect();
    Contestant { findings: Findings { run, ..Findings::default() }, levels }
}

/// Operations of different protocols are not comparable; iterations of the same workload are.
#[test]
fn servers_of_different_protocols_are_ranked_by_iterations() {
    let (smb, nfs) = ((Protocol::Smb2, 8), (Protocol::Nfs3, 6));
    let report = |a: Contestant, b: Contestant| Report::compare(vec![a, b], Order::Apart, Vec::new());
    let found = report(swept(smb, [2.0; 2], "x"), swept(nfs, [1.0; 2], "x"));
    let ranking = of(&found).ranking.as_ref().unwrap();
    assert_eq!((ranking.by, ranking.points, ranking.not_used), (RankedBy::Iterations, 2, 0));
    let point = &ranking.curves[0].points[1];
    let values = |of: &plimsoll_report::findings::ranking::Ranked| -> Vec<f64> {
        of.estimates.iter().flatten().map(|one| one.value).collect()
    };
    // 200 requests per second are 100 iterations of two, 200 of one; an iteration takes 4 ms, 2 ms; both read the same.
    let near = |of: Vec<f64>, to: [f64; 2]| of.iter().zip(to).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
    assert!(near(values(&point.throughput), [100.0, 200.0]) && near(values(&point.mean), [4e-3, 2e-3]), "{point:?}");
    let bytes = point.bytes.as_ref().unwrap();
    assert!(near(values(bytes), [200.0 * 4096.0; 2]) && bytes.winner().is_none(), "{bytes:?}");
    let metrics: Vec<&str> = ranking.overall.iter().map(|ranked| ranked.metric.as_str()).collect();
    assert_eq!(metrics, ["iterations", "bytes", "iteration time"]);
    assert_eq!((ranking.overall[0].winner(), ranking.overall[2].winner()), (Some(1), Some(1)));
    let text = to_string(&found, &Style::default());
    for part in
        ["Iterations (iterations/s):", "File data (MB/s):", "Mean time of an iteration", "by mean time of an iteration"]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(html::page(&found).unwrap().contains("mean time of an iteration"));

    // With one protocol, operations are counted; with different workloads, nothing is comparable.
    let same = report(swept(smb, [2.0; 2], "x"), swept(smb, [1.0; 2], "x"));
    assert_eq!(of(&same).ranking.as_ref().unwrap().by, RankedBy::Operations);
    assert!(of(&report(swept(smb, [2.0; 2], "x"), swept(nfs, [1.0; 2], "y"))).ranking.is_none());
    // How much requests vary tells nothing of iterations of one request here and three there.
    let uneven = report(swept(smb, [2.0; 2], "x"), swept(nfs, [1.0, 3.0], "x"));
    let overall = &of(&uneven).ranking.as_ref().unwrap().overall;
    assert!(overall[0].places.iter().chain(&overall[2].places).all(Option::is_none), "{overall:?}");
    assert!(to_string(&uneven, &Style::default()).contains("uneven iterations"));
}

/// As in Poo and Tan (1988), the quickest server need not be the most stable one. Levels that errors make invalid count.
#[test]
fn servers_are_ranked_by_stability_too() {
    let (smb, loads) = ((Protocol::Smb2, 8), [1, 2, 4, 8]);
    let side = |per_second: u64, failing: u64, outages: u64, spread: f64, valid: bool| {
        let runs_at = |clients: u64| {
            let words = format!("{clients} clients");
            let point = LoadPoint { valid, ..point(&words, clients) };
            let runs = vec![run_over(smb, per_second * clients, 1000, failing)];
            LevelRuns { level_name: words, point: Some(point), runs, findings: None }
        };
        let level = |clients: u64| {
            let mut level = LoadLevel {
                facts: LevelFacts { load_name: format!("{clients} clients"), clients, ..LevelFacts::default() },
                ..LoadLevel::default()
            };
            level.span.elapsed_s = Some(30.0);
            level.facts.validity = Validity { valid, ..Validity::default() };
            level.facts.silence.outages = outages;
            let stddev = Some(spread * (1.0 + 0.1 * clients as f64));
            level.facts.fairness = Fairness { clients, stddev, attributable: true, ..Fairness::default() };
            level
        };
        let run = Some(Run::default());
        let findings = Findings { run, levels: loads.map(level).to_vec(), ..Findings::default() };
        Contestant { findings, levels: loads.map(runs_at).to_vec() }
    };
    let found = |a: &Contestant, b: &Contestant| Report::compare(vec![a.clone(), b.clone()], Order::Apart, Vec::new());
    let (steady, quick) = (side(100, 0, 0, 0.02, true), side(400, 8, 3, 0.30, false));
    let report = found(&steady, &quick);
    let ranking = of(&report).ranking.as_ref().unwrap();
    assert_eq!((ranking.points, ranking.not_used), (0, 4), "no throughput of invalid levels");
    let metrics: Vec<&str> = ranking.stability.iter().map(|ranked| ranked.metric.as_str()).collect();
    assert_eq!(metrics, ["errors", "outages", "client spread"]);
    for ranked in &ranking.stability {
        assert_eq!((ranked.winner(), &ranked.places), (Some(0), &vec![Some(1), Some(2)]), "{ranked:?}");
    }
    // 12 outages in 2 minutes; 8 of 400, 800, 1600 and 3200 a second.
    let value = |at: usize, side: usize| ranking.stability[at].estimates[side].as_ref().unwrap().value;
    assert_eq!((value(1, 0), value(1, 1)), (0.0, 360.0));
    assert!((value(0, 1) / (8.0 * (1.0 / 400.0 + 1.0 / 800.0 + 1.0 / 1600.0 + 1.0 / 3200.0) / 4.0) - 1.0).abs() < 1e-9);
    assert!((value(2, 0) - 0.02 * 1.375).abs() < 1e-9);
    let text = to_string(&report, &Style::plain(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in
        ["Stability of the servers", "by failed requests", "by outages (per hour)", "by differences between clients"]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(html::page(&report).unwrap().contains("stability-caption"));

    // The same server twice: none is ahead. Where the load generator was late, that is unknown.
    let same = found(&quick, &quick);
    let stability = &of(&same).ranking.as_ref().unwrap().stability;
    assert!(stability.len() == 3 && stability.iter().all(|one| one.places == [Some(1), Some(1)]), "{stability:?}");
    let mut late = quick;
    late.findings.levels.iter_mut().for_each(|level| level.facts.generator.moved = vec![MovedNumber::default()]);
    let report = found(&steady, &late);
    let [errors, outages, spread] = &of(&report).ranking.as_ref().unwrap().stability[..] else { panic!() };
    assert_eq!(errors.winner(), Some(0), "a late generator makes no errors");
    assert!([outages, spread].iter().all(|one| one.places == [None, None]), "{outages:?} {spread:?}");
}

/// A capture does not show outages: 0 per hour would be a claim.
#[test]
fn captures_have_no_ranking_by_stability() {
    let side = |captured: bool| {
        let mut one = swept((Protocol::Smb2, 8), [2.0; 2], "x");
        let level = |words: &str| {
            let facts = LevelFacts { load_name: words.to_owned(), ..LevelFacts::default() };
            let mut level = LoadLevel { facts, ..LoadLevel::default() };
            level.span.elapsed_s = Some(30.0);
            level
        };
        one.findings.levels = one.levels.iter().map(|runs| level(&runs.level_name)).collect();
        one.findings.run = one.findings.run.filter(|_| !captured);
        one
    };
    for (captured, numbers) in [([false, false], 3), ([true, true], 0)] {
        let found = Report::compare(captured.map(side).to_vec(), Order::Apart, Vec::new());
        let ranking = of(&found).ranking.as_ref();
        let stability = ranking.map(|ranking| (ranking.points, ranking.stability.len()));
        assert_eq!(stability, Some((2, numbers)), "{captured:?}");
        assert_eq!(to_string(&found, &Style::default()).contains("by outages"), numbers > 0, "{captured:?}");
    }
}

#[test]
fn repeated_runs_bring_what_a_restart_changes() {
    // Restarts move the mean by 10 %; B is 3 % slower in every pair.
    let runs = |factor: u64| [1000, 1100, 950, 1050].map(|mean| run(mean * factor / 100, 0)).to_vec();
    let apart = compared(runs(100), runs(103), Order::Apart);
    assert_eq!((of(&apart).levels[0].from.as_str(), verdict(&apart, "mean")), ("welch", "none shown"));
    let pairs = compared(runs(100), runs(103), Order::InPairs);
    assert_eq!((of(&pairs).levels[0].from.as_str(), verdict(&pairs, "mean")), ("paired", "worse"));
    let two = compared(runs(100)[..2].to_vec(), runs(103), Order::InPairs);
    assert_eq!(of(&two).levels[0].from, "batches", "two runs show nothing of restarts");
    assert!(of(&two).method.notes[0].contains("One run per side"));
}

/// Runs with the same few errors do not scatter, and the slowest of few requests is no p99.
#[test]
fn runs_that_agree_by_chance_show_nothing() {
    let runs = |errors: u64| {
        let mut one = run_of(4, 1000, 0);
        let mut interval = Interval::at(0, IntervalWidth::USUAL);
        interval.row_mut(Procedure::of(Protocol::Smb2, 8)).errors = errors;
        one.intervals.add(interval);
        vec![one; 3]
    };
    for order in [Order::Apart, Order::InPairs] {
        let found = compared(runs(0), runs(1), order);
        assert_eq!(["errors", "p50"].map(|name| verdict(&found, name)), ["none shown"; 2]);
        // None of 360: as many as 1 % would often show none.
        let errors = metric(&found, "all", "errors");
        let high = |side: usize| errors.estimates[side].as_ref().unwrap().high.unwrap();
        assert!(high(0) > 0.01 && high(1) > high(0), "{errors:?}");
        let p99 = metric(&found, "all", "p99");
        assert!(p99.estimates.iter().flatten().all(|one| one.low.is_none() && one.missing.is_some()), "{p99:?}");
        assert_eq!(p99.differences, [None]);
        assert_eq!(verdict(&compared(runs(0), runs(20), order), "errors"), "worse");
    }
}

#[test]
fn a_level_that_not_all_have_is_left_out() {
    let mut a = contestant("a", vec![run(1000, 0)]);
    let runs = vec![run(1000, 0)];
    a.levels.push(LevelRuns { level_name: "8 clients".to_owned(), point: None, runs, findings: None });
    let b = contestant("b", vec![run(1000, 0)]);
    let levels = |order: &[Contestant]| {
        let found = Report::compare(order.to_vec(), Order::Apart, Vec::new());
        of(&found).levels.iter().map(|level| level.level_name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(levels(&[a.clone(), b.clone()]), ["4 clients"]);
    assert_eq!(levels(&[b, a]), ["4 clients"]);
}

#[test]
fn the_json_keeps_to_its_closed_schema() {
    let short = MeasuredRun { span_ns: (0, S), ..run(1000, 0) };
    for found in [
        compared(vec![run(1000, 1)], vec![run(1100, 0)], Order::Apart),
        compared(vec![short], vec![run(1100, 0)], Order::Apart),
        compared(Vec::new(), vec![run(1100, 0)], Order::Apart),
    ] {
        let mut out = Vec::new();
        write(&found, Layout::Pretty, &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(crate::against_schema(&value), Vec::<String>::new());
        assert_eq!(serde_json::from_slice::<Report>(&out).unwrap(), found);
        let mut changed = value;
        for place in ["/comparison", "/sides/0", "/comparison/levels/0", "/comparison/levels/0/rows/0/metrics/0"] {
            changed.pointer_mut(place).unwrap()["unheard_of"] = Value::from(1);
            assert!(!crate::against_schema(&changed).is_empty(), "{place}");
            changed.pointer_mut(place).unwrap().as_object_mut().unwrap().remove("unheard_of");
        }
    }
}

#[test]
fn the_text_fits_and_warns_first() {
    let found = compared(vec![run(1000, 0)], vec![run(1100, 1)], Order::Apart);
    let text = to_string(&found, &Style::plain(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is not in\n{text}"));
    assert!(place("! The workloads differ.") < place("B against A, 4 clients"));
    assert!(place("! The workloads differ.") < place("Diagnosis:") && place("Diagnosis:") < place("Verdict"));
    assert!(place("B is worse than A: mean response time +10 % (") < place("Verdict"), "{text}");
    assert!(text.rfind("+10 % (") > text.find("Verdict"), "{text}");
    let first = screen(&found, &Style::plain(80));
    assert!(first.lines().count() <= LINES && first.lines().all(|line| line.chars().count() <= 80), "{first}");
    assert!(first.contains("B is worse than A") && first.contains("All operations mean"), "{first}");
    assert!(text.contains("worse *") && text.contains("none shown") && text.contains("9 of 10 cases"), "{text}");
    assert_eq!(first.matches("9 of 10").count(), 1, "what *none shown* excludes: {first}");
    let same = screen(&compared(vec![run(1000, 0)], vec![run(1000, 0)], Order::Apart), &Style::plain(80));
    assert_eq!(same.matches("9 of 10").count(), 1, "the diagnosis has said it: {same}");
    assert!(text.contains(", times in seconds:") && text.contains("0.00100 ±") && !text.contains(" ms ±"), "{text}");
    let short = MeasuredRun { span_ns: (0, S), ..run(1000, 0) };
    let text = to_string(&compared(vec![short.clone()], vec![short], Order::Apart), &Style::plain(80));
    assert!(text.contains("too short") && text.contains("cannot tell"), "{text}");
}

/// Every point on one page: a line a side a level, marked where it differs from the first by more than chance.
#[test]
fn all_levels_are_one_table() {
    let side = |name: &str, times: [u64; 2]| {
        let mut one = contestant(name, vec![run(times[0], 0)]);
        let runs = vec![run(times[1], 0)];
        one.levels.push(LevelRuns { level_name: "8 clients".to_owned(), point: None, runs, findings: None });
        one
    };
    let both = [side("old", [1000, 2000]), side("new", [1000, 1500])];
    let found = Report::compare(both.to_vec(), Order::Apart, Vec::new());
    let text = compact_to_string(&found, &Style::plain(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = |of: &str| -> Vec<String> {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(of));
        let both = [lines.next().unwrap(), lines.next().unwrap()];
        both.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(words("4 clients"), ["4 clients A 100 0.410 3.28 1.000", "B 100 = 0.410 = 3.28 = 1.000 ="]);
    assert_eq!(words("8 clients"), ["8 clients A 100 0.410 3.28 2.000", "B 100 = 0.410 = 3.28 = 1.500 +*"]);
    let short = MeasuredRun { span_ns: (0, S), ..run(1000, 0) };
    let text = compact_to_string(&compared(vec![short], vec![run(1100, 0)], Order::Apart), &Style::plain(80));
    assert!(text.contains("100 ?") && text.contains("! The workloads differ."), "{text}");
}
