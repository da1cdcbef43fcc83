use std::net::IpAddr;

use plimsoll_model::Procedure;
use plimsoll_testkit::transaction;

use super::*;
use crate::{Options, Statistics};

const MS: i64 = 1_000_000;

/// A request of a session on a connection between these two addresses.
fn request(connection: u32, session: u64, (client, server): (u8, u8), took_ms: i64) -> Transaction {
    let end = |last, port| Endpoint { ip: IpAddr::from([10, 0, 0, last]), port };
    let at = 1_000 * MS;
    let mut t = transaction(Procedure::of(Protocol::Smb2, 8), at + took_ms * MS, took_ms * MS);
    (t.connection, t.session) = (connection, Some(session));
    (t.client, t.server) = (end(client, (connection as u16).wrapping_add(1000)), end(server, 445));
    t
}

fn binding(connection: u32, session: u64, between: (u8, u8)) -> Transaction {
    Transaction { procedure: Procedure::smb2_binding(), ..request(connection, session, between, 1) }
}

fn of(transactions: &[Transaction]) -> Statistics {
    let mut statistics = Statistics::new(Options::default());
    transactions.iter().for_each(|t| statistics.record(t));
    statistics
}

/// Connections and their requests, session by session.
fn sessions(statistics: &Statistics) -> Vec<(u64, Vec<(u32, u64)>)> {
    let (several, _) = statistics.channels().of_several();
    let of = |one: &SessionChannels<'_>| one.channels.iter().map(|row| (row.connection, row.requests)).collect();
    several.iter().map(|one| (one.session, of(one))).collect()
}

#[test]
fn what_each_channel_carried() {
    let mut all = vec![request(0, 7, (1, 2), 5), request(3, 7, (1, 2), 10), request(3, 7, (1, 2), 20)];
    let mut lost = request(3, 7, (1, 2), 0);
    (lost.outcome, lost.status, lost.timeline.response_last) = (Outcome::Unanswered, None, None);
    all.push(lost);
    // A single connection, and one without a session.
    all.extend([request(1, 8, (1, 2), 5), Transaction { session: None, ..request(2, 7, (1, 2), 5) }]);
    let statistics = of(&all);
    assert_eq!(sessions(&statistics), [(7, vec![(0, 1), (3, 3)])]);
    let (several, count) = statistics.channels().of_several();
    let row = several[0].channels[1];
    assert_eq!((count, row.unanswered, row.payload.exact(), row.response.mean_ns()), (2, 1, Some(8192), Some(15e6)));
    assert_eq!(row.span_ns, Some((1_000 * MS, 1_020 * MS)));
}

#[test]
fn two_servers_may_give_the_same_number() {
    let apart = of(&[request(0, 7, (1, 2), 5), request(1, 7, (1, 3), 5)]);
    assert_eq!((sessions(&apart), apart.channels().of_several().1), (vec![], 2));
    // The client binds a connection between other addresses to the same session.
    let bound = of(&[request(0, 7, (1, 2), 5), binding(1, 7, (4, 5)), request(1, 7, (4, 5), 5)]);
    assert_eq!(sessions(&bound), [(7, vec![(0, 1), (1, 1)])]);
    // To which of two it belongs, its addresses tell.
    let two = of(&[request(0, 7, (1, 2), 5), request(1, 7, (1, 3), 5), binding(2, 7, (9, 3))]);
    assert_eq!(sessions(&two), [(7, vec![(1, 1), (2, 0)])]);
    // One client has a session with each of two servers, which both have a second address.
    let (first, bound) = ([request(0, 7, (1, 2), 5), request(1, 7, (1, 3), 5)], [(2, (1, 4)), (3, (1, 5))]);
    let unclear = of(&[first.to_vec(), bound.map(|(number, ends)| binding(number, 7, ends)).to_vec()].concat());
    assert_eq!((sessions(&unclear), unclear.channels().of_several().1), (vec![], 4));
}

/// A run binds the connections of a session before its measured phase, also to other addresses of the server.
#[test]
fn connections_that_were_bound_before_the_phase_belong_to_their_session() {
    let mut statistics = Statistics::new(Options::default());
    statistics.record_outside(&binding(1, 7, (1, 3)));
    [request(0, 7, (1, 2), 5), request(1, 7, (1, 3), 5)].iter().for_each(|t| statistics.record(t));
    assert_eq!(sessions(&statistics), [(7, vec![(0, 1), (1, 1)])]);
}

#[test]
fn a_channel_that_carries_nothing_is_there() {
    let refused = Transaction { outcome: Outcome::Refused, status: Some(0xC000_006D), ..binding(2, 7, (1, 2)) };
    let statistics = of(&[request(0, 7, (1, 2), 5), binding(1, 7, (1, 2)), refused]);
    assert_eq!(sessions(&statistics), [(7, vec![(0, 1), (1, 0)])]);
    let nfs = Transaction { procedure: Procedure::nfs4_binding(), ..binding(1, 7, (3, 4)) };
    assert_eq!(sessions(&of(&[request(0, 7, (1, 2), 5), nfs])), [(7, vec![(0, 1), (1, 0)])]);
}

