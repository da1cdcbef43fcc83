//! A run over a wire that loses packets: the report of a capture at either end has the retransmissions that the wire's log names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plimsoll_testkit::Side;
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::{Scratch, Unavailable};
use plimsoll_testkit::wire::{Capture, DataSegment, Fate, Impairments, Log, Passage, Seen, Wire, retransmissions};
use rustix::process::Signal;

use crate::available;

const ENDS: [Side; 2] = [Side::Client, Side::Server];

fn plimsoll() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    // An SMB server beyond loopback wants one.
    command.env("PLIMSOLL_PASSWORD", "of the wire");
    command
}

/// A load of the server over a wire, captured at both ends.
fn run(protocol: &str, port: u16, folder: &Path) -> Result<(Log, Vec<Seen>), Unavailable> {
    let lossy = |seed| Impairments { delay: Duration::from_millis(2), loss: 0.01, seed, ..Impairments::default() };
    let wire = Wire::start([lossy(1), lossy(2)])?;
    let captures: Result<Vec<Capture>, Unavailable> =
        ENDS.iter().map(|end| wire.capture(*end, &capture(folder, *end))).collect();
    let captures = captures?;
    let address = format!("{}:{port}", Wire::address(Side::Server));
    let mut serve = plimsoll();
    serve.args(["serve", protocol, "--listen", &address, "--allow-remote"]);
    serve.args(if protocol == "smb" { &["--user", "alice"][..] } else { &[] });
    let mut server = wire.at(Side::Server, || Running::start(&mut serve)).unwrap();
    let target = server.first_line();
    let mut load = plimsoll();
    load.args(["run", "mixed", "--clients", "4", "--warmup", "0s", "--duration", "2s", "--quiet", "--target", &target]);
    let ended = wire.at(Side::Client, || output(&mut load));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let seen = captures.into_iter().map(|capture| capture.end(&wire)).collect();
    server.signal(Signal::INT);
    assert!(server.end().status.success());
    Ok((wire.end(), seen))
}

fn capture(folder: &Path, end: Side) -> PathBuf {
    folder.join(format!("{end:?}.pcap"))
}

fn data(passage: &Passage) -> Option<DataSegment> {
    DataSegment::of(&passage.packet)
}

/// The longest time, in ns, until TCP sends lost data again at this delay (RFC 6298 2.4); Linux does after 200 ms.
const SENT_AGAIN_NS: i64 = 1_000_000_000;

/// Number of data segments of one end that the wire lost. Another copy arrived of all except the last one.
fn lost_and_sent_again(log: &Log, end: Side) -> usize {
    let sent: Vec<(&Passage, DataSegment)> =
        log.sent(end).filter_map(|passage| Some((passage, data(passage)?))).collect();
    let last_ns = log.passages.last().unwrap().taken_ns;
    let lost: Vec<_> = sent.iter().filter(|(passage, _)| passage.fate == Fate::Lost).collect();
    for (passage, segment) in lost.iter().filter(|(passage, _)| passage.taken_ns + SENT_AGAIN_NS < last_ns) {
        let mut copies = sent.iter().filter(|(copy, other)| copy.fate != Fate::Lost && other.overlaps(segment));
        assert!(copies.next().is_some(), "{end:?} at {} ns: no copy of {segment:?} arrived", passage.taken_ns);
    }
    lost.len()
}

#[test]
fn a_report_has_the_retransmissions_that_the_log_of_the_wire_names() {
    let _alone = crate::alone();
    for (protocol, port) in [("nfs", 2049), ("smb", 445)] {
        let scratch = Scratch::new("lossy-wire");
        let Some((log, seen)) = available(run(protocol, port, scratch.path())) else { return };
        let lost = ENDS.map(|end| lost_and_sent_again(&log, end));
        assert!(lost.iter().all(|lost| *lost > 0), "{protocol}: {lost:?}");
        for (end, Seen { sent, received }) in ENDS.into_iter().zip(&seen) {
            // The capture ended before the wire.
            let was_sent = log.sent(end).take(sent.len()).map(|passage| passage.packet.as_slice());
            let arrived = log.arrived(end);
            let arrived = arrived.iter().take(received.len()).map(|(passage, _)| passage.packet.as_slice());
            let again = [retransmissions(was_sent).len(), retransmissions(arrived).len()];
            let analyzed = output(plimsoll().args(["analyze", "--json", "-"]).arg(capture(scratch.path(), end)));
            let report = crate::only_side(&analyzed.stdout);
            let found = &report["packets"];
            println!(
                "{protocol}, {end:?}: {} packets; of its segments with data the wire lost {}; sent again by it {}, arrived twice {}; \
                 Plimsoll: {} retransmitted of {}",
                sent.len() + received.len(),
                lost[end as usize],
                again[0],
                again[1],
                found["retransmitted"],
                found["tcp_data"]
            );
            assert_eq!(found["retransmitted"].as_u64(), Some((again[0] + again[1]) as u64), "{protocol}, {end:?}");
            assert_eq!(found["total"].as_u64(), Some((sent.len() + received.len()) as u64), "{protocol}, {end:?}");
        }
    }
}
