//! Loopback, captured. Needs CAP_NET_RAW.

mod carrier;
mod losses;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::skip;
use plimsoll_wire::rpc::Program;

use super::section::Lost;
use super::*;
use crate::capture::{CaptureAnomalies, Captures, Input, MAX_PACKET_BYTES, Next, capture_files};
use crate::named_services::NamedService;

/// Datagrams of tests: NFS' port may be anybody's.
struct Sender {
    from: UdpSocket,
    to: UdpSocket,
}

impl Sender {
    fn new() -> Self {
        Self { from: UdpSocket::bind("127.0.0.1:0").unwrap(), to: UdpSocket::bind("127.0.0.1:0").unwrap() }
    }

    fn port(&self) -> u16 {
        self.to.local_addr().unwrap().port()
    }

    /// Sends datagrams without a reader: the capture takes them before the receiving socket's buffer.
    fn send(&self, count: usize, bytes: usize) {
        let mut payload = vec![0; bytes];
        for number in 0..count {
            payload[..8].copy_from_slice(&(number as u64).to_le_bytes());
            self.from.send_to(&payload, self.to.local_addr().unwrap()).unwrap();
        }
    }
}

/// Moves this thread into a separate network namespace, if it has the right. On the machine's loopback interface, other tests also send
/// packets that the filter passes: to a portmapper, and perhaps from the port of this test.
fn leave_the_machine() {
    let ip = |arguments: &[&str]| std::process::Command::new("ip").args(arguments).output();
    // SAFETY: takes a number alone, and concerns this thread alone.
    if ip(&["-V"]).is_ok() && unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 {
        assert!(ip(&["link", "set", "lo", "up"]).unwrap().status.success());
    }
}

/// A ring of many blocks: the kernel hands a block over after 50 ms, so where a test that sends packets has to wait often, each of its
/// pauses uses up one.
fn options(ports: Vec<u16>, save: Option<&Path>) -> InterfaceOptions {
    let save = save.map(|folder| SaveOptions { folder: folder.to_owned(), bytes: 1 << 30, kept_ns: None });
    InterfaceOptions {
        name: "lo".to_owned(),
        namespace: None,
        ports,
        filter: None,
        snap_length: MAX_PACKET_BYTES,
        buffer_bytes: 16 << 20,
        save,
    }
}

/// `None` where this user may not capture.
fn open(options: InterfaceOptions) -> Option<Interface> {
    match Interface::open(options) {
        Err(InterfaceError::NoRight(_)) => {
            skip("needs root, to capture an interface");
            None
        }
        opened => Some(opened.unwrap()),
    }
}

/// Number, time and bytes of all packets.
type Frames = Vec<(u64, Option<i64>, Vec<u8>)>;

fn frames(captures: &mut Captures) -> Frames {
    let mut frames = Vec::new();
    loop {
        match captures.next_or_idle().unwrap() {
            Next::Frame(frame) => frames.push((frame.number, frame.time_ns, frame.captured.to_vec())),
            Next::Idle => {}
            Next::End => return frames,
        }
    }
}

fn read_again(folder: &Path) -> (Frames, u64) {
    let files = capture_files(&[folder.to_owned()]).unwrap();
    assert!(files.is_sorted(), "the numbers of a ring are in the order of its packets: {files:?}");
    let mut captures = Captures::open(files.iter().map(Input::of).collect()).unwrap();
    let found = frames(&mut captures);
    assert_eq!(captures.anomalies().reordered_files, 0);
    (found, captures.anomalies().reported_drops)
}

#[test]
fn every_packet_of_loopback_comes_once_and_is_stored_as_it_came() {
    leave_the_machine();
    let scratch = Scratch::new("interface");
    let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
    let Some(interface) = open(options(vec![sender.port()], Some(&folder))) else { return };
    let stop = StopReading::default();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    sender.send(300, 100);
    // Packets for other ports do not pass the filter.
    Sender::new().send(10, 100);
    stop.ask();
    let live = frames(&mut captures);
    let numbers = live.iter().map(|(_, _, bytes)| u64::from_le_bytes(bytes[42..50].try_into().unwrap()));
    assert!(numbers.eq(0..300), "{} packets", live.len());
    let anomalies = captures.anomalies();
    assert_eq!(CaptureAnomalies { captured_until_ns: None, ..anomalies }, Default::default());
    assert!(!captures.interrupted());
    assert_eq!(read_again(&folder), (live, 0));
}

#[test]
fn a_filter_of_tcpdump_replaces_the_ports() {
    leave_the_machine();
    let (one, other) = (Sender::new(), Sender::new());
    let filtered =
        |filter: &str| InterfaceOptions { filter: Some(filter.to_owned()), ..options(vec![other.port()], None) };
    // First, because an interface that is open has taken this thread's capabilities.
    for (expression, says) in [("port frob", "frob"), ("-w file", "syntax error"), ("tcp and", "syntax error")] {
        let error = match Interface::open(filtered(expression)).unwrap_err() {
            InterfaceError::NoRight(_) => return skip("needs root, to capture an interface"),
            InterfaceError::Filter { source: FilterError::Missing, .. } => return skip("needs tcpdump"),
            error => error.to_string(),
        };
        assert!(error.contains(expression) && error.contains(says) && error.contains("man pcap-filter"), "{error}");
    }
    let expression = format!("udp dst port {} and src host 127.0.0.1", one.port());
    let stop = StopReading::default();
    let interface = Interface::open(filtered(&expression)).unwrap();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    one.send(20, 100);
    other.send(30, 100);
    stop.ask();
    assert_eq!(frames(&mut captures).len(), 20);
}

