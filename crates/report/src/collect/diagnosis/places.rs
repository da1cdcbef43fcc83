//! A client, server or share whose requests take longer than those of others.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{ByOperation, Excess, PlaceKey, SLOW_MEAN};

use super::super::counts::plural;
use super::client_paths::distance;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NOTICEABLE_NS, percent};
use crate::findings::{Breakdown, Findings, Rule};
use crate::text::duration;

/// A key of `--by`: this part of all time waited, and twice its part of the requests.
const KEY_SHARE: f64 = 0.3;
/// From this part of the difference on it is service time, or is not.
const MOST: f64 = 0.75;

/// One client, server or share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Client(IpAddr),
    Server(Endpoint),
    Share(Symbol),
}

impl Place {
    pub(super) fn holds(self, key: &PlaceKey) -> bool {
        match self {
            Place::Client(ip) => key.client == ip,
            Place::Server(server) => key.server == server,
            Place::Share(share) => key.share == share,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Place::Client(_) => "client",
            Place::Server(_) => "server",
            Place::Share(_) => "share",
        }
    }

    /// Between "requests" and the place.
    fn preposition(self) -> &'static str {
        if matches!(self, Place::Client(_)) { "of" } else { "to" }
    }

    fn rule(self) -> Rule {
        match self {
            Place::Client(_) => Rule::SlowClient,
            Place::Server(_) => Rule::SlowServer,
            Place::Share(_) => Rule::SlowShare,
        }
    }

    fn name(self, evidence: &Evidence<'_>) -> String {
        match self {
            Place::Client(ip) => ip.to_string(),
            Place::Server(server) => server.to_string(),
            Place::Share(share) => evidence.names.text(share).unwrap_or_default().to_owned(),
        }
    }
}

/// A place that is slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowPlace {
    pub(super) place: Place,
    excess: Excess,
    /// Number of other places of its kind, and how many of them are slow too.
    others: usize,
    also_slow: usize,
    /// A place of another kind that has the same requests.
    same: Option<Place>,
}

/// The slowest client, server and share. Of two that are slow because of the same requests, only the one that explains them.
pub(super) fn slow(evidence: &Evidence<'_>) -> Vec<SlowPlace> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    let all = All::of(tallies);
    let client: KindOf = |key| Some(Place::Client(key.client));
    let server: KindOf = |key| Some(Place::Server(key.server));
    let share: KindOf = |key| key.share.is_some().then_some(Place::Share(key.share));
    let least = evidence.least_ns().max(CAUSE_SHARE * evidence.waited_ns());
    let found = [client, server, share].into_iter().filter_map(|kind| slowest(&all, kind, least));
    explaining(&all, found.collect())
}

/// The client, server or share of requests.
type KindOf = fn(&PlaceKey) -> Option<Place>;

/// The data for comparing a place with others.
struct All<'t> {
    tallies: &'t Tallies,
    /// All requests.
    sum: ByOperation,
    /// Requests outstanding by client, the busiest first.
    outstanding: Vec<(IpAddr, f64)>,
}

impl<'t> All<'t> {
    fn of(tallies: &'t Tallies) -> Self {
        Self { tallies, sum: tallies.sum(|_| true), outstanding: outstanding(tallies) }
    }

    /// Compares a place with the others of its kind; `mine` is all of its requests or a part of them.
    fn compared(&self, place: Place, mine: &ByOperation, others: &ByOperation) -> Option<Excess> {
        let excess = mine.slower_than(others).or_else(|| far_slower(place, mine, others))?;
        let is_noticeable = excess.mean_ns - excess.others_ns >= NOTICEABLE_NS;
        // A client with more outstanding requests waits longer for each.
        let crowd = match place {
            Place::Client(ip) => self.crowding(ip),
            _ => 1.0,
        };
        (is_noticeable && Evidence::is_clear(&excess) && excess.times() >= SLOW_MEAN * crowd).then_some(excess)
    }

