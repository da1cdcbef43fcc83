//! The most file data that each server read and wrote, for each curve: Poo and Tan's figure 6.

use super::{Cell, Column, Note, Row, Table, prefix};
use crate::findings::{Findings, LoadLevel};
use crate::sides::label;

/// The most data of a curve, in one direction.
pub(crate) struct Most {
    /// Bytes a second.
    pub(crate) bytes_per_s: f64,
    /// The load there, in words.
    pub(crate) at: String,
}

/// Maximum read and write rate of a curve.
pub(crate) struct CurveData {
    /// The side's letter, where there are several.
    pub(crate) series: String,
    /// The curve's own name: the varied parameter, and its value.
    pub(crate) curve: String,
    prefix: String,
    pub(crate) read: Option<Most>,
    pub(crate) written: Option<Most>,
}

/// The most of every curve, of levels that may be used.
pub(crate) fn highest(sides: &[Findings]) -> Vec<CurveData> {
    let mut all = Vec::new();
    for side in sides {
        let remote = || side.levels.iter().filter(|level| !side.is_local(level));
        let mut names: Vec<&str> = Vec::new();
        for level in remote() {
            let name = level.facts.curve.as_deref().unwrap_or_default();
            names.extend((!names.contains(&name)).then_some(name));
        }
        for name in names {
            let of = |rate: fn(&LoadLevel) -> f64| {
                let own = remote().filter(|level| level.facts.curve.as_deref().unwrap_or_default() == name);
                let usable = own.filter(|level| level.facts.validity.valid && rate(level) > 0.0);
                let best = usable.max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
                Some(Most { bytes_per_s: rate(best), at: best.facts.load_name.clone() })
            };
            let (read, written) = (of(|level| level.read_bytes_per_s), of(|level| level.write_bytes_per_s));
            let (series, curve) = (label(sides, side, ""), name.to_owned());
            all.push(CurveData { series, curve, prefix: prefix(sides, side), read, written });
        }
    }
    all
}

/// A line a curve; none where there is one curve, or nothing was read or written.
pub(crate) fn highest_data(sides: &[Findings]) -> Option<Table> {
    let all = highest(sides);
    let moved = all.iter().any(|one| one.read.is_some() || one.written.is_some());
    let rate = |most: &Option<Most>| Cell::Number(most.as_ref().map(|most| most.bytes_per_s * 8.0 / 1e6), 1, "");
    let at = |most: &Option<Most>| Cell::Words(most.as_ref().map_or_else(|| "-".to_owned(), |most| most.at.clone()));
    let row = |one: &CurveData| Row {
        name: format!("{}{}", one.prefix, if one.curve.is_empty() { "all levels" } else { &one.curve }),
        invalid: false,
        cells: vec![rate(&one.read), at(&one.read), rate(&one.written), at(&one.written)],
    };
    (all.len() > 1 && moved).then(|| Table {
        id: "highest-data".to_owned(),
        title: "Highest rate of file data on each load curve".to_owned(),
        scaled: None,
        caption: "Highest rate of file data read, and of file data written, on each load curve, and the load level with this rate. \
        Valid load levels only."
            .to_owned(),
        columns: columns![
            "Curve", "Read, Mbit/s": "Read Mbit/s", words "At", "Written, Mbit/s": "Written Mbit/s", words "At"
        ],
        rows: all.iter().map(row).collect(),
        notes: vec![Note::quiet("Valid load levels only.")],
    })
}
