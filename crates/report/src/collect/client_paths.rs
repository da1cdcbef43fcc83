//! The network path to each client.

use plimsoll_model::{ClientPath, Coverage, Pace, RoundTrip};

use super::SECOND;
use crate::findings::{ClientPathRow, MOST_PATHS, RoundTripTimes};

/// Parts of a transfer that tell how quickly data pass, at least.
pub(super) const PARTS_LEAST: u64 = 20;

/// The paths, longest round trip first.
pub(super) fn client_paths(coverage: &Coverage) -> Vec<ClientPathRow> {
    let mut paths: Vec<&ClientPath> = coverage.client_paths.iter().collect();
    let both = |path: &ClientPath| path.round_trips.iter().filter_map(|one| one.least_ns).sum::<u64>();
    paths.sort_by_key(|path| (std::cmp::Reverse(both(path)), path.client));
    paths.into_iter().take(MOST_PATHS).map(row).collect()
}

fn row(path: &ClientPath) -> ClientPathRow {
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / SECOND);
    let times = |one: RoundTrip| RoundTripTimes {
        least_s: seconds(one.least_ns),
        median_s: seconds(one.median_ns),
        count: one.count,
    };
    let known = |pace: &Pace| pace.bytes_per_s().filter(|_| pace.count >= PARTS_LEAST);
    let [to_server, to_client] = path.round_trips;
    ClientPathRow {
        client: path.client.to_string(),
        connections: path.connections,
        handshakes: path.handshakes,
        late_handshakes: path.late_handshakes,
        late_handshake_s: path.late_handshake_ns as f64 / SECOND,
        to_client: times(to_client),
        to_server: times(to_server),
        bytes_per_s_to_client: known(&path.paces[1]),
        bytes_per_s_to_server: known(&path.paces[0]),
        data_segments: path.data_segments.iter().sum(),
        retransmitted: path.resent_segments.iter().sum(),
    }
}
