//! Against listeners on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use plimsoll_testkit::system_calls;

use super::*;

const KEY: ConnectionKey = ConnectionKey(3);

/// Waits until the connection is (at least) as wanted.
fn until(net: &mut Tcp, wanted: impl Fn(&Ready) -> bool) {
    let mut ready = Vec::new();
    while !ready.iter().any(|ready: &Ready| ready.key == KEY && wanted(ready)) {
        ready.clear();
        net.wait(None, &mut ready).unwrap();
    }
}

fn pair(kernel_times: bool) -> (Tcp, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut net = Tcp::new(kernel_times).unwrap();
    net.connect(KEY, listener.local_addr().unwrap()).unwrap();
    until(&mut net, |ready| ready.writable);
    let (server, peer) = listener.accept().unwrap();
    assert_eq!(net.local(KEY).unwrap(), peer);
    net.want_writable(KEY, false).unwrap();
    (net, server)
}

#[test]
fn bytes_go_out_gathered_and_come_back_stamped_or_dropped() {
    for kernel_times in [false, true] {
        let (mut net, mut server) = pair(kernel_times);
        let mut buffer = [0; 16];
        assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(net.send(KEY, &[IoSlice::new(b"ab"), IoSlice::new(b"cde")]).unwrap(), 5);
        server.read_exact(&mut buffer[..5]).unwrap();
        assert_eq!(&buffer[..5], b"abcde");
        server.write_all(b"0123456789").unwrap();
        until(&mut net, |ready| ready.readable);
        let received = net.receive(KEY, &mut buffer[..4], Take::AtOnce).unwrap();
        assert_eq!((received.bytes, &buffer[..4]), (4, &b"0123"[..]));
        assert!(received.kernel_ns.is_none() || kernel_times);
        assert_eq!(net.discard(KEY, 3).unwrap().bytes, 3);
        assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap().bytes, 3);
        assert_eq!(&buffer[..3], b"789");
        drop(server);
        until(&mut net, |ready| ready.readable);
        assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap().bytes, 0);
    }
}

