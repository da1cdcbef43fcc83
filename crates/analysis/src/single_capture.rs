//! The transactions of one capture file, which another program may still be writing.

use std::path::Path;

use anyhow::Context;
use plimsoll_model::Sink;
use plimsoll_observe::BoxedObserver;
use plimsoll_observe::capture::{Captures, Input};

/// Reads a capture into `sink`, as far as it is written.
///
/// # Errors
/// The capture cannot be read.
pub fn read_capture(capture: &Path, sink: &mut dyn Sink) -> anyhow::Result<()> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())])?;
    let mut observer = BoxedObserver::new(Box::new(sink));
    while let Some(frame) = captures.next().with_context(|| capture.display().to_string())? {
        observer.frame(&frame);
    }
    observer.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Names, Transaction};

    use super::*;

    struct Count(u64);

    impl Sink for Count {
        fn transaction(&mut self, _: &Transaction, _: &Names) {
            self.0 += 1;
        }
    }

    #[test]
    fn every_transaction_comes_and_a_missing_file_is_an_error() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/netbench-samba");
        let mut count = Count(0);
        read_capture(&folder.join("capture.pcap.zst"), &mut count).unwrap();
        assert!(count.0 > 1_000);
        assert!(read_capture(&folder.join("nothing"), &mut count).is_err());
    }
}
