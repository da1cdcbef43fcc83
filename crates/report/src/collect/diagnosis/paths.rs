//! A file or a directory whose requests take longer than those for others.

mod walk;

use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{ByOperation, Excess, Listing, MIN_COMPARED, PathRow, sum_of};

pub(super) use self::walk::are_compared;
use self::walk::{MAX_LEVELS, Noted, Walk, descend};
use super::super::counts::plural;
use super::few::Few;
use super::network::reader_of_all;
use super::places::{self, Place, SlowPlace, difference, times};
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::{Rule, Slow};
use crate::text::duration;

/// A directory in which nearly all of it happens is named rather than one above it.
const NEARLY_ALL: f64 = 0.9;

/// Lists of a directory are slow from this multiple of the mean time of other lists on.
const SLOW_LISTS: f64 = 3.0;
/// Minimum number of these other lists.
const OTHER_LISTS: u64 = 5;

/// From this part of the difference on it is the server's time.
const SERVICE: f64 = 0.75;

/// A slow file or directory, with its notes.
struct SlowPath<'r> {
    share: Symbol,
    path: String,
    rows: Vec<&'r PathRow>,
    excess: Excess,
}

/// The slow places and the slow path. If one of them explains the waiting, the others are left out. So is a path if a `few` slow requests
/// explain it that affect other paths too, or whose reason is `told`.
pub(super) fn beside(
    evidence: &Evidence<'_>,
    mut slow: Vec<SlowPlace>,
    few: Option<&Few<'_>>,
    told: bool,
) -> Vec<Found> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    // A client that reads slowly causes its waiting itself, so no path of this client is to blame.
    let reader = reader_of_all(evidence).map(|(client, _)| client);
    slow.retain(|one| reader.is_none_or(|reader| one.place != Place::Client(reader)));
    let is_of_reader = |path: &SlowPath<'_>| reader.is_some() && path.rows.iter().all(|row| row.client == reader);
    let mut path = slowest(evidence, tallies)
        .filter(|path| few.is_none_or(|few| path.stands_without(evidence, few, told)) && !is_of_reader(path));
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
    /// Whether it is slow without the few slow requests on it, or contains all of them.
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
        // Other clients wait for it as well.
        return if slow.rows.iter().any(|row| is_in(row)) { Explains::Path } else { Explains::Both };
    }
    let (within, outside): (Vec<&PathRow>, Vec<&PathRow>) = tallies.paths().rows().iter().partition(|row| is_in(row));
    let rest: Vec<&PathRow> = within.into_iter().filter(|row| !slow.rows.contains(row)).collect();
    // The path differs from the rest of its place, and that rest does not differ from other places.
    let path_is_slow = sum_of(slow.rows.iter().copied()).slower_than(&sum_of(rest.iter().copied())).is_some();
    let rest_is_slow = sum_of(rest).slower_than(&sum_of(outside)).is_some();
    match (path_is_slow, rest_is_slow, place) {
        (true, false, _) => Explains::Path,
        (true, true, _) => Explains::Both,
        (false, _, Place::Client(ip)) => by_client(tallies, slow, ip),
        (false, ..) => Explains::Place,
    }
}

/// Decides between a slow client and a slow path that only this client uses, if paths do not show it because others use them too: by the
/// client's requests elsewhere. Without requests of this kind elsewhere, by all other ones: a slow client is slow for any request. Time
/// outside of the server is the client's.
fn by_client(tallies: &Tallies, slow: &SlowPath<'_>, ip: IpAddr) -> Explains {
    let mine = sum_of(slow.rows.iter().copied());
    let rest = tallies.sum(|key| key.client == ip).without(&mine);
    let others = tallies.sum(|key| key.client != ip);
    let rest_is_slow = rest.slower_than(&others).is_some();
    if mine.slower_than(&rest).is_some() {
        return if rest_is_slow { Explains::Both } else { Explains::Path };
    }
    let is_service = slow.excess.service_share.is_some_and(|share| share >= SERVICE);
    let is_it = |operation| operation == slow.excess.operation;
    if !is_service || rest.iter().any(|(one, cell)| is_it(one) && cell.count >= MIN_COMPARED) {
        return Explains::Place;
    }
    let are_known = |mine: &ByOperation| {
        let mut both = mine.iter().zip(others.iter());
        both.any(|((one, own), (_, others))| !is_it(one) && own.count.min(others.count) >= MIN_COMPARED)
    };
    if are_known(&rest) {
        return if rest_is_slow { Explains::Place } else { Explains::Path };
    }
    // It sends no requests elsewhere, but other requests there.
    let all = tallies.sum(|key| key.client == ip);
    let besides = all.only(|one| !is_it(one));
    let is_quick_besides = are_known(&besides) && besides.slower_than(&others).is_none();
    if is_quick_besides { Explains::Path } else { Explains::Both }
}

