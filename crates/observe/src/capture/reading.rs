//! Reads captures in a separate thread.

use std::panic::resume_unwind;
use std::thread;

use super::{Batch, CaptureError, Captures};
use crate::thread_queue::{End, queue};

/// Bytes of packets that were read and wait, at most. As much again may be in work.
const WAITING_BYTES: usize = 4 << 20;
/// Memory that a packet takes in addition to its bytes.
const PACKET_BYTES: usize = 64;

/// Reads captures in another thread, and passes their packets to `take` in this one. Both threads do other work where they would wait:
/// `work` does a little of it, and returns whether there was some.
///
/// # Errors
/// A capture cannot be read, or is none.
pub fn read_in_thread(
    captures: &mut Captures,
    work: impl Fn() -> bool + Sync,
    mut take: impl FnMut(&Batch),
) -> Result<(), CaptureError> {
    let (other_end, queue) = queue(WAITING_BYTES);
    let work = &work;
    thread::scope(|scope| {
        let reader = scope.spawn(move || read(captures, &other_end, work));
        let mut batches: Vec<Batch> = Vec::new();
        while queue.take(&mut batches, work) {
            for batch in &mut batches {
                take(batch);
                // Its map may be waited for.
                batch.clear();
            }
        }
        reader.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Reads until the end of the input, an error, or the end of the thread that takes the packets.
fn read(captures: &mut Captures, queue: &End<Batch>, work: impl Fn() -> bool) -> Result<(), CaptureError> {
    let mut batch = Batch::default();
    while captures.next_batch(&mut batch)? {
        let size = batch.bytes() + batch.packets() * PACKET_BYTES;
        let Some(next) = queue.put(batch, size, &work) else { break };
        batch = next;
    }
    Ok(())
}
