//! A session with two connections of which one does nothing.

use plimsoll_report::findings::{Channel, Channels, Session};

pub(super) fn channels() -> Channels {
    let busy = Channel {
        connection: 4,
        client: "10.0.0.7:50001".to_owned(),
        server: "10.0.0.1:445".to_owned(),
        requests: 4_000,
        share: 0.9995,
        errors: 3,
        unanswered: 1,
        data_bytes: Some(16_384_000),
        wire_bytes: Some(17_200_000),
        depth_mean: Some(1.75),
        response_mean_s: Some(0.0042),
        response_p95_s: Some(0.011),
        response_max_s: Some(0.25),
        used_s: Some(9.9),
        is_idle: false,
    };
    let idle = Channel {
        connection: 5,
        client: "10.0.1.7:50002".to_owned(),
        server: "10.0.1.1:445".to_owned(),
        requests: 2,
        share: 0.0005,
        is_idle: true,
        wire_bytes: Some(300),
        ..Channel::default()
    };
    let session = Session {
        id: "0x400000000005".to_owned(),
        user: Some("anna".to_owned()),
        elapsed_s: Some(10.0),
        balance: None,
        channels: vec![busy, idle],
    };
    Channels {
        sessions_in_all: 3,
        sessions_with_several: 2,
        idle_channels: 1,
        worst_balance: Some(1.25),
        requests_left_out: 0,
        sessions: vec![session],
    }
}
