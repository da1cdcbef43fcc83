//! The sentence if no rule found a cause: it names the causes that rules could have found.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use plimsoll_model::Symbol;
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{ByOperation, PlaceKey};

use super::super::super::counts::plural;
use super::super::paths;
use super::super::times::BURST_TIME;
use super::{Evidence, Found, Kind, clients};
use crate::findings::Rule;

/// Why nothing was compared with others.
const ONE: &str = "only one";

/// Clients, shares or paths: whether the rules compared them.
struct Compared {
    what: &'static str,
    why_not: Option<&'static str>,
}

impl Compared {
    /// `count` of them; `is_enough`: one of them and the rest have enough requests for a comparison.
    fn new(what: &'static str, count: usize, is_enough: bool, are_all: bool) -> Self {
        let why_not = match count {
            _ if is_enough && are_all => None,
            0 | 1 => Some(ONE),
            _ if is_enough => Some("too many"),
            _ => Some("too few requests"),
        };
        Self { what, why_not }
    }
}

/// The sentence.
pub(in super::super) fn nothing(evidence: &Evidence<'_>) -> Found {
    let compared = evidence.tallies.map(|tallies| compared(evidence, tallies)).unwrap_or_default();
    let mut looked: Vec<String> = Vec::new();
    looked.extend(slow(&compared));
    looked.push("a few slow requests".to_owned());
    // Without enough bins, each one is a large part of the time.
    if 1.0 / evidence.findings.series.operations.len() as f64 <= BURST_TIME {
        looked.push("bursts of slow requests".to_owned());
    }
    let packets = &evidence.coverage.packets;
    let mut seen: Vec<String> = Vec::new();
    if evidence.findings.source.filters.is_empty() && packets.tcp_data > 0 {
        match packets.retransmitted {
            0 => looked.push("retransmissions".to_owned()),
            count => seen.push(plural(count, "retransmitted TCP segment")),
        }
    }
    let rows = evidence.findings.operations.iter().filter(|row| row.is_counted_once());
    let (errors, unknown) = rows.fold((0_u64, 0_u64), |(errors, unknown), row| {
        (errors.saturating_add(row.errors), unknown.saturating_add(row.status_unknown))
    });
    match (errors, unknown) {
        (0, 0) => looked.push("failed requests".to_owned()),
        (0, _) => {}
        (count, _) => seen.push(plural(count, "refused or failed request")),
    }
    let seen = match seen.as_slice() {
        [] => String::new(),
        some => format!(" Seen, but not a cause by any rule: {}.", some.join("; ")),
    };
    let text = format!(
        "No single cause stands out. Checked and not found: {}.{}{seen}",
        looked.join("; "),
        not_compared(&compared)
    );
    Found::new(Kind::Remark, Rule::Nothing, None, text)
}

/// `slow clients, shares or paths`, of those that were compared.
fn slow(compared: &[Compared]) -> Option<String> {
    let done: Vec<&str> = compared.iter().filter(|one| one.why_not.is_none()).map(|one| one.what).collect();
    let (last, others) = done.split_last()?;
    Some(match others {
        [] => format!("slow {last}"),
        others => format!("slow {} or {last}", others.join(", ")),
    })
}

/// Those that were not compared, and why.
fn not_compared(compared: &[Compared]) -> String {
    let why = |one: &Compared| one.why_not.map(|why| format!("{} ({why})", one.what));
    let not: Vec<String> = compared.iter().filter_map(why).collect();
    if not.is_empty() { String::new() } else { format!(" Not compared: {}.", not.join(", ")) }
}

/// Clients, and shares and paths if they are known of most of the waiting: short snap lengths cut them off.
fn compared(evidence: &Evidence<'_>, tallies: &Tallies) -> Vec<Compared> {
    let is_most = |waited_ns: u64| 2.0 * waited_ns as f64 >= evidence.waited_ns();
    let on_shares = tallies.sum(|key| key.share.is_some()).total().waited_ns;
    let rows = tallies.paths().rows();
    let known = || rows.iter().filter(|row| row.path.is_some());
    let on_paths = known().map(|row| row.cell.waited_ns).fold(0, u64::saturating_add);
    let mut of_clients = of_places("clients", tallies, |key| Some(key.client));
    let is_one = of_clients.why_not == Some(ONE) && evidence.findings.source.filters.is_empty();
    if is_one && clients::has_unread(evidence) {
        of_clients.why_not = Some("only one with known requests");
    }
    let mut all = vec![of_clients];
    if is_most(on_shares) {
        all.push(of_places("shares", tallies, |key| key.share.is_some().then_some(key.share)));
    }
    if is_most(on_paths) {
        let names: HashSet<(Symbol, Symbol)> = known().map(|row| (row.share, row.path)).collect();
        let is_enough = paths::are_compared(rows, evidence.names, &tallies.sum(|_| true));
        all.push(Compared::new("paths", names.len(), is_enough, true));
    }
    all
}

/// Places by a part of their key.
fn of_places<K: Eq + Hash>(what: &'static str, tallies: &Tallies, of: impl Fn(&PlaceKey) -> Option<K>) -> Compared {
    let mut sums: HashMap<K, Vec<&ByOperation>> = HashMap::new();
    for place in tallies.places() {
        if let Some(key) = of(&place.key) {
            sums.entry(key).or_default().push(&place.operations);
        }
    }
    let all = tallies.sum(|_| true);
    let has_others = |parts: &Vec<&ByOperation>| {
        let mine = ByOperation::sum(parts.iter().copied());
        mine.is_comparable(&all.without(&mine))
    };
    Compared::new(what, sums.len(), sums.values().any(has_others), tallies.has_all_places())
}
