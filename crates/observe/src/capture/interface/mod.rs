//! Packets of a network interface, as they come.
//!
//! ```text
//! socket ─ filter in the kernel ─ ring of blocks ─ packets ─ pcapng ─┬─ Captures
//!                                                                    └─ a ring of files
//! ```
//!
//! The filter grows: the observer reports the services that portmappers name ([`InterfaceCounts::services`]).
//!
//! An interface is a stream of pcapng blocks, so everything behind it is what it is for a pipe from tcpdump, and the files that it stores
//! are, byte for byte, what was analysed. Packets that the kernel or the interface lost are in the stream, as statistics of the interface,
//! and so are the times in which the interface was down.
//!
//! Why not a crate: docs/decisions/0028-live-capture.md

mod block;
mod card;
mod carrier;
mod clock;
mod counts;
mod downtime;
mod error;
mod filter;
mod folder;
mod losses;
mod namespace;
mod opening;
mod ports;
mod rights;
mod ring;
mod section;
mod socket;
mod tcpdump;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use counts::InterfaceCounts;
pub use error::InterfaceError;
pub use filter::{FILE_SERVER_PORTS, MAX_PORTS};
pub use folder::SaveOptions;
pub use tcpdump::FilterError;

use super::LinkType;
use super::stop::{CHECK_INTERVAL, Live, StopReading};
use super::waiting::is_ready;
use card::Card;
use carrier::Carrier;
use clock::now_ns;
use downtime::Down;
use folder::Folder;
use losses::Losses;
use opening::{CaptureRequest, CaptureSocket};
use ports::PortFilter;
use ring::Ring;
use socket::PacketSocket;

/// Said once.
const DISK_FULL: &str = "--save: the disk is full: deleting the oldest saved files before they reach the limit";

/// Whether there is an interface of this name.
pub fn exists(name: &str) -> bool {
    socket::interface_index(name).is_ok()
}

/// Options of a capture.
#[derive(Clone, Debug)]
pub struct InterfaceOptions {
    /// The interface's name, e.g. eth0.
    pub name: String,
    /// The network namespace in which it is, if not in that of the calling thread: a name of `ip netns list`, or a path, which has a slash.
    pub namespace: Option<String>,
    /// Ports of file servers, beside [`FILE_SERVER_PORTS`].
    pub ports: Vec<u16>,
    /// An expression in tcpdump's language, which replaces the filter by ports.
    pub filter: Option<String>,
    /// Most bytes of a packet that are captured: [`MAX_PACKET_BYTES`](super::MAX_PACKET_BYTES) for all of them.
    pub snap_length: u32,
    /// Room for packets that were not read yet, in bytes.
    pub buffer_bytes: usize,
    /// Where packets are stored.
    pub save: Option<SaveOptions>,
}

/// An interface whose packets are captured.
#[derive(Debug)]
pub struct Interface {
    name: Box<str>,
    /// The name for people.
    label: Box<str>,
    link: LinkType,
    socket: PacketSocket,
    /// The filter, unless it is an expression.
    filter: Option<PortFilter>,
    ring: Ring,
    folder: Option<Folder>,
    counts: Arc<InterfaceCounts>,
    card: Card,
    losses: Losses,
    carrier: Carrier,
    /// The interface is down, or lost its carrier.
    down: Option<Down>,
    /// Blocks of pcapng; those before `given` were read.
    blocks: Vec<u8>,
    given: usize,
    /// Of the last packet.
    last_ns: u64,
    /// When the capture began, and when it was to end: later packets are not captured.
    began_ns: u64,
    asked_ns: u64,
    /// The interface was removed before the capture was to end.
    is_removed: bool,
    stop: StopReading,
    end: End,
}

/// State of the end of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// No packet gets in any more; the ring has some.
    Draining,
    Over,
}