/// The path that is slow; the lowest directory in which nearly all of it happens.
fn slowest<'t>(evidence: &Evidence<'t>, tallies: &'t Tallies) -> Option<SlowPath<'t>> {
    let least_ns = CAUSE_SHARE * evidence.waited_ns();
    let all = tallies.sum(|_| true);
    let noted = Noted::new(tallies.paths().rows(), evidence.names);
    let mut slow: Vec<SlowPath<'_>> = Vec::new();
    let mut walks: Vec<Walk> = noted.walks();
    for level in 0..=MAX_LEVELS {
        for number in descend(&noted, &mut walks, level, least_ns) {
            let within = || walks.iter().filter(|walk| walk.number == number);
            let rows: Vec<&PathRow> = within().map(|walk| &noted.rows[walk.row as usize]).collect();
            let mine = sum_of(rows.iter().copied());
            let excess = mine
                .slower_than(&all.without(&mine))
                .filter(|excess| evidence.is_noticeable(excess) && Evidence::is_clear(excess));
            if let Some((excess, walk)) = excess.zip(within().next()) {
                let row = &noted.rows[walk.row as usize];
                let path = noted.path(row)[..walk.end as usize].to_owned();
                slow.push(SlowPath { share: row.share, path, rows, excess });
            }
        }
    }
    let most = slow.iter().map(|one| one.excess.ns()).fold(0.0, f64::max);
    slow.retain(|one| one.excess.ns() >= NEARLY_ALL * most);
    slow.into_iter().max_by(|a, b| (a.path.len(), &a.path, a.share).cmp(&(b.path.len(), &b.path, b.share)))
}

fn sentence(evidence: &Evidence<'_>, tallies: &Tallies, slow: &SlowPath<'_>) -> Found {
    let (excess, waited_ns) = (&slow.excess, evidence.waited_ns());
    let about = if tallies.paths().are_all() { "" } else { "about " };
    let share = excess.whole_ns / waited_ns;
    let is_directory =
        slow.rows.iter().any(|row| evidence.names.text(row.path).is_some_and(|path| path.len() > slow.path.len() + 1));
    let on = evidence.names.text(slow.share).map_or_else(String::new, |name| format!(" on share {name}"));
    let text = format!(
        "Requests {place} {path}{on} are slow: {operation} took {about}{mean} on average ({about}{requests}), {times} as long as \
        for other paths ({elsewhere}). {difference}All requests {this_place} account for {about}{share} of all time waited.{client}",
        place = if is_directory { "in the directory" } else { "for" },
        this_place = if is_directory { "in this directory" } else { "for this path" },
        path = slow.path,
        operation = excess.operation.label(),
        mean = duration(excess.mean_ns / 1e9),
        requests = plural(excess.count, "request"),
        times = times(excess.times()),
        elsewhere = duration(excess.others_ns / 1e9),
        difference = difference(evidence, excess),
        share = percent(share),
        client = by_one(&slow.rows)
            .map_or_else(String::new, |client| format!(" Client {client} sent all of these requests.")),
    );
    let found = Found::new(Kind::Place, Rule::SlowPath, Some(share), text);
    let found = if about.is_empty() { found } else { found.inferred() };
    let own = excess.ns() / waited_ns;
    // The excess may contain some of the lists, but the whole is not more than all waiting for the directory.
    let with_lists = own + slow_lists_ns(evidence, tallies, slow) / waited_ns;
    found.explaining(with_lists.min(share.max(own))).look(excess.operation.label(), "path")
}

/// Waiting for slow lists of the directory. The notes may lack lists of other directories to compare these with.
fn slow_lists_ns(evidence: &Evidence<'_>, tallies: &Tallies, slow: &SlowPath<'_>) -> f64 {
    let path = |row: &Listing| evidence.names.text(row.path).map(|path| path.trim_end_matches(['/', '\\']));
    let is_it = |row: &&Listing| row.share == slow.share && path(row) == Some(slow.path.as_str());
    let all = tallies.sum(|_| true);
    let lists = all.iter().find(|(operation, _)| *operation == Operation::List).map(|(_, cell)| *cell);
    let Some((row, lists)) = tallies.listings().rows().iter().find(is_it).zip(lists) else { return 0.0 };
    let (count, waited_ns) = (row.cell.count, row.cell.waited_ns as f64);
    let others = lists.count.saturating_sub(count);
    if others < OTHER_LISTS {
        return 0.0;
    }
    let others = others as f64;
    let others_ns = (lists.waited_ns as f64 - waited_ns).max(0.0) / others;
    if row.cell.mean_ns() >= SLOW_LISTS * others_ns { waited_ns - count as f64 * others_ns } else { 0.0 }
}

/// The client, if there is only one.
pub(super) fn by_one(rows: &[&PathRow]) -> Option<IpAddr> {
    let client = rows.first()?.client;
    client.filter(|_| rows.iter().all(|row| row.client == client))
}
