//! Members of an SMB2 compound belong to the session of the first; an NFSv4 compound counts once.

use plimsoll_model::{Anomaly, Outcome, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, smb2};

use crate::conversation::observed;

#[test]
fn related_members_have_the_session_of_the_first() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    // Clients may leave the ids of related members at will, and Windows sets all their bits.
    let close = smb2::close(6, [0xFF; 16]).related().session(u64::MAX);
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::compound(&[smb2::create(5, "file").session(33), close])));
    let answers = [smb2::created(5, smb2::file(1)).session(33), smb2::closed(6).related().session(33)];
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::compound(&answers)));
    let observed = observed(&traffic);
    let rows: Vec<_> = observed.sink.iter().map(|row| (row.id, row.session, row.compound_position)).collect();
    assert_eq!(rows, [(Some(5), Some(33), Some(0)), (Some(6), Some(33), Some(1))]);
    let paths: Vec<_> = observed.sink.iter().map(|row| observed.names.text(row.path)).collect();
    assert_eq!(paths, [Some("file"), Some("file")]);
}

/// Servers allow writes of 8 MiB, behind which a client may close the file.
#[test]
fn members_behind_a_long_payload_are_found() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    let close = smb2::close(6, [0xFF; 16]).related();
    let request = nbss(&smb2::compound(&[smb2::write(5, smb2::file(1), &vec![7; 8 << 20]), close]));
    traffic.all(&tcp.split(Side::Client, &request, 60_000));
    let answers = [smb2::written(5, 8 << 20), smb2::closed(6).related()];
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::compound(&answers)));
    let observed = observed(&traffic);
    let rows: Vec<_> = observed.sink.iter().map(|row| (row.id, row.outcome)).collect();
    assert_eq!(rows, [(Some(5), Outcome::Succeeded), (Some(6), Outcome::Succeeded)]);
    let anomalies = &observed.coverage.anomalies;
    assert_eq!((anomalies.count(Anomaly::HeaderCutShort), anomalies.count(Anomaly::ResponseWithoutRequest)), (0, 0));
}

/// The path of a READ of a file that a compound opened, `second` being the compound's second member with its response.
fn path_behind(second: [smb2::Message; 2]) -> Option<String> {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    let [asks, answers] = second.map(smb2::Message::related);
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::compound(&[smb2::create(5, "file"), asks])));
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::compound(&[smb2::created(5, smb2::file(1)), answers])));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(7, smb2::file(1), 100).bytes()));
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::read_answer(7, &[7; 100]).bytes()));
    let observed = observed(&traffic);
    let read = observed.sink.last().unwrap();
    observed.names.text(read.path).map(str::to_owned)
}

/// Servers may give the id of a closed file to another one.
#[test]
fn a_file_id_has_no_path_behind_a_related_close() {
    assert_eq!(path_behind([smb2::echo(6), smb2::echoed(6)]), Some("file".to_owned()), "the file is open");
    assert_eq!(path_behind([smb2::close(6, [0xFF; 16]), smb2::closed(6)]), None, "the file is closed");
}

/// One NFSv4 compound with these operations and arguments, and its answer.
fn nfs4(operations: &[(u32, Vec<u8>)], results: Option<&[u8]>, captured: usize) -> Vec<Transaction> {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::compound(7, 1, operations)));
    if let Some(results) = results {
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(7, results)));
    }
    rows_cut_to(&traffic, captured)
}

/// The rows of this traffic, each frame cut to this many bytes.
fn rows_cut_to(traffic: &Traffic, captured: usize) -> Vec<Transaction> {
    let mut observer = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        let captured = &frame.bytes[..frame.bytes.len().min(captured)];
        observer.frame(&Frame { number, time_ns, link, captured, original_len: frame.original_len });
    }
    observer.finish().sink
}

/// The row that sums count; there is one.
fn counted(rows: &[Transaction]) -> &Transaction {
    let counted: Vec<_> = rows.iter().filter(|row| row.counted).collect();
    assert_eq!(counted.len(), 1, "{rows:?}");
    counted[0]
}

const PUTFH: u32 = 22;
const LOOKUP: u32 = 15;
const WRITE: u32 = 38;
const GETATTR: u32 = 9;

fn write() -> Vec<(u32, Vec<u8>)> {
    let write = [rpc::words(&[1, 2, 3, 4, 0, 0, 2]), rpc::opaque(&[7; 100])].concat();
    vec![(PUTFH, rpc::opaque(b"handle")), (WRITE, write), (GETATTR, rpc::words(&[1, 0x18]))]
}

#[test]
fn an_nfs4_compound_counts_as_the_operation_that_it_is_about() {
    let results = [
        rpc::words(&[0]),
        rpc::opaque(b""),
        rpc::words(&[3, PUTFH, 0, WRITE, 0, 100, 2, 5, 6]),
        rpc::words(&[GETATTR, 0, 1, 0x18, 16, 0, 1, 0, 100]),
    ];
    let rows = nfs4(&write(), Some(&results.concat()), usize::MAX);
    let names: Vec<_> = rows.iter().map(|row| (row.procedure.name(), row.counted)).collect();
    let expected = [("COMPOUND", false), ("PUTFH", false), ("WRITE", true), ("GETATTR", false)];
    assert_eq!(names, expected.map(|(name, counted)| (name.to_owned(), counted)));
    let one = counted(&rows);
    assert_eq!((one.request_bytes, one.response_bytes), (rows[0].request_bytes, rows[0].response_bytes));
    assert_eq!((one.payload_bytes, rows[1].request_bytes), (Some(100), None));
}

