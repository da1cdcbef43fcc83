//! SMB sessions with channels to several addresses of their server.

use plimsoll_model::{Anomaly, FileIdentity, Outcome, Transaction};
use plimsoll_observe::Observed;
use plimsoll_testkit::smb2::{self, command};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss};

use crate::conversation::{observed, observing};

const SESSION: u64 = 33;
const BINDING: u8 = 1;
const FILE: u8 = 1;
/// The body of an interim response.
const INTERIM: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];

fn asks(traffic: &mut Traffic, tcp: &mut Tcp, message: &smb2::Message) {
    traffic.send(tcp, Side::Client, &nbss(&message.bytes()));
}

fn says(traffic: &mut Traffic, tcp: &mut Tcp, message: &smb2::Message) {
    traffic.send(tcp, Side::Server, &nbss(&message.bytes()));
}

/// NEGOTIATE and SESSION_SETUP, with the GUIDs of client and server, and the request's flags.
fn sets_up(traffic: &mut Traffic, tcp: &mut Tcp, guids: [u8; 2], flags: u8) {
    negotiates(traffic, tcp, guids);
    logs_on(traffic, tcp, flags);
}

fn negotiates(traffic: &mut Traffic, tcp: &mut Tcp, [client, server]: [u8; 2]) {
    let negotiates = [&[36, 0, 1, 0][..], &[0; 8], &[client; 16], &[0; 8]].concat();
    asks(traffic, tcp, &smb2::request(command::NEGOTIATE, 0).session(0).body(&negotiates));
    let negotiated = [&[65, 0, 1, 0, 0x11, 3, 0, 0][..], &[server; 16], &[0; 40]].concat();
    says(traffic, tcp, &smb2::response(command::NEGOTIATE, 0, 0).session(0).body(&negotiated));
}

fn logs_on(traffic: &mut Traffic, tcp: &mut Tcp, flags: u8) {
    let mut body = [0; 24];
    (body[0], body[2]) = (25, flags);
    let session = if flags == BINDING { SESSION } else { 0 };
    asks(traffic, tcp, &smb2::request(command::SESSION_SETUP, 1).session(session).body(&body));
    let set_up = smb2::response(command::SESSION_SETUP, 1, 0).session(SESSION);
    says(traffic, tcp, &set_up.body(&[9, 0, 0, 0, 72, 0, 0, 0]));
}

fn connects_and_opens(traffic: &mut Traffic, tcp: &mut Tcp, share: &str) {
    let path: Vec<u8> = share.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let fixed = [&[9, 0, 0, 0, 72, 0][..], &(path.len() as u16).to_le_bytes(), &path].concat();
    asks(traffic, tcp, &smb2::request(command::TREE_CONNECT, 2).session(SESSION).body(&fixed));
    let mut connected = [0; 16];
    (connected[0], connected[2]) = (16, 1);
    says(traffic, tcp, &smb2::response(command::TREE_CONNECT, 2, 0).session(SESSION).body(&connected));
    asks(traffic, tcp, &smb2::create(3, "file").session(SESSION));
    says(traffic, tcp, &smb2::created(3, smb2::file(FILE)).session(SESSION));
}

fn read(id: u64) -> [smb2::Message; 2] {
    [smb2::read(id, smb2::file(FILE), 100), smb2::read_answer(id, &[7; 100])].map(|message| message.session(SESSION))
}

/// A session at one address, a channel to another one with this GUID, and a READ on each. The READ on the channel has an interim response
/// there; `final_on_first`: its final one comes on the first connection.
fn observe(guid: u8, final_on_first: bool) -> Observed<Vec<Transaction>> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut first = Tcp::new(([10, 0, 1, 9], 701).into(), ([10, 0, 1, 1], 445).into());
    let mut second = Tcp::new(([10, 0, 2, 9], 702).into(), ([10, 0, 2, 1], 445).into());
    traffic.all(&first.handshake());
    traffic.all(&second.handshake());
    sets_up(&mut traffic, &mut first, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut first, r"\\server\data");
    sets_up(&mut traffic, &mut second, [1, guid], BINDING);
    let [request, response] = read(4);
    asks(&mut traffic, &mut first, &request);
    says(&mut traffic, &mut first, &response);
    let [request, response] = read(50);
    asks(&mut traffic, &mut second, &request);
    let interim = smb2::response(command::READ, 50, smb2::PENDING).session(SESSION).asynchronous(905);
    says(&mut traffic, &mut second, &interim.body(&INTERIM));
    let last = if final_on_first { &mut first } else { &mut second };
    says(&mut traffic, last, &response.asynchronous(905));
    observed(&traffic)
}

