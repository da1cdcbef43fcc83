use std::time::Duration;

use super::*;
use crate::gate::{Basis, GateResult, GateRun, Known, Question, Seen};
use plimsoll_results::comparison::{Condition, Outcome};

const HOSTILE: &str = "a|b`<img src=x onerror=alert(1)>&\"'@all [x](y)\n\u{1b}[2J\u{202e}";

fn question(text: &str, outcome: Outcome) -> Question {
    let mut question = Question::new(Condition::parse(text).unwrap(), "4 clients".to_owned(), 0.05);
    (question.outcome, question.seen) = (outcome, Seen::Rounds(7));
    question.known = Some(Known { value: 0.012, low: -0.005, high: 0.029 });
    question
}

fn result() -> GateResult {
    let mut undecided = question("write.mean > 5ms", Outcome::Undecided);
    // Conditions name operations and procedures alone: this is more than a user can do.
    let name = HOSTILE.replace(['<', '>'], "");
    undecided.condition.text = format!("{name}.mean > 5ms");
    undecided.condition.name = name;
    undecided.known = None;
    let questions =
        vec![question("read.p95 > +3%", Outcome::Passed), question("throughput < -5%", Outcome::Failed), undecided];
    let run = |turn, side, numbers| GateRun {
        round: Some(1),
        turn,
        side,
        level_name: "4 clients".to_owned(),
        first_ns: 1_700_000_000_000_000_000,
        seconds: 2.5,
        counted: true,
        numbers,
    };
    let runs = vec![run(1, 0, vec![Some(0.001), Some(250.5), None]), run(2, 1, vec![Some(0.002), Some(250.0), None])];
    let (why, took) = ("the time budget of 10 min is spent".to_owned(), Duration::from_secs(123));
    let basis = Basis::Rounds { all: 7, uncounted: 0 };
    GateResult { questions, why, basis, took, runs, judged_again: false }
}

fn of(print: fn(&GateSummary<'_>) -> String) -> String {
    let gate = result();
    let conditions: Vec<Condition> = gate.questions.iter().map(|question| question.condition.clone()).collect();
    let warnings = ["A and B differ | much".to_owned()];
    let sides = ["nfs://old/export", HOSTILE];
    print(&GateSummary { gate: &gate, conditions: &conditions, sides, workload: "mixed", warnings: &warnings })
}

#[test]
fn the_text_begins_with_the_verdict() {
    let text = of(|summary| words::text(summary, 200));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "FAILED: 1 of 3 conditions, 1 undecided, after 7 rounds in 2 min 3 s");
    assert_eq!(
        lines[1],
        "read.p95 at 4 clients: +1.20 % against the baseline (95 % interval -0.50 to +2.90 %), limit +3%: passed after 7 rounds"
    );
    assert!(lines[3].ends_with("no interval (needs 4 rounds), limit 5ms: undecided after 7 rounds"));
    assert_eq!(lines[4], "The gate ended early: the time budget of 10 min is spent");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    assert!(of(|summary| words::text(summary, 80)).lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn names_do_nothing_in_markdown() {
    let text = of(markdown::table);
    assert_eq!(text.matches("| Fails if |").count(), 1);
    // As many cells a line as the head has, and no markup but ours.
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() == 5 && rows.iter().all(|row| row.matches('|').count() == 5), "{text}");
    let markup = text.replace("<code>", "").replace("</code>", "");
    assert!(!markup.contains(['<', '`', '@', '[', '\u{1b}']), "{text}");
    assert_eq!(markup.matches('>').count(), 2, "the quotations: {text}");
    assert!(text.contains("| <code>read.p95 &#62; +3%</code> | 4 clients | +1.20 % against the baseline (95 % interval -0.50 to +2.90 %) | passed after 7 rounds |"), "{text}");
}

#[test]
fn names_are_values_in_xml() {
    let text = of(junit::suite);
    assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"123.000\""), "{text}");
    assert!(
        text.contains("name=\"read.p95 &gt; +3%\"") && text.contains("<failure message=\"all.throughput"),
        "{text}"
    );
    assert!(text.contains("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&apos;"), "{text}");
    assert!(!text.contains("<img") && !text.contains(['\u{1b}', '\u{202e}']), "{text}");
    // Each tag that was opened is closed: those are all of ours.
    let opened = |tag: &str| text.matches(&format!("<{tag} ")).count() + text.matches(&format!("<{tag}>")).count();
    let closed = |tag: &str| text.matches(&format!("</{tag}>")).count();
    for tag in ["testsuites", "testsuite", "properties", "testcase", "system-out"] {
        assert_eq!(opened(tag), closed(tag), "{tag}: {text}");
    }
    assert_eq!(opened("skipped") + opened("failure") + opened("property"), text.matches("/>").count());
}

#[test]
fn a_cell_holds_what_a_name_holds() {
    let text = of(csv::runs);
    assert!(
        text.starts_with(
            "round,turn,side,target,level_name,started_ns,seconds,counted,read.p95_s,all.throughput_per_s,"
        )
    );
    assert!(
        text.contains("\r\n1,1,A,nfs://old/export,4 clients,1700000000000000000,2.5,true,0.001,250.5,\r\n"),
        "{text}"
    );
    assert!(text.contains(&format!("1,2,B,\"{}\",4 clients,", HOSTILE.replace('"', "\"\""))), "{text}");
}

#[test]
fn the_worst_condition_decides_the_exit_code() {
    let judgement = result().judgement(words::line);
    assert_eq!((judgement.failed.len(), judgement.undecided.len()), (1, 1));
}

#[test]
fn the_one_line_on_standard_error_repeats_no_reason() {
    let mut gate = result();
    let reason = "1 client is INVALID: the load generator was late";
    gate.questions[2].unanswerable = Some(reason.to_owned());
    gate.questions[2].condition.name = "write".to_owned();
    gate.why = reason.to_owned();
    let quiet = words::judgement(&gate, false).undecided;
    assert_eq!(quiet[0].matches(reason).count(), 1, "{quiet:?}");
    let printed = words::judgement(&gate, true);
    assert_eq!(printed.undecided, ["write.mean at 4 clients: undecided (the reasons are in the decisions above)"]);
    assert!(printed.failed[0].contains("95 % interval"), "{:?}", printed.failed);
}

#[test]
fn the_one_line_on_standard_error_has_the_rounds_that_do_not_count() {
    let spent = result();
    assert_eq!(words::why_ended(&spent), "the time budget of 10 min is spent");
    let busy = GateResult { basis: Basis::Rounds { all: 7, uncounted: 6 }, ..spent };
    assert_eq!(
        words::why_ended(&busy),
        "the time budget of 10 min is spent; of 7 rounds, 6 not counted, because a run was INVALID or its load generator was at fault"
    );
}
