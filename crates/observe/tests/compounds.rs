//! Members of a compound belong to the session of the first.

use plimsoll_model::Transaction;
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

#[test]
fn related_members_have_the_session_of_the_first() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    // Clients may leave the ids of related members at will, and Windows sets all their bits.
    let close = smb2::close(6, [0xFF; 16]).related().session(u64::MAX);
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::compound(&[smb2::create(5, "file").session(33), close])));
    let answers = [smb2::created(5, smb2::file(1)).session(33), smb2::closed(6).related().session(33)];
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::compound(&answers)));
    let mut observer = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
    }
    let observed = observer.finish();
    let rows: Vec<_> = observed.sink.iter().map(|row| (row.id, row.session, row.compound_position)).collect();
    assert_eq!(rows, [(Some(5), Some(33), Some(0)), (Some(6), Some(33), Some(1))]);
    let paths: Vec<_> = observed.sink.iter().map(|row| observed.names.text(row.path)).collect();
    assert_eq!(paths, [Some("file"), Some("file")]);
}