#[test]
fn packets_are_cut_to_the_snap_length_with_both_kinds_of_filter() {
    leave_the_machine();
    let scratch = Scratch::new("interface-snap");
    let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
    let by_port = InterfaceOptions { snap_length: 80, ..options(vec![sender.port()], Some(&folder)) };
    let expression = format!("udp dst port {}", sender.port());
    let by_expression = InterfaceOptions { filter: Some(expression), save: None, ..by_port.clone() };
    // Both first, because an interface that is open has taken this thread's capabilities.
    let open = |options| std::thread::spawn(|| open(options)).join().unwrap();
    for options in [by_port, by_expression] {
        let Some(interface) = open(options) else { return };
        let stop = StopReading::default();
        let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
        sender.send(10, 500);
        stop.ask();
        let live = frames(&mut captures);
        assert_eq!(live.iter().map(|(_, _, bytes)| bytes.len()).collect::<Vec<_>>(), [80; 10]);
    }
    assert_eq!(read_again(&folder).0.len(), 10);
}

#[test]
fn a_service_passes_once_it_is_named() {
    leave_the_machine();
    let (sender, other) = (Sender::new(), Sender::new());
    let Some(interface) = open(options(vec![sender.port()], None)) else { return };
    let (stop, counts) = (StopReading::default(), interface.counts());
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    other.send(5, 100);
    let name = |port| {
        let service = NamedService { program: Program::Nfs, server: Ipv4Addr::LOCALHOST.into(), port };
        counts.services().unwrap().add(service);
    };
    name(other.port());
    // The filter changes when the reader looks for packets.
    assert!(matches!(captures.next_or_idle().unwrap(), Next::Idle));
    let said = counts.take_learned().unwrap();
    assert!(said.ends_with(&format!("of 127.0.0.1: also capturing port {} (NFS) from now on", other.port())), "{said}");
    other.send(7, 100);
    stop.ask();
    // At its end a capture has a filter of its own, which stays.
    name(40_001);
    assert_eq!(frames(&mut captures).len(), 7);
    assert_eq!(counts.take_learned(), None);
}

#[test]
fn the_kernel_takes_the_longest_program() {
    let Ok(socket) = PacketSocket::open(MAX_PACKET_BYTES) else {
        return skip("needs root, to capture an interface");
    };
    let ports: Vec<u16> = (1..=MAX_PORTS as u16).collect();
    let services = [4u8, 6].map(|version| {
        let service = |host: u16| {
            let ip = if version == 4 { [10, 0, 0, host as u8].into() } else { [0xfd00, 0, 0, 0, 0, 0, 0, host].into() };
            SocketAddr::new(ip, 40_000)
        };
        (1..=filter::MAX_SERVICES as u16).map(service).collect::<Vec<_>>()
    });
    for services in services {
        for link in [LinkType::Ethernet, LinkType::RawIp] {
            socket.filter(&filter::program(link, &ports, &services)).unwrap();
        }
    }
}

#[test]
fn packets_come_while_others_are_awaited() {
    leave_the_machine();
    let sender = Sender::new();
    let Some(interface) = open(options(vec![sender.port()], None)) else { return };
    let stop = StopReading::default();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    for _ in 0..3 {
        sender.send(1, 50);
        let mut looks = 0;
        while !matches!(captures.next_or_idle().unwrap(), Next::Frame(_)) {
            looks += 1;
            assert!(looks < 100, "a packet waits for the next");
        }
    }
    stop.ask();
    assert_eq!(frames(&mut captures).len(), 0);
}

/// Nothing comes after the packets: how long they were waited for is in the stream and in the files.
#[test]
fn the_end_of_the_capture_is_when_it_was_asked_for() {
    leave_the_machine();
    let scratch = Scratch::new("end");
    let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
    let Some(interface) = open(options(vec![sender.port()], Some(&folder))) else { return };
    let stop = StopReading::default();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    sender.send(3, 100);
    assert_eq!(frames_until_idle(&mut captures), 3);
    assert_eq!(captures.anomalies().captured_until_ns, None, "it goes on");
    let asked_ns = i64::try_from(now_ns()).unwrap();
    stop.ask();
    assert_eq!(frames(&mut captures).len(), 0);
    let until_ns = captures.anomalies().captured_until_ns.unwrap();
    assert!((asked_ns..=i64::try_from(now_ns()).unwrap()).contains(&until_ns), "{asked_ns} {until_ns}");
    let files = capture_files(&[folder]).unwrap();
    let mut again = Captures::open(files.iter().map(Input::of).collect()).unwrap();
    assert_eq!(frames(&mut again).len(), 3);
    assert_eq!((again.anomalies(), again.anomalies().downtime.count), (captures.anomalies(), 0));
}

