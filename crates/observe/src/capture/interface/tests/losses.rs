//! Packets that find no room in the ring, and those that the card loses.

use super::*;
use crate::capture::Hole;

/// A ring that bursts fill: 2 MiB.
fn with_a_small_ring(ports: Vec<u16>, save: Option<&Path>) -> InterfaceOptions {
    InterfaceOptions { buffer_bytes: 2 << 20, ..options(ports, save) }
}

#[test]
fn what_found_no_room_is_counted_to_the_packet_and_stored() {
    leave_the_machine();
    let scratch = Scratch::new("drops");
    let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
    let Some(interface) = open(with_a_small_ring(vec![sender.port()], Some(&folder))) else { return };
    let (stop, counts) = (StopReading::default(), interface.counts());
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    // 6 MB into 2 MiB.
    sender.send(6_000, 1_000);
    stop.ask();
    let live = frames(&mut captures);
    let drops = captures.anomalies().reported_drops;
    // On a busy machine the kernel hands half-empty blocks over, and the ring holds few packets.
    assert!(!live.is_empty() && drops > 1_000, "{} packets and {drops} drops", live.len());
    assert_eq!(live.len() as u64 + drops, 6_000);
    assert_eq!((counts.kernel_drops(), counts.interface_drops()), (drops, 0));
    let holes = counts.take_holes();
    assert_eq!(holes.iter().filter_map(|hole| hole.packets).sum::<u64>(), drops);
    let times: Vec<i64> = live.iter().filter_map(|(_, time_ns, _)| *time_ns).collect();
    assert!(holes.iter().all(|hole| times.contains(&hole.from_ns) && hole.to_ns >= hole.from_ns), "{holes:?}");
    assert!(counts.freezes() >= 1);
    assert_eq!(read_again(&folder), (live, drops));
}

/// Loopback with counters of a card that lost this number of packets, as /sys shows them.
fn put_drops(root: &Path, packets: u64) {
    let (folder, missed) = (root.join("lo"), packets.to_string());
    std::fs::create_dir_all(folder.join("statistics")).unwrap();
    for (name, text) in [
        ("ifindex", "1"),
        ("address", "00:00:00:00:00:00"),
        ("statistics/rx_missed_errors", missed.as_str()),
        ("statistics/rx_fifo_errors", "0"),
    ] {
        std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
    }
}

/// The last losses of the card too, which no packet follows; they stand beside greater ones of the kernel.
#[test]
fn losses_of_the_card_have_their_own_hole() {
    leave_the_machine();
    let (begun_ns, scratch) = (now_ns(), Scratch::new("card"));
    put_drops(scratch.path(), 1_000);
    let sender = Sender::new();
    let Some(mut interface) = open(with_a_small_ring(vec![sender.port()], None)) else { return };
    interface.card = Card::below(scratch.path().to_owned(), interface.socket.interface().unwrap());
    let (stop, counts) = (StopReading::default(), interface.counts());
    let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
    // 6 MB into 2 MiB.
    sender.send(6_000, 1_000);
    assert!(frames_until_idle(&mut captures) > 0 && counts.kernel_drops() > 1_000);
    let in_holes = |holes: &[Hole]| holes.iter().filter_map(|hole| hole.packets).sum::<u64>();
    let before = in_holes(&counts.take_holes());
    assert_eq!(before, counts.kernel_drops());
    put_drops(scratch.path(), 1_007);
    stop.ask();
    frames(&mut captures);
    let holes = counts.take_holes();
    assert_eq!((counts.interface_drops(), before + in_holes(&holes)), (7, counts.kernel_drops() + 7), "{holes:?}");
    let (from_ns, to_ns) = (i64::try_from(begun_ns).unwrap(), i64::try_from(now_ns()).unwrap());
    assert!(holes.iter().all(|hole| from_ns <= hole.from_ns && hole.from_ns <= hole.to_ns && hole.to_ns <= to_ns));
}

/// The same packets are lost with one file and with several, whose sections count from their own starts.
#[test]
fn losses_add_up_however_many_files_there_are() {
    let test = |bytes: u64, files: std::ops::RangeInclusive<usize>| {
        leave_the_machine();
        let (scratch, card) = (Scratch::new("sum"), Scratch::new("card"));
        put_drops(card.path(), 0);
        let (sender, folder) = (Sender::new(), scratch.path().join("ring"));
        let mut options = with_a_small_ring(vec![sender.port()], Some(&folder));
        options.save = options.save.map(|save| SaveOptions { bytes, ..save });
        let Some(mut interface) = open(options) else { return };
        interface.card = Card::below(card.path().to_owned(), interface.socket.interface().unwrap());
        let (stop, counts) = (StopReading::default(), interface.counts());
        let mut captures = Captures::of_interface(interface, stop.clone()).unwrap().as_they_come();
        // 6 MB into 2 MiB, then more than 1 MiB, which is a further file: in several bursts where the ring holds few packets of each.
        sender.send(6_000, 1_000);
        let (mut sent, mut live) = (6_000, frames_until_idle(&mut captures));
        put_drops(card.path(), 7);
        while live < 1_200 {
            sender.send(1_000, 1_000);
            (sent, live) = (sent + 1_000, live + frames_until_idle(&mut captures));
        }
        sender.send(1_000, 1_000);
        stop.ask();
        let live = (live + frames(&mut captures).len()) as u64;
        let drops = captures.anomalies().reported_drops;
        assert_eq!((drops, live + drops), (counts.kernel_drops() + 7, sent + 1_007));
        let (again, drops_again) = read_again(&folder);
        assert_eq!((again.len() as u64, drops_again), (live, drops));
        assert!(files.contains(&std::fs::read_dir(&folder).unwrap().count()));
    };
    // In threads of their own, because an open interface takes a thread's capabilities.
    std::thread::spawn(move || test(1 << 30, 1..=1)).join().unwrap();
    std::thread::spawn(move || test(16 << 20, 2..=9)).join().unwrap();
}
