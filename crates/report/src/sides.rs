//! Several sides in the tables and charts of one report.

use crate::findings::{Findings, Headline, OperationRow};

/// Which response time the charts of these sides show.
pub(crate) fn response_time(sides: &[Findings]) -> &'static str {
    response_time_of(sides.iter().map(|side| side.headline))
}

/// Which response time a chart or table of these kinds of times shows.
pub(crate) fn response_time_of(kinds: impl Iterator<Item = Headline>) -> &'static str {
    let (scheduled, others): (Vec<Headline>, Vec<Headline>) = kinds.partition(|kind| kind.is_from_intended());
    match (scheduled.is_empty(), others.is_empty()) {
        (true, _) => "response time",
        (false, true) => "response time from the intended start",
        (false, false) => "response time (with a schedule: from the intended start)",
    }
}

/// A series' name, with the side's name if there are several sides.
pub(crate) fn label(sides: &[Findings], side: &Findings, what: &str) -> String {
    match (sides.len(), what.is_empty()) {
        (1, _) => what.to_owned(),
        (_, true) => side.letter.clone(),
        (_, false) => format!("{what}, {}", side.letter),
    }
}

/// The groups of all sides in the order in which they first appear, those for which `wanted` holds somewhere.
pub(crate) fn groups(sides: &[Findings], wanted: impl Fn(&OperationRow) -> bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in sides.iter().flat_map(|side| &side.groups).filter(|row| wanted(row)) {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    names
}

/// A side's row of a group.
pub(crate) fn group<'a>(side: &'a Findings, name: &str) -> Option<&'a OperationRow> {
    side.groups.iter().find(|row| row.group == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_start_of_times_where_it_is_not_the_first_byte() {
        let of = |kinds: &[Headline]| response_time_of(kinds.iter().copied());
        let (closed, scheduled) = (Headline::ResponseTime, Headline::ResponseTimeFromIntended);
        assert_eq!([of(&[]), of(&[closed; 2])], ["response time"; 2]);
        assert_eq!(of(&[scheduled; 2]), "response time from the intended start");
        assert_eq!(of(&[scheduled, closed]), "response time (with a schedule: from the intended start)");
    }
}