impl Interface {
    /// Opens the interface, and gives up the rights that this took: all capabilities of this thread but that to write any file.
    ///
    /// # Errors
    /// Without the rights, without such an interface or network namespace, or where packets cannot be stored.
    pub fn open(options: InterfaceOptions) -> Result<Self, InterfaceError> {
        let InterfaceOptions { name, namespace, ports, filter, snap_length, buffer_bytes, save } = options;
        let failed = |source| InterfaceError::Failed { name: name.as_str().into(), source };
        let (within, filter) = (namespace.as_deref(), filter.as_deref());
        let request = CaptureRequest { name: &name, namespace: within, ports, filter, snap_length, buffer_bytes };
        let CaptureSocket { link, socket, ring, carrier, card, filter, program } = request.open()?;
        rights::drop_capabilities().map_err(failed)?;
        let mut head = Vec::new();
        section::begin(&mut head, &name, link, snap_length);
        let folder = save.map(|save| {
            let folder: Box<str> = save.folder.display().to_string().into();
            Folder::new(save, head.clone()).map_err(|source| InterfaceError::Save { folder, source })
        });
        let label = within.map_or_else(|| name.clone(), |within| format!("{name} in network namespace {within}"));
        let counts = Arc::new(InterfaceCounts::of(&label, filter.is_some()));
        card.what_is_unknown().into_iter().for_each(|text| counts.lacks_interface_drops(text));
        let folder = folder.transpose()?;
        let began_ns = now_ns();
        socket.filter(&program).map_err(failed)?;
        let (losses, stop) = (Losses::default(), StopReading::default());
        let (name, label) = (name.into(), label.into());
        Ok(Self {
            name,
            label,
            link,
            socket,
            filter,
            ring,
            folder,
            counts,
            card,
            losses,
            carrier,
            down: None,
            blocks: head,
            given: 0,
            last_ns: 0,
            began_ns,
            asked_ns: u64::MAX,
            is_removed: false,
            stop,
            end: End::Open,
        })
    }

    /// The counters, for another thread to read.
    pub fn counts(&self) -> Arc<InterfaceCounts> {
        Arc::clone(&self.counts)
    }

    /// The interface's name for people, with its network namespace if that is another.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the system reports a link now. Some drivers report none although packets come.
    pub fn has_link(&self) -> bool {
        self.socket.state().is_ok_and(|state| state.has_carrier)
    }

    /// Losses of the card are between two readings of its counters, wherever the packets of the ring are.
    fn look_at_card(&mut self, at_once: bool) {
        if !at_once && !self.card.is_due(Instant::now()) {
            return;
        }
        // After its removal another interface may have its name.
        let Ok(interface) = self.socket.interface() else { return };
        if let Some(renamed) = self.card.follow(interface) {
            self.counts.learned(renamed);
        }
        if let Some(loss) = self.card.look() {
            self.losses.of_interface(loss.packets);
            self.counts.lost_by_interface(loss);
        }
    }

    /// Ends the capture when `stop` is set.
    #[must_use]
    pub(super) fn until(self, stop: StopReading) -> Self {
        Self { stop, ..self }
    }

    /// Has the filter pass the packets of the services that portmappers named since the last call. The kernel exchanges the programs
    /// without losing a packet, but packets of a service that came before are lost.
    fn learn(&mut self) {
        let (Some(filter), Some(services)) = (&mut self.filter, self.counts.services()) else { return };
        let named = services.take();
        // The filter for the end of a capture must stay.
        if !named.is_empty() && self.end == End::Open && !self.stop.asked() {
            let changes = filter.add(&named, |program| self.socket.filter(program));
            changes.into_iter().for_each(|change| self.counts.learned(change));
        }
    }

    /// Whether there is something to read, after waiting for it a little.
    fn poll(&mut self, within: Duration) -> io::Result<bool> {
        self.learn();
        let ready = is_ready(&self.socket, within)?;
        if !ready {
            // No packet ends the hole.
            self.show_hole(now_ns());
            // A card that loses all packets has none for `take_block`.
            self.look_at_card(false);
            let from = self.blocks.len();
            self.write_losses();
            self.save(from);
            self.delete_old_files();
        }
        self.look_for_downtime(ready)?;
        Ok(ready || self.given < self.blocks.len())
    }