/// The number of packets until none comes for a while; there are some.
fn frames_until_idle(captures: &mut Captures) -> usize {
    let (mut count, mut idle) = (0, 0);
    while count == 0 || idle < 2 {
        match captures.next_or_idle().unwrap() {
            Next::Frame(_) => (count, idle) = (count + 1, 0),
            Next::Idle => {
                idle += 1;
                assert!(idle < 1_000, "no packet comes");
            }
            Next::End => panic!("the capture goes on"),
        }
    }
    count
}

#[test]
fn files_follow_each_other_without_a_seam() {
    leave_the_machine();
    let scratch = Scratch::new("files");
    let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
    let mut options = options(vec![sender.port()], Some(&folder));
    // Files of 64 KiB.
    options.save = options.save.map(|save| SaveOptions { bytes: 1 << 20, ..save });
    let Some(interface) = open(options) else { return };
    let stop = StopReading::default();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    sender.send(600, 1_000);
    stop.ask();
    let live = frames(&mut captures);
    assert!(std::fs::read_dir(&folder).unwrap().count() > 5);
    assert_eq!((live.len(), read_again(&folder)), (600, (live, 0)));
}

#[test]
fn a_tag_that_was_taken_out_is_put_back() {
    let mut blocks = Vec::new();
    section::begin(&mut blocks, "eth0", LinkType::Ethernet, MAX_PACKET_BYTES);
    let captured: Vec<u8> = (0..60).collect();
    let tagged = block::RingPacket { time_ns: 7, captured: &captured, original_len: 100, vlan: Some([0x81, 0, 0, 9]) };
    section::packet(&mut blocks, &tagged, MAX_PACKET_BYTES);
    section::statistics(&mut blocks, 7, Lost { kernel: 3, interface: 2 });
    let scratch = Scratch::new("tag");
    let file = scratch.path().join("tag.pcapng");
    std::fs::write(&file, blocks).unwrap();
    let mut captures = Captures::open(vec![Input::File(file)]).unwrap();
    let frame = captures.next().unwrap().unwrap();
    let expected = [&captured[..12], &[0x81, 0, 0, 9], &captured[12..]].concat();
    assert_eq!((frame.captured, frame.original_len, frame.time_ns), (&expected[..], 104, Some(7)));
    assert!(captures.next().unwrap().is_none());
    assert_eq!(captures.anomalies().reported_drops, 5, "a packet that the card lost never reached the ring");
}

#[test]
fn what_cannot_be_captured_is_said_with_what_to_do() {
    let mut unknown = options(vec![], None);
    unknown.name = "no-such-if".to_owned();
    let error = Interface::open(unknown).unwrap_err().to_string();
    assert!(
        error.contains("no-such-if: neither a file nor a network interface") && error.contains("ip link"),
        "{error}"
    );
    // Capabilities belong to a thread, so the test drops them in a new one.
    let refused = std::thread::spawn(|| {
        rights::drop_capabilities().unwrap();
        Interface::open(options(vec![], None)).unwrap_err().to_string()
    });
    let refused = refused.join().unwrap();
    assert!(refused.contains("CAP_NET_RAW") && refused.contains("setcap"), "{refused}");
}

#[test]
fn a_namespace_that_cannot_be_entered_is_said_with_what_to_do() {
    let refused = |namespace: &str| {
        let options = InterfaceOptions { namespace: Some(namespace.to_owned()), ..options(vec![], None) };
        Interface::open(options).unwrap_err().to_string()
    };
    let missing = refused("no-such-netns");
    assert!(missing.starts_with("--netns no-such-netns: /run/netns/no-such-netns does not exist"), "{missing}");
    assert!(missing.contains("`ip netns list`") && missing.contains("/proc/PID/ns/net"), "{missing}");
    for other in ["/dev/null", "/proc/self/ns/uts"] {
        let said = refused(other);
        assert!(said.starts_with(&format!("--netns {other}: {other} is not a network namespace")), "{said}");
    }
    // In a new thread, which gives up its capabilities.
    let without_rights = || {
        rights::drop_capabilities().unwrap();
        refused("/proc/self/ns/net")
    };
    let said = std::thread::scope(|scope| scope.spawn(without_rights).join()).unwrap();
    assert!(said.contains("CAP_SYS_ADMIN is missing") && said.ends_with("run as root"), "{said}");
}

/// Threads that start later, such as those that read packets and answer browsers, have no more rights than this one.
#[test]
fn a_thread_that_has_opened_an_interface_can_only_write_any_file() {
    let test = || {
        let Some(_interface) = open(options(vec![], None)) else { return };
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let held = |set: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(set));
            u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
        };
        // Bit 1 is CAP_DAC_OVERRIDE; bit 13, CAP_NET_RAW, opened the interface.
        for set in ["CapEff:", "CapPrm:", "CapInh:"] {
            assert_eq!(held(set) & !(1 << 1), 0, "{set} {status}");
        }
    };
    // In a new thread, because capabilities belong to a thread.
    std::thread::spawn(test).join().unwrap();
}
