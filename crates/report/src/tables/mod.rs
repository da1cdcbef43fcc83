//! Tables of load levels, defined once for all renderers, for one side or several: a report of one side is a comparison of one. Names and
//! explanations are here; the renderers format times and rates.

/// The columns of a table: names, and the names in the terminal if these are others. `words` hold words; only a page has room for `page`.
macro_rules! columns {
    (@ $name:literal) => { Column::new($name, $name) };
    (@ $name:literal $short:literal) => { Column::new($name, $short) };
    (@ words $name:literal) => { Column::words($name, $name) };
    (@ words $name:literal $short:literal) => { Column::words($name, $short) };
    (@ page $name:literal) => { Column::of_pages($name) };
    ($($($kind:ident)? $name:literal $(: $short:literal)?),+) => { vec![$(columns!(@ $($kind)? $name $($short)?)),+] };
}

mod calls;
mod channels;
mod clients;
mod delegations;
mod failures;
mod file_io;
mod generator;
mod highest_data;
mod interference;
mod lease_breaks;
mod levels;
mod outages;
mod repeats;
mod server_counters;
mod server_side;
mod session_requests;
mod slots;
mod users;

pub(crate) use calls::{beside_local, kinds};
pub(crate) use channels::channels;
pub(crate) use clients::{clients, is_shared};
pub(crate) use delegations::delegations;
pub(crate) use failures::failures;
pub(crate) use file_io::{caches, orders};
pub(crate) use generator::{generators, unattributable};
pub(crate) use highest_data::{Most, highest, highest_data};
pub(crate) use interference::{interference, interval, signed};
pub(crate) use lease_breaks::lease_breaks;
pub(crate) use levels::{levels, levels_and_outages};
pub(crate) use outages::outages;
pub(crate) use repeats::repeats;
pub(crate) use server_counters::{longest as longest_counters, server_counters};
pub(crate) use server_side::server_side;
pub(crate) use session_requests::session_requests;
pub(crate) use slots::slots;
pub(crate) use users::{late_iterations, users};

use std::borrow::Cow;

use crate::findings::Findings;
use crate::findings::LoadLevel;
use crate::shares::Percentage;

/// A table: a line a load level, most of the time.
pub(crate) struct Table {
    /// Identifies it in a page.
    pub(crate) id: String,
    /// What stands above it in the terminal.
    pub(crate) title: String,
    /// The kind of times in [`Cell::Scaled`]; the terminal names their unit. Other times have the report's unit there.
    pub(crate) scaled: Option<String>,
    /// What stands above it in a page.
    pub(crate) caption: String,
    /// What its lines are, then its columns.
    pub(crate) columns: Vec<Column>,
    /// Its lines.
    pub(crate) rows: Vec<Row>,
    /// The notes below it: the terminal prints all of them, a page those that are not in the caption.
    pub(crate) notes: Vec<Note>,
}

pub(crate) struct Column {
    /// Its name where there is room.
    pub(crate) name: Cow<'static, str>,
    /// Its name in the terminal; none where only a page has room for it.
    pub(crate) short: Option<Cow<'static, str>>,
    /// It holds words.
    pub(crate) words: bool,
}

/// A line.
pub(crate) struct Row {
    /// Its subject.
    pub(crate) name: String,
    /// Its numbers must not be used.
    pub(crate) invalid: bool,
    /// A cell for each column but the first.
    pub(crate) cells: Vec<Cell>,
}

/// A number, or words, in a table. None means unknown or not applicable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Unchanged text.
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
    /// Bytes.
    Size(Option<f64>),
    /// 0..=1.
    Share(Option<f64>),
    /// A part of a whole whose other parts are in the table.
    Percentage(Option<Percentage>),
    /// With this number of decimals, and a suffix.
    Number(Option<f64>, usize, &'static str),
    /// How many times another number.
    Ratio(Option<f64>),
    /// Median and p99 as bars, if there is room.
    Range(Option<(f64, f64)>),
    /// A mean over repeats, its interval, minimum and maximum.
    Spread(Option<crate::findings::Spread>, Unit),
}

/// The quantity of a [`Cell::Spread`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
}

/// A number of a level; of one that could not be run none is known, not even 0.
fn measured(level: &LoadLevel, cell: Cell) -> Cell {
    if level.was_measured() { cell } else { Cell::Time(None) }
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
        Column { name: Cow::Borrowed(name), short: Some(Cow::Borrowed(short)), words: false }
    }

    pub(crate) const fn words(name: &'static str, short: &'static str) -> Column {
        Column { name: Cow::Borrowed(name), short: Some(Cow::Borrowed(short)), words: true }
    }

    pub(crate) const fn of_pages(name: &'static str) -> Column {
        Column { name: Cow::Borrowed(name), short: None, words: false }
    }

    /// One with a name from the findings.
    pub(crate) fn named(name: &str) -> Column {
        Column { name: name.to_owned().into(), short: Some(name.to_owned().into()), words: false }
    }
}

