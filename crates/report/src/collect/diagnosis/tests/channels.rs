//! Connections of a session that carry nothing, or little.

use super::*;
use crate::findings::{Channel, Channels, Session};

/// A session with this number of requests per connection, and a total queue depth of `depth`.
fn with_session(requests: &[u64], depth: f64, balance: Option<f64>) -> Findings {
    let mean = requests.iter().sum::<u64>() / requests.len() as u64;
    let channel = |(number, &requests): (u32, &u64)| Channel {
        connection: number,
        client: format!("10.0.0.7:{}", 5_000 + number),
        requests,
        depth_mean: Some(depth / 4.0),
        is_idle: requests < mean / 100,
        ..Channel::default()
    };
    let channels = (0..).zip(requests).map(channel).collect();
    let session =
        Session { id: "0x9".to_owned(), user: Some("anna".to_owned()), balance, channels, ..Session::default() };
    Findings { channels: Some(Channels { sessions: vec![session], ..Channels::default() }), ..even() }
}

#[test]
fn idle_connections_are_named() {
    let text = text(&with_session(&[5_000, 0, 3, 4_800], 4.0, None), Rule::UnevenChannels);
    let expected = "Session 0x9 of user anna: 2 of its 4 connections carry almost no requests (10.0.0.7:5001, 10.0.0.7:5002), although the session had 4 \
    requests outstanding on average.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&text).replace("4.00", "4"), words(expected));
}

#[test]
fn a_busy_connection_beside_others_is_named() {
    let text = text(&with_session(&[5_000, 1_000, 1_100, 1_200], 4.0, Some(5.0)), Rule::UnevenChannels);
    assert!(text.contains("the busiest of its 4 connections (10.0.0.7:5000, 5,000 requests) carries 5"), "{text}");
}

#[test]
fn a_session_that_needs_no_more_connections_is_none() {
    let silent = |requests: &[u64], depth, balance| {
        assert!(
            !rules(&with_session(requests, depth, balance)).contains(&Rule::UnevenChannels),
            "{requests:?} {depth}"
        );
    };
    silent(&[5_000, 0, 0, 0], 0.9, None);
    silent(&[900, 0, 0, 0], 4.0, None);
    silent(&[5_000, 4_000, 4_100, 4_200], 4.0, Some(1.25));
    silent(&[5_000, 1_000, 1_100, 1_200], 1.5, Some(5.0));
}