/// Connections to the servers of these numbers.
fn connections<const N: usize>(traffic: &mut Traffic, servers: [u8; N]) -> [Tcp; N] {
    let mut port = 700_u16;
    servers.map(|server| {
        port += 1;
        let mut tcp = Tcp::new(([10, 0, server, 9], port).into(), ([10, 0, server, 1], 445).into());
        traffic.all(&tcp.handshake());
        tcp
    })
}

fn reads_once(traffic: &mut Traffic, tcp: &mut Tcp, id: u64) {
    let [request, response] = read(id);
    asks(traffic, tcp, &request);
    says(traffic, tcp, &response);
}

fn shares(traffic: &Traffic) -> Vec<Option<String>> {
    reads(&observed(traffic)).into_iter().map(|(share, ..)| share.map(str::to_owned)).collect()
}

type Named<'o> = (Option<&'o str>, Option<&'o str>, Option<FileIdentity>);

/// Share, path and file of each READ.
fn reads(observed: &Observed<Vec<Transaction>>) -> Vec<Named<'_>> {
    let is_read = |row: &&Transaction| row.procedure.row().name == "READ" && row.outcome == Outcome::Succeeded;
    let named = |row: &Transaction| (observed.names.text(row.share), observed.names.text(row.path), row.asked.file);
    observed.sink.iter().filter(is_read).map(named).collect()
}

#[test]
fn a_channel_to_another_address_has_the_names_of_its_session() {
    let observed = observe(5, false);
    let [one, other] = reads(&observed)[..] else { panic!("two reads") };
    assert_eq!((one.0, one.1), (Some(r"\\server\data"), Some("file")));
    assert_eq!(other, one);
}

#[test]
fn a_response_may_come_from_another_address() {
    let observed = observe(5, true);
    assert_eq!(reads(&observed).len(), 2);
    assert_eq!(observed.coverage.anomalies.count(Anomaly::ResponseWithoutRequest), 0);
}

#[test]
fn a_session_with_the_same_id_at_another_server_is_another_one() {
    let observed = observe(6, false);
    let [_, other] = reads(&observed)[..] else { panic!("two reads") };
    assert_eq!((other.0, other.1), (None, None));
}

#[test]
fn servers_with_the_same_guid_and_ids_keep_their_names() {
    // Some servers leave it 0; copies of a machine have the same one.
    for guid in [0, 5] {
        let mut traffic = Traffic::new(Link::Ethernet);
        let [mut one, mut other, mut channel] = connections(&mut traffic, [2, 1, 2]);
        sets_up(&mut traffic, &mut one, [1, guid], 0);
        connects_and_opens(&mut traffic, &mut one, r"\\server\one");
        sets_up(&mut traffic, &mut other, [1, guid], 0);
        connects_and_opens(&mut traffic, &mut other, r"\\server\other");
        sets_up(&mut traffic, &mut channel, [1, guid], BINDING);
        reads_once(&mut traffic, &mut one, 4);
        reads_once(&mut traffic, &mut channel, 4);
        let own = Some(r"\\server\one".to_owned());
        assert_eq!(shares(&traffic), [own.clone(), own], "GUID {guid}");
    }
}

/// Some servers leave it 0: then it does not show which addresses are the same server.
#[test]
fn a_guid_of_zero_names_no_server() {
    for (guid, share) in [(0, None), (5, Some(r"\\server\one".to_owned()))] {
        let mut traffic = Traffic::new(Link::Ethernet);
        let [mut one, mut channel] = connections(&mut traffic, [1, 2]);
        sets_up(&mut traffic, &mut one, [1, guid], 0);
        connects_and_opens(&mut traffic, &mut one, r"\\server\one");
        sets_up(&mut traffic, &mut channel, [1, guid], BINDING);
        reads_once(&mut traffic, &mut channel, 4);
        assert_eq!(shares(&traffic), [share], "GUID {guid}");
    }
}

/// The connection on which it was set up has no GUIDs: its beginning is not in the capture.
#[test]
fn a_channel_to_the_address_of_a_session_with_its_id_has_the_names_of_that_session() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let [mut one, mut other, mut channel] = connections(&mut traffic, [1, 2, 2]);
    sets_up(&mut traffic, &mut one, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut one, r"\\server\one");
    logs_on(&mut traffic, &mut other, 0);
    connects_and_opens(&mut traffic, &mut other, r"\\server\other");
    sets_up(&mut traffic, &mut channel, [1, 5], BINDING);
    reads_once(&mut traffic, &mut other, 4);
    reads_once(&mut traffic, &mut channel, 4);
    let own = Some(r"\\server\other".to_owned());
    assert_eq!(shares(&traffic), [own.clone(), own]);
}

