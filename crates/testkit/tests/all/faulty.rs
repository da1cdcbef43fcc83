//! The proxy that corrupts answers, in front of an echo server.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_testkit::rpc;
use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Seen, Which};

/// Echoes all data, on threads that end with their connections; the listener lives as long as the test.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    address
}

/// A message of five bytes with this number.
fn message(number: u8) -> Vec<u8> {
    rpc::record(&[number; 5])
}

fn messages(numbers: &[u8]) -> Vec<u8> {
    numbers.iter().flat_map(|number| message(*number)).collect()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    // No test waits for ever.
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Sends messages, ends the sending direction, and reads until the end.
fn through(proxy: &Faulty, numbers: &[u8]) -> Vec<u8> {
    let mut stream = connect(proxy.address());
    stream.write_all(&messages(numbers)).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    got
}

fn with(rules: Vec<Rule>) -> Faulty {
    Faulty::start(echo(), Framing::Rpc, rules).unwrap()
}

#[test]
fn without_rules_everything_passes() {
    let proxy = with(Vec::new());
    assert_eq!(through(&proxy, &[1, 2, 3]), messages(&[1, 2, 3]));
    let mut large = connect(proxy.address());
    let content: Vec<u8> = rpc::record(&(0..3_000_000_u32).map(|at| at as u8).collect::<Vec<u8>>());
    let mut back = vec![0; content.len()];
    std::thread::scope(|scope| {
        let mut writing = large.try_clone().unwrap();
        let content = &content;
        scope.spawn(move || writing.write_all(content).unwrap());
        large.read_exact(&mut back).unwrap();
    });
    assert!(back == content);
    assert_eq!(proxy.seen(), [Seen { replies: 3, bytes: 27 }, Seen { replies: 1, bytes: 3_000_004 }]);
}

#[test]
fn answers_are_corrupted_as_the_rules_say() {
    let second = |fault| vec![Rule::answers(Which::Nth(1), fault)];
    let proxy = with(Vec::new());
    for (fault, expected) in [
        (Fault::Never, messages(&[1, 3, 4])),
        (Fault::Twice, messages(&[1, 2, 2, 3, 4])),
        (Fault::After(1), messages(&[1, 3, 2, 4])),
        (Fault::After(2), messages(&[1, 3, 4, 2])),
        (Fault::After(3), messages(&[1, 3, 4])),
        (Fault::Delayed(Duration::from_millis(500)), messages(&[1, 3, 4, 2])),
        (Fault::Cut(6), [message(1), message(2)[..6].to_vec(), messages(&[3, 4])].concat()),
        (Fault::Flipped(39), [message(1), message(2)[..4].to_vec(), vec![3, 2, 2, 2, 2], messages(&[3, 4])].concat()),
    ] {
        proxy.set_rules(second(fault));
        assert_eq!(through(&proxy, &[1, 2, 3, 4]), expected, "{fault:?}");
        assert_eq!(proxy.seen(), [Seen { replies: 4, bytes: 36 }]);
    }
}

#[test]
fn a_reset_or_an_end_comes_at_its_byte() {
    let proxy = with(Vec::new());
    for offset in 0..=18_u64 {
        for reset in [true, false] {
            proxy.set_rules(vec![Rule::End { connection: None, offset, reset }]);
            let mut stream = connect(proxy.address());
            // The proxy may end it before this is sent.
            let _ = stream.write_all(&messages(&[1, 2]));
            let mut got = Vec::new();
            let ended = stream.read_to_end(&mut got);
            assert_eq!(ended.is_err(), reset, "{offset} {ended:?}");
            assert!(ended.is_ok() || ended.unwrap_err().kind() == ErrorKind::ConnectionReset);
            assert_eq!(got, messages(&[1, 2])[..offset as usize], "{offset} {reset}");
        }
    }
}

#[test]
fn rules_may_be_for_one_connection() {
    let second = Rule::Answers { connection: Some(1), which: Which::From(0), fault: Fault::Never };
    let proxy = with(vec![second]);
    assert_eq!(through(&proxy, &[1]), message(1));
    assert_eq!(through(&proxy, &[1]), Vec::<u8>::new());
    assert_eq!(through(&proxy, &[1]), message(1));
}

#[test]
fn a_server_dies_and_comes_back() {
    let mut proxy = with(Vec::new());
    let mut open = connect(proxy.address());
    open.write_all(&message(1)).unwrap();
    open.read_exact(&mut [0; 9]).unwrap();
    proxy.down();
    assert_eq!(open.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(TcpStream::connect(proxy.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    proxy.up().unwrap();
    assert_eq!(through(&proxy, &[7]), message(7));
    // A server that is not there at all.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Faulty::start(nobody, Framing::Smb, Vec::new()).unwrap();
    let mut stream = connect(proxy.address());
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}
