//! A file or a directory whose requests take longer than those on others.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Names, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{Excess, PathRow, sum_of};

use super::super::validity::plural;
use super::few::Few;
use super::places::{self, Place, SlowPlace, difference, times};
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::{Rule, Slow};
use crate::text::duration;

/// Directories above a file that are looked at.
const MAX_LEVELS: usize = 16;
/// Notes of requests and of waiting, at least: fewer say little.
const MIN_NOTES: u64 = 20;
/// A directory in which nearly all of it happens is named rather than one above it.
const NEARLY_ALL: f64 = 0.9;

/// A file or directory that is slow, with what is noted of it.
struct SlowPath<'r> {
    share: Symbol,
    path: String,
    rows: Vec<&'r PathRow>,
    excess: Excess,
}

/// The places that are slow and the path that is; what one of them explains, the others need not. Nor a path what a `few` slow requests
/// explain that are on others too, or whose reason is `told`.
pub(super) fn beside(
    evidence: &Evidence<'_>,
    mut slow: Vec<SlowPlace>,
    few: Option<&Few<'_>>,
    told: bool,
) -> Vec<Found> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    let mut path =
        slowest(evidence, tallies).filter(|path| few.is_none_or(|few| path.stands_without(evidence, few, told)));
    slow.retain(|one| {
        let Some(found) = &path else { return true };
        match between(tallies, found, one.place) {
            Explains::Path => false,
            Explains::Place => {
                path = None;
                true
            }
            Explains::Both => true,
        }
    });
    let path = path.map(|path| sentence(evidence, tallies, &path));
    slow.iter().map(|one| places::sentence(evidence, one)).chain(path).collect()
}

impl SlowPath<'_> {
    /// Whether it is slow without the few slow requests on it, or holds all of them.
    fn stands_without(&self, evidence: &Evidence<'_>, few: &Few<'_>, told: bool) -> bool {
        let share = evidence.names.text(self.share);
        let is_on = |one: &&&Slow| {
            let path = one.path.as_deref().and_then(|path| path.strip_prefix(self.path.as_str()));
            path.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\'])) && one.share.as_deref() == share
        };
        let on_it: Vec<&&Slow> = few.alike.iter().filter(is_on).collect();
        let few_ns: f64 = on_it.iter().map(|one| one.headline_s(evidence.findings.headline) * 1e9).sum();
        let is_whole = on_it.len() == few.alike.len() && !told;
        is_whole || self.excess.ns() - few_ns >= evidence.least_ns().max(CAUSE_SHARE * evidence.waited_ns())
    }
}

enum Explains {
    Path,
    Place,
    Both,
}

/// Whether the path is slow because of its place, or the place because of its path.
fn between(tallies: &Tallies, slow: &SlowPath<'_>, place: Place) -> Explains {
    let is_in = |row: &PathRow| match place {
        Place::Client(ip) => row.client == Some(ip),
        Place::Share(share) => row.share == share,
        Place::Server(server) => {
            tallies.places().iter().any(|place| place.key.share == row.share && place.key.server == server)
        }
    };
    if !slow.rows.iter().all(|row| is_in(row)) {
        // Others wait for it as well.
        return if slow.rows.iter().any(|row| is_in(row)) { Explains::Path } else { Explains::Both };
    }
    let (within, outside): (Vec<&PathRow>, Vec<&PathRow>) = tallies.paths().rows().iter().partition(|row| is_in(row));
    let rest: Vec<&PathRow> = within.into_iter().filter(|row| !slow.rows.contains(row)).collect();
    // The path stands out from the rest of its place, and the rest does not stand out from what is elsewhere.
    let path_is_slow = sum_of(slow.rows.iter().copied()).slower_than(&sum_of(rest.iter().copied())).is_some();
    let rest_is_slow = sum_of(rest).slower_than(&sum_of(outside)).is_some();
    match (path_is_slow, rest_is_slow) {
        (true, false) => Explains::Path,
        (true, true) => Explains::Both,
        (false, _) => Explains::Place,
    }
}

/// What is noted of a path, and how far down it was followed.
struct Walk<'r> {
    row: &'r PathRow,
    /// Without separators at its end.
    path: &'r str,
    /// The number of the file or directory that was come to, and the length of its path.
    here: (u32, u32),
}

/// A file or directory, with sums of what is noted of it.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    waited_ns: f64,
    notes: [u64; 2],
}

