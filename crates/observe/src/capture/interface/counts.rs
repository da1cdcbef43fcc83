//! Counters of a live capture, for other threads to read.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::card::CardLoss;
use super::socket::PacketSocket;
use crate::capture::Hole;
use crate::named_services::NamedServices;

/// Holes that nobody has taken, at most. The views take them ten times per second, but only after the first packet. Of too many holes, the
/// newest stay.
const HOLES_MAX: usize = 4_096;

/// Losses and state of a live capture.
#[derive(Debug)]
pub struct InterfaceCounts {
    name: String,
    kernel_drops: AtomicU64,
    freezes: AtomicU64,
    interface_drops: AtomicU64,
    interface_drops_unknown: AtomicBool,
    downs: AtomicU64,
    /// Since when the interface is down, ns since the Unix epoch; 0 while it is up.
    down_since_ns: AtomicU64,
    gone: AtomicBool,
    save_error: Mutex<Option<io::Error>>,
    saves: AtomicBool,
    holes: Mutex<Vec<Hole>>,
    /// For the services that portmappers name, if the filter follows them.
    services: Option<Arc<NamedServices>>,
    learned: Mutex<Vec<String>>,
}

impl InterfaceCounts {
    pub(super) fn of(name: &str, learns: bool) -> Self {
        Self {
            name: name.to_owned(),
            kernel_drops: AtomicU64::new(0),
            freezes: AtomicU64::new(0),
            interface_drops: AtomicU64::new(0),
            interface_drops_unknown: AtomicBool::new(false),
            downs: AtomicU64::new(0),
            down_since_ns: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            save_error: Mutex::new(None),
            saves: AtomicBool::new(true),
            holes: Mutex::default(),
            services: learns.then(Arc::default),
            learned: Mutex::default(),
        }
    }

    /// Packets that the kernel lost because its buffer was full.
    pub fn kernel_drops(&self) -> u64 {
        self.kernel_drops.load(Relaxed)
    }

    /// How often that buffer became full.
    pub fn freezes(&self) -> u64 {
        self.freezes.load(Relaxed)
    }

    /// Packets that the interface itself lost, of any kind: rx_missed_errors and rx_fifo_errors.
    pub fn interface_drops(&self) -> u64 {
        self.interface_drops.load(Relaxed)
    }

    /// Whether the number of packets that the interface itself lost is unknown, because Linux does not show its counters.
    pub fn are_interface_drops_unknown(&self) -> bool {
        self.interface_drops_unknown.load(Relaxed)
    }

    /// The interface's name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often the interface went down, without its removal.
    pub fn downs(&self) -> u64 {
        self.downs.load(Relaxed)
    }

    /// Since when nothing is captured because the interface is down or was removed, ns since the Unix epoch.
    pub fn down_since(&self) -> Option<i64> {
        let since_ns = self.down_since_ns.load(Relaxed);
        (since_ns > 0).then(|| i64::try_from(since_ns).unwrap_or(i64::MAX))
    }

    /// Whether the interface was removed, which ended the capture.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// The error that stopped the storing of packets.
    pub fn take_save_error(&self) -> Option<io::Error> {
        self.save_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The holes since the last call.
    pub fn take_holes(&self) -> Vec<Hole> {
        std::mem::take(&mut self.holes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the services that portmappers name: the filter will pass their packets. `None` with an expression as the filter.
    pub fn services(&self) -> Option<Arc<NamedServices>> {
        self.services.clone()
    }

    /// How the filter has changed since the last call, for people.
    pub fn take_learned(&self) -> Option<String> {
        let learned = std::mem::take(&mut *self.learned.lock().unwrap_or_else(PoisonError::into_inner));
        (!learned.is_empty()).then(|| learned.join("; "))
    }

    /// Linux does not show how many packets the interface lost; `text` is for people.
    pub(super) fn lacks_interface_drops(&self, text: String) {
        self.interface_drops_unknown.store(true, Relaxed);
        self.learned(text);
    }

    /// The filter has changed or could not be changed, or the ring is shorter than it was to be.
    pub(super) fn learned(&self, text: String) {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// The kernel lost packets, if any, after `from_ns` (0: before the first one) and before `to_ns`.
    #[inline]
    pub(super) fn lost_between(&self, from_ns: u64, to_ns: u64, packets: u64) {
        if packets > 0 {
            let from_ns = if from_ns == 0 { to_ns } else { from_ns };
            self.hole((from_ns, to_ns), Some(packets));
        }
    }

    /// The interface was down between two instants.
    pub(super) fn down_between(&self, from_ns: u64, to_ns: u64) {
        self.hole((from_ns, to_ns), None);
    }

    #[cold]
    fn hole(&self, (from_ns, to_ns): (u64, u64), packets: Option<u64>) {
        let [from_ns, to_ns] = [from_ns, to_ns].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let mut holes = self.holes.lock().unwrap_or_else(PoisonError::into_inner);
        if holes.len() >= HOLES_MAX {
            holes.remove(0);
        }
        holes.push(Hole { from_ns, to_ns, packets });
    }

    pub(super) fn may_save(&self) -> bool {
        self.saves.load(Relaxed)
    }

    /// A file was written, or was not: then none will be.
    pub(super) fn saved(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.saves.store(false, Relaxed);
            self.save_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// The interface is down, or was removed, since `since_ns`; packets may be missing from `from_ns` on. The live views must know at once:
    /// they show a second as complete soon after its end.
    pub(super) fn went_down(&self, (from_ns, since_ns): (u64, u64), is_gone: bool) {
        self.down_since_ns.store(since_ns, Relaxed);
        self.gone.store(is_gone, Relaxed);
        // One that was removed misses nothing.
        if !is_gone {
            self.down_between(from_ns, since_ns);
        }
    }

    /// The interface went down, and was not removed: it may come back.
    pub(super) fn was_down(&self) {
        self.downs.fetch_add(1, Relaxed);
    }

    /// The interface is up again.
    pub(super) fn came_up(&self) {
        self.down_since_ns.store(0, Relaxed);
    }

    pub(super) fn is_removed(&self) {
        self.gone.store(true, Relaxed);
    }

    /// Packets that the kernel lost since the last call.
    pub(super) fn look(&self, socket: &PacketSocket) -> io::Result<u64> {
        let counts = socket.take_counts()?;
        self.kernel_drops.fetch_add(counts.drops, Relaxed);
        self.freezes.fetch_add(counts.freezes, Relaxed);
        Ok(counts.drops)
    }

    /// The interface's card lost packets.
    #[cold]
    pub(super) fn lost_by_interface(&self, CardLoss { packets, from_ns, to_ns }: CardLoss) {
        self.interface_drops.fetch_add(packets, Relaxed);
        self.hole((from_ns, to_ns), Some(packets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_that_nobody_takes_are_bounded() {
        let counts = InterfaceCounts::of("eth0", false);
        for ns in 0..=HOLES_MAX as u64 {
            counts.down_between(ns, ns + 1);
        }
        let holes = counts.take_holes();
        assert_eq!((holes.len(), holes[0].from_ns), (HOLES_MAX, 1), "the newest");
    }
}
