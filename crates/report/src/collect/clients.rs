//! Compares clients with each other.

use plimsoll_stats::curve::{ClientOutliers, ClientTotals, judge_clients, median};

use crate::findings::{
    ClientErrors, ClientRow, ClientSpread, MOST_CLIENT_ROWS, MOST_CLIENTS, OutlierClient, OutlierKind,
};

/// The report's data about clients with the same load. `alike`: clients of different threads can be compared.
pub fn spread(clients: &[ClientTotals], alike: bool) -> ClientSpread {
    let means: Vec<f64> = clients.iter().filter(|one| one.actions > 0).map(|one| one.mean_s).collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let sound = mean > 0.0;
    let over = |value: Option<f64>| value.filter(|_| sound).map(|value| value / mean);
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let found = judge_clients(clients, alike);
    let odd = odd(clients, &found, median(means.clone()));
    let mut errors: Vec<ClientErrors> = clients.iter().filter(|one| one.errors > 0).map(errors_of).collect::<Vec<_>>();
    errors.sort_by_key(|one| (std::cmp::Reverse(one.errors), one.client));
    let (outlier_clients, clients_with_errors) = (odd.len() as u64, errors.len() as u64);
    errors.truncate(MOST_CLIENTS);
    ClientSpread {
        mean_s: sound.then_some(mean),
        min: over(means.iter().copied().reduce(f64::min)),
        max: over(means.iter().copied().reduce(f64::max)),
        stddev: over((means.len() > 1).then(|| (squares / (count - 1.0)).sqrt())),
        clients: rows(clients, sound.then_some(mean)),
        outliers: odd.into_iter().take(MOST_CLIENTS).collect(),
        outlier_clients,
        errors,
        clients_with_errors,
        unjudged_clients: found.unjudged.len() as u64,
    }
}

/// Every client, beside the mean of all. `usual_s`: the mean of the clients' mean response times.
fn rows(clients: &[ClientTotals], usual_s: Option<f64>) -> Vec<ClientRow> {
    let iterations: u64 = clients.iter().map(|one| one.iterations).sum();
    let mean = iterations as f64 / clients.len() as f64;
    let row = |one: &ClientTotals| {
        let mean_s = (one.actions > 0).then_some(one.mean_s);
        ClientRow {
            client: number(one),
            thread: one.thread,
            iterations: one.iterations,
            iterations_ratio: (iterations > 0).then(|| one.iterations as f64 / mean),
            actions: one.actions,
            errors: one.errors,
            mean_s,
            mean_ratio: mean_s.zip(usual_s).map(|(own, usual)| own / usual),
        }
    };
    clients.iter().take(MOST_CLIENT_ROWS).map(row).collect()
}

/// The client's number in reports, from 1.
fn number(one: &ClientTotals) -> u32 {
    one.client_index.saturating_add(1)
}

fn odd(clients: &[ClientTotals], found: &ClientOutliers, usual_s: Option<f64>) -> Vec<OutlierClient> {
    let of = |numbers: &[u32], how: OutlierKind| -> Vec<OutlierClient> {
        let known = numbers.iter().filter_map(|number| clients.iter().find(|one| one.client_index == *number));
        known
            .map(|one| {
                let ClientErrors { client, errors, attempts } = errors_of(one);
                let mean_s = (one.actions > 0).then_some(one.mean_s);
                OutlierClient { client, how, mean_s, usual_s, errors, attempts, thread: one.thread }
            })
            .collect()
    };
    let (slower, quicker) = (of(&found.slower, OutlierKind::Slower), of(&found.quicker, OutlierKind::Quicker));
    [slower, quicker, of(&found.lossy, OutlierKind::Lossy)].concat()
}

fn errors_of(one: &ClientTotals) -> ClientErrors {
    ClientErrors { client: number(one), errors: one.errors, attempts: one.actions + one.errors }
}
