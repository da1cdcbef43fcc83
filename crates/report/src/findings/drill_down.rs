//! Data of a page that shows any part of a capture: a cube, small enough to be embedded.

use serde::Serialize;

/// A cube of client, server, share, operation, status and time. Only for a page: no other report has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillDown {
    /// Clients, servers, shares, operations, statuses, in this order.
    pub dimensions: Vec<DrillDimension>,
    /// Start of the first bin of time, ms since the Unix epoch.
    pub start_ms: i64,
    /// Width of a bin of time, ms.
    pub bin_ms: i64,
    /// Bins of time.
    pub bins: usize,
    /// Maximum relative error of a percentile, 0..=1.
    pub error: f64,
    /// `1 << joined` neighbouring bins of the histograms, 32 per octave, are one.
    pub joined: u32,
    /// Unit of waiting times and longest times, ns: all of them are multiples of it.
    pub unit_ns: u64,
    /// Flags of the command that shows the same in a terminal; null without one, for example if the capture came from a pipe.
    pub command: Option<DrillCommand>,
    /// The cells (`collect::drill_down::encode`).
    #[serde(skip)]
    pub cells: Vec<u8>,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillDimension {
    /// The flag that filters by it, without dashes: `client`.
    pub flag: &'static str,
    /// Its keys, most time waited first.
    pub keys: Vec<DrillKey>,
    /// Number of keys that are summed as others.
    pub others: usize,
}

/// A key of a dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillKey {
    /// As shown: characters that act are escaped. Null where the key is not known.
    pub name: Option<String>,
    /// Whether its flag with the name lets it through in a command, and `without` at most.
    pub plain: bool,
    /// Other operations that the filter matches: the name of an operation may also be that of a group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<&'static str>,
}

/// The command that made the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrillCommand {
    /// `plimsoll analyze` and the captures, as a shell takes them.
    pub start: String,
    /// The filters in force, a flag with its value each.
    pub filters: Vec<String>,
}