impl Note {
    /// A note with the explanation that a page has in its caption.
    pub(crate) fn quiet(text: impl Into<String>) -> Note {
        Note { weight: Weight::Quiet, text: text.into(), page: false }
    }

    /// For both.
    pub(crate) fn of(weight: Weight, text: impl Into<String>) -> Note {
        Note { weight, text: text.into(), page: true }
    }
}

/// Origin of load levels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Load on a server.
    Server,
    /// Load on a local directory: no server took part.
    Local,
    /// A capture: numbers of the load generator are unknown.
    Capture,
}

impl Origin {
    fn of(side: &Findings, level: &LoadLevel) -> Origin {
        match (&side.run, side.is_local(level)) {
            (None, _) => Origin::Capture,
            (Some(_), true) => Origin::Local,
            (Some(_), false) => Origin::Server,
        }
    }
}

/// Load levels of all sides that share a table, because they have the same origin.
pub(crate) struct LevelGroup<'a> {
    pub(crate) origin: Origin,
    /// Whether its levels have a schedule; `None` if it has all levels of this origin.
    scheduled: Option<bool>,
    /// The levels, each with what stands in front of its name.
    pub(crate) levels: Vec<(String, &'a LoadLevel)>,
}

impl<'a> LevelGroup<'a> {
    /// One group per kind of leading response time: times from the intended start and times from the first byte of the request cannot be
    /// compared, so they need separate tables. A group of one kind stays as it is.
    pub(crate) fn by_schedule(self) -> Vec<LevelGroup<'a>> {
        let origin = self.origin;
        let has_schedule = |(_, level): &(String, &'a LoadLevel)| level.headline.is_from_intended();
        let (with, without): (Vec<_>, Vec<_>) = self.levels.into_iter().partition(has_schedule);
        let both = !with.is_empty() && !without.is_empty();
        let parts = [(true, with), (false, without)].into_iter().filter(|(_, levels)| !levels.is_empty());
        parts.map(|(scheduled, levels)| LevelGroup { origin, scheduled: both.then_some(scheduled), levels }).collect()
    }

    /// What stands behind "load levels" in headings.
    pub(crate) fn words(&self) -> String {
        let origin = match self.origin {
            Origin::Server => "",
            Origin::Local => " in a local directory, without the server",
            Origin::Capture => " of captures",
        };
        let schedule = match self.scheduled {
            None => "",
            Some(true) => " with a schedule",
            Some(false) => " without a schedule",
        };
        format!("{schedule}{origin}")
    }

    /// The identifier of its table in a page.
    pub(crate) fn id(&self, of: &str) -> String {
        let ending = match self.origin {
            Origin::Server => "",
            Origin::Local => "-local",
            Origin::Capture => "-captured",
        };
        let part = if self.scheduled == Some(false) { "-without-schedule" } else { "" };
        format!("{of}{ending}{part}")
    }
}

/// The levels of all sides by their origin.
pub(crate) fn level_groups<'a>(sides: &'a [Findings]) -> Vec<LevelGroup<'a>> {
    let of = |origin| {
        let wanted = |side: &Findings, level: &LoadLevel| Origin::of(side, level) == origin;
        LevelGroup { origin, scheduled: None, levels: wanted_levels(sides, wanted) }
    };
    let groups = [Origin::Server, Origin::Local, Origin::Capture].map(of);
    groups.into_iter().filter(|group| !group.levels.is_empty()).collect()
}

/// The same without captures.
pub(crate) fn driven_level_groups<'a>(sides: &'a [Findings]) -> impl Iterator<Item = LevelGroup<'a>> {
    level_groups(sides).into_iter().filter(|group| group.origin != Origin::Capture)
}

/// The levels of all sides that are `wanted`, each with what stands in front of its name: the side's, where there are several.
pub(crate) fn wanted_levels<'a>(
    sides: &'a [Findings],
    wanted: impl Fn(&'a Findings, &LoadLevel) -> bool,
) -> Vec<(String, &'a LoadLevel)> {
    let of = |side: &'a Findings| -> Vec<(String, &'a LoadLevel)> {
        let levels: &'a [LoadLevel] = &side.levels;
        levels.iter().filter(|level| wanted(side, level)).map(|level| (prefix(sides, side), level)).collect()
    };
    sides.iter().flat_map(of).collect()
}

/// What stands in front of a side's lines.
pub(crate) fn prefix(sides: &[Findings], side: &Findings) -> String {
    if sides.len() == 1 { String::new() } else { format!("{}: ", side.letter) }
}