    /// Whether a place differs from the others of its kind without the requests of another place.
    fn is_slow_without(&self, place: Place, without: Place) -> bool {
        let mine = self.tallies.sum(|key| place.holds(key) && !without.holds(key));
        let others = self.tallies.sum(|key| !place.holds(key));
        self.compared(place, &mine, &others).is_some()
    }

    /// Ratio of a client's outstanding requests to those of the busiest other client, at least 1.
    fn crowding(&self, ip: IpAddr) -> f64 {
        let own = self.outstanding.iter().find(|(client, _)| *client == ip).map_or(1.0, |(_, own)| *own);
        let most = self.outstanding.iter().find(|(client, _)| *client != ip).map_or(1.0, |(_, most)| most.max(1.0));
        // With one request at a time, a value above 1 comes from the first answer, whose wait began before the span.
        if own <= 1.5 { 1.0 } else { (own / most).max(1.0) }
    }
}

/// The slowest of its kind, where one is slow.
fn slowest(all: &All<'_>, kind: KindOf, least: f64) -> Option<SlowPlace> {
    let mut numbers: HashMap<Place, usize> = HashMap::new();
    let mut places: Vec<(Place, Vec<&ByOperation>)> = Vec::new();
    for one in all.tallies.places() {
        let Some(place) = kind(&one.key) else { continue };
        let number = *numbers.entry(place).or_insert(places.len());
        match places.get_mut(number) {
            Some((_, sums)) => sums.push(&one.operations),
            None => places.push((place, vec![&one.operations])),
        }
    }
    let slow = |(place, sums): &(Place, Vec<&ByOperation>)| {
        let mine = ByOperation::sum(sums.iter().copied());
        let excess = all.compared(*place, &mine, &all.sum.without(&mine))?;
        (excess.ns() >= least).then_some((*place, excess))
    };
    let mut slow: Vec<(Place, Excess)> = places.iter().filter_map(slow).collect();
    slow.sort_by(|a, b| b.1.ns().total_cmp(&a.1.ns()));
    let (place, excess) = *slow.first()?;
    let asks = |sum: &&ByOperation| sum.iter().any(|(operation, cell)| operation == excess.operation && cell.count > 0);
    // Those without such requests were not compared.
    let others = places.iter().filter(|(other, sums)| *other != place && sums.iter().any(asks)).count();
    Some(SlowPlace { place, excess, others, also_slow: slow.len() - 1, same: None })
}

/// A client whose few requests are most of the waiting.
fn far_slower(place: Place, mine: &ByOperation, others: &ByOperation) -> Option<Excess> {
    let (own, theirs) = (mine.total(), others.total());
    let has_most = own.waited_ns > theirs.waited_ns && own.count < theirs.count;
    if matches!(place, Place::Client(_)) && has_most { mine.far_slower_than(others) } else { None }
}

/// Requests that each client has outstanding on average, most first.
fn outstanding(tallies: &Tallies) -> Vec<(IpAddr, f64)> {
    let mut clients: HashMap<IpAddr, (u64, (i64, i64))> = HashMap::new();
    for place in tallies.places() {
        let (sum, all) = clients.entry(place.key.client).or_insert((0, (i64::MAX, i64::MIN)));
        *sum = sum.saturating_add(place.operations.total().waited_ns);
        *all = (all.0.min(place.span_ns.0), all.1.max(place.span_ns.1));
    }
    let outstanding = |(client, (waited, (first, last))): (IpAddr, (u64, (i64, i64)))| match last > first {
        true => (client, waited as f64 / last.abs_diff(first) as f64),
        false => (client, 0.0),
    };
    let mut clients: Vec<(IpAddr, f64)> = clients.into_iter().map(outstanding).collect();
    clients.sort_by(|a, b| b.1.total_cmp(&a.1));
    clients
}

