//! Tables of load levels, defined once for all renderers, of one side or of several beside each other: a report is a comparison
//! of one. What a number is called and what it means stands here; how a time or a rate is written is the renderer's.

mod channels;
mod clients;
mod failures;
mod generator;
mod highest_data;
mod interference;
mod levels;
mod outages;
mod repeats;
mod server_side;
mod users;

pub(crate) use channels::channels;
pub(crate) use clients::{clients, is_shared};
pub(crate) use failures::failures;
pub(crate) use generator::{generators, unattributable};
pub(crate) use highest_data::{Most, highest, highest_data};
pub(crate) use interference::{interference, interval, shown, signed};
pub(crate) use levels::levels;
pub(crate) use outages::outages;
pub(crate) use repeats::repeats;
pub(crate) use server_side::server_side;
pub(crate) use users::{late_iterations, users};

use crate::findings::Findings;
use crate::findings::Stage;

/// A table: a line a load level, most of the time.
pub(crate) struct Table {
    /// Identifies it in a page.
    pub(crate) id: String,
    /// What stands above it in the terminal.
    pub(crate) title: String,
    /// What the times of [`Cell::Scaled`] are; the terminal names their unit. Other times have the unit of the report there.
    pub(crate) scaled: Option<String>,
    /// What stands above it in a page.
    pub(crate) caption: String,
    /// What its lines are, then its columns.
    pub(crate) columns: Vec<Column>,
    /// Its lines.
    pub(crate) rows: Vec<Row>,
    /// What stands below it: in the terminal all of it, in a page what the caption does not say.
    pub(crate) notes: Vec<Note>,
}

/// A column.
pub(crate) struct Column {
    /// Its name where there is room.
    pub(crate) name: &'static str,
    /// Its name in the terminal; none where only a page has room for it.
    pub(crate) short: Option<&'static str>,
    /// It holds words.
    pub(crate) words: bool,
}

/// A line.
pub(crate) struct Row {
    /// What it is of.
    pub(crate) name: String,
    /// Its numbers must not be used.
    pub(crate) invalid: bool,
    /// A cell for each column but the first.
    pub(crate) cells: Vec<Cell>,
}

/// A number, or words, in a table. None is what is not known, or does not apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// As it is.
    Words(String),
    /// How many.
    Count(u64),
    /// How many of how many; the terminal leaves the latter out.
    Of(u64, u64),
    /// Seconds.
    Time(Option<f64>),
    /// Seconds, a lower bound.
    TimeAtLeast(f64),
    /// Seconds, an upper bound.
    TimeBelow(f64),
    /// Seconds, in the unit of the table.
    Scaled(Option<f64>),
    /// Of a second.
    Rate(f64),
    /// Bytes a second; the terminal writes megabytes.
    Bytes(Option<f64>),
    /// The same in bits.
    Bits(Option<f64>),
    /// 0..=1.
    Share(Option<f64>),
    /// Of so many decimals, and what stands behind it.
    Number(Option<f64>, usize, &'static str),
    /// How long the median and the p99 are beside each other: for the eye, where there is room.
    Range(Option<(f64, f64)>),
    /// A mean over repeats, its interval, the least and the most of them.
    Spread(Option<crate::findings::Spread>, Unit),
}

/// What a [`Cell::Spread`] is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
}

/// A number of a level; of one that could not be run none is known, not even 0.
fn measured(stage: &Stage, cell: Cell) -> Cell {
    if stage.was_measured() { cell } else { Cell::Time(None) }
}

/// A remark below a table.
pub(crate) struct Note {
    pub(crate) weight: Weight,
    pub(crate) text: String,
    /// A page says it too.
    pub(crate) page: bool,
}

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Weight {
    Quiet,
    Plain,
    Caution,
    Bad,
}

impl Column {
    pub(crate) const fn new(name: &'static str, short: &'static str) -> Column {
        Column { name, short: Some(short), words: false }
    }

    pub(crate) const fn words(name: &'static str, short: &'static str) -> Column {
        Column { name, short: Some(short), words: true }
    }

    pub(crate) const fn of_pages(name: &'static str) -> Column {
        Column { name, short: None, words: false }
    }
}

impl Note {
    /// Explains what the caption of a page explains.
    pub(crate) fn quiet(text: impl Into<String>) -> Note {
        Note { weight: Weight::Quiet, text: text.into(), page: false }
    }

    /// For both.
    pub(crate) fn of(weight: Weight, text: impl Into<String>) -> Note {
        Note { weight, text: text.into(), page: true }
    }
}

/// Load levels that share a table: of all sides, with a server or without, or captured.
pub(crate) struct Place<'a> {
    /// No server took part.
    pub(crate) local: bool,
    /// Somebody else made the load: what only its generator knows is not known.
    pub(crate) captured: bool,
    /// The levels, each with what stands in front of its name.
    pub(crate) stages: Vec<(String, &'a Stage)>,
}

impl Place<'_> {
    /// What stands behind "load levels" in headings.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Place { local: true, .. } => " in a local directory, without the server",
            Place { captured: true, .. } => " of captures",
            _ => "",
        }
    }

    /// The identifier of its table in a page.
    pub(crate) fn id(&self, of: &str) -> String {
        let ending = match self {
            Place { local: true, .. } => "-local",
            Place { captured: true, .. } => "-captured",
            _ => "",
        };
        format!("{of}{ending}")
    }
}

/// The levels of all sides by where they ran.
pub(crate) fn places<'a>(sides: &'a [Findings]) -> Vec<Place<'a>> {
    let of = |local, captured| {
        let wanted = |side: &Findings, stage: &Stage| (side.is_local(stage), side.run.is_none()) == (local, captured);
        Place { local, captured, stages: stages(sides, wanted) }
    };
    [of(false, false), of(true, false), of(false, true)].into_iter().filter(|place| !place.stages.is_empty()).collect()
}

/// The same without levels that somebody else loaded.
pub(crate) fn driven_places<'a>(sides: &'a [Findings]) -> impl Iterator<Item = Place<'a>> {
    places(sides).into_iter().filter(|place| !place.captured)
}

/// The levels of all sides that are `wanted`, each with what stands in front of its name: the side's, where there are several.
pub(crate) fn stages<'a>(
    sides: &'a [Findings],
    wanted: impl Fn(&'a Findings, &Stage) -> bool,
) -> Vec<(String, &'a Stage)> {
    let of = |side: &'a Findings| -> Vec<(String, &'a Stage)> {
        let stages: &'a [Stage] = &side.stages;
        stages.iter().filter(|stage| wanted(side, stage)).map(|stage| (prefix(sides, side), stage)).collect()
    };
    sides.iter().flat_map(of).collect()
}

/// What stands in front of a side's lines.
pub(crate) fn prefix(sides: &[Findings], side: &Findings) -> String {
    if sides.len() == 1 { String::new() } else { format!("{}: ", side.letter) }
}
