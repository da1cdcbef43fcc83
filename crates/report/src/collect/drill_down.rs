//! The cube of a page: names for its keys, and as many keys and bins as there is room for.

mod encode;

use super::StatusName;
use super::rows::name_of;
use crate::findings::{DrillCommand, DrillDimension, DrillDown, DrillKey, Source};
use crate::safe;
use plimsoll_model::{Names, Operation, Outcome, Procedure};
use plimsoll_stats::cube::{CUBE_DIMENSIONS, Cube, CubeKey, CubeStatus, FoldLimits, FoldedCube};
use std::borrow::Cow;
use std::collections::HashSet;

/// Most bytes of the cells: in base64 a third more, some 1.2 MB of a page.
const MOST_BYTES: usize = 900_000;

const FLAGS: [&str; CUBE_DIMENSIONS] = ["client", "server", "share", "operation", "status"];

/// Limits to try until the number of cells is small enough: coarser histograms up to an error of 3 %, wider bins of time, fewer keys.
const LIMITS: [FoldLimits; 9] = [
    limits(32, 120, 0),
    limits(32, 120, 1),
    limits(32, 60, 1),
    limits(32, 30, 1),
    limits(16, 30, 1),
    limits(16, 15, 2),
    limits(8, 15, 2),
    limits(4, 8, 3),
    limits(1, 2, 4),
];

const fn limits(keys: usize, bins: usize, joined: u32) -> FoldLimits {
    FoldLimits { keys, bins, joined }
}

impl DrillDown {
    /// The part of `cube` that a page has room for. `names` must be the set that the transactions' symbols are from.
    pub fn collect(cube: &Cube, names: &Names, source: &Source, status_name: StatusName) -> DrillDown {
        let mut no_filter = HashSet::new();
        let keys = cube.keys();
        let seen: Vec<Operation> = keys.iter().flatten().filter_map(operation_of).collect();
        let labels = keys.map(|keys| {
            let label = |key: CubeKey| {
                let text = text_of(key, names, status_name)?;
                let shown = safe::for_terminal(&text).into_owned();
                if shown != text || !is_filter(key, &text) {
                    no_filter.insert(shown.clone());
                }
                Some(shown)
            };
            keys.into_iter().map(label).collect::<Vec<_>>()
        });
        let within = |limits: &FoldLimits| {
            let folded = cube.folded(*limits, &labels);
            let (unit_ns, cells) = encode::encode(&folded);
            (folded, unit_ns, cells)
        };
        let mut found = within(&LIMITS[0]);
        for limits in &LIMITS[1..] {
            if found.2.len() <= MOST_BYTES {
                break;
            }
            found = within(limits);
        }
        let (folded, unit_ns, cells) = found;
        let error = folded.error();
        let (start_ns, bin_ns, bins, joined) = (folded.start_ns, folded.bin_ns, folded.bins, folded.joined);
        let mut dimensions = dimensions(folded, &no_filter);
        dimensions.iter_mut().filter(|one| one.flag == "operation").for_each(|one| exclude(one, &seen));
        DrillDown {
            dimensions,
            start_ms: start_ns / 1_000_000,
            bin_ms: bin_ns / 1_000_000,
            bins,
            error,
            joined,
            unit_ns,
            command: command(source),
            cells,
        }
    }
}

fn dimensions(folded: FoldedCube, no_filter: &HashSet<String>) -> Vec<DrillDimension> {
    let key = |name: Option<String>| DrillKey {
        plain: name.as_ref().is_some_and(|name| !no_filter.contains(name)),
        without: Vec::new(),
        name,
    };
    let whole = folded.keys.into_iter().zip(folded.others).zip(FLAGS);
    whole
        .map(|((keys, others), flag)| DrillDimension {
            flag,
            keys: keys.into_iter().map(|one| key(one.label)).collect(),
            others,
        })
        .collect()
}

/// Notes for each operation which other operations a filter by its name also matches.
fn exclude(operations: &mut DrillDimension, seen: &[Operation]) {
    let named_like = |name: &str| -> Vec<Operation> {
        seen.iter().filter(|other| other.label() != name && shares_name(**other, name)).copied().collect()
    };
    for key in &mut operations.keys {
        let others: Vec<Operation> = key.name.as_deref().map(named_like).unwrap_or_default();
        key.plain &= others.iter().all(|other| named_like(other.label()).is_empty());
        key.without = others.into_iter().map(Operation::label).collect();
    }
}

/// A key as the filters call it; `None` where it is not known.
fn text_of(key: CubeKey, names: &Names, status_name: StatusName) -> Option<String> {
    match key {
        CubeKey::Client(ip) => Some(ip.to_string()),
        CubeKey::Server(server) => Some(server.to_string()),
        CubeKey::Share(share) => names.text(share).map(str::to_owned),
        CubeKey::Operation(operation) => Some(operation.label().to_owned()),
        CubeKey::Status(CubeStatus::Wire(protocol, status)) => Some(name_of(protocol, status, status_name)),
        CubeKey::Status(CubeStatus::Without(Outcome::Unknown)) => None,
        CubeKey::Status(CubeStatus::Without(Outcome::Unanswered)) => Some(Outcome::Unanswered.label().to_owned()),
        CubeKey::Status(CubeStatus::Without(outcome)) => Some(format!("{}, no status", outcome.label())),
    }
}

fn operation_of(key: &CubeKey) -> Option<Operation> {
    if let CubeKey::Operation(operation) = *key { Some(operation) } else { None }
}

/// Whether `--client`, `--share` and similar options accept the key's text as it is.
fn is_filter(key: CubeKey, text: &str) -> bool {
    match key {
        // A pattern.
        CubeKey::Share(_) => !text.contains(['*', '?', '[', ']', '{', '}', '!']),
        CubeKey::Status(CubeStatus::Without(outcome)) => outcome == Outcome::Unanswered,
        CubeKey::Client(_) | CubeKey::Server(_) | CubeKey::Operation(_) | CubeKey::Status(CubeStatus::Wire(..)) => true,
    }
}

/// Whether `--operation` takes procedures of an operation by the name of another one: the group Write holds flushes.
fn shares_name(operation: Operation, name: &str) -> bool {
    let is = |text: &str| text.eq_ignore_ascii_case(name);
    Procedure::all().filter(|procedure| procedure.row().operation == operation).any(|procedure| {
        let row = procedure.row();
        is(row.group.label())
            || (row.group.is_other() && is("Other"))
            || is(&procedure.name())
            || is(&procedure.command().name())
            || row.netbench_name.is_some_and(is)
    })
}

/// The command that made the page; none where its input cannot be read again.
fn command(source: &Source) -> Option<DrillCommand> {
    if !source.is_readable_again() {
        return None;
    }
    let inputs: Vec<String> = source.inputs.iter().map(|input| safe::file_for_shell(input)).collect();
    let words: Vec<&str> = inputs.iter().chain(&source.options).map(String::as_str).collect();
    let start = format!("plimsoll analyze {}", words.join(" "));
    let acts = |text: &str| matches!(safe::for_terminal(text), Cow::Owned(_));
    let is_plain = !acts(&start) && !source.filters.iter().any(|filter| acts(filter));
    is_plain.then(|| DrillCommand { start, filters: source.filters.clone() })
}
