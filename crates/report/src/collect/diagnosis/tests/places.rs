//! Slow clients, servers, shares and paths.

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;
use plimsoll_model::{Procedure, Protocol};

const DATA: &str = r"\\server1\data";
const PLACES: [Rule; 4] = [Rule::SlowClient, Rule::SlowServer, Rule::SlowShare, Rule::SlowPath];

/// Five clients that read 50 times from each of two shares; `took_ns` says how long it takes at client, share and file.
fn reads(took_ns: impl Fn(u8, &str, usize) -> i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..50 {
        for client in 1..=5 {
            for share in [DATA, r"\\server1\home"] {
                let took = took_ns(client, share, i % 5);
                // Not all alike, as nothing is.
                traffic.request(
                    read(),
                    client,
                    share,
                    &format!(r"dir{}\file{}", i % 5, i % 10),
                    took + (i as i64 % 7) * 20_000,
                );
                traffic.request(open(), client, share, &format!(r"dir{}\file{}", i % 5, i % 10), MS);
            }
        }
    }
    traffic
}

#[test]
fn even_traffic_has_no_slow_place() {
    let traffic = reads(|_, _, _| MS);
    assert!(!traffic.rules().iter().any(|rule| PLACES.contains(rule)), "{:#?}", traffic.diagnosis());
    let twice = reads(|client, _, _| if client == 3 { 2 * MS } else { MS });
    assert!(!twice.rules().iter().any(|rule| PLACES.contains(rule)), "twice as long is no cause");
    let brief = reads(|client, _, _| if client == 3 { 4 * MS } else { MS / 2 });
    assert!(!brief.rules().contains(&Rule::SlowClient), "nobody feels 3.5 ms");
    let brief = reads(|_, share, dir| if dir == 3 && share == DATA { 4 * MS } else { MS / 2 });
    assert!(!brief.rules().iter().any(|rule| PLACES.contains(rule)), "{:#?}", brief.diagnosis());
}

#[test]
fn a_client_is_slow_whose_requests_take_longer_than_those_of_the_others() {
    let traffic = reads(|client, _, _| if client == 3 { 10 * MS } else { MS });
    assert_eq!(
        traffic.first(Rule::SlowClient),
        "Requests of client 10.0.0.3 are slow: read took 10.1 ms on average (100 requests), 9.5 times as long as for the other 4 \
         clients (1.06 ms). The difference is in the service time. All requests of this client account for 57 % of all time waited."
    );
    assert!(!traffic.rules().contains(&Rule::SlowShare) && !traffic.rules().contains(&Rule::SlowPath));
    assert_eq!(
        traffic.diagnosis().next.as_deref(),
        Some("plimsoll analyze trace.pcap --operation read --client 10.0.0.3 --by path")
    );
}

#[test]
fn a_client_that_sends_and_receives_slowly_is_told_from_a_slow_server() {
    let mut traffic = Traffic::new();
    for i in 0..800 {
        let client = (i % 4) as u8;
        let took = if client == 2 { 20 * MS } else { MS };
        traffic.changed(read(), client, DATA, "f", took, |t| {
            // Half of the time is sending; the response's first byte comes at once, its other bytes later.
            t.timeline.request_last = t.timeline.request_first.map(|first| first + took / 2);
            t.timeline.response_first = t.timeline.request_last.map(|last| last + MS / 10);
        });
    }
    traffic
        .first(Rule::SlowClient)
        .has("The difference is in the time for sending and receiving, not in the service time.");
}

#[test]
fn a_client_on_a_narrow_path_is_accused_of_few_requests() {
    let four_clients = |slow_ns: i64| {
        let mut traffic = Traffic::new();
        for i in 0..48 {
            let client = (i % 4) as u8;
            let took = if client == 2 { slow_ns } else { 2 * MS };
            traffic.changed(read(), client, DATA, "f", took, |t| {
                t.timeline.response_first = t.timeline.request_last.map(|last| last + MS / 2);
            });
        }
        traffic
    };
    let text = four_clients(300 * MS).first(Rule::SlowClient);
    text.begins("Requests of client 10.0.0.2 are slow: read took 300 ms on average (12 requests), 150");
    text.has("The client waits mainly while it receives responses");
    assert!(!four_clients(16 * MS).rules().contains(&Rule::SlowClient), "8 times as long is too little of 12 requests");
}

#[test]
fn a_client_with_more_outstanding_waits_longer_for_each() {
    let mut traffic = Traffic::new();
    for i in 0..2_000i64 {
        let client = (i % 2) as u8;
        // Ten at once, so each takes ten times as long.
        let took = if client == 1 { 10 * MS } else { MS };
        traffic.changed(read(), client, DATA, "f", MS / 2, |t| {
            (t.timeline.request_first, t.timeline.request_last) =
                (t.timeline.response_last.map(|end| end - took), t.timeline.response_last.map(|end| end - took));
        });
    }
    assert!(!traffic.rules().contains(&Rule::SlowClient), "{:#?}", traffic.diagnosis());
}