/// The path that is slow; the lowest directory in which nearly all of it happens.
fn slowest<'t>(evidence: &Evidence<'t>, tallies: &'t Tallies) -> Option<SlowPath<'t>> {
    let least = CAUSE_SHARE * evidence.waited_ns();
    let all = tallies.sum(|_| true);
    let mut slow: Vec<SlowPath<'_>> = Vec::new();
    let names: &'t Names = evidence.names;
    let walk = |row: &'t PathRow| {
        let path = names.text(row.path).unwrap_or_default().trim_end_matches(['/', '\\']);
        (!path.is_empty()).then_some(Walk { row, path, here: (0, 0) })
    };
    let mut walks: Vec<Walk<'t>> = tallies.paths().rows().iter().filter_map(walk).collect();
    for level in 0..=MAX_LEVELS {
        let sums = descend(&mut walks, level);
        // Most paths are done with here: what follows costs much more, and what is below them has less of everything.
        let is_worth = |sums: &Sums| sums.waited_ns >= least && sums.notes.iter().all(|&notes| notes >= MIN_NOTES);
        for number in (0..sums.len()).filter(|&number| is_worth(&sums[number])) {
            let within = || walks.iter().filter(|walk| walk.here.0 as usize == number);
            let rows: Vec<&PathRow> = within().map(|walk| walk.row).collect();
            let mine = sum_of(rows.iter().copied());
            let excess = mine.slower_than(&all.without(&mine)).filter(|excess| evidence.is_felt(excess));
            if let Some((excess, walk)) = excess.zip(within().next()) {
                let path = walk.path[..walk.here.1 as usize].to_owned();
                slow.push(SlowPath { share: walk.row.share, path, rows, excess });
            }
        }
        walks.retain(|walk| is_worth(&sums[walk.here.0 as usize]) && (walk.here.1 as usize) < walk.path.len());
    }
    let most = slow.iter().map(|one| one.excess.ns()).fold(0.0, f64::max);
    slow.retain(|one| one.excess.ns() >= NEARLY_ALL * most);
    slow.into_iter().max_by(|a, b| (a.path.len(), &a.path, a.share).cmp(&(b.path.len(), &b.path, b.share)))
}

/// Follows each path one level down, the last one to its end. Gives the sums of the files and directories there, by number.
fn descend(walks: &mut [Walk<'_>], level: usize) -> Vec<Sums> {
    let mut numbers: HashMap<(Symbol, u32, &str), u32> = HashMap::new();
    let mut all: Vec<Sums> = Vec::new();
    for walk in walks {
        let (directory, from) = (walk.here.0, walk.here.1 as usize);
        let separator = |at: &usize| matches!(walk.path.as_bytes()[*at], b'/' | b'\\');
        let end = (from + 1..walk.path.len()).find(separator).filter(|_| level < MAX_LEVELS);
        let end = end.unwrap_or(walk.path.len());
        // Both fit: rows and the bytes of all names are bounded (32 bits, for there are thousands of them).
        let number = *numbers.entry((walk.row.share, directory, &walk.path[from..end])).or_insert(all.len() as u32);
        if number as usize == all.len() {
            all.push(Sums::default());
        }
        let sums = &mut all[number as usize];
        sums.waited_ns += walk.row.cell.waited_ns as f64;
        sums.notes.iter_mut().zip(walk.row.notes).for_each(|(sum, more)| *sum += u64::from(more));
        walk.here = (number, end as u32);
    }
    all
}

fn sentence(evidence: &Evidence<'_>, tallies: &Tallies, slow: &SlowPath<'_>) -> Found {
    let (excess, waited_ns) = (&slow.excess, evidence.waited_ns());
    let about = if tallies.paths().are_all() { "" } else { "about " };
    let share = excess.whole_ns / waited_ns;
    let is_directory =
        slow.rows.iter().any(|row| evidence.names.text(row.path).is_some_and(|path| path.len() > slow.path.len() + 1));
    let on = evidence.names.text(slow.share).map_or_else(String::new, |name| format!(" on share {name}"));
    let text = format!(
        "Requests {} {}{on} are slow: {} took {about}{} on average ({about}{}), {} as long as elsewhere ({}). {}They are {about}{} of \
         all waiting.{}",
        if is_directory { "in the directory" } else { "for" },
        slow.path,
        excess.operation.label(),
        duration(excess.mean_ns / 1e9),
        plural(excess.count, "request"),
        times(excess.times()),
        duration(excess.others_ns / 1e9),
        difference(excess),
        percent(share),
        by_one(&slow.rows).map_or_else(String::new, |client| format!(" All by client {client}.")),
    );
    let found = Found::new(Kind::Place, Rule::SlowPath, Some(share), text);
    let found = if about.is_empty() { found } else { found.inferred() };
    found.explaining(excess.ns() / waited_ns).look(excess.operation.label(), "path")
}

/// The client, if there is only one.
fn by_one(rows: &[&PathRow]) -> Option<IpAddr> {
    let client = rows.first()?.client;
    client.filter(|_| rows.iter().all(|row| row.client == client))
}
