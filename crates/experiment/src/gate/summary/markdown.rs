//! The decisions as Markdown, for the comment on a pull request.

use std::fmt::Write as _;

use plimsoll_report::safe;

use super::{GateSummary, words};

/// The verdict and a table.
pub(super) fn table(summary: &GateSummary<'_>) -> String {
    let [baseline, candidate] = summary.sides.map(code);
    let mut text = format!(
        "### Plimsoll gate: {}\n\nCandidate {candidate} against baseline {baseline}, workload {}.\n\n",
        plain(&words::headline(summary)),
        code(summary.workload)
    );
    text.push_str("| Fails if | Load | Measured | Result |\n|---|---|---|---|\n");
    for question in &summary.gate.questions {
        let condition = code(&question.condition.text);
        let [level, difference, outcome] =
            [question.level_name.clone(), words::difference(question), words::outcome(question)]
                .map(|cell| plain(&cell));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {condition} | {level} | {difference} | {outcome} |");
    }
    for warning in words::ended(summary).iter().chain(summary.warnings) {
        let _ = write!(text, "\n> {}\n", plain(warning));
    }
    text
}

/// Names of users, in which nothing acts: not even a mention, which platforms leave alone within `code`.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// Replaces every special character of Markdown or HTML by an entity.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in safe::for_terminal(text).chars() {
        if c.is_alphanumeric() || " .,:;/-+%=?()".contains(c) {
            plain.push(c);
        } else {
            let _ = write!(plain, "&#{};", u32::from(c));
        }
    }
    plain
}