    /// Takes the next block of the ring, if there is one.
    fn take_block(&mut self) -> io::Result<bool> {
        self.learn();
        self.end_downtime();
        let Self { ring, folder, losses, blocks, name, link, socket, counts, last_ns, .. } = self;
        let Some(block) = ring.block() else { return Ok(false) };
        let mut unsaved = blocks.len();
        for packet in block::packets(block) {
            counts.lost_between(*last_ns, packet.time_ns, losses.take_hole());
            let is_full = |folder: &&mut Folder| folder.is_full(packet.time_ns, blocks.len() - unsaved);
            if let Some(folder) = folder.as_mut().filter(is_full).filter(|_| counts.may_save()) {
                counts.saved(folder.end(blocks, unsaved, (*last_ns, losses.end_section())));
                section::begin(blocks, name, *link, socket.snap_length());
                unsaved = blocks.len();
            }
            *last_ns = packet.time_ns;
            section::packet(blocks, &packet, socket.snap_length());
        }
        // Before the kernel has room again: so far, all losses were behind the blocks that are full now.
        self.look_for_losses()?;
        self.look_at_card(false);
        self.ring.release();
        self.losses.pass_block();
        self.write_losses();
        self.save(unsaved);
        Ok(true)
    }

    /// Losses of the kernel are reported after the packets that were in the ring when they were found, because the ring was full until
    /// then.
    fn look_for_losses(&mut self) -> io::Result<()> {
        let packets = self.counts.look(&self.socket)?;
        self.losses.of_kernel(self.ring.ready(), packets);
        Ok(())
    }

    /// Shows the packets that the kernel lost behind the last one, and before `to_ns`.
    fn show_hole(&mut self, to_ns: u64) {
        self.counts.lost_between(self.last_ns, to_ns, self.losses.take_hole());
    }

    /// A stream begins with its first packet: losses before it wait.
    fn write_losses(&mut self) {
        if self.last_ns > 0
            && let Some(lost) = self.losses.unwritten()
        {
            section::statistics(&mut self.blocks, self.last_ns, lost);
        }
    }

    /// Stores the blocks from `from` on.
    fn save(&mut self, from: usize) {
        if let Some(folder) = self.folder.as_mut().filter(|_| self.counts.may_save()) {
            self.counts.saved(folder.write(self.blocks.get(from..).unwrap_or_default(), self.last_ns));
            if folder.became_short() {
                self.counts.learned(DISK_FULL.to_owned());
            }
        }
    }

    /// Ends the capture step by step: first no packet gets in, then those in the ring are read.
    fn end_on(&mut self) -> io::Result<()> {
        if self.end == End::Open {
            // Before the filter: a response behind it is not captured, and nobody waits for it any longer.
            (self.asked_ns, self.is_removed) = (now_ns(), !self.stop.asked());
            self.socket.filter(&filter::nothing())?;
            self.end = End::Draining;
        } else if !self.poll(CHECK_INTERVAL)? || self.ring.block().is_none() {
            self.look_for_losses()?;
            self.look_at_card(true);
            self.end_with_downtime();
            let from = self.blocks.len();
            self.losses.pass_all();
            self.show_hole(self.last_ns);
            if self.last_ns > 0 {
                let span_ns = (self.began_ns, self.captured_until_ns());
                section::end(&mut self.blocks, span_ns, self.losses.end_section(), self.is_removed);
                self.save(from);
            }
            self.end = End::Over;
        }
        Ok(())
    }
}

impl Interface {
    /// Until when all packets were captured.
    fn captured_until_ns(&self) -> u64 {
        let down_ns = self.counts.down_since().map_or(u64::MAX, |ns| ns.unsigned_abs());
        self.asked_ns.min(down_ns).max(self.last_ns)
    }
}

impl Live for Interface {
    fn wait(&mut self, within: Duration) -> io::Result<bool> {
        let has_more = self.given < self.blocks.len() || self.end != End::Open || self.ring.block().is_some();
        Ok(has_more || self.stop.asked() || self.counts.is_gone() || self.poll(within)?)
    }
}

impl Read for Interface {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.given >= self.blocks.len() {
            (self.given, _) = (0, self.blocks.clear());
            if self.end == End::Over {
                return Ok(0);
            }
            if !self.take_block()? {
                if self.stop.asked() || self.counts.is_gone() {
                    self.end_on()?;
                } else {
                    self.poll(CHECK_INTERVAL)?;
                }
            }
        }
        let mut rest = self.blocks.get(self.given..).unwrap_or_default();
        let read = rest.read(room)?;
        self.given += read;
        Ok(read)
    }
}
