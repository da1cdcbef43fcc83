//! Titles, labels and descriptions of the sides of a report: the rows that all renderers show.

use plimsoll_model::SystemUnderTest;

use crate::findings::Findings;
use crate::findings::comparison::ComparedGuarantee;

/// Title, a label or a part of the description of the system under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedRow {
    pub(crate) name: String,
    /// The value of each side; `None` without one.
    pub(crate) values: Vec<Option<String>>,
}

impl DescribedRow {
    /// Whether the sides say different things.
    pub(crate) fn differs(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// The rows of all sides, those that differ first; otherwise in the order of one side's.
pub(crate) fn described(sides: &[Findings]) -> Vec<DescribedRow> {
    let entries: Vec<Vec<(String, String)>> = sides.iter().map(|side| side.source.about.entries()).collect();
    let mut names: Vec<(usize, &String)> = Vec::new();
    for (name, _) in entries.iter().flatten() {
        if !names.iter().any(|(_, known)| *known == name) {
            names.push((rank(name), name));
        }
    }
    // Stable: labels of the same rank stay in order, and those of later sides come last.
    names.sort_by_key(|(rank, _)| *rank);
    let value =
        |of: &[(String, String)], name: &str| of.iter().find(|(known, _)| known == name).map(|(_, v)| v.clone());
    let row =
        |name: &String| DescribedRow { name: name.clone(), values: entries.iter().map(|of| value(of, name)).collect() };
    let mut rows: Vec<DescribedRow> = names.iter().map(|(_, name)| row(name)).collect();
    rows.sort_by_key(|row| !row.differs());
    rows
}

/// Rows of the guarantees of the servers in a comparison.
pub(crate) fn guarantees<'a>(rows: impl Iterator<Item = &'a ComparedGuarantee>) -> Vec<DescribedRow> {
    rows.map(|row| DescribedRow { name: row.name.clone(), values: row.values.clone() }).collect()
}

/// Whether a guarantee belongs to the few that a brief comparison shows. The others contain counts, which always differ.
pub(crate) fn is_brief(row: &ComparedGuarantee) -> bool {
    row.unlike || row.name == "Dialect" && row.values.windows(2).any(|two| two[0] != two[1])
}

/// Title, then labels, then the description, whichever side has them.
fn rank(name: &str) -> usize {
    match name {
        "Title" => 0,
        label if label.starts_with("Label ") => 1,
        part => 2 + SystemUnderTest::default().parts().iter().take_while(|(known, _)| *known != part).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{About, Source};

    fn side(labels: &[(&str, &str)], cpu: &[&str]) -> Findings {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect();
        let system = SystemUnderTest { cpu: lines(cpu), memory: lines(&["64 GiB"]), ..SystemUnderTest::default() };
        let about = About { title: Some("t".to_owned()), labels, system: Some(system) };
        Findings { source: Source { about, ..Source::default() }, ..Findings::default() }
    }

    #[test]
    fn rows_that_differ_come_first() {
        let sides = [side(&[("b", "1"), ("c", "x")], &["old"]), side(&[("a", "2"), ("c", "x")], &["new"])];
        let rows = described(&sides);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["Label b", "Label a", "CPU", "Title", "Label c", "Memory"]);
        assert_eq!(rows[0].values, [Some("1".to_owned()), None]);
        assert_eq!(rows.iter().filter(|row| row.differs()).count(), 3);
        assert!(described(&[Findings::default()]).is_empty() && !described(&sides[..1])[0].differs());
    }
}
