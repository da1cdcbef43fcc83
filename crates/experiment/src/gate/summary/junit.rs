//! The decisions as JUnit XML: a test case per condition and load level.

use std::fmt::Write as _;

use plimsoll_report::safe;
use plimsoll_results::comparison::Outcome;

use super::{GateSummary, words};

/// The whole file.
pub(super) fn suite(summary: &GateSummary<'_>) -> String {
    let questions = &summary.gate.questions;
    let of = |outcome: Outcome| questions.iter().filter(|question| question.outcome == outcome).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\"",
        questions.len(),
        of(Outcome::Failed),
        of(Outcome::Undecided),
        summary.gate.took.as_secs_f64()
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plimsoll gate\" {counts}>\n  <testsuite name=\"plimsoll gate\" {counts}>\n    <properties>\n"
    );
    for (name, value) in
        [("baseline", summary.sides[0]), ("candidate", summary.sides[1]), ("workload", summary.workload)]
    {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", escaped(value));
    }
    text.push_str("    </properties>\n");
    for question in questions {
        let line = escaped(&words::line(question));
        let (name, class) = (escaped(&question.condition.text), escaped(&question.level_name));
        let inside = match question.outcome {
            Outcome::Passed => format!("<system-out>{line}</system-out>"),
            Outcome::Failed => format!("<failure message=\"{line}\" type=\"fail-if\"/>"),
            Outcome::Undecided => format!("<skipped message=\"{line}. {}\"/>", escaped(&summary.gate.why)),
        };
        let _ = writeln!(
            text,
            "    <testcase classname=\"plimsoll.gate.{class}\" name=\"{name}\">\n      {inside}\n    </testcase>"
        );
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// For an attribute or a text. XML 1.0 has no way to write most control characters: they are shown as escapes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in safe::for_terminal(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