#[test]
fn a_share_is_slow_whoever_uses_it() {
    let traffic = reads(|_, share, _| if share == DATA { 12 * MS } else { MS });
    traffic
        .first(Rule::SlowShare)
        .begins(r"Requests to share \\server1\data are slow: read took 12.1 ms on average (250 requests), 11 times");
    assert!(!traffic.rules().contains(&Rule::SlowClient) && !traffic.rules().contains(&Rule::SlowPath));
}

#[test]
fn a_server_is_named_where_its_requests_are_those_of_a_share() {
    let mut traffic = Traffic::new();
    for i in 0..600 {
        let (share, took) = if i % 3 == 0 { (r"\\server2\b", 15 * MS) } else { (r"\\server1\a", MS) };
        traffic.request(read(), (i % 5) as u8, share, "f", took);
    }
    let text = traffic.first(Rule::SlowServer);
    text.begins("Requests to server 10.0.1.50:445 are slow");
    text.ends(
        r"The slow requests to this server are also the slow requests to share \\server2\b: the cause may be the server or the share.",
    );
    assert!(!traffic.rules().contains(&Rule::SlowShare));
    text.has("as long as for the other server (1.00 ms)");
    // Not compared.
    traffic.request(open(), 1, r"\\server3\c", "f", MS);
    traffic.first(Rule::SlowServer).has("as long as for the other server (1.00 ms)");
}

fn binding() -> Procedure {
    Procedure::all().find(|procedure| procedure.is_smb2_binding()).unwrap()
}

#[test]
fn an_address_of_a_server_is_no_other_server() {
    let traffic = |session: Option<u64>| {
        let mut traffic = Traffic::new();
        for i in 0..600 {
            // The share is the same; its name here only selects the address.
            let (share, took) = if i % 3 == 0 { (r"\\server2\a", 15 * MS) } else { (r"\\server1\a", MS) };
            let name = traffic.name(r"\\files\a");
            // The second connection is bound to the session.
            if i == 0 {
                traffic.changed(binding(), 1, share, "", MS, |t| t.session = session);
            }
            traffic.changed(read(), 1, share, "f", took, |t| {
                (t.session, t.share) = (session, name);
                t.timeline.response_first = t.timeline.request_last;
            });
        }
        traffic
    };
    let text = traffic(Some(7)).first(Rule::SlowServer);
    text.begins(
        "Connections to the address 10.0.1.50:445 are slow: read took 15.0 ms on average (200 requests), 15 times as long as over 10.0.1.49:445 (1.00 ms). These are addresses of the same server",
    );
    text.ends("The network path to this address is slow; the server is not the cause.");
    assert!(traffic(None).first(Rule::SlowServer).starts_with("Requests to server 10.0.1.50:445 are slow"));
}

#[test]
fn few_requests_that_vary_much_do_not_make_a_client_slow() {
    let three_clients = |factor: i64| {
        let mut traffic = Traffic::new();
        for i in 0..66i64 {
            let client = (i % 3) as u8;
            // From 1 ms to 64 ms: each is as likely.
            let took = (MS << (i / 3 % 7)) * if client == 1 { factor } else { 1 };
            traffic.request(read(), client, DATA, &format!("f{}", i % 5), took);
        }
        traffic
    };
    assert!(!three_clients(3).rules().contains(&Rule::SlowClient), "three times as long may be chance");
    assert!(three_clients(8).rules().contains(&Rule::SlowClient), "{:#?}", three_clients(8).diagnosis());
}

#[test]
fn a_directory_is_slow_for_everybody() {
    let traffic = reads(|_, share, dir| if dir == 3 && share == DATA { 9 * MS } else { MS });
    traffic.first(Rule::SlowPath).begins(r"Requests in the directory dir3 on share \\server1\data are slow: read took");
    assert!(
        !traffic.rules().contains(&Rule::SlowClient) && !traffic.rules().contains(&Rule::SlowShare),
        "{:#?}",
        traffic.rules()
    );
    assert_eq!(traffic.diagnosis().next.as_deref(), Some("plimsoll analyze trace.pcap --operation read --by path"));
}

#[test]
fn a_file_is_slow_for_its_only_reader_who_reads_others_quickly() {
    let mut traffic = Traffic::new();
    for i in 0..300 {
        let (path, took) = if i % 3 == 0 { (r"mail\inbox", 8 * MS) } else { (r"mail\sent", MS) };
        traffic.request(read(), 1, DATA, path, took);
    }
    traffic.first(Rule::SlowPath).begins(r"Requests for mail\inbox on share");
    let mut even = Traffic::new();
    (0..300).for_each(|i| even.request(read(), 1, DATA, &format!(r"mail\{}", i % 3), MS));
    assert!(!even.rules().contains(&Rule::SlowPath));
}

#[test]
fn a_long_capture_is_sampled_and_says_about() {
    let mut traffic = Traffic::new();
    for i in 0..60_000 {
        let (path, took) =
            if i % 10 == 7 { (r"dir\slow".to_owned(), 8 * MS) } else { (format!(r"dir\{}", i % 50), MS) };
        traffic.request(read(), (i % 4) as u8, DATA, &path, took);
    }
    let text = traffic.first(Rule::SlowPath);
    assert!(text.contains(r"dir\slow") && text.contains("about"), "{text}");
    let share = traffic.diagnosis().statements[0].share.unwrap();
    assert!((share - 8.0 / 17.0).abs() < 0.05, "{share}");
}

