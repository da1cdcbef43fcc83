//! The transactions of one capture file, which another program may still be writing.

use std::path::Path;

use anyhow::Context;
use plimsoll_model::Sink;
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Input};

/// Reads a capture into `sink`, as far as it is written, and returns the sink.
///
/// # Errors
/// The capture cannot be read.
pub fn read_capture<S: Sink>(capture: &Path, sink: S) -> anyhow::Result<S> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())])?;
    let mut observer = Observer::new(sink);
    while let Some(frame) = captures.next().with_context(|| capture.display().to_string())? {
        observer.frame(&frame);
    }
    Ok(observer.finish().sink)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Names, Transaction};

    use super::*;

    #[derive(Default)]
    struct Count(u64);

    impl Sink for Count {
        fn transaction(&mut self, _: &Transaction, _: &Names) {
            self.0 += 1;
        }
    }

    #[test]
    fn every_transaction_comes_and_a_missing_file_is_an_error() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/netbench-samba");
        assert!(read_capture(&folder.join("capture.pcap.zst"), Count::default()).unwrap().0 > 1_000);
        assert!(read_capture(&folder.join("nothing"), Count::default()).is_err());
    }
}