/// Only the segments state the sizes of their data, and each segment follows the data of the one before.
#[test]
fn long_responses_to_read_plus_are_read_whole() {
    const READ_PLUS: u32 = 68;
    let data = |bytes: &[u8]| [rpc::words(&[0, 0, 0]), rpc::opaque(bytes)].concat();
    let hole = || rpc::words(&[1, 0, 0, 0, 8]);
    let much = [data(&vec![7; 3 << 20]), hole(), data(&[7; 100])];
    let mut many = vec![hole(); 120_000];
    many.push(data(&[7; 5]));
    for (segments, payload) in [(&much[..], (3 << 20) + 100), (&many[..], 5)] {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
        traffic.all(&tcp.handshake());
        let reads = [(PUTFH, rpc::opaque(b"handle")), (READ_PLUS, rpc::words(&[1, 2, 3, 4, 0, 0, 4 << 20]))];
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::compound(7, 2, &reads)));
        let contents = [rpc::words(&[1, segments.len() as u32]), segments.concat()].concat();
        let reply = rpc::record(&rpc::compound_reply(7, &[(PUTFH, Vec::new()), (READ_PLUS, contents)]));
        traffic.all(&tcp.split(Side::Server, &reply, 60_000));
        let rows = rows_cut_to(&traffic, usize::MAX);
        let read = counted(&rows);
        assert_eq!((read.procedure.name().as_str(), read.payload_bytes), ("READ_PLUS", Some(payload)));
    }
}

/// A server may write only a part of the data. One that says that it wrote more than there were is wrong.
#[test]
fn a_write_counts_the_bytes_that_the_server_wrote() {
    for (count, counted_bytes) in [(60, 60), (100, 100), (101, 100)] {
        let results = [
            rpc::words(&[0]),
            rpc::opaque(b""),
            rpc::words(&[3, PUTFH, 0, WRITE, 0, count, 2, 5, 6]),
            rpc::words(&[GETATTR, 0, 1, 0x18, 16, 0, 1, 0, 100]),
        ];
        let rows = nfs4(&write(), Some(&results.concat()), usize::MAX);
        // The row of the compound and that of the WRITE.
        let payload: Vec<_> = rows.iter().filter_map(|row| row.payload_bytes).collect();
        assert_eq!(payload, [counted_bytes; 2], "NFS 4: {count}");
        let nfs3 = [rpc::write(7, b"file", &[7; 100]), rpc::reply(7, &rpc::words(&[0, 0, 0, count, 2, 5, 6]))];
        let smb = [smb2::write(7, smb2::file(1), &[7; 100]), smb2::written(7, count)].map(|one| nbss(&one.bytes()));
        for (port, [request, answer]) in [(2049, nfs3.map(|message| rpc::record(&message))), (445, smb)] {
            let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, port));
            traffic.all(&tcp.handshake());
            traffic.exchange(&mut tcp, &request, &answer);
            let rows = observed(&traffic).sink;
            assert_eq!((rows.len(), rows[0].payload_bytes), (1, Some(counted_bytes)), "port {port}: {count}");
        }
    }
}

#[test]
fn a_compound_that_ended_early_counts_as_what_it_was_about() {
    // NFS4ERR_STALE of PUTFH.
    let results = [rpc::words(&[70]), rpc::opaque(b""), rpc::words(&[1, PUTFH, 70])].concat();
    let rows = nfs4(&write(), Some(&results), usize::MAX);
    let one = counted(&rows);
    assert_eq!((one.procedure.name().as_str(), one.status, one.outcome), ("WRITE", Some(70), Outcome::Failed));
    assert!(rows.iter().any(|row| row.procedure.name() == "PUTFH" && row.status == Some(70)), "{rows:?}");
    // A name that is not there is an answer to a look-up.
    let operations =
        [(PUTFH, rpc::opaque(b"handle")), (LOOKUP, rpc::opaque(b"name")), (GETATTR, rpc::words(&[1, 0x18]))];
    let results = [rpc::words(&[2]), rpc::opaque(b""), rpc::words(&[2, PUTFH, 0, LOOKUP, 2])].concat();
    let rows = nfs4(&operations, Some(&results), usize::MAX);
    let one = counted(&rows);
    assert_eq!((one.procedure.name().as_str(), one.status, one.outcome), ("LOOKUP", Some(2), Outcome::Expected));
}

#[test]
fn a_compound_counts_once_unanswered_and_cut_off() {
    assert_eq!(counted(&nfs4(&write(), None, usize::MAX)).procedure.name(), "WRITE");
    let operations =
        [(PUTFH, rpc::opaque(b"handle")), (LOOKUP, rpc::opaque(b"name")), (GETATTR, rpc::words(&[1, 0x18]))];
    let whole = rpc::record(&rpc::compound(7, 1, &operations)).len();
    // Cut after LOOKUP's name: the main operation may follow.
    let rows = nfs4(&operations, None, 54 + whole - 16);
    assert_eq!(counted(&rows).procedure.name(), "COMPOUND", "{rows:?}");
    // A missing name would be a valid answer to a look-up, and a refusal for most other operations.
    let results = [rpc::words(&[2]), rpc::opaque(b""), rpc::words(&[2, PUTFH, 0, LOOKUP, 2])].concat();
    let rows = nfs4(&operations, Some(&results), 54 + whole - 16);
    let one = counted(&rows);
    assert_eq!((one.procedure.name().as_str(), one.status, one.outcome), ("COMPOUND", Some(2), Outcome::Unknown));
}