/// One client alone creates files, in one directory, in `took_ns` each; all clients read and open elsewhere.
fn creates(took_ns: i64, other_ns: i64) -> Traffic {
    let mut traffic = reads(|client, _, _| if client == 3 { other_ns } else { MS });
    for i in 0..120 {
        let split = |t: &mut plimsoll_model::Transaction| t.timeline.response_first = t.timeline.response_last;
        traffic.changed(open(), 3, DATA, &format!(r"spool\new{i}"), took_ns, split);
        traffic.changed(open(), 1 + (i % 2) as u8, DATA, &format!(r"dir{}\file{}", i % 5, i % 10), MS, split);
    }
    traffic
}

#[test]
fn a_directory_that_one_client_uses_is_the_place_if_the_client_is_quick_elsewhere() {
    let text = creates(40 * MS, MS).first(Rule::SlowPath);
    text.begins(r"Requests in the directory spool on share \\server1\data are slow: open took 40.0 ms");
    text.ends("Client 10.0.0.3 sent all of these requests.");
    assert!(!creates(40 * MS, MS).rules().contains(&Rule::SlowClient));
    assert!(creates(40 * MS, 30 * MS).rules().contains(&Rule::SlowClient), "it is slow elsewhere");
}

/// As before, and the client creates no files elsewhere; it reads there, in `read_ns` each.
fn writes_alone(took_ns: i64, read_ns: i64) -> Traffic {
    let (mut traffic, write) = (Traffic::new(), Procedure::of(Protocol::Smb2, 9));
    for i in 0..100 {
        traffic.request(write, 3, DATA, &format!(r"spool\new{i}"), took_ns);
        traffic.request(read(), 3, DATA, &format!(r"dir\old{}", i % 20), read_ns);
        for client in 1..=2 {
            traffic.request(write, client, DATA, &format!(r"dir\file{}", i % 10), MS);
            traffic.request(read(), client, DATA, &format!(r"dir\old{}", i % 20), MS);
        }
    }
    traffic
}

#[test]
fn a_client_that_does_it_in_one_directory_only_is_judged_by_all_else_that_it_does() {
    writes_alone(30 * MS, MS).first(Rule::SlowPath).begins(r"Requests in the directory spool on share");
    assert!(!writes_alone(30 * MS, MS).rules().contains(&Rule::SlowClient));
    writes_alone(30 * MS, 20 * MS).first(Rule::SlowClient);
}

/// Client 3 opens files (`open_ns` each) and writes (`write_ns` each) in one directory only; the others do both elsewhere.
fn opens_alone(open_ns: i64, write_ns: i64) -> Traffic {
    let (mut traffic, write) = (Traffic::new(), Procedure::of(Protocol::Smb2, 9));
    let split = |t: &mut plimsoll_model::Transaction| t.timeline.response_first = t.timeline.response_last;
    for i in 0..60 {
        traffic.changed(open(), 3, DATA, &format!(r"spool\new{i}"), open_ns, split);
        traffic.changed(write, 3, DATA, &format!(r"spool\new{i}"), write_ns, split);
        for client in 1..=2 {
            traffic.changed(open(), client, DATA, &format!(r"dir\file{}", i % 10), MS, split);
            traffic.changed(write, client, DATA, &format!(r"dir\file{}", i % 10), MS, split);
        }
    }
    traffic
}

#[test]
fn a_client_that_is_nowhere_else_is_judged_by_the_other_things_that_it_does_there() {
    opens_alone(40 * MS, MS).first(Rule::SlowPath);
    assert!(!opens_alone(40 * MS, MS).rules().contains(&Rule::SlowClient));
    assert!(opens_alone(40 * MS, 30 * MS).rules().contains(&Rule::SlowClient), "all that it does is slow");
}

/// Opens in two directories, of which `all` is slow and listed often, and the other once per `rare` requests.
fn opened_and_listed(rare: usize) -> Traffic {
    let list = Procedure::of(Protocol::Smb2, 14);
    let mut traffic = Traffic::new();
    for i in 0..400 {
        let (dir, is_slow) = if i % 2 == 0 { ("all", true) } else { ("other", false) };
        let client = 1 + (i / 2 % 3) as u8;
        traffic.request(open(), client, DATA, &format!(r"{dir}\f{}", i % 7), if is_slow { 20 * MS } else { MS });
        if is_slow || i % rare == 1 {
            traffic.request(list, client, DATA, dir, if is_slow { 200 * MS } else { MS });
        }
    }
    traffic
}

#[test]
fn slow_lists_belong_to_the_slow_directory() {
    let traffic = opened_and_listed(40);
    traffic.first(Rule::SlowPath).begins(r"Requests in the directory all on share \\server1\data are slow: open took");
    assert!(traffic.rules().contains(&Rule::Listing), "{:#?}", traffic.diagnosis());
    // Nothing to compare the lists with.
    assert_eq!(opened_and_listed(1_000).rules()[0], Rule::Listing);
}
