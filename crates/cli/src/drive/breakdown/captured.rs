//! The requests of a mounted directory's client, from a capture of its connection that is being written meanwhile.

use std::path::Path;

use anyhow::Context;
use plimsoll_experiment::breakdown::RequestSpans;
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Input};

/// Reads the capture into `spans`.
pub(super) fn read(capture: &Path, spans: RequestSpans) -> anyhow::Result<RequestSpans> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())])?;
    let mut observer = Observer::new(spans);
    while let Some(frame) = captures.next().with_context(|| capture.display().to_string())? {
        observer.frame(&frame);
    }
    Ok(observer.finish().sink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_their_span() {
        let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/netbench-samba/capture.pcap.zst");
        let found = read(&capture, RequestSpans::new(vec![(0, i64::MAX), (0, 1)])).unwrap();
        assert!(found.procedures[0].len() > 1_000 && found.procedures[1].is_empty());
        assert_eq!(found.requests, found.procedures[0].len() as u64);
    }
}
