//! The times in which the interface is down or has no carrier: no packet comes, although on a mirror port the traffic goes on.

use std::io;
use std::time::Instant;

use super::clock::now_ns;
use super::ring::BLOCK_TIMEOUT_MS;
use super::socket::LinkState;
use super::{Interface, block, section};

/// Packets come this long after the interface received them at the latest, ns; twice as long is safe.
const BEHIND_NS: u64 = 2 * BLOCK_TIMEOUT_MS as u64 * 1_000_000;

/// An interface that is being removed goes down first, and still has its name for a while: longer on a busy machine, ns.
const REMOVAL_NS: u64 = 1_000_000_000;

/// A time in which the interface is down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    /// When this was noticed, ns since the Unix epoch.
    since_ns: u64,
    /// Whether the stream says it, and it counts. An interface that was removed misses nothing, so this begins once it has been down for
    /// [`REMOVAL_NS`], or is up again.
    is_written: bool,
    /// Whether the interface is up again only with a carrier: it had one before.
    needs_carrier: bool,
    /// When the interface was seen up again: packets from before this moment may still come.
    up_ns: Option<u64>,
    /// Until when the live views know of it.
    shown_ns: u64,
}

impl Interface {
    /// Looks whether the interface went down, or is up again. `ready`: it has packets, or an error.
    pub(super) fn look_for_downtime(&mut self, ready: bool) -> io::Result<()> {
        // While an error waits, every wait for packets ends at once.
        let error = self.socket.take_error()?;
        let now_ns = now_ns();
        match (self.down, error) {
            (None, Some(_)) => self.begin_downtime((now_ns, now_ns), self.carrier.is_known()),
            // Packets show that there is a carrier, even if the driver says that there is none.
            (None, None) if !ready => {
                let Self { carrier, socket, .. } = self;
                if let Some(seen_ns) = carrier.look((Instant::now(), now_ns), || socket.state()) {
                    self.begin_downtime((seen_ns.max(self.last_ns).min(now_ns), now_ns), true);
                }
            }
            (Some(down), _) if down.since_ns < now_ns => self.look_again(down, now_ns),
            _ => {}
        }
        Ok(())
    }

    /// It went down between `from_ns` and `now_ns`: packets are certainly missing only from then on.
    fn begin_downtime(&mut self, (from_ns, now_ns): (u64, u64), needs_carrier: bool) {
        self.counts.went_down((from_ns, now_ns), self.socket.interface().is_err());
        self.carrier.forget();
        self.down = Some(Down { since_ns: now_ns, is_written: false, needs_carrier, up_ns: None, shown_ns: now_ns });
    }

    fn look_again(&mut self, mut down: Down, now_ns: u64) {
        let is_up = |state: LinkState| state.is_up && (state.has_carrier || !down.needs_carrier);
        match self.socket.state().map(is_up) {
            Ok(true) => match down.up_ns {
                Some(up_ns) if now_ns.saturating_sub(up_ns) > BEHIND_NS => self.up_again(down, up_ns),
                up_ns => self.down = Some(Down { up_ns: up_ns.or(Some(now_ns)), ..down }),
            },
            Ok(false) => {
                if now_ns.saturating_sub(down.since_ns) > REMOVAL_NS {
                    self.write_down(&mut down);
                }
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
            self.counts.was_down();
            // Where no packet came before, the file begins here.
            self.last_ns = if self.last_ns == 0 { down.since_ns } else { self.last_ns };
            let from = self.blocks.len();
            section::down(&mut self.blocks, down.since_ns);
            self.save(from);
        }
    }
}
