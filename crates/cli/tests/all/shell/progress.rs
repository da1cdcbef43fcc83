use std::io::Write;

use plimsoll_testkit::command::output;
use plimsoll_testkit::terminal::{Session, session};

use super::{LARGE_CAPTURE, analysed_capture, plimsoll, program, scratch, screen};

const RUN: [&str; 10] =
    ["run", "random-read", "--target", "embedded:smb", "--duration", "2s", "--warmup", "500ms", "--think", "5ms"];

fn rates(session: &Session) -> Vec<String> {
    let text = session.text();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[1].starts_with("TiB/s")).map(|pair| pair.concat()).collect()
}

#[test]
fn a_run_shows_how_far_it_is_and_clears_that_away() {
    let _alone = crate::alone();
    for columns in [40, 80, 200] {
        let session = session(&mut plimsoll(&RUN, &[]), columns, "");
        // On a busy machine the numbers may be invalid.
        assert!(matches!(session.status.code(), Some(0 | 4)), "{}", session.text());
        assert!(session.text().contains("measuring: "), "{}", session.text());
        let left: Vec<String> = screen(&session, columns);
        let bars = left.iter().filter(|row| row.contains("measuring") || row.contains("warm-up:") || row.contains('░'));
        assert_eq!(bars.collect::<Vec<_>>(), Vec::<&String>::new(), "{columns}");
    }
}

#[test]
fn no_progress_where_nobody_watches() {
    let _alone = crate::alone();
    for environment in [&[][..], &[("TERM", "dumb")]] {
        // In a pipe, and in a terminal that cannot draw a line again.
        let said = match environment {
            [] => String::from_utf8(output(&mut plimsoll(&RUN, environment)).stderr).unwrap(),
            _ => session(&mut plimsoll(&RUN, environment), 80, "").text(),
        };
        assert!(!said.contains("measuring") && !said.contains('\x1b'), "{environment:?}: {said}");
    }
    assert!(!analysed_capture(LARGE_CAPTURE, 80, &["--quiet"], &[]).text().contains('\r'));
}

/// Two looks at the clock lie on both sides of a pause that is longer than the bar's patience.
#[test]
fn a_pipe_has_bytes_and_a_rate_but_no_size() {
    let folder = scratch("progress");
    let fifo = folder.path().join("capture");
    assert!(program("mkfifo", &[]).arg(&fifo).status().unwrap().success());
    let to = fifo.clone();
    let writer = std::thread::spawn(move || {
        let mut file = std::fs::OpenOptions::new().write(true).open(to).unwrap();
        let (header, frames) = frames(70_000);
        file.write_all(&header).and_then(|()| file.write_all(&frames)).unwrap();
        // The reader may come to its first look late.
        std::thread::sleep(std::time::Duration::from_millis(4_000));
        file.write_all(&frames).unwrap();
    });
    let session = session(&mut plimsoll(&["analyze", fifo.to_str().unwrap()], &[]), 80, "");
    writer.join().unwrap();
    let text = session.text();
    assert!(text.contains("MiB, ") && text.contains("iB/s"), "{text}");
    assert!(!text.contains(" %)") && !text.contains(" left"), "no size is known: {text}");
    assert_eq!(rates(&session), Vec::<String>::new());
}

/// The header of a pcap file, and `count` small packets without file-server traffic.
fn frames(count: usize) -> (Vec<u8>, Vec<u8>) {
    let one = plimsoll_testkit::pcap(plimsoll_testkit::Link::Ethernet, &[]);
    let mut record = Vec::new();
    for field in [1_700_000_000_u32, 0, 14, 14] {
        record.extend_from_slice(&field.to_le_bytes());
    }
    record.extend_from_slice(&[0xff; 12]);
    record.extend_from_slice(&[0x08, 0x06]);
    (one, record.repeat(count))
}
