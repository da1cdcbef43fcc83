//! Decisions have one form: readers find the state, the reasons and the effects of each under the same headings.

use super::source::Source;

const FOLDER: &str = "docs/decisions/";
const HEADINGS: [&str; 4] = ["Status", "Context", "Decision", "Consequences"];
/// May follow: figures, with date and command.
const FIGURES: &str = "Measured";

/// Decisions with other headings, another order or an empty part.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let decisions = sources.iter().filter(|source| source.path.starts_with(FOLDER) && source.path.ends_with(".md"));
    decisions.filter(|source| !has_form(&source.text)).map(|source| problem(&source.path)).collect()
}

fn problem(path: &str) -> String {
    format!("{path}: the parts of a decision are {}, and then {FIGURES} if there are figures", HEADINGS.join(", "))
}

fn has_form(text: &str) -> bool {
    let mut parts = text.split("\n## ");
    let has_title = parts.next().is_some_and(|begin| begin.starts_with("# ") && begin.trim_end().lines().count() == 1);
    let parts: Vec<(&str, &str)> = parts.map(|part| part.split_once('\n').unwrap_or((part, ""))).collect();
    let headings: Vec<&str> = parts.iter().map(|(heading, _)| *heading).collect();
    let rest = headings.strip_prefix(HEADINGS.as_slice());
    let is_filled = parts.iter().all(|(_, content)| !content.trim().is_empty());
    has_title && is_filled && rest.is_some_and(|rest| rest.is_empty() || rest == [FIGURES])
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "# 1. A\n\n## Status\n\nAccepted.\n\n## Context\n\nb\n\n## Decision\n\n### Why\n\nc\n\n## Consequences\n\nd\n";

    fn count(text: &str) -> usize {
        problems(&[Source::new("docs/decisions/0001-a.md", text)]).len()
    }

    #[test]
    fn decisions_have_four_parts_in_order() {
        assert_eq!(count(WHOLE), 0);
        assert_eq!(count(&format!("{WHOLE}\n## Measured\n\n2 s\n")), 0);
        assert!(problems(&[Source::new("docs/page.md", "# A\n")]).is_empty());
    }

    #[test]
    fn another_form_is_found() {
        for (part, other) in [
            ("## Context", "## Choices"),
            ("## Consequences", "**Consequences.**"),
            ("Accepted.", ""),
            ("# 1. A\n", "# 1. A\n\nAn introduction.\n"),
            ("## Status\n\nAccepted.\n\n## Context", "## Context\n\nb\n\n## Status"),
        ] {
            assert_eq!(count(&WHOLE.replacen(part, other, 1)), 1, "{other}");
        }
        assert_eq!(count(&format!("{WHOLE}\n## Limits\n\ne\n")), 1);
    }
}
