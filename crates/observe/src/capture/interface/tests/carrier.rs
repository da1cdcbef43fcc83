//! An interface that goes down, loses its carrier (its cable is pulled), is renamed or is removed. In a network namespace, with a virtual
//! cable.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::available;
use plimsoll_testkit::{Link, Traffic};

use super::*;

const PORT: u16 = 40_100;

/// A cable from the interface `near` to `far`, which is not up yet.
fn cable() -> Option<Namespace> {
    let place = available(Namespace::new())?;
    place.ip("link add near type veth peer name far");
    place.ip("link set dev near up");
    place.ip("address add 10.93.0.1/24 dev near");
    place.ip("neigh add 10.93.0.2 lladdr 02:00:00:00:00:02 nud permanent dev near");
    Some(place)
}

/// Waits for an event that comes.
fn wait_until(mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Plugs the cable in.
fn plug(place: &Namespace) {
    place.ip("link set dev far up");
    place.within(|| {
        let socket = PacketSocket::open(MAX_PACKET_BYTES).unwrap();
        wait_until(|| socket.state_of("near").unwrap().has_carrier);
    });
}

/// Sends datagrams through the cable.
fn send(place: &Namespace, count: usize) {
    place.within(|| {
        let from = UdpSocket::bind("10.93.0.1:0").unwrap();
        for _ in 0..count {
            from.send_to(&[0; 100], ("10.93.0.2", PORT)).unwrap();
        }
    });
}

fn near(save: Option<&Path>) -> InterfaceOptions {
    InterfaceOptions { name: "near".to_owned(), ..options(vec![PORT], save) }
}

/// The test has its own network namespace, and takes the loopback of this namespace down and up again.
#[test]
fn the_time_in_which_the_interface_is_down_is_in_the_stream_and_stored() {
    let ip = |change: &str| std::process::Command::new("ip").args(["link", "set", "lo", change]).status().is_ok();
    let test = move || {
        // SAFETY: takes a number alone, and concerns this thread alone.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 || !ip("up") {
            return skip("needs root, to make a network namespace, and ip");
        }
        let scratch = Scratch::new("down");
        let (sender, folder, stop) = (Sender::new(), scratch.path().join("ring"), StopReading::default());
        let (options, until) = (options(vec![sender.port()], Some(&folder)), stop.clone());
        let (give, opened) = std::sync::mpsc::channel();
        // A separate thread, because an open interface takes this thread's capabilities.
        let reader = std::thread::spawn(move || {
            let interface = open(options)?;
            give.send(interface.counts()).unwrap();
            let mut captures = Captures::of_interface(interface, until).unwrap().as_they_come();
            let live = frames(&mut captures);
            Some((live, captures.anomalies()))
        });
        let Ok(counts) = opened.recv() else { return };
        sender.send(5, 100);
        ip("down");
        let mut holes = Vec::new();
        // The first one says that it went down, the second one that it is still down.
        while holes.len() < 2 {
            assert!(!reader.is_finished(), "the capture goes on");
            std::thread::sleep(Duration::from_millis(10));
            holes.extend(counts.take_holes());
        }
        // The interface loses its carrier just before the socket reports the error. Where that is seen first, packets may be missing from
        // the last look on.
        assert_eq!(counts.down_since(), Some(holes[0].to_ns));
        ip("up");
        sender.send(7, 100);
        stop.ask();
        let (live, anomalies) = reader.join().unwrap().unwrap();
        assert_eq!((live.len(), counts.downs(), counts.is_gone()), (12, 1, false));
        assert_eq!(counts.down_since(), None);
        assert!(holes.iter().all(|hole| hole.packets.is_none() && hole.to_ns >= hole.from_ns), "{holes:?}");
        let downtime = anomalies.downtime;
        let (from, to) = (downtime.first_ns.unwrap(), downtime.first_end_ns.unwrap());
        assert_eq!((downtime.count, downtime.total_ns), (1, from.abs_diff(to)));
        let times: Vec<i64> = live.iter().filter_map(|(_, time_ns, _)| *time_ns).collect();
        assert!(times[4] <= from && from < to && to <= times[5], "{times:?} {downtime:?}");
        let files = capture_files(&[folder]).unwrap();
        let mut again = Captures::open(files.iter().map(Input::of).collect()).unwrap();
        assert_eq!((frames(&mut again), again.anomalies()), (live, anomalies));
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn a_time_without_a_carrier_is_a_downtime() {
    let Some(place) = cable() else { return };
    let scratch = Scratch::new("carrier");
    let (folder, stop) = (scratch.path().join("ring"), StopReading::default());
    plug(&place);
    let (give, opened) = std::sync::mpsc::channel();
    let (options, until) = (near(Some(&folder)), stop.clone());
    let reader = place.within(|| {
        std::thread::spawn(move || {
            let interface = open(options).unwrap();
            assert!(interface.has_link());
            give.send(interface.counts()).unwrap();
            let mut captures = Captures::of_interface(interface, until).unwrap().as_they_come();
            (frames(&mut captures), captures.anomalies())
        })
    });
    let counts: Arc<InterfaceCounts> = opened.recv().unwrap();
    send(&place, 5);
    place.ip("link set dev far down");
    let mut holes = Vec::new();
    // The first one says that the carrier was lost, the second one that it still is.
    wait_until(|| {
        assert!(!reader.is_finished(), "the capture goes on");
        holes.extend(counts.take_holes());
        holes.len() >= 2
    });
    assert_eq!(counts.down_since(), Some(holes[0].to_ns));
    assert!(holes.iter().all(|hole| hole.packets.is_none() && hole.to_ns >= hole.from_ns), "{holes:?}");
    plug(&place);
    wait_until(|| counts.down_since().is_none());
    send(&place, 7);
    stop.ask();
    let (live, anomalies) = reader.join().unwrap();
    assert_eq!((live.len(), counts.downs(), counts.is_gone()), (12, 1, false));
    let downtime = anomalies.downtime;
    let (from, to) = (downtime.first_ns.unwrap(), downtime.first_end_ns.unwrap());
    let times: Vec<i64> = live.iter().filter_map(|(_, time_ns, _)| *time_ns).collect();
    assert!(times[4] <= from && from < to && to <= times[5], "{times:?} {downtime:?}");
    assert_eq!(holes[0].to_ns, from);
    let files = capture_files(&[folder]).unwrap();
    let mut again = Captures::open(files.iter().map(Input::of).collect()).unwrap();
    assert_eq!((frames(&mut again), again.anomalies()), (live, anomalies));
}

#[test]
fn an_interface_that_is_removed_ends_the_capture_and_is_not_a_downtime() {
    let Some(place) = cable() else { return };
    let scratch = Scratch::new("removed");
    let folder = scratch.path().join("ring");
    plug(&place);
    let capture = place.within(|| open(near(Some(&folder))).map(|interface| (interface.counts(), interface)));
    let Some((counts, interface)) = capture else { return };
    let mut captures = Captures::of_interface(interface, StopReading::default()).unwrap().as_they_come();
    send(&place, 5);
    assert_eq!(frames_until_idle(&mut captures), 5);
    let before_ns = i64::try_from(now_ns()).unwrap();
    place.ip("link del dev near");
    let live = frames(&mut captures);
    let anomalies = captures.anomalies();
    assert_eq!((live.len(), counts.is_gone(), counts.downs()), (0, true, 0));
    assert_eq!((anomalies.interfaces_removed, anomalies.downtime.count), (1, 0));
    assert_eq!(counts.down_since(), anomalies.captured_until_ns);
    assert!(anomalies.captured_until_ns.unwrap() >= before_ns);
    let files = capture_files(&[folder]).unwrap();
    let mut again = Captures::open(files.iter().map(Input::of).collect()).unwrap();
    assert_eq!((frames(&mut again).len(), again.anomalies()), (5, anomalies));
}

/// Some drivers report no carrier. Once there was one, its loss counts.
#[test]
fn an_interface_that_never_had_a_carrier_is_not_down() {
    let Some(place) = cable() else { return };
    let capture = place.within(|| open(near(None)).map(|interface| (interface.counts(), interface)));
    let Some((counts, interface)) = capture else { return };
    assert!(!place.within(|| interface.has_link()));
    let mut captures = Captures::of_interface(interface, StopReading::default()).unwrap().as_they_come();
    // It is looked at up to ten times per second.
    let wait = |captures: &mut Captures| assert!(matches!(captures.next_or_idle().unwrap(), Next::Idle));
    (0..5).for_each(|_| wait(&mut captures));
    assert_eq!((counts.downs(), counts.down_since()), (0, None));
    plug(&place);
    (0..5).for_each(|_| wait(&mut captures));
    assert_eq!((counts.downs(), counts.down_since()), (0, None));
    place.ip("link set dev far down");
    wait_until(|| {
        wait(&mut captures);
        counts.down_since().is_some()
    });
}

/// Reads packets until the capture ends, or for this many waits. Returns how many there were, and whether it ended.
fn frames_within(captures: &mut Captures, waits: usize) -> (usize, bool) {
    let (mut count, mut idle) = (0, 0);
    while idle < waits {
        match captures.next_or_idle().unwrap() {
            Next::Frame(_) => count += 1,
            Next::Idle => idle += 1,
            Next::End => return (count, true),
        }
    }
    (count, false)
}

/// As after a restart of a container: the socket gets no packet of the new interface, whatever its name.
#[test]
fn an_interface_that_is_removed_and_made_again_is_not_up_again() {
    let Some(place) = cable() else { return };
    plug(&place);
    let capture = place.within(|| open(near(None)).map(|interface| (interface.counts(), interface)));
    let Some((counts, interface)) = capture else { return };
    let mut captures = Captures::of_interface(interface, StopReading::default()).unwrap().as_they_come();
    send(&place, 5);
    assert_eq!(frames_until_idle(&mut captures), 5);
    // Nobody reads meanwhile.
    place.ip("link del dev near");
    place.ip("link add near type veth peer name far");
    place.ip("link set dev near up");
    plug(&place);
    assert_eq!(frames_within(&mut captures, 100), (0, true));
    let anomalies = captures.anomalies();
    assert_eq!((counts.is_gone(), counts.downs(), anomalies.interfaces_removed), (true, 0, 1));
    assert_eq!(anomalies.downtime.count, 0);
}

#[test]
fn an_interface_that_is_renamed_is_captured_on() {
    let Some(place) = cable() else { return };
    plug(&place);
    let capture = place.within(|| open(near(None)).map(|interface| (interface.counts(), interface)));
    let Some((counts, interface)) = capture else { return };
    let stop = StopReading::default();
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    send(&place, 5);
    assert_eq!(frames_until_idle(&mut captures), 5);
    // Before Linux 6.2 an interface is renamed only while it is down.
    place.ip("link set dev near down");
    wait_until(|| {
        assert_eq!(frames_within(&mut captures, 1), (0, false));
        counts.down_since().is_some()
    });
    place.ip("link set dev near name lan");
    place.ip("link set dev lan up");
    wait_until(|| {
        assert_eq!(frames_within(&mut captures, 1), (0, false));
        counts.down_since().is_none()
    });
    place.ip("neigh replace 10.93.0.2 lladdr 02:00:00:00:00:02 nud permanent dev lan");
    send(&place, 7);
    assert_eq!(frames_until_idle(&mut captures), 7);
    stop.ask();
    assert_eq!(frames(&mut captures).len(), 0);
    assert_eq!((counts.is_gone(), counts.downs(), captures.anomalies().interfaces_removed), (false, 1, 0));
    let said = counts.take_learned().unwrap();
    assert!(said.contains("near was renamed to lan: the capture continues"), "{said}");
}

/// Linux takes the outer tag out of a packet before the filter sees the packet.
#[test]
fn a_filter_by_vlan_finds_the_tag_that_was_taken_out() {
    let Some(place) = cable() else { return };
    plug(&place);
    let expression = format!("vlan 7 and udp port {PORT}");
    let filtered = InterfaceOptions { filter: Some(expression), ..near(None) };
    let interface = match place.within(|| Interface::open(filtered)) {
        Err(InterfaceError::Filter { source: FilterError::Missing, .. }) => return skip("needs tcpdump"),
        opened => opened.unwrap(),
    };
    let mut captures = Captures::of_interface(interface, StopReading::default()).unwrap().as_they_come();
    place.within(|| {
        let cable = PacketSocket::open(MAX_PACKET_BYTES).unwrap();
        cable.bind(socket::interface_index("far").unwrap()).unwrap();
        for vlan in [8, 7] {
            let mut traffic = Traffic::new(Link::Ethernet);
            traffic.vlans = vec![vlan];
            let to = SocketAddr::new([10, 93, 0, 1].into(), PORT);
            traffic.udp("10.93.0.2:900".parse().unwrap(), to, &[0; 100], None);
            let frame = &traffic.frames[0].bytes;
            // SAFETY: the call reads the bytes of `frame`, which lives longer.
            let sent = unsafe { libc::send(cable.as_fd().as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
            assert_eq!(usize::try_from(sent).unwrap(), frame.len());
        }
    });
    let tag = loop {
        match captures.next_or_idle().unwrap() {
            Next::Frame(frame) => break frame.captured[12..16].to_vec(),
            Next::Idle => {}
            Next::End => panic!("the capture goes on"),
        }
    };
    assert_eq!(tag, [0x81, 0, 0, 7]);
}

/// Only the socket is in the other namespace: the thread that opened it is where it was.
#[test]
fn an_interface_in_another_network_namespace_is_captured_from_outside() {
    let Some(place) = cable() else { return };
    plug(&place);
    let inside = InterfaceOptions { namespace: Some(place.path()), ..near(None) };
    let opened = std::thread::spawn(move || {
        let here = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = here();
        let unknown = Interface::open(InterfaceOptions { name: "no-such-if".to_owned(), ..inside.clone() });
        let interface = open(inside);
        assert_eq!(here(), before);
        (unknown.unwrap_err().to_string(), interface)
    });
    let (unknown, interface) = opened.join().unwrap();
    let namespace = place.path();
    let lists = format!("`nsenter --net={namespace} ip link` lists");
    assert!(unknown.starts_with("no-such-if: no such network interface") && unknown.contains(&lists), "{unknown}");
    let Some(interface) = interface else { return };
    assert_eq!(interface.label(), format!("near in network namespace {namespace}"));
    let (stop, counts) = (StopReading::default(), interface.counts());
    // Of the interface, which is not in /sys here.
    assert!(interface.has_link() && counts.are_interface_drops_unknown());
    let said = counts.take_learned().unwrap();
    assert!(said.contains(&format!("`nsenter --net={namespace} ip -s -s link show near`")), "{said}");
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    send(&place, 5);
    assert_eq!(frames_until_idle(&mut captures), 5);
    stop.ask();
    assert_eq!(frames(&mut captures).len(), 0);
}
