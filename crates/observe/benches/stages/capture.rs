//! Stage "capture": files become frames.

use std::path::PathBuf;

use divan::Bencher;
use plimsoll_observe::capture::{Captures, Input};

use crate::traffic::{self, Around, Kind};

/// Bytes in the file, about: more than the reader's window, by far.
const FILE_BYTES: usize = 32 << 20;

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn small_packets(bencher: Bencher<'_, '_>) {
    read(bencher, Kind::Rpc);
}

#[divan::bench(sample_size = 10_000, sample_count = 100)]
fn full_packets(bencher: Bencher<'_, '_>) {
    read(bencher, Kind::Bulk);
}

fn read(bencher: Bencher<'_, '_>, kind: Kind) {
    let file = TemporaryFile::new(kind);
    let open = || Captures::open(vec![Input::File(file.0.clone())]).expect("the file that was just written opens");
    let mut captures = open();
    bencher.bench_local(|| {
        let ended = match captures.next() {
            Ok(Some(frame)) => {
                divan::black_box(&frame);
                false
            }
            _ => true,
        };
        if ended {
            captures = open();
        }
    });
}

struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(kind: Kind) -> Self {
        let pass = traffic::of(kind, Around::Ipv4, 200);
        let bytes = pass.frames.iter().map(|frame| frame.bytes.len() + 16).sum::<usize>();
        let mut repeated = pass.clone();
        repeated.frames = std::iter::repeat_n(&pass.frames, FILE_BYTES / bytes + 1).flatten().cloned().collect();
        let path = std::env::temp_dir().join(format!("plimsoll-bench-{}-{kind:?}.pcap", std::process::id()));
        std::fs::write(&path, repeated.pcap()).expect("the folder for temporary files can be written to");
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // What stays behind is in the folder for temporary files.
        let _ = std::fs::remove_file(&self.0);
    }
}
