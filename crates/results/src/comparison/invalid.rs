//! The sides of a comparison whose numbers must not be used.

use plimsoll_report::findings::comparison::ComparedVerdict;
use plimsoll_report::findings::{Findings, Report};

use crate::first_reason;

/// Names all sides with invalid numbers; `None` if there are none. The printed report has the reasons.
pub fn invalid_sides(sides: &[Findings], printed: bool) -> Option<String> {
    let invalid: Vec<&Findings> = sides.iter().filter(|side| !side.validity.valid).collect();
    let reason = |side: &Findings| first_reason(&side.validity.reasons);
    let letters: Vec<&str> = invalid.iter().map(|side| side.letter.as_str()).collect();
    let (last, others) = letters.split_last()?;
    let names = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    let why = match invalid.as_slice() {
        _ if printed => String::new(),
        [side] => format!(": {}", reason(side)),
        several => {
            let reasons = several.iter().map(|side| format!("{}: {}", side.letter, reason(side)));
            format!(": {}", reasons.collect::<Vec<_>>().join("; "))
        }
    };
    Some(format!("the numbers of {names} are INVALID{why}"))
}

/// Why nothing of a comparison of valid sides can be judged; `None` if a capacity or a load level can. The single runs of a search may be
/// INVALID although its result is valid.
pub fn nothing_judged(report: &Report) -> Option<String> {
    let comparison = report.comparison.as_ref()?;
    let known = comparison.capacities.iter().any(|capacity| capacity.verdict != ComparedVerdict::CannotTell);
    if known || comparison.levels.iter().any(|level| level.invalid.is_empty()) {
        return None;
    }
    let capacities = if comparison.capacities.is_empty() { "" } else { "the capacities cannot be compared, and " };
    let levels = match comparison.levels.is_empty() {
        true => "the sides have no common load level",
        false => "at each common load level the numbers of at least one side are INVALID",
    };
    Some(format!("{capacities}{levels}"))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Validity;
    use plimsoll_report::findings::comparison::{ComparedCapacity, ComparedLevel, Comparison};

    use super::*;

    #[test]
    fn a_comparison_without_a_usable_level_judges_nothing() {
        let level = |invalid: &[&str]| {
            let invalid = invalid.iter().map(|letter| (*letter).to_owned()).collect();
            ComparedLevel { invalid, ..ComparedLevel::default() }
        };
        let of = |levels: Vec<ComparedLevel>, verdict: Option<ComparedVerdict>| {
            let capacity = |verdict| ComparedCapacity { words: String::new(), verdict, why: None };
            let capacities = verdict.map(capacity).into_iter().collect();
            let comparison = Some(Comparison { levels, capacities, ..Comparison::default() });
            let (schema, tool, sides) = (String::new(), String::new(), Vec::new());
            nothing_judged(&Report { schema, tool, sides, comparison })
        };
        assert_eq!(of(vec![level(&["B"]), level(&[])], None), None);
        assert!(of(vec![level(&["B"]), level(&["A"])], None).unwrap().starts_with("at each common load level"));
        assert_eq!(of(vec![level(&["B"])], Some(ComparedVerdict::NotShown)), None);
        assert_eq!(
            of(Vec::new(), Some(ComparedVerdict::CannotTell)).as_deref(),
            Some("the capacities cannot be compared, and the sides have no common load level")
        );
    }

    #[test]
    fn all_sides_that_are_invalid_are_named() {
        let side = |letter: &str, validity| Findings { letter: letter.to_owned(), validity, ..Findings::default() };
        let late = || Validity::invalid("it was late");
        let sides = [side("A", late()), side("B", Validity::default()), side("C", late()), side("D", late())];
        assert_eq!(invalid_sides(&sides[1..2], false), None);
        assert_eq!(invalid_sides(&sides[..2], true).as_deref(), Some("the numbers of A are INVALID"));
        assert_eq!(invalid_sides(&sides[..2], false).as_deref(), Some("the numbers of A are INVALID: it was late"));
        let two = "the numbers of A and C are INVALID: A: it was late; C: it was late";
        assert_eq!(invalid_sides(&sides[..3], false).as_deref(), Some(two));
        assert_eq!(invalid_sides(&sides, true).as_deref(), Some("the numbers of A, C and D are INVALID"));
    }
}
