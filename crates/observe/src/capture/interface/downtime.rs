//! The times in which the interface is down: no packet comes, although on a mirror port the traffic goes on.

use std::io;

use super::clock::now_ns;
use super::ring::BLOCK_TIMEOUT_MS;
use super::{Interface, block, section};

/// Packets come this long after the interface received them at the latest, ns; twice as long is safe.
const BEHIND_NS: u64 = 2 * BLOCK_TIMEOUT_MS as u64 * 1_000_000;

/// A time in which the interface is down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    /// When this was noticed, ns since the Unix epoch.
    since_ns: u64,
    /// Whether the stream says it. An interface that was removed misses nothing, so the stream says it from the next look on.
    is_written: bool,
    /// When the interface was seen up again: packets from before this moment may still come.
    up_ns: Option<u64>,
    /// Until when the live views know of it.
    shown_ns: u64,
}

impl Interface {
    /// Looks whether the interface went down, or is up again.
    pub(super) fn look_for_downtime(&mut self) -> io::Result<()> {
        // While an error waits, every wait for packets ends at once.
        let error = self.socket.take_error()?;
        let now_ns = now_ns();
        match (self.down, error) {
            (None, Some(_)) => {
                self.counts.went_down(now_ns);
                self.down = Some(Down { since_ns: now_ns, is_written: false, up_ns: None, shown_ns: now_ns });
            }
            (Some(down), _) if down.since_ns < now_ns => self.look_again(down, now_ns),
            _ => {}
        }
        Ok(())
    }

    fn look_again(&mut self, mut down: Down, now_ns: u64) {
        match self.socket.is_up(&self.name) {
            Ok(true) => match down.up_ns {
                Some(up_ns) if now_ns.saturating_sub(up_ns) > BEHIND_NS => self.up_again(down, up_ns),
                up_ns => self.down = Some(Down { up_ns: up_ns.or(Some(now_ns)), ..down }),
            },
            Ok(false) => {
                self.write_down(&mut down);
                self.counts.down_between(down.shown_ns, now_ns);
                self.down = Some(Down { shown_ns: now_ns, up_ns: None, ..down });
            }
            // It may come back; one that is gone does not.
            Err(_) => {
                self.counts.is_removed();
                self.down = None;
            }
        }
    }

    /// A block has packets of a time after the interface went down: it was up again before the first of them.
    pub(super) fn end_downtime(&mut self) {
        let (Some(down), Some(block)) = (self.down, self.ring.block()) else { return };
        let first = block::packets(block).map(|packet| packet.time_ns).find(|&time_ns| time_ns > down.since_ns);
        if let Some(time_ns) = first {
            self.up_again(down, down.up_ns.map_or(time_ns, |up_ns| up_ns.min(time_ns)));
        }
    }

    /// No more packets come.
    pub(super) fn end_with_downtime(&mut self) {
        if let Some((down, up_ns)) = self.down.and_then(|down| Some((down, down.up_ns?))) {
            self.up_again(down, up_ns);
        }
    }

    fn up_again(&mut self, mut down: Down, time_ns: u64) {
        self.write_down(&mut down);
        let from = self.blocks.len();
        section::up(&mut self.blocks, time_ns);
        self.save(from);
        self.counts.down_between(down.shown_ns, time_ns);
        self.counts.came_up();
        self.down = None;
    }

    fn write_down(&mut self, down: &mut Down) {
        if !std::mem::replace(&mut down.is_written, true) {
            // Where no packet came before, the file begins here.
            self.last_ns = if self.last_ns == 0 { down.since_ns } else { self.last_ns };
            let from = self.blocks.len();
            section::down(&mut self.blocks, down.since_ns);
            self.save(from);
        }
    }
}