#[test]
fn a_channel_of_another_client_or_of_several_sessions_has_no_names() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let [mut one, mut other, mut second, mut third] = connections(&mut traffic, [1, 2, 2, 3]);
    sets_up(&mut traffic, &mut one, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut one, r"\\server\one");
    sets_up(&mut traffic, &mut other, [2, 5], BINDING);
    reads_once(&mut traffic, &mut other, 4);
    assert_eq!(shares(&traffic), [None::<String>], "another client");
    sets_up(&mut traffic, &mut second, [1, 5], 0);
    sets_up(&mut traffic, &mut third, [1, 5], BINDING);
    reads_once(&mut traffic, &mut third, 4);
    assert_eq!(shares(&traffic), [None::<String>, None], "two sessions with this id");
}

#[test]
fn a_new_session_at_the_address_of_a_channel_is_another_one() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let [mut one, mut channel, mut new] = connections(&mut traffic, [1, 2, 2]);
    sets_up(&mut traffic, &mut one, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut one, r"\\server\old");
    sets_up(&mut traffic, &mut channel, [1, 5], BINDING);
    sets_up(&mut traffic, &mut new, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut new, r"\\server\new");
    reads_once(&mut traffic, &mut one, 4);
    reads_once(&mut traffic, &mut new, 4);
    assert_eq!(shares(&traffic), [r"\\server\old", r"\\server\new"].map(|share| Some(share.to_owned())));
}

/// A READ with an interim response on a channel that the client breaks off.
fn breaks_off_a_channel() -> (Traffic, Tcp) {
    let mut traffic = Traffic::new(Link::Ethernet);
    let [mut first, mut second] = connections(&mut traffic, [1, 1]);
    sets_up(&mut traffic, &mut first, [1, 5], 0);
    connects_and_opens(&mut traffic, &mut first, r"\\server\data");
    sets_up(&mut traffic, &mut second, [1, 5], BINDING);
    asks(&mut traffic, &mut second, &read(50)[0]);
    let interim = smb2::response(command::READ, 50, smb2::PENDING).session(SESSION).asynchronous(905);
    says(&mut traffic, &mut second, &interim.body(&INTERIM));
    traffic.tcp(&second.rst(Side::Client));
    traffic.time_ns += 61_000_000_000;
    reads_once(&mut traffic, &mut first, 4);
    (traffic, first)
}

#[test]
fn a_response_may_come_on_another_channel_after_the_end_of_its_own() {
    let (mut traffic, mut first) = breaks_off_a_channel();
    let [_, response] = read(50);
    says(&mut traffic, &mut first, &response.asynchronous(905));
    let observed = observed(&traffic);
    assert_eq!(reads(&observed).len(), 2);
    assert_eq!(observed.coverage.anomalies.count(Anomaly::ResponseWithoutRequest), 0);
}

/// The capture does not show the channels of such a session.
#[test]
fn a_request_of_a_session_from_before_the_capture_is_not_over_with_its_connection() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let [mut first, mut second] = connections(&mut traffic, [1, 1]);
    asks(&mut traffic, &mut second, &read(50)[0]);
    let interim = smb2::response(command::READ, 50, smb2::PENDING).session(SESSION).asynchronous(905);
    says(&mut traffic, &mut second, &interim.body(&INTERIM));
    traffic.tcp(&second.rst(Side::Client));
    for id in [4, 5] {
        traffic.time_ns += 61_000_000_000;
        // Closed connections are looked for when the packets of another one come.
        let mut other = Tcp::new(([10, 0, 1, 8], id as u16).into(), ([10, 0, 1, 1], 445).into());
        traffic.all(&other.handshake());
        reads_once(&mut traffic, &mut first, id);
    }
    let [_, response] = read(50);
    says(&mut traffic, &mut first, &response.asynchronous(905));
    let observed = observed(&traffic);
    assert_eq!(reads(&observed).len(), 3);
    assert_eq!(observed.coverage.anomalies.count(Anomaly::ResponseWithoutRequest), 0);
}

#[test]
fn a_request_is_over_with_the_last_channel_of_its_session() {
    let (mut traffic, first) = breaks_off_a_channel();
    let unanswered = |traffic: &Traffic| {
        let mut observer = observing(traffic);
        let rows = observer.sink().0.iter().filter(|row| row.outcome == Outcome::Unanswered);
        rows.map(|row| row.id).collect::<Vec<_>>()
    };
    assert!(unanswered(&traffic).is_empty());
    traffic.tcp(&first.rst(Side::Client));
    traffic.time_ns += 61_000_000_000;
    let mut other = Tcp::new(([10, 0, 1, 8], 700).into(), ([10, 0, 1, 1], 445).into());
    traffic.all(&other.handshake());
    assert_eq!(unanswered(&traffic), [Some(50)]);
}
