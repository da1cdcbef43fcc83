use std::process::Command;

use super::*;

/// The traffic of a connection: a small exchange, a long request in two slices, a long answer that is mostly dropped.
fn exchange(tap: &Tap, client: &str, server: &str, ended: Ended) {
    let at = 1_700_000_000_123_456_789;
    let mut stream = tap.opened(at, client.parse().unwrap(), server.parse().unwrap());
    tap.sent(&mut stream, at + 1, &[IoSlice::new(b"abc"), IoSlice::new(b"defgh")], 5);
    tap.received(&mut stream, at + 2, b"ABC", 0);
    let long = vec![7; LARGEST];
    tap.sent(&mut stream, at + 3, &[IoSlice::new(b"xy"), IoSlice::new(&long), IoSlice::new(b"never")], LARGEST + 2);
    tap.received(&mut stream, at + 4, b"HEAD", 2 * LARGEST + 10);
    tap.closed(stream, at + 5, ended);
}

/// The file's packets: (time, source port, sequence, acknowledgement, flags, length of data on the wire, data captured).
type Row = (u64, u16, u32, u32, u8, usize, Vec<u8>);

fn rows(file: &[u8]) -> Vec<Row> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut rows) = (0, Vec::new());
    while at < file.len() {
        let total = word(at + 4) as usize;
        assert_eq!(word(at + total - 4) as usize, total, "the length stands at both ends");
        if word(at) == ENHANCED {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let (captured, original) = (word(at + 20) as usize, word(at + 24) as usize);
            let packet = &file[at + 28..at + 28 + captured];
            let ip = if packet[0] == 0x45 { 20 } else { 40 };
            let tcp = &packet[ip..];
            let long = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
            let said = match ip {
                20 => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
                _ => usize::from(u16::from_be_bytes([packet[4], packet[5]])) + 40,
            };
            assert_eq!(said, original, "IP says how long it is");
            let port = u16::from_be_bytes([tcp[0], tcp[1]]);
            rows.push((time, port, long(4), long(8), tcp[13], original - ip - 20, tcp[20..].to_vec()));
        }
        at += total;
    }
    rows
}

const ENHANCED: u32 = 6;

#[test]
fn a_connection_reads_as_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tap.pcapng");
    for (client, server) in [("10.0.0.1:1000", "10.0.0.2:445"), ("[fd00::1]:1000", "[fd00::2]:445")] {
        let tap = Tap::new(std::fs::File::create(&path).unwrap()).unwrap();
        exchange(&tap, client, server, Ended::ByServer);
        tap.finish().unwrap();
        let rows = rows(&std::fs::read(&path).unwrap());
        let large = LARGEST as u32;
        let brief: Vec<(u16, u32, u32, u8, usize, usize)> =
            rows.iter().map(|row| (row.1, row.2, row.3, row.4, row.5, row.6.len())).collect();
        assert_eq!(
            brief,
            [
                (1000, 0, 0, 0x02, 0, 0),
                (445, 0, 1, 0x12, 0, 0),
                (1000, 1, 1, 0x10, 0, 0),
                (1000, 1, 1, 0x18, 5, 5),
                (445, 1, 6, 0x18, 3, 3),
                (1000, 6, 4, 0x18, LARGEST, LARGEST),
                (1000, 6 + large, 4, 0x18, 2, 2),
                (445, 4, 8 + large, 0x18, 4, 4),
                (445, 8, 8 + large, 0x18, LARGEST, 0),
                (445, 8 + large, 8 + large, 0x18, LARGEST, 0),
                (445, 8 + 2 * large, 8 + large, 0x18, 10, 0),
                (445, 18 + 2 * large, 8 + large, 0x11, 0, 0),
                (1000, 8 + large, 19 + 2 * large, 0x11, 0, 0),
            ]
        );
        assert_eq!((&rows[3].6[..], &rows[5].6[..3]), (&b"abcde"[..], &b"xy\x07"[..]));
        assert_eq!(
            rows.iter().map(|row| row.0 - rows[0].0).collect::<Vec<_>>(),
            [0, 0, 0, 1, 2, 3, 3, 4, 4, 4, 4, 5, 5]
        );
        assert_eq!(rows[0].0, 1_700_000_000_123_456_789);
    }
}

/// A port that the kernel gave to two connections: readers tell the second from repetitions of the first by its numbers.
#[test]
fn connections_of_one_port_begin_far_apart() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let tap = Tap::new(file.reopen().unwrap()).unwrap();
    let count = 100;
    for _ in 0..count {
        exchange(&tap, "10.0.0.1:1000", "10.0.0.2:445", Ended::Reset);
    }
    tap.finish().unwrap();
    let rows = rows(&std::fs::read(file.path()).unwrap());
    for (port, flags) in [(1000, 0x02), (445, 0x12)] {
        let firsts: Vec<u32> = rows.iter().filter(|row| (row.1, row.4) == (port, flags)).map(|row| row.2).collect();
        assert_eq!(firsts.len(), count);
        // Nothing of the one before is near: an unscaled window, and what it sent.
        let far = |pair: &[u32]| pair[1].wrapping_sub(pair[0]).min(pair[0].wrapping_sub(pair[1])) > 1 << 24;
        assert!(firsts.windows(2).all(far), "{firsts:?}");
    }
}

#[test]
fn tshark_finds_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tap.pcapng");
    let tap = Tap::new(std::fs::File::create(&path).unwrap()).unwrap();
    exchange(&tap, "10.0.0.1:1000", "10.0.0.2:9445", Ended::ByClient);
    exchange(&tap, "10.0.0.1:1001", "10.0.0.2:9445", Ended::Reset);
    exchange(&tap, "[fd00::1]:1002", "[fd00::2]:9445", Ended::ByServer);
    tap.finish().unwrap();
    let fields = ["-T", "fields", "-e", "tcp.len", "-e", "tcp.analysis.flags", "-e", "_ws.malformed"];
    let checks = ["-o", "ip.check_checksum:TRUE", "-Y", "ip.checksum.status == 0 || tcp.analysis.flags"];
    let tshark = |more: &[&str]| Command::new("tshark").arg("-r").arg(&path).args(more).output();
    let Ok(output) = tshark(&fields) else {
        plimsoll_testkit::skip("needs tshark to read what the tap wrote");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lengths: Vec<&str> = text.lines().map(|line| line.split('\t').next().unwrap_or("")).collect();
    let data = ["5", "3", "65495", "2", "4", "65495", "65495", "10"];
    let one: Vec<&str> = ["0"; 3].into_iter().chain(data).chain(["0", "0"]).collect();
    assert_eq!(lengths[..13], one);
    assert_eq!(lengths.len(), 13 + 12 + 13);
    assert!(text.lines().all(|line| line.split('\t').skip(1).all(str::is_empty)), "{text}");
    let wrong = tshark(&checks).unwrap();
    assert_eq!(String::from_utf8_lossy(&wrong.stdout), "");
}

#[test]
fn a_full_disk_is_told_at_the_end() {
    // Writing to /dev/full always fails as a full disk does.
    let tap = Tap::new(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()).unwrap();
    for port in 1..60 {
        exchange(&tap, &format!("10.0.0.1:{port}"), "10.0.0.2:445", Ended::ByClient);
    }
    assert_eq!(tap.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}
