//! A cable that is pulled: its interface stays up without a carrier. In a network namespace, with a virtual cable.

use std::time::Instant;

use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::available;

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
        wait_until(|| socket.state("near").unwrap().has_carrier);
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