/// Leaves out a place that is slow only because of another one; of two with the same requests the first.
fn explaining(all: &All<'_>, found: Vec<SlowPlace>) -> Vec<SlowPlace> {
    let mut left: Vec<SlowPlace> = Vec::new();
    for one in found {
        let mut one = Some(one);
        for other in &mut left {
            let Some(mine) = one else { break };
            let own = all.is_slow_without(mine.place, other.place);
            let others = all.is_slow_without(other.place, mine.place);
            match (own, others) {
                (true, true) => {}
                (false, true) => one = None,
                (true, false) => (*other, one) = (mine, None),
                (false, false) => {
                    other.same = other.same.or(Some(mine.place));
                    one = None;
                }
            }
        }
        left.extend(one);
    }
    left
}

pub(super) fn sentence(evidence: &Evidence<'_>, slow: &SlowPlace) -> Found {
    let (excess, waited_ns) = (&slow.excess, evidence.waited_ns());
    if let Place::Client(ip) = slow.place
        && let Some(far) = distance::explained(evidence, ip, excess)
    {
        return far;
    }
    let (of, word) = (slow.place.preposition(), slow.place.word());
    let also = match slow.also_slow {
        0 => String::new(),
        more => format!(" {} slow as well.", plural_are(more, word)),
    };
    let same = slow.same.map_or_else(String::new, |same| {
        format!(
            " The slow requests {of} this {word} are also the slow requests {its} {other} {name}: the cause may be the {word} or the \
            {other}.",
            its = same.preposition(),
            other = same.word(),
            name = same.name(evidence)
        )
    });
    let share = excess.whole_ns / waited_ns;
    if let Some(text) = address(evidence, slow, share) {
        let found = Found::new(Kind::Place, slow.place.rule(), Some(share), text).explaining(excess.ns() / waited_ns);
        let found = found.look(excess.operation.label(), "client").only("--server", slow.place.name(evidence));
        return found;
    }
    let text = format!(
        "Requests {of} {word} {name} are slow: {operation} took {mean} on average ({requests}), {times} as long as for the other \
        {others} ({other_mean}). {difference}All requests {of} this {word} account for {share} of all time waited.{also}{same}",
        name = slow.place.name(evidence),
        operation = excess.operation.label(),
        mean = duration(excess.mean_ns / 1e9),
        requests = plural(excess.count, "request"),
        times = times(excess.times()),
        others = if slow.others == 1 { word.to_owned() } else { format!("{} {word}s", slow.others) },
        other_mean = duration(excess.others_ns / 1e9),
        difference = receiving(evidence, slow).unwrap_or_else(|| difference(evidence, excess)),
        share = percent(share),
    );
    let (flag, by) = match slow.place {
        Place::Client(_) => ("--client", "path"),
        Place::Server(_) => ("--server", "client"),
        Place::Share(_) => ("--share", "client"),
    };
    let found = Found::new(Kind::Place, slow.place.rule(), Some(share), text);
    found.explaining(excess.ns() / waited_ns).look(excess.operation.label(), by).only(flag, slow.place.name(evidence))
}

