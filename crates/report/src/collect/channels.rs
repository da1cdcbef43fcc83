//! Sessions with several connections: sums become shares, depths and times.

use plimsoll_model::Names;
use plimsoll_stats::{ChannelSums, SessionChannels, Statistics};

use super::SECOND;
use crate::findings::{Channel, Channels, MOST_LISTED, MOST_SESSIONS, Session};

/// A connection that carries less than this part of its session's average is idle.
const IDLE_PART: f64 = 0.01;
/// Connections are compared that were in use for this part of the session's time.
const COMPARED_PART: f64 = 0.9;

/// `None` where no session with requests has several. `phase_ns` is the measured phase of a load level.
pub(super) fn channels(statistics: &Statistics, names: &Names, phase_ns: Option<(i64, i64)>) -> Option<Channels> {
    let (several, sessions_in_all) = statistics.channels().of_several();
    // A session without requests has nothing to compare: for example, its client stopped while it bound the connections.
    let used = several.iter().filter(|one| one.channels.iter().any(|row| row.requests > 0));
    let all: Vec<Session> = used.map(|one| session(one, names, phase_ns)).collect();
    let idle = all.iter().flat_map(|session| &session.channels).filter(|channel| channel.is_idle).count();
    let worst_balance = all.iter().filter_map(|session| session.balance).reduce(f64::max);
    (!all.is_empty()).then(|| Channels {
        sessions_in_all,
        sessions_with_several: all.len() as u64,
        idle_channels: idle as u64,
        worst_balance,
        requests_left_out: statistics.channels().left_out(),
        sessions: all
            .into_iter()
            .take(MOST_SESSIONS)
            .map(|mut session| {
                session.channels.truncate(MOST_LISTED);
                session
            })
            .collect(),
    })
}

fn session(found: &SessionChannels<'_>, names: &Names, phase_ns: Option<(i64, i64)>) -> Session {
    let rows = &found.channels;
    let spans = || rows.iter().filter_map(|row| row.span_ns);
    let first = spans().map(|(first, _)| first).min();
    let whole_ns = phase_ns.or_else(|| first.zip(spans().map(|(_, last)| last).max()));
    let elapsed_ns = whole_ns.map(length_ns);
    let requests: u64 = rows.iter().map(|row| row.requests).sum();
    let mean = requests as f64 / rows.len().max(1) as f64;
    let compared = || {
        let least = elapsed_ns.unwrap_or(0) as f64 * COMPARED_PART;
        rows.iter().filter(move |row| row.span_ns.map_or(0, length_ns) as f64 >= least).map(|row| row.requests)
    };
    let (most, least) = (compared().max(), compared().min().filter(|least| *least > 0));
    let user = rows.iter().find_map(|row| names.text(row.user)).map(str::to_owned);
    Session {
        id: format!("{:#x}", found.session),
        user,
        elapsed_s: elapsed_ns.map(seconds),
        balance: most.zip(least).filter(|_| compared().count() > 1).map(|(most, least)| most as f64 / least as f64),
        channels: rows.iter().map(|row| channel(row, requests, mean, elapsed_ns)).collect(),
    }
}

fn channel(row: &ChannelSums, requests: u64, mean: f64, elapsed_ns: Option<u64>) -> Channel {
    let waited = row.response.sum_ns() as f64;
    Channel {
        connection: row.connection,
        client: row.client.to_string(),
        server: row.server.to_string(),
        requests: row.requests,
        share: row.requests as f64 / requests.max(1) as f64,
        errors: row.errors,
        unanswered: row.unanswered,
        data_bytes: row.payload.exact(),
        wire_bytes: row.wire.exact(),
        depth_mean: elapsed_ns.filter(|elapsed| *elapsed > 0).map(|elapsed| waited / elapsed as f64),
        response_mean_s: row.response.mean_ns().map(|ns| ns / SECOND),
        response_p95_s: row.percentile_ns(95.0).map(seconds),
        response_max_s: row.response.max_ns().map(seconds),
        used_s: row.span_ns.map(length_ns).map(seconds),
        is_idle: (row.requests as f64) < IDLE_PART * mean,
    }
}

fn length_ns((first, last): (i64, i64)) -> u64 {
    u64::try_from(last.saturating_sub(first)).unwrap_or(0)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use plimsoll_model::{Endpoint, Procedure, Protocol, Transaction};
    use plimsoll_stats::Options;
    use plimsoll_testkit::transaction;

    use super::*;

    #[test]
    fn a_session_without_requests_is_left_out() {
        let of = |connection: u32, session: u64, procedure: Procedure| {
            let end = |port| Endpoint { ip: IpAddr::from([10, 0, 0, 1]), port };
            let (client, server) = (end(1_000 + connection as u16), end(445));
            Transaction {
                connection,
                session: Some(session),
                client,
                server,
                ..transaction(procedure, 2_000_000, 1_000_000)
            }
        };
        let (binding, read) = (Procedure::smb2_binding(), Procedure::of(Protocol::Smb2, 8));
        let mut statistics = Statistics::new(Options::default());
        for (connection, session, procedure) in
            [(0, 7, binding), (1, 7, binding), (2, 8, read), (3, 8, binding), (4, 9, read)]
        {
            statistics.record(&of(connection, session, procedure));
        }
        let found = channels(&statistics, &Names::default(), None).unwrap();
        let ids: Vec<&str> = found.sessions.iter().map(|session| session.id.as_str()).collect();
        assert_eq!((ids, found.sessions_with_several, found.sessions_in_all), (vec!["0x8"], 1, 3));
        let mut idle = Statistics::new(Options::default());
        (0..2).for_each(|connection| idle.record(&of(connection, 7, binding)));
        assert_eq!(channels(&idle, &Names::default(), None), None);
    }
}
