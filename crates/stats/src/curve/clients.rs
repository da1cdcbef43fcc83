//! Outlier clients: slower than others, or with more errors.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use statrs::distribution::{DiscreteCDF, Poisson};

use super::sizes::median;

/// A client's results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientTotals {
    /// Which one, from 0.
    pub client_index: u32,
    /// The thread that ran it: what delays a thread delays all its clients.
    pub thread: u32,
    /// Iterations that ended.
    pub iterations: u64,
    /// Actions that succeeded.
    pub actions: u64,
    /// Actions that did not.
    pub errors: u64,
    /// Mean response time of those that did, s; 0 where none did.
    pub mean_s: f64,
    /// Its standard error, s.
    pub error_s: f64,
}

/// Outliers among clients. Numbers are those of [`ClientTotals::client_index`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientOutliers {
    /// Slower than the other clients.
    pub slower: Vec<u32>,
    /// Faster than the other clients.
    pub quicker: Vec<u32>,
    /// With more errors than the other clients.
    pub lossy: Vec<u32>,
    /// Clients that cannot be judged as slower or faster: their thread has too few clients for a comparison, and threads cannot be
    /// compared.
    pub unjudged: Vec<u32>,
}

/// Minimum number of clients for a comparison.
const FEWEST: usize = 4;
/// Actions that a client must have done for its mean to count.
const FEWEST_ACTIONS: u64 = 10;
/// Smallest relevant difference from the median, relative to it.
const NOTABLE: f64 = 0.10;
/// How many robust standard deviations of the clients' means a difference must be.
const UNUSUAL: f64 = 5.0;
/// Minimum difference, in the client's own standard errors.
const SURE: f64 = 4.0;
/// Standard deviations in a median of absolute deviations, of normal numbers.
const MAD: f64 = 1.4826;
/// Errors from which on a client may be called lossy.
const FEWEST_ERRORS: u64 = 3;
/// How seldom chance may call any of all clients lossy.
const CHANCE: f64 = 0.001;

/// Finds outliers among clients with the same load; returns none for fewer than four. `alike`: the threads that ran the clients are known
/// to have been equally on time.
///
/// *Slower* (faster): the mean response time is above (below) the median of the means of all clients of its thread by more than a tenth
/// of it, by more than five robust standard deviations of these means, and by more than four standard errors of its own. If a thread has
/// fewer than four clients and threads are `alike`, its clients are compared with those of all threads. They are then called slower
/// (faster) only if they also differ as much from the other clients of their own thread; otherwise they are not judged.
/// *Lossy*: at least three errors, and so many more than the other clients' error rate predicts that chance causes it in one of all
/// clients once in a thousand times (Poisson).
pub fn judge_clients(clients: &[ClientTotals], alike: bool) -> ClientOutliers {
    let mut odd = ClientOutliers::default();
    if clients.len() < FEWEST {
        return odd;
    }
    let busy: Vec<ClientTotals> = clients.iter().filter(|one| one.actions >= FEWEST_ACTIONS).copied().collect();
    let mut threads: BTreeMap<u32, Vec<ClientTotals>> = BTreeMap::new();
    busy.iter().for_each(|one| threads.entry(one.thread).or_default().push(*one));
    for mates in threads.values() {
        for one in mates {
            let direction = if mates.len() >= FEWEST {
                beside(one, mates)
            } else if threads.len() == 1 || alike {
                among_all(one, mates, &busy)
            } else {
                odd.unjudged.push(one.client_index);
                None
            };
            match direction {
                Some(Ordering::Greater) => odd.slower.push(one.client_index),
                Some(Ordering::Less) => odd.quicker.push(one.client_index),
                _ => {}
            }
        }
    }
    [&mut odd.slower, &mut odd.quicker, &mut odd.unjudged].into_iter().for_each(|list| list.sort_unstable());
    odd.lossy = clients.iter().filter(|one| is_lossy(one, clients)).map(|one| one.client_index).collect();
    odd
}

/// Whether a client's mean is above or below the usual range of `these`; `None` if neither, or if they are too few.
fn beside(one: &ClientTotals, these: &[ClientTotals]) -> Option<Ordering> {
    if these.len() < FEWEST {
        return None;
    }
    let usual = median(these.iter().map(|one| one.mean_s).collect())?;
    let spread = MAD * median(these.iter().map(|one| (one.mean_s - usual).abs()).collect()).unwrap_or(0.0);
    let limit = (NOTABLE * usual).max(UNUSUAL * spread).max(SURE * one.error_s);
    ((one.mean_s - usual).abs() > limit).then(|| one.mean_s.total_cmp(&usual))
}

/// Compares with the clients of all threads, and with the few others of the client's thread: a deviation common to these is the thread's.
fn among_all(one: &ClientTotals, mates: &[ClientTotals], all: &[ClientTotals]) -> Option<Ordering> {
    let direction = beside(one, all)?;
    let others: Vec<f64> =
        mates.iter().filter(|mate| mate.client_index != one.client_index).map(|mate| mate.mean_s).collect();
    let apart = median(others).is_none_or(|usual| {
        (one.mean_s - usual).abs() > (NOTABLE * usual).max(SURE * one.error_s)
            && one.mean_s.total_cmp(&usual) == direction
    });
    apart.then_some(direction)
}

fn is_lossy(one: &ClientTotals, clients: &[ClientTotals]) -> bool {
    if one.errors < FEWEST_ERRORS {
        return false;
    }
    let attempts = |one: &ClientTotals| (one.actions + one.errors) as f64;
    let all: f64 = clients.iter().map(attempts).sum();
    let errors: u64 = clients.iter().map(|one| one.errors).sum();
    let others = all - attempts(one);
    if others <= 0.0 {
        return false;
    }
    // Half an error more: no errors of the others do not prove that they never have any.
    let expected = ((errors - one.errors) as f64 + 0.5) / others * attempts(one);
    let by_chance = Poisson::new(expected).map_or(1.0, |poisson| poisson.sf(one.errors - 1));
    by_chance < CHANCE / clients.len() as f64
}
