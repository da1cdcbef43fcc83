//! The common queue depth of all parts. It is not a sum of the parts' depths, so it is computed again from all requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::Context;
use plimsoll_stats::QueueDepth;

use super::part_recording::{Measured, PartRecording};

/// The common queue depth, from the requests of all parts in the order of their ends.
pub(super) fn common(parts: &[(&PartRecording, Measured)]) -> anyhow::Result<QueueDepth> {
    let mut depth = QueueDepth::default();
    let mut readers = Vec::new();
    for (part, measured) in parts {
        // A part without requests has no queue depth.
        let any = measured.statistics.operations().next().is_some();
        readers.push(any.then(|| part.recording.spans(&measured.recorded)).transpose()?);
    }
    let mut next = |from: usize| -> anyhow::Result<Option<(i64, i64)>> {
        let span = readers.get_mut(from).and_then(Option::as_mut).and_then(Iterator::next);
        let shown = || parts.get(from).map_or_else(String::new, |(part, _)| part.shown.clone());
        span.transpose().with_context(|| format!("{}: spans.zst is damaged", shown()))
    };
    let mut waiting = BinaryHeap::new();
    for from in 0..parts.len() {
        waiting.extend(next(from)?.map(|(start, end)| Reverse((end, from, start))));
    }
    while let Some(Reverse((end, from, start))) = waiting.pop() {
        depth.record(start, end);
        waiting.extend(next(from)?.map(|(start, end)| Reverse((end, from, start))));
    }
    Ok(depth)
}