#[test]
fn parts_are_the_whole_and_bytes_bring_it_back() {
    let all: Vec<Transaction> = (0..40)
        .map(|i| request(i % 5, u64::from(i % 3) + 1, (1, 2), i.into()))
        .chain([binding(7, 1, (3, 4)), binding(u32::MAX, 1, (3, 4))])
        .collect();
    let whole = of(&all);
    let (mut one, other) = (of(&all[..17]), of(&all[17..]));
    one.merge(&other);
    assert_eq!(sessions(&one), sessions(&whole));
    let bytes = crate::state::to_bytes(whole.channels());
    let back: Channels = Reader::new(&bytes).last().unwrap();
    assert_eq!(&back, whole.channels());
    for cut in 0..bytes.len() {
        assert!(Reader::new(&bytes[..cut]).last::<Channels>().is_err(), "{cut}");
    }
}

#[test]
fn there_is_room_for_so_many() {
    let mut statistics = Statistics::new(Options::default());
    for connection in 0..MAX_CHANNELS as u32 + 3 {
        statistics.record(&request(connection, 7, (1, 2), 1));
    }
    assert_eq!((sessions(&statistics)[0].1.len(), statistics.channels().left_out()), (MAX_CHANNELS, 3));
}

/// Many clients come and go with a connection each: only the newest have a histogram. Connections that share a session have one always.
#[test]
fn histograms_of_single_connections_are_bounded() {
    let clients = NEWEST as u32 + 10;
    let mut all = vec![request(0, 1, (1, 2), 1), request(1, 1, (1, 2), 2)];
    all.extend((2..clients).map(|connection| request(connection, connection.into(), (1, 2), 1)));
    // The client of the first single connection opens another one: the percentiles of the first are unknown.
    all.push(request(clients, 2, (1, 2), 4));
    let statistics = of(&all);
    let channels = statistics.channels();
    let with_histogram = channels.rows.iter().filter(|row| row.histogram.is_some()).count();
    assert_eq!((with_histogram, channels.rows.len()), (NEWEST + 2, clients as usize + 1));
    assert_eq!(p95_ms(&statistics), [(1, vec![Some(1), Some(2)]), (2, vec![None, Some(4)])]);
    let mut twice = statistics.clone();
    twice.merge(&statistics);
    assert_eq!(p95_ms(&twice), p95_ms(&statistics));
    let back: Channels = Reader::new(&crate::state::to_bytes(channels)).last().unwrap();
    assert_eq!(&back, channels);
}

/// Parts of a run with many connections of few sessions: each connection has its percentiles.
#[test]
fn connections_of_shared_sessions_have_histograms_in_any_number() {
    let part = |from: u32| {
        let session = |connection: u32| u64::from(connection - from) % 700 + u64::from(from) + 1;
        of(&(from..from + 1_400)
            .map(|connection| request(connection, session(connection), (1, 2), 3))
            .collect::<Vec<_>>())
    };
    let mut whole = part(0);
    whole.merge(&part(1_400));
    let sessions = p95_ms(&whole);
    assert_eq!(sessions.len(), 1_400);
    assert!(sessions.iter().all(|(_, p95)| *p95 == [Some(3), Some(3)]));
}

/// One session number for thousands of connections.
#[test]
fn histograms_of_one_session_are_bounded() {
    let all: Vec<Transaction> = (0..4_000).map(|connection| request(connection, 7, (1, 2), 1)).collect();
    let statistics = of(&all);
    let channels = statistics.channels();
    let with_histogram = channels.rows.iter().filter(|row| row.histogram.is_some()).count();
    assert_eq!((with_histogram, channels.rows.len()), (NEWEST + OLDER as usize, 4_000));
    let back: Channels = Reader::new(&crate::state::to_bytes(channels)).last().unwrap();
    assert_eq!(&back, channels);
}

/// A UID of SMB1 belongs to its connection. Windows gives the first user of each connection the same one.
#[test]
fn sessions_of_smb1_have_one_connection() {
    let of_smb1 = |connection| Transaction {
        procedure: Procedure::of(Protocol::Smb1, 0x2E),
        ..request(connection, 2048, (1, 2), 1)
    };
    let statistics = of(&[of_smb1(0), of_smb1(1)]);
    assert_eq!(statistics.channels().of_several(), (vec![], 0));
}

/// p95 of each connection of each session, ms.
fn p95_ms(statistics: &Statistics) -> Vec<(u64, Vec<Option<i64>>)> {
    let ms = |row: &&ChannelSums| row.percentile_ns(95.0).map(|ns| ns as i64 / MS);
    let (several, _) = statistics.channels().of_several();
    several.iter().map(|one| (one.session, one.channels.iter().map(ms).collect())).collect()
}
