//! The sides of a comparison whose numbers must not be used.

use plimsoll_report::findings::Findings;

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

#[cfg(test)]
mod tests {
    use plimsoll_model::Validity;

    use super::*;

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
