//! Bytes to send: headers written by a client, and file data that is not copied.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

use crate::buffer_memory::BufferMemory;

/// Bytes to send on one connection, in order: owned bytes with shared data in between.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    shared: Vec<Shared>,
    queued: u64,
    taken: u64,
    memory: BufferMemory,
    /// The outboxes of a session's further connections: channel `n` at `n - 1`.
    channels: Vec<Outbox>,
}

/// Shared data that goes out before the owned byte at `before`.
#[derive(Debug)]
struct Shared {
    before: usize,
    data: Arc<[u8]>,
    range: Range<usize>,
}

impl Outbox {
    /// Nothing to send.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.queued += bytes.len() as u64;
    }

    /// Appends what `write` pushes to the vector, and returns the place where it begins for [`Outbox::patch`].
    /// `write` must only append.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.queued += self.bytes.len().saturating_sub(start) as u64;
        start
    }

    /// The owned bytes from `start` on, to fill in lengths and signatures.
    pub fn patch(&mut self, start: usize) -> &mut [u8] {
        self.bytes.get_mut(start..).unwrap_or_default()
    }

    /// Appends shared data without copying it. Ranges outside of it are cut.
    pub fn share(&mut self, data: &Arc<[u8]>, range: Range<usize>) {
        let range = range.start.min(data.len())..range.end.min(data.len());
        self.queued += range.len() as u64;
        self.shared.push(Shared { before: self.bytes.len(), data: data.clone(), range });
    }

    /// The outbox of a connection of the same session; 0 is this one.
    pub fn channel(&mut self, channel: u32) -> &mut Outbox {
        let Some(place) = (channel as usize).checked_sub(1) else { return self };
        if self.channels.len() <= place {
            self.channels.resize_with(place + 1, Outbox::default);
        }
        // There are as many as that now.
        &mut self.channels[place]
    }

    /// Further channels with bytes to send.
    pub fn waiting_channels(&self) -> impl Iterator<Item = u32> + use<'_> {
        (1..).zip(&self.channels).filter(|(_, outbox)| !outbox.is_empty()).map(|(channel, _)| channel)
    }

    /// Drops the bytes for a lost connection. If it is this one, the other channels' bytes stay.
    pub fn reset(&mut self, channel: u32) {
        let place = self.channel(channel);
        let channels = std::mem::take(&mut place.channels);
        *place = Self { channels, ..Self::default() };
    }

    /// Swaps a further connection's outbox with this one.
    pub fn swap(&mut self, channel: u32) {
        if channel == 0 {
            return;
        }
        let mut other = std::mem::take(self.channel(channel));
        other.channels = std::mem::take(&mut self.channels);
        let first = std::mem::replace(self, other);
        *self.channel(channel) = first;
    }

    /// Bytes ever queued on this connection: the place in the stream where the next byte will stand.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.queued
    }

    /// Bytes ever taken (sent) from this connection.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.taken
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queued == self.taken
    }

    /// All that waits, if it is in one piece.
    #[must_use]
    pub fn single(&self) -> Option<&[u8]> {
        self.shared.is_empty().then_some(&self.bytes)
    }

    /// What waits, in order, as at most `most` slices.
    pub fn slices<'a>(&'a self, most: usize, slices: &mut Vec<IoSlice<'a>>) {
        slices.clear();
        let mut at = 0;
        for shared in &self.shared {
            if slices.len() + 2 > most {
                return;
            }
            push(slices, self.bytes.get(at..shared.before));
            push(slices, shared.data.get(shared.range.clone()));
            at = shared.before;
        }
        if slices.len() < most {
            push(slices, self.bytes.get(at..));
        }
    }

    /// Forgets all bytes: they were sent.
    fn forget_all(&mut self) {
        self.memory.empty(&mut self.bytes, KEPT, KEPT_BUSY);
        self.shared.clear();
        self.shared.shrink_to(SHARED_KEPT);
    }

    /// Forgets the first `count` bytes: they were sent.
    pub fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        if self.is_empty() {
            self.forget_all();
            return;
        }
        let (mut left, mut owned, mut done) = (count, 0, 0);
        for shared in &mut self.shared {
            let own = (shared.before - owned).min(left);
            owned += own;
            left -= own;
            if owned < shared.before || left == 0 {
                break;
            }
            let count = shared.range.len().min(left);
            shared.range.start += count;
            left -= count;
            if !shared.range.is_empty() {
                break;
            }
            done += 1;
        }
        owned += left.min(self.bytes.len() - owned);
        self.shared.drain(..done);
        self.bytes.drain(..owned);
        self.shared.iter_mut().for_each(|shared| shared.before -= owned);
    }
}

