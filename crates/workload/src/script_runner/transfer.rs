//! Reads and writes of a step: where the next request begins, and how long it is.

use rand::Rng as _;

use super::ScriptRunner;
use super::iteration::Remaining;
use super::next_action::NextAction;
use crate::distribution::Pick;
use crate::program::{Amount, Transfer};
use crate::text::{At, Subject};

impl ScriptRunner {
    pub(super) fn next_read(&mut self, transfer: &Transfer) -> Option<NextAction> {
        let file = match self.opened() {
            Ok(key) => key,
            Err(first) => return Some(first),
        };
        let size = self.expected_size().unwrap_or(0);
        let offset = self.place((transfer, false), size, size)?;
        let keep = self.work.verify > 0.0 && self.rng.random::<f64>() < self.work.verify;
        let keep = keep && !self.iteration.as_ref().is_some_and(|iteration| iteration.own.has_holes());
        let expected = size.saturating_sub(offset).min(u64::from(transfer.size)) as u32;
        let (key, length, plus) = (self.content_key(), transfer.size, transfer.plus);
        Some(NextAction::Read { file, key, offset, length, expected, keep, plus })
    }

    pub(super) fn next_write(&mut self, transfer: &Transfer) -> Option<NextAction> {
        let file = match self.opened() {
            Ok(key) => key,
            Err(first) => return Some(first),
        };
        let (size, own) = (self.expected_size().unwrap_or(0), self.iteration.as_ref()?.on == Subject::Own);
        // Files of the set keep their size; the slot's own may grow.
        let end = match transfer.amount {
            Amount::Count(_) if own => u64::MAX,
            _ => size,
        };
        let offset = self.place((transfer, true), size, end)?;
        let end = self.iteration.as_ref()?.left?.end;
        let length = end.saturating_sub(offset).min(u64::from(transfer.size)) as u32;
        Some(NextAction::Write { file, key: self.content_key(), offset, length, stable: transfer.stable })
    }

    /// Offset of the next request of a transfer in a file of `size` bytes; `None` when the transfer is done. `end`: the end of a transfer
    /// without a total.
    fn place(&mut self, (transfer, writes): (&Transfer, bool), size: u64, end: u64) -> Option<u64> {
        let iteration = self.iteration.as_mut()?;
        let left = match iteration.left {
            Some(left) => left,
            None => {
                let kind = self.work.iterations.get(iteration.kind)?;
                let (requests, end) = match transfer.amount {
                    Amount::Count(count) => (u64::from(count), end),
                    Amount::Whole => (u64::MAX, end),
                    Amount::Total(which) => (u64::MAX, kind.scale.of(kind.totals.get(which)?.draw(&mut self.rng))),
                };
                let (block, every) = (u64::from(transfer.size), u64::from(transfer.every.max(1)));
                let (first, skip) = (u64::from(self.slot) % every * block, (every - 1) * block);
                let sequence = (iteration.file, writes);
                let next = self.places.get(sequence).filter(|_| transfer.goes_on).unwrap_or(first);
                let round = transfer.goes_on.then_some((sequence, first));
                Remaining { requests, next, end, skip, round }
            }
        }
        .wrapped();
        iteration.left = Some(left);
        if left.requests == 0 {
            return None;
        }
        let blocks = size.div_ceil(u64::from(transfer.size));
        let pick = match transfer.at {
            At::Sequential if left.next >= left.end => return None,
            At::Sequential => {
                if let Remaining { round: Some((sequence, _)), next, .. } = left {
                    // Should it fail, the next iteration goes on behind it.
                    self.places.set(sequence, left.after(transfer.size).next.max(next));
                }
                return Some(left.next);
            }
            At::Random => Pick::Uniform,
            At::Zipf(exponent) => Pick::Zipf(exponent),
        };
        // An empty file has no place to read or write at.
        (blocks > 0).then(|| pick.draw(blocks, &mut self.rng) * u64::from(transfer.size))
    }

    /// A request of a sequence that goes on from iteration to iteration is done: the next one begins behind it.
    pub(super) fn remember(&mut self) {
        if let Some(Remaining { round: Some((sequence, _)), next, .. }) =
            self.iteration.as_ref().and_then(|iteration| iteration.left)
        {
            self.places.set(sequence, next);
        }
    }

    fn content_key(&self) -> u64 {
        match &self.iteration {
            Some(iteration) if iteration.on == Subject::File => iteration.file,
            _ => self.own_content(),
        }
    }
}
