//! Lost packets on their way into the stream.

use std::collections::VecDeque;

use super::section::Lost;

/// Losses of the section that is written.
#[derive(Debug, Default)]
pub(super) struct Losses {
    total: Lost,
    /// The part of `total` that the section contains.
    written: Lost,
    /// Losses of the kernel to report after packets that are still unread: the number of ring blocks before the loss, and the packets.
    ahead: VecDeque<(usize, u64)>,
    /// Packets that the kernel lost behind the last one.
    hole: u64,
}

impl Losses {
    /// Adds losses of the kernel behind `blocks` blocks of the ring: the ring was full until then.
    pub(super) fn of_kernel(&mut self, blocks: usize, packets: u64) {
        match self.ahead.back_mut() {
            _ if packets == 0 => {}
            Some((before, last)) if *before >= blocks => *last += packets,
            _ => self.ahead.push_back((blocks, packets)),
        }
    }

    /// Adds losses of the interface. They are not in the order of the ring's packets: only a clock says when they were.
    pub(super) fn of_interface(&mut self, packets: u64) {
        self.total.interface += packets;
    }

    /// Another block has been read.
    pub(super) fn pass_block(&mut self) {
        self.ahead.iter_mut().for_each(|(blocks, _)| *blocks = blocks.saturating_sub(1));
        if let Some(&(0, packets)) = self.ahead.front() {
            self.ahead.pop_front();
            self.reach(packets);
        }
    }

    /// Passes all waiting losses: no more blocks come.
    pub(super) fn pass_all(&mut self) {
        while let Some((_, packets)) = self.ahead.pop_front() {
            self.reach(packets);
        }
    }

    fn reach(&mut self, packets: u64) {
        self.total.kernel += packets;
        self.hole += packets;
    }

    /// The packets that the kernel lost behind the last one, since the last call.
    pub(super) fn take_hole(&mut self) -> u64 {
        std::mem::take(&mut self.hole)
    }

    /// The losses since the section began, if it does not contain them yet.
    pub(super) fn unwritten(&mut self) -> Option<Lost> {
        (std::mem::replace(&mut self.written, self.total) != self.total).then_some(self.total)
    }

    /// The losses since the section began, which ends here.
    pub(super) fn end_section(&mut self) -> Lost {
        self.written = Lost::default();
        std::mem::take(&mut self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_stay_behind_the_packets_that_were_before_them() {
        let mut losses = Losses::default();
        losses.of_kernel(2, 10);
        losses.pass_block();
        assert_eq!(losses.unwritten(), None);
        // The ring is full again, and again.
        losses.of_kernel(2, 3);
        losses.of_kernel(2, 4);
        losses.pass_block();
        assert_eq!((losses.unwritten(), losses.take_hole()), (Some(Lost { kernel: 10, interface: 0 }), 10));
        losses.pass_block();
        assert_eq!((losses.unwritten(), losses.take_hole()), (Some(Lost { kernel: 17, interface: 0 }), 7));
        assert_eq!((losses.unwritten(), losses.take_hole()), (None, 0));
        losses.of_kernel(5, 1);
        losses.pass_all();
        assert_eq!(losses.end_section(), Lost { kernel: 18, interface: 0 });
    }
}