/// Bytes of capacity that an empty outbox keeps.
const KEPT: usize = 1024;
/// The same of a connection that sends more than [`KEPT`] again and again: an encrypted write of 1 MiB. To give this memory back to the
/// system after each write would cost a page fault per 4 KiB of the next one.
const KEPT_BUSY: usize = (1 << 20) + (4 << 10);
/// Pieces of shared data that an empty outbox keeps room for: a write or two.
const SHARED_KEPT: usize = 4;

fn push<'a>(slices: &mut Vec<IoSlice<'a>>, bytes: Option<&'a [u8]>) {
    if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
        slices.push(IoSlice::new(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(outbox: &Outbox) -> Vec<u8> {
        let mut slices = Vec::new();
        outbox.slices(64, &mut slices);
        slices.iter().flat_map(|slice| slice.to_vec()).collect()
    }

    fn filled() -> Outbox {
        let data: Arc<[u8]> = b"0123456789".to_vec().into();
        let mut outbox = Outbox::new();
        outbox.put(b"ab");
        outbox.share(&data, 2..5);
        outbox.share(&data, 5..6);
        let at = outbox.write(|bytes| bytes.extend_from_slice(b"cd"));
        outbox.patch(at)[1] = b'D';
        outbox.share(&data, 0..1);
        outbox
    }

    #[test]
    fn taken_at_any_speed_the_bytes_are_the_same() {
        let whole = b"ab2345cD0";
        assert_eq!(flat(&filled()), whole);
        for step in 1..=whole.len() {
            let mut outbox = filled();
            let mut seen = Vec::new();
            while !outbox.is_empty() {
                let waiting = flat(&outbox);
                let count = step.min(waiting.len());
                seen.extend_from_slice(&waiting[..count]);
                outbox.consume(count);
            }
            assert_eq!(seen, whole, "{step} at a time");
            assert_eq!((outbox.end(), outbox.sent()), (9, 9));
        }
    }

    #[test]
    fn channels_are_apart_and_change_places() {
        let mut outbox = Outbox::new();
        outbox.put(b"first");
        outbox.channel(2).put(b"third");
        assert_eq!(outbox.waiting_channels().collect::<Vec<_>>(), [2]);
        assert_eq!((flat(&outbox), flat(outbox.channel(1)), outbox.end()), (b"first".to_vec(), Vec::new(), 5));
        outbox.swap(2);
        assert_eq!((flat(&outbox), flat(outbox.channel(2))), (b"third".to_vec(), b"first".to_vec()));
        outbox.reset(2);
        assert_eq!((outbox.waiting_channels().count(), outbox.channel(2).end(), outbox.end()), (0, 0, 5));
        outbox.channel(1).put(b"second");
        outbox.reset(0);
        assert_eq!((outbox.end(), flat(outbox.channel(1))), (0, b"second".to_vec()));
    }

    #[test]
    fn few_slices_lose_nothing() {
        let mut outbox = filled();
        let mut seen = Vec::new();
        while !outbox.is_empty() {
            let mut slices = Vec::new();
            outbox.slices(2, &mut slices);
            let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            assert!(!bytes.is_empty());
            seen.extend_from_slice(&bytes);
            let count = bytes.len();
            outbox.consume(count);
        }
        assert_eq!(seen, b"ab2345cD0");
    }
}
