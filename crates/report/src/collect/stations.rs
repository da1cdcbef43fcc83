//! Stations beside each other.

use plimsoll_stats::curve::{ClientOutliers, ClientTotals, judge_clients, median};

use crate::findings::{MOST_STATIONS, OddStation, StationErrors, StationSpread};

/// What reports show of stations that were all asked for the same. `alike`: stations of different threads can be compared.
pub fn spread(stations: &[ClientTotals], alike: bool) -> StationSpread {
    let means: Vec<f64> = stations.iter().filter(|one| one.actions > 0).map(|one| one.mean_s).collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let sound = mean > 0.0;
    let over = |value: Option<f64>| value.filter(|_| sound).map(|value| value / mean);
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let found = judge_clients(stations, alike);
    let odd = odd(stations, &found, median(means.clone()));
    let mut errors: Vec<StationErrors> =
        stations.iter().filter(|one| one.errors > 0).map(errors_of).collect::<Vec<_>>();
    errors.sort_by_key(|one| (std::cmp::Reverse(one.errors), one.station));
    let (odd_stations, stations_with_errors) = (odd.len() as u64, errors.len() as u64);
    errors.truncate(MOST_STATIONS);
    StationSpread {
        mean_s: sound.then_some(mean),
        min: over(means.iter().copied().reduce(f64::min)),
        max: over(means.iter().copied().reduce(f64::max)),
        stddev: over((means.len() > 1).then(|| (squares / (count - 1.0)).sqrt())),
        odd: odd.into_iter().take(MOST_STATIONS).collect(),
        odd_stations,
        errors,
        stations_with_errors,
        unjudged_stations: found.unjudged.len() as u64,
    }
}

fn odd(stations: &[ClientTotals], found: &ClientOutliers, usual_s: Option<f64>) -> Vec<OddStation> {
    let of = |numbers: &[u32], how: &str| -> Vec<OddStation> {
        let known = numbers.iter().filter_map(|number| stations.iter().find(|one| one.client_index == *number));
        known
            .map(|one| {
                let StationErrors { station, errors, attempts } = errors_of(one);
                let mean_s = (one.actions > 0).then_some(one.mean_s);
                OddStation { station, how: how.to_owned(), mean_s, usual_s, errors, attempts, thread: one.thread }
            })
            .collect()
    };
    [of(&found.slower, "slower"), of(&found.quicker, "quicker"), of(&found.lossy, "lossy")].concat()
}

fn errors_of(one: &ClientTotals) -> StationErrors {
    StationErrors { station: one.client_index, errors: one.errors, attempts: one.actions + one.errors }
}
