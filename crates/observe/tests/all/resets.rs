//! Connections that their clients end with a reset.

use plimsoll_model::Resets;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb1, smb2};

use crate::waiting::{MS, coverage};

fn exchange(traffic: &mut Traffic, tcp: &mut Tcp, [request, response]: &[Vec<u8>; 2]) {
    traffic.exchange(tcp, &nbss(request), &nbss(response));
}

fn echo(id: u64) -> [Vec<u8>; 2] {
    [smb2::echo(id).bytes(), smb2::echoed(id).bytes()]
}

/// A client that makes two requests on each of its connections, 3 s apart, and resets the connection. Another client stays connected.
fn resets(first: &[Vec<u8>; 2], last: &[Vec<u8>; 2]) -> Vec<Resets> {
    resets_after(first, &[last])
}

/// The same with several requests at the end.
fn resets_after(first: &[Vec<u8>; 2], last: &[&[Vec<u8>; 2]]) -> Vec<Resets> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut other = Tcp::new(([10, 0, 0, 9], 700).into(), ([10, 0, 0, 2], 445).into());
    traffic.all(&other.handshake());
    for port in 701..=704 {
        let mut tcp = Tcp::between_ports(port, 445);
        traffic.all(&tcp.handshake());
        exchange(&mut traffic, &mut tcp, first);
        traffic.time_ns += 3_000 * MS;
        last.iter().for_each(|messages| exchange(&mut traffic, &mut tcp, messages));
        traffic.tcp(&tcp.rst(Side::Client));
        traffic.time_ns += 5_000 * MS;
        exchange(&mut traffic, &mut other, &echo(u64::from(port)));
    }
    coverage(&traffic).resets
}

#[test]
fn a_client_that_has_logged_off_may_reset_its_connection() {
    let in_use = resets(&echo(1), &echo(2));
    assert_eq!(in_use.iter().map(|one| (one.count, one.others)).collect::<Vec<_>>(), [(3, 1)]);
    // LOGOFF, TREE_DISCONNECT
    for command in [2, 4] {
        let last = [smb2::request(command, 2), smb2::response(command, 2, 0)];
        let last = last.map(|message| message.body(&[4, 0, 0, 0]).bytes());
        assert_eq!(resets(&echo(1), &last), [], "{command}");
    }
}

#[test]
fn a_client_that_goes_on_with_messages_that_cannot_be_read_needs_its_connection() {
    let left = [smb2::request(4, 2), smb2::response(4, 2, 0)].map(|message| message.body(&[4, 0, 0, 0]).bytes());
    let unread = |magic: &[u8]| [magic, &[0; 100]].concat();
    for magic in [b"\xfdSMB", b"\xfcSMB"] {
        let found = resets_after(&echo(1), &[&left, &[unread(magic), unread(magic)]]);
        assert_eq!(found.iter().map(|one| one.count).collect::<Vec<_>>(), [3], "{magic:?}");
    }
}

#[test]
fn a_client_of_smb1_that_has_logged_off_may_reset_its_connection() {
    let message = |command: u8, mid: u16, words: &[u16]| {
        let messages = [smb1::request(command, 300, mid), smb1::response(command, 300, mid)];
        messages.map(|message| message.words(words).bytes())
    };
    let first = message(smb1::ECHO, 1, &[1]);
    assert_eq!(resets(&first, &message(smb1::ECHO, 2, &[1])).len(), 1);
    // TREE_DISCONNECT, LOGOFF_ANDX
    assert_eq!(resets(&first, &message(0x71, 2, &[])), []);
    assert_eq!(resets(&first, &message(0x74, 2, &[0xff, 0])), []);
}
