//! Stations that the server treats otherwise than the others: slower, or with more errors.

use statrs::distribution::{DiscreteCDF, Poisson};

use super::sizes::median;

/// What a station got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationShare {
    /// Which one, from 0.
    pub station: u32,
    /// Actions that succeeded.
    pub actions: u64,
    /// Actions that did not.
    pub errors: u64,
    /// Mean response time of those that did, s; 0 where none did.
    pub mean_s: f64,
    /// Standard error of it, s.
    pub error_s: f64,
}

/// What stands out among stations. Numbers are those of [`StationShare::station`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OddStations {
    /// Slower than the others.
    pub slower: Vec<u32>,
    /// Quicker than the others.
    pub quicker: Vec<u32>,
    /// With more errors than the others.
    pub lossy: Vec<u32>,
}

/// Stations that it takes to say what is usual among them.
const FEWEST: usize = 4;
/// Actions that a station must have done for its mean to count.
const FEWEST_ACTIONS: u64 = 10;
/// A smaller difference from the usual is nobody's trouble, over the usual.
const NOTABLE: f64 = 0.10;
/// How many robust standard deviations of the stations' means a difference must be.
const UNUSUAL: f64 = 5.0;
/// How many of its own standard errors.
const SURE: f64 = 4.0;
/// Standard deviations in a median of absolute deviations, of normal numbers.
const MAD: f64 = 1.4826;
/// Errors from which on a station may be called lossy.
const FEWEST_ERRORS: u64 = 3;
/// How seldom chance may call any of all stations lossy.
const CHANCE: f64 = 0.001;

/// What stands out among stations that were all asked for the same; nothing where there are fewer than four.
///
/// *Slower* (quicker): the mean response time is above (below) the median of the stations' means by more than a tenth of it, by
/// more than five robust standard deviations of these means, and by more than four standard errors of its own.
/// *Lossy*: at least three errors, and so many more than the other stations' share of errors lets expect that chance gives that to one
/// station of all of them once in a thousand times (Poisson).
pub fn judge_stations(stations: &[StationShare]) -> OddStations {
    if stations.len() < FEWEST {
        return OddStations::default();
    }
    let mut odd = OddStations::default();
    let busy = || stations.iter().filter(|one| one.actions >= FEWEST_ACTIONS);
    let usual = median(busy().map(|one| one.mean_s).collect());
    if let Some(usual) = usual.filter(|_| busy().count() >= FEWEST) {
        let spread = MAD * median(busy().map(|one| (one.mean_s - usual).abs()).collect()).unwrap_or(0.0);
        for one in busy() {
            let limit = (NOTABLE * usual).max(UNUSUAL * spread).max(SURE * one.error_s);
            let of = if one.mean_s > usual { &mut odd.slower } else { &mut odd.quicker };
            if (one.mean_s - usual).abs() > limit {
                of.push(one.station);
            }
        }
    }
    odd.lossy = stations.iter().filter(|one| is_lossy(one, stations)).map(|one| one.station).collect();
    odd
}

fn is_lossy(one: &StationShare, stations: &[StationShare]) -> bool {
    if one.errors < FEWEST_ERRORS {
        return false;
    }
    let attempts = |one: &StationShare| (one.actions + one.errors) as f64;
    let all: f64 = stations.iter().map(attempts).sum();
    let errors: u64 = stations.iter().map(|one| one.errors).sum();
    let others = all - attempts(one);
    if others <= 0.0 {
        return false;
    }
    // Half an error more: that others had none does not prove that they never have.
    let expected = ((errors - one.errors) as f64 + 0.5) / others * attempts(one);
    let by_chance = Poisson::new(expected).map_or(1.0, |poisson| poisson.sf(one.errors - 1));
    by_chance < CHANCE / stations.len() as f64
}
