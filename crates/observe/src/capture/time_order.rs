//! Sorts packets by time.
//!
//! A capture that several queues, processors or interfaces feed has its packets slightly out of order: each packet has its receive time,
//! but is written when its queue is processed. In the order of the file an acknowledgement can overtake the data that it acknowledges,
//! and that data seems lost. So packets are sorted by time before they are returned, one block at a time: the last [`LOOK_AHEAD`] packets
//! of each block stay for the next one. A packet is sorted correctly if at most that many packets with later times precede it.
//!
//! A packet that is earlier than a previous one by more than [`DISORDER_MAX_NS`] is not disorder: the clock was set back, or another
//! capture begins. Packets are not sorted across this point. Packets without a time stay behind their predecessor.

use super::located::Located;

/// Packets examined before the earliest of them is returned: twice the 64 packets that a Linux network driver takes from a queue at once
/// (NAPI_POLL_WEIGHT, include/linux/netdevice.h).
pub(super) const LOOK_AHEAD: usize = 128;
/// Maximum number of capture bytes of the packets that stay for the next block, so that the examined packets stay in the cache: room for
/// 3 of the largest packets that offloads make (64 KiB).
pub(super) const KEPT_BYTES: u64 = 256 << 10;
/// Bytes of the capture in a block, at most, but for one record.
const BLOCK_BYTES: u64 = 512 << 10;
/// How much earlier than one before it a packet may be and still count as out of order, in nanoseconds: less than the smallest offset
/// for which a time daemon sets the clock instead of slewing it (ntpd 128 ms, systemd-timesyncd 400 ms).
pub const DISORDER_MAX_NS: i64 = 100_000_000;

/// Maximum delay of a packet in a live capture that is still sorted, ns: many times what two processors need to write the packets that
/// they have received.
const SETTLED_NS: i64 = 10_000_000;

/// A packet that was read and not given out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// The packet's time; without one, that of the packet before it.
    key: i64,
    pub(super) located: Located,
    /// Its number in the capture.
    pub(super) number: u64,
}

/// A block of packets that are given out by time.
#[derive(Debug)]
pub(super) struct TimeOrder {
    /// Those from `next` on are not given out; those before `ready` may be.
    entries: Vec<Entry>,
    next: usize,
    ready: usize,
    /// The clock was set back here: later packets belong to the next block.
    step_at: Option<usize>,
    sorted: bool,
    /// The latest time since the clock was last set back.
    latest: i64,
    /// The time of the packet read last.
    last: i64,
    /// Packets that stood behind one of a later time.
    pub(super) reordered: u64,
}

impl TimeOrder {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            next: 0,
            ready: 0,
            step_at: None,
            sorted: true,
            latest: i64::MIN,
            last: i64::MIN,
            reordered: 0,
        }
    }

    /// Whether no packet waits, of a block that has just begun.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The latest time since the clock was last set back.
    pub(super) fn latest(&self) -> i64 {
        self.latest
    }

    /// Packets up to this time, in order, were given out from where they stood.
    pub(super) fn passed(&mut self, latest: i64) {
        (self.latest, self.last) = (latest, latest);
    }

    /// All remaining packets may be returned: the next ones are in order.
    pub(super) fn release(&mut self) {
        self.ready = self.entries.len();
    }

    /// Whether there is a packet that may be given out.
    pub(super) fn has_ready(&self) -> bool {
        self.next < self.ready
    }

    /// The next packet, None if the block has been given out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        if self.next >= self.ready {
            return None;
        }
        let entry = self.entries.get(self.next).copied();
        self.next += 1;
        entry
    }

    /// Begins a new block with the remaining packets of the last one.
    pub(super) fn begin(&mut self) {
        self.entries.drain(..self.next.min(self.entries.len()));
        (self.next, self.ready, self.step_at) = (0, 0, None);
    }

    /// Position of the first byte that is still needed; None if no packet waits.
    pub(super) fn needed_from(&self) -> Option<u64> {
        self.entries.iter().map(|entry| entry.located.start).min()
    }

    /// Whether the block has room for more, of a capture that was read up to `end` and is needed from `from` on.
    #[inline]
    pub(super) fn has_room(&self, from: u64, end: u64) -> bool {
        self.entries.len() < 2 * LOOK_AHEAD && end.saturating_sub(from) < BLOCK_BYTES && self.step_at.is_none()
    }

    /// Adds the packet that stands next in the capture.
    #[inline]
    pub(super) fn push(&mut self, located: Located, number: u64) {
        let key = located.time_ns.unwrap_or(self.last);
        self.last = key;
        if key >= self.latest {
            self.latest = key;
        } else {
            self.earlier(key, located.time_ns.is_some());
        }
        self.entries.push(Entry { key, located, number });
    }

    /// A packet that is earlier than one before it.
    #[cold]
    fn earlier(&mut self, key: i64, timed: bool) {
        if self.latest.saturating_sub(key) > DISORDER_MAX_NS {
            self.latest = key;
            self.step_at = (!self.entries.is_empty()).then_some(self.entries.len());
        } else {
            self.sorted = false;
            self.reordered += u64::from(timed);
        }
    }

    /// Sorts the block of a capture that was read up to `read_to`, and says how much of it may be given out: with `all`, everything.
    pub(super) fn settle(&mut self, all: bool, read_to: u64) {
        let end = self.step_at.unwrap_or(self.entries.len());
        if !self.sorted {
            if let Some(block) = self.entries.get_mut(..end) {
                block.sort_by_key(|entry| entry.key);
            }
            self.sorted = true;
        }
        self.ready = if all || self.step_at.is_some() { end } else { end - self.left_for_next(read_to) };
    }

    /// Sorts the packets of a live capture so far, up to `read_to`. All of them may be returned if nothing new has come since the last
    /// call; otherwise those that are more than [`SETTLED_NS`] older than the latest, and those beyond the limit of a block.
    pub(super) fn settle_so_far(&mut self, nothing_new: bool, read_to: u64) {
        self.settle(nothing_new, read_to);
        if !nothing_new && self.step_at.is_none() {
            let settled = self.latest.saturating_sub(SETTLED_NS);
            self.ready = self.ready.max(self.entries.partition_point(|entry| entry.key <= settled));
        }
    }

    /// How many packets at the end stay for the next block.
    fn left_for_next(&self, read_to: u64) -> usize {
        let fits = |entry: &&Entry| read_to.saturating_sub(entry.located.start) <= KEPT_BYTES;
        self.entries.iter().rev().take(LOOK_AHEAD).take_while(fits).count()
    }
}
