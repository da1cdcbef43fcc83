//! Transactions with default values, which a test changes.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_model::{Asked, Endpoint, Frames, Outcome, Procedure, Symbol, Timeline, Transaction, Vantage};

/// An operation of one client, as the client sees it: it succeeded, took `took_ns` and ended at `ended_ns`.
#[must_use]
pub fn transaction(procedure: Procedure, ended_ns: i64, took_ns: i64) -> Transaction {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let begun_ns = ended_ns - took_ns;
    Transaction {
        procedure,
        client: Endpoint { ip: here, port: 40_000 },
        server: Endpoint { ip: here, port: 445 },
        connection: 0,
        session: None,
        share: Symbol::NONE,
        path: Symbol::NONE,
        user: Symbol::NONE,
        id: None,
        compound_position: None,
        status: Some(0),
        outcome: Outcome::Succeeded,
        payload_bytes: Some(4096),
        request_bytes: Some(120),
        response_bytes: Some(200),
        request_packets: 0,
        response_packets: None,
        timeline: Timeline {
            request_first: Some(begun_ns),
            request_last: Some(begun_ns),
            response_first: Some(ended_ns),
            response_last: Some(ended_ns),
            ..Timeline::default()
        },
        frames: Frames::default(),
        vantage: Vantage::Client,
        level: None,
        long_lived: false,
        counted: true,
        resent_wait_ns: None,
        asked: Asked::default(),
        client_index: None,
    }
}