#[test]
fn a_connection_with_itself_is_none() {
    let mut net = Tcp::new(false).unwrap();
    let itself = net.new_socket(AddressFamily::INET).unwrap();
    rustix::net::bind(&itself, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = SocketAddr::try_from(getsockname(&itself).unwrap()).unwrap();
    let _ = connect(&itself, &port);
    assert_eq!(getpeername(&itself).unwrap(), Some(getsockname(&itself).unwrap()), "the kernel lets it");
    net.sockets.push(Some(Socket::new(itself)));
    assert_eq!(net.local(ConnectionKey(0)).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn what_is_taken_before_sending_comes_once() {
    let (mut net, mut server) = pair(false);
    let mut buffer = [0; 16];
    for bytes in [&b"abc"[..], b"defg", b"h"] {
        server.write_all(bytes).unwrap();
        until(&mut net, |ready| ready.readable);
        assert_eq!(net.receive(KEY, &mut buffer, Take::BeforeSending).unwrap().bytes, bytes.len());
        assert_eq!(buffer[..bytes.len()], *bytes);
        net.send(KEY, &[IoSlice::new(b"x")]).unwrap();
    }
    assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    server.write_all(b"ijkl").unwrap();
    until(&mut net, |ready| ready.readable);
    assert_eq!(net.receive(KEY, &mut buffer[..3], Take::BeforeSending).unwrap().bytes, 3);
    assert_eq!(net.discard(KEY, 9).unwrap().bytes, 1, "what was received is not discarded a second time");
}

#[test]
fn closing_after_that_is_no_reset() {
    let (mut net, mut server) = pair(false);
    server.write_all(b"abc").unwrap();
    until(&mut net, |ready| ready.readable);
    net.receive(KEY, &mut [0; 16], Take::BeforeSending).unwrap();
    net.close(KEY);
    assert_eq!(server.read(&mut [0; 1]).unwrap(), 0, "the end, and no error");
}

#[test]
fn a_receive_waits_where_no_timer_is_near() {
    let (mut net, mut server) = pair(true);
    let mut buffer = [0; 16];
    let near = net.now() + FAR_NS - 1;
    assert!(net.receive_when_there(KEY, near, &mut buffer, Take::AtOnce).is_none());
    let mut receive = |net: &mut Tcp| {
        let until = net.now() + 2 * FAR_NS;
        let received = net.receive_when_there(KEY, until, &mut buffer, Take::BeforeSending).unwrap();
        received.map(|received| received.bytes).map_err(|error| error.kind())
    };
    assert_eq!(receive(&mut net), Err(io::ErrorKind::WouldBlock));
    let writer = std::thread::spawn(move || {
        server.write_all(b"abc").unwrap();
        server
    });
    let got = std::iter::from_fn(|| Some(receive(&mut net))).find(|got| *got != Err(io::ErrorKind::WouldBlock));
    assert_eq!(got, Some(Ok(3)));
    let mut server = writer.join().unwrap();
    // Nothing else waits after that: neither a receive of the other kind, nor a send.
    assert_eq!(net.receive(KEY, &mut [0; 1], Take::AtOnce).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    let block = vec![0; 1 << 16];
    let error = loop {
        if let Err(error) = net.send(KEY, &[IoSlice::new(&block)]) {
            break error;
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    server.read_exact(&mut [0; 1]).unwrap();
}

#[test]
fn the_kernel_stamps_what_it_is_asked_to() {
    let (mut net, mut server) = pair(true);
    // The first bytes after a long time without any stamps on this machine may have none.
    for _ in 0..10_000 {
        let before = net.now();
        server.write_all(b"x").unwrap();
        until(&mut net, |ready| ready.readable);
        let stamp = net.receive(KEY, &mut [0; 16], Take::AtOnce).unwrap().kernel_ns;
        let after = net.now();
        if let Some(at) = stamp {
            // Two clocks are compared: leave them a millisecond.
            assert!(before - 1_000_000 <= at && at <= after + 1_000_000, "{before} {at} {after}");
            return;
        }
        // A kernel worker turns timestamps on; it needs time to run.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("no stamp");
}

#[test]
fn a_connection_that_is_refused_says_so_when_it_is_looked_at() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let mut net = Tcp::new(true).unwrap();
    net.connect(KEY, nobody).unwrap();
    until(&mut net, |ready| ready.writable);
    assert_eq!(net.local(KEY).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    net.close(KEY);
    assert_eq!(net.local(KEY).unwrap_err().kind(), io::ErrorKind::NotConnected);
}

#[test]
fn a_wait_ends_when_its_time_has_come_and_not_before() {
    let mut net = Tcp::new(false).unwrap();
    let until = net.now() + 3_000_100;
    let mut ready = Vec::new();
    while net.now() < until {
        net.wait(Some(until), &mut ready).unwrap();
    }
    assert!(ready.is_empty());
    net.wait(Some(0), &mut ready).unwrap();
}

#[test]
fn polling_ends_with_what_happens_or_when_its_time_has_come() {
    let (mut net, mut server) = pair(false);
    let (until, mut ready) = (net.now() + 100_000, Vec::new());
    net.poll(until, &mut ready).unwrap();
    assert!(ready.is_empty() && net.now() >= until);
    server.write_all(b"x").unwrap();
    net.poll(i64::MAX, &mut ready).unwrap();
    assert_eq!(ready, [Ready { key: KEY, readable: true, writable: false }]);
}

/// Runs a test on a thread for which the kernel has no `epoll_pwait2`.
fn without_pwait2(error: i32, test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        system_calls::fail_from(system_calls::EPOLL_PWAIT2, error).unwrap();
        assert_eq!(Tcp::new(false).unwrap().epoll_wait, EpollWait::Ppoll);
        test();
    });
    thread.join().unwrap();
}

#[test]
fn without_pwait2_everything_is_the_same() {
    without_pwait2(libc::ENOSYS, || {
        bytes_go_out_gathered_and_come_back_stamped_or_dropped();
        a_connection_that_is_refused_says_so_when_it_is_looked_at();
        a_receive_waits_where_no_timer_is_near();
        a_wait_ends_when_its_time_has_come_and_not_before();
        polling_ends_with_what_happens_or_when_its_time_has_come();
    });
    without_pwait2(libc::EPERM, a_wait_ends_when_its_time_has_come_and_not_before);
}

#[test]
fn without_pwait2_all_that_is_ready_is_told() {
    without_pwait2(libc::ENOSYS, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut net = Tcp::new(false).unwrap();
        let many = EVENTS as u32 + 10;
        let mut writable = vec![false; many as usize];
        (0..many).for_each(|key| net.connect(ConnectionKey(key), listener.local_addr().unwrap()).unwrap());
        let mut ready = Vec::new();
        while writable.contains(&false) {
            net.wait(None, &mut ready).unwrap();
            assert!(!ready.is_empty() && ready.len() <= EVENTS);
            for ready in ready.drain(..) {
                writable[ready.key.0 as usize] |= ready.writable;
                net.want_writable(ready.key, false).unwrap();
            }
        }
    });
}

#[test]
fn a_kernel_without_stamps_drives_without_them() {
    let thread = std::thread::spawn(|| {
        let option = (2, libc::SO_TIMESTAMPNS as u32);
        system_calls::fail_with(libc::SYS_setsockopt as u32, option, libc::ENOPROTOOPT).unwrap();
        let (mut net, mut server) = pair(true);
        for _ in 0..100 {
            server.write_all(b"x").unwrap();
            until(&mut net, |ready| ready.readable);
            let received = net.receive(KEY, &mut [0; 16], Take::AtOnce).unwrap();
            assert_eq!(received, Received { bytes: 1, kernel_ns: None });
        }
    });
    thread.join().unwrap();
}

#[test]
fn a_kernel_that_wants_a_buffer_drops_what_is_read_into_it() {
    let thread = std::thread::spawn(|| {
        let flags = (2, (libc::MSG_TRUNC | libc::MSG_DONTWAIT) as u32);
        system_calls::fail_with(libc::SYS_recvmsg as u32, flags, libc::EFAULT).unwrap();
        what_is_taken_before_sending_comes_once();
        closing_after_that_is_no_reset();
        let (mut net, mut server) = pair(false);
        server.write_all(&[0; 20_000]).unwrap();
        let mut left = 20_000;
        while left > 0 {
            until(&mut net, |ready| ready.readable);
            left -= net.discard(KEY, left).unwrap().bytes;
        }
        assert_eq!(net.receive(KEY, &mut [0; 1], Take::AtOnce).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    });
    thread.join().unwrap();
}