/// The sentence about one of several addresses of the same server: sessions use all of them.
fn address(evidence: &Evidence<'_>, slow: &SlowPlace, share: f64) -> Option<String> {
    let Place::Server(server) = slow.place else { return None };
    let own = server.to_string();
    let sessions = &evidence.findings.channels.as_ref()?.sessions;
    let with_it = sessions.iter().filter(|session| session.channels.iter().any(|channel| channel.server == own));
    let all: BTreeSet<&str> =
        with_it.flat_map(|session| &session.channels).map(|channel| channel.server.as_str()).collect();
    let is_other = |key: &PlaceKey| key.server != server && !all.contains(key.server.to_string().as_str());
    if all.len() < 2 || evidence.tallies?.places().iter().any(|place| is_other(&place.key)) {
        return None;
    }
    let excess = &slow.excess;
    let others: Vec<&str> = all.iter().filter(|one| **one != own).copied().collect();
    let is_path = !evidence.is_from_intended() && excess.service_share.is_some_and(|service| service <= 1.0 - MOST);
    Some(format!(
        "Connections to the address {own} are slow: {operation} took {mean} on average ({requests}), {times} as long as over \
        {others} ({other_mean}). These are addresses of the same server in the same sessions. {difference}All requests to this \
        address account for {share} of all time waited. {advice}",
        operation = excess.operation.label(),
        mean = duration(excess.mean_ns / 1e9),
        requests = plural(excess.count, "request"),
        times = times(excess.times()),
        others = others.join(", "),
        other_mean = duration(excess.others_ns / 1e9),
        difference = difference(evidence, excess),
        share = percent(share),
        advice = match is_path {
            true => "The network path to this address is slow; the server is not the cause.",
            false => "Check the network path to this address and the server's network interface.",
        },
    ))
}

/// States that a client's time is receiving, if that is certain: it has most of the waiting, and nearly all of the waiting is receiving,
/// so most of its own is too.
fn receiving(evidence: &Evidence<'_>, slow: &SlowPlace) -> Option<&'static str> {
    if evidence.is_from_intended() {
        return None;
    }
    let (service, sending) = evidence.waiting.service_share().zip(evidence.waiting.sending_share())?;
    let mine = evidence.tallies?.sum(|key| slow.place.holds(key));
    let own = mine.total().waited_ns as f64 / evidence.waited_ns();
    let least = 1.0 - (service + sending) / own;
    (matches!(slow.place, Place::Client(_))
        && least >= MOST
        && slow.excess.service_share.is_some_and(|share| share <= 1.0 - MOST))
    .then_some(
        "The client waits mainly while it receives responses: the client or its network path is slow, not the server. ",
    )
}

/// Whether the service time makes the difference.
pub(super) fn difference(evidence: &Evidence<'_>, excess: &Excess) -> &'static str {
    match excess.service_share {
        Some(share) if share >= MOST => "The difference is in the service time. ",
        Some(share) if share <= 1.0 - MOST && evidence.is_from_intended() => {
            "The difference is not in the service time. "
        }
        Some(share) if share <= 1.0 - MOST => {
            "The difference is in the time for sending and receiving, not in the service time. "
        }
        _ => "",
    }
}

/// `3.2 times`, `15 times`.
pub(super) fn times(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1} times") } else { format!("{factor:.0} times") }
}

fn plural_are(count: usize, word: &str) -> String {
    format!("{} {}", plural(count as u64, &format!("other {word}")), if count == 1 { "is" } else { "are" })
}

/// A client, share or similar for which clients waited more than for others.
pub(super) fn key(findings: &Findings, waited_s: f64) -> Option<Found> {
    // Another rule speaks of operations.
    let worth_saying = |breakdown: &&Breakdown| breakdown.rows.len() > 1 && breakdown.by != "operation";
    let breakdown = findings.breakdown.as_ref().filter(worth_saying)?;
    let known = breakdown.rows.iter().filter(|row| row.keys.iter().all(Option::is_some));
    let most = known.max_by(|a, b| a.row.waited_s.total_cmp(&b.row.waited_s))?;
    let share = most.row.waited_s / waited_s;
    if share < KEY_SHARE || share < 2.0 * most.row.share {
        return None;
    }
    let named = |(dimension, key): (&String, &Option<String>)| Some(format!("{dimension} {}", key.as_deref()?));
    let named: Option<Vec<String>> = breakdown.dimensions.iter().zip(&most.keys).map(named).collect();
    let text = format!(
        "{place} accounts for {waited} of all time waited, but only for {requests} of the requests.",
        place = named?.join(", "),
        waited = percent(share),
        requests = percent(most.row.share),
    );
    Some(Found::new(Kind::Place, Rule::Key, Some(share), text))
}
