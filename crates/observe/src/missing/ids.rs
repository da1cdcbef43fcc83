//! Ids that count up: SMB2 message ids, SMB1 MIDs, and RPC xids of clients that count them.

use serde::{Deserialize, Serialize};

use super::{Blocks, Estimate};

/// A client whose first captured request has a higher id did not count from 0: no client sends that many requests on one connection.
const MOST_BEFORE: u64 = 1 << 40;

/// Minimum fraction of the ids in a stretch without loss that must have been seen; with fewer, the client does not count its ids.
const DENSE: f64 = 0.9;
/// Maximum distance between consecutive ids: more than the number of outstanding requests of any client.
const JUMP_MAX: u64 = 4_096;
/// Ids seen in stretches without loss before a client is known to count.
const SEEN_MIN: u64 = 8;

/// The ids of one direction's requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ids {
    /// The id before, as it came.
    last: u64,
    /// Its place in an endless row of ids.
    place: i64,
    /// Ids that losses hid.
    gaps: u64,
    /// Lowest and one past the highest place since the last loss, and the ids seen between them.
    stretch: (i64, i64),
    stretch_seen: u64,
    /// Sums over the stretches before it, and how many they are.
    spans: u64,
    seen: u64,
    stretches: u64,
    losses: u64,
    /// The most frequent difference between consecutive ids, and its majority over other differences (votes).
    unit: (i64, u32),
    /// Losses when the last id came.
    breaks: u32,
    /// How many ids each request took.
    widths: Blocks,
    any: bool,
    first: Option<u64>,
    /// The id of the first request there is, where ids begin there.
    origin: u64,
    /// Whether xids count in the highest byte: their bytes are swapped.
    swapped: Option<bool>,
}

impl Ids {
    /// Takes an RPC call's xid; `breaks` counts the losses in its direction.
    #[inline]
    pub(crate) fn xid(&mut self, xid: u32, breaks: u32) {
        let step = |id: u32| i64::from(id.wrapping_sub(self.last as u32) as i32);
        let swapped = match self.swapped {
            Some(swapped) => swapped,
            None if !self.any => false,
            None => {
                let other = i64::from(xid.swap_bytes().wrapping_sub((self.last as u32).swap_bytes()) as i32);
                let swapped = other.abs() < step(xid).abs();
                self.swapped = Some(swapped);
                if swapped {
                    self.last = u64::from((self.last as u32).swap_bytes());
                }
                swapped
            }
        };
        let id = if swapped { xid.swap_bytes() } else { xid };
        let step = i64::from(id.wrapping_sub(self.last as u32) as i32);
        self.take(u64::from(id), step, 1, breaks);
    }

    /// Takes an SMB1 request's MID: MIDs wrap around, and clients count in steps of 1, 16 or 64.
    #[inline]
    pub(crate) fn mid(&mut self, mid: u16, breaks: u32) {
        let step = mid.wrapping_sub(self.last as u16);
        if self.any {
            match &mut self.unit {
                (unit, votes) if *unit == i64::from(step) => *votes = votes.saturating_add(1),
                (unit, votes @ 0) => (*unit, *votes) = (i64::from(step), 1),
                (_, votes) => *votes -= 1,
            }
        }
        // Behind a loss ids have gone on; elsewhere some may be in disorder.
        let step = if breaks == self.breaks { i64::from(step as i16) } else { i64::from(step) };
        self.take(u64::from(mid), step, 1, breaks);
    }

    /// Requests begin with this id: another protocol used the lower ones.
    pub(crate) fn begin_at(&mut self, id: u64) {
        self.origin = id;
    }

    /// Requests before the first, of a protocol in which ids begin at 0: requests may take several ids.
    pub(crate) fn before_first(&self) -> Option<Estimate> {
        let first = self.first?.saturating_sub(self.origin);
        if first > MOST_BEFORE {
            return None;
        }
        if self.widths.mean() == Some(1.0) {
            return Some(Estimate { operations: first as f64, error: 0.0 });
        }
        self.widths.messages_in(first, 1)
    }

    /// Stretches that ended without a loss: ids that did not go on where they were.
    fn jumps(&self) -> u64 {
        self.stretches.saturating_sub(self.losses)
    }

    /// Number of requests after which ids wrap around, if they do.
    pub(crate) fn cycle(&self) -> Option<f64> {
        (self.unit.0 > 0).then(|| 65_536.0 / self.unit.0 as f64)
    }

    /// Takes an SMB2 request's message id, and how many ids it takes.
    #[inline]
    pub(crate) fn message_id(&mut self, id: u64, charge: u16, breaks: u32) {
        let charge = charge.max(1);
        self.widths.add(u64::from(charge));
        if !self.any {
            self.first = Some(id);
        }
        let step = id.wrapping_sub(self.last) as i64;
        self.take(id, step, i64::from(charge), breaks);
    }

    #[inline]
    fn take(&mut self, id: u64, step: i64, width: i64, breaks: u32) {
        self.last = id;
        if !self.any {
            self.any = true;
            self.stretch = (0, width);
            (self.stretch_seen, self.breaks) = (width as u64, breaks);
            return;
        }
        self.place = self.place.saturating_add(step);
        let end = self.place.saturating_add(width);
        let is_lost = breaks != self.breaks;
        if !is_lost && step.unsigned_abs() <= JUMP_MAX {
            self.stretch = (self.stretch.0.min(self.place), self.stretch.1.max(end));
            self.stretch_seen += width as u64;
            return;
        }
        if is_lost {
            self.gaps = self.gaps.saturating_add(self.place.saturating_sub(self.stretch.1).max(0) as u64);
            self.losses += 1;
        }
        self.spans = self.spans.saturating_add(self.stretch.1.abs_diff(self.stretch.0));
        self.seen += self.stretch_seen;
        self.stretches += 1;
        self.stretch = (self.place, end);
        (self.stretch_seen, self.breaks) = (width as u64, breaks);
    }

    /// Number of requests in the gaps between stretches; `None` if the client does not count its ids. `unmarked`: losses leave no other
    /// trace (UDP), so every gap is a loss.
    pub(crate) fn missing(&self, unmarked: bool) -> Option<Estimate> {
        let (seen, stretches) = (self.seen + self.stretch_seen, self.stretches + 1);
        let unit = self.unit.0.max(1) as u64;
        let spans = self.spans.saturating_add(self.stretch.1.abs_diff(self.stretch.0));
        let spans = spans.saturating_sub(stretches) / unit + stretches;
        if !self.any || seen < SEEN_MIN {
            return None;
        }
        let density = (seen as f64 / spans as f64).min(1.0);
        // Between consecutive requests there are `unit` - 1 unused ids.
        let between = self.losses.saturating_mul(unit - 1);
        let gaps = if unmarked { spans.saturating_sub(seen) } else { self.gaps.saturating_sub(between) / unit };
        let counts =
            if unmarked { gaps <= seen && stretches * 8 <= seen } else { density >= DENSE && self.jumps() * 8 <= seen };
        if !counts {
            return None;
        }
        let of_widths = match self.widths.mean() {
            Some(_) => self.widths.messages_in(gaps, 1)?,
            None => Estimate { operations: gaps as f64, error: 0.0 },
        };
        if unmarked {
            return Some(of_widths);
        }
        let doubt = of_widths.operations * (1.0 - density);
        Some(Estimate { operations: of_widths.operations * density, error: of_widths.error.hypot(doubt) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xids_that_count_up_say_how_many_are_missing_whichever_byte_they_count_in() {
        for swap in [false, true] {
            let mut ids = Ids::default();
            for xid in (u32::MAX - 50..u32::MAX).chain(10..60) {
                let breaks = u32::from(xid < 1_000);
                ids.xid(if swap { xid.swap_bytes() } else { xid }, breaks);
            }
            assert_eq!(ids.missing(false), Some(Estimate { operations: 11.0, error: 0.0 }), "{swap}");
        }
    }

    #[test]
    fn xids_in_some_disorder_still_count() {
        let mut ids = Ids::default();
        for xid in (0..100u32).chain(200..300) {
            ids.xid(xid ^ 1, u32::from(xid >= 200));
        }
        let found = ids.missing(false).unwrap();
        assert!((found.operations - 100.0).abs() < 2.0, "{found:?}");
    }

    #[test]
    fn random_xids_say_nothing() {
        let mut ids = Ids::default();
        (0..100u32).for_each(|at| ids.xid(at.wrapping_mul(0x9e37_79b9), 0));
        assert_eq!(ids.missing(false), None);
        assert_eq!(ids.missing(true), None);
    }

    #[test]
    fn message_ids_that_are_as_far_apart_as_can_be_say_nothing() {
        let mut ids = Ids::default();
        (0..10u64).for_each(|at| ids.message_id(at << 63, 1, 0));
        assert_eq!((ids.missing(false), ids.missing(true)), (None, None));
    }

    /// Found by fuzzing: a connection whose beginning was captured, and a first id near the end of all.
    #[test]
    fn a_first_message_id_that_no_client_has_says_nothing() {
        let mut ids = Ids::default();
        ids.message_id(u64::MAX - 1, 1, 0);
        assert_eq!(ids.before_first(), None);
        let mut ids = Ids::default();
        (1_000..1_010).for_each(|at| ids.message_id(at, 1, 0));
        assert_eq!(ids.before_first(), Some(Estimate { operations: 1_000.0, error: 0.0 }));
    }

    #[test]
    fn mids_in_steps_of_64_come_round() {
        let mut ids = Ids::default();
        (900..1_000u32).for_each(|at| ids.mid((at * 64) as u16, 0));
        (1_100..1_200u32).for_each(|at| ids.mid((at * 64) as u16, 1));
        assert_eq!(
            (ids.missing(false), ids.cycle()),
            (Some(Estimate { operations: 100.0, error: 0.0 }), Some(1_024.0))
        );
    }

    #[test]
    fn message_ids_of_several_credits_count_requests() {
        let mut ids = Ids::default();
        (0..50u64).for_each(|at| ids.message_id(at * 16, 16, 0));
        (80..100u64).for_each(|at| ids.message_id(at * 16, 16, 1));
        assert_eq!(ids.missing(false).unwrap().operations, 30.0);
    }

    #[test]
    fn message_ids_of_several_credits_count_requests_before_the_first() {
        let (mut several, mut one) = (Ids::default(), Ids::default());
        (0..50u64).for_each(|at| several.message_id(480 + at * 16, 16, 1));
        (0..3u64).for_each(|at| one.message_id(480 + at, 1, 1));
        assert_eq!(several.before_first(), Some(Estimate { operations: 30.0, error: 0.0 }));
        assert_eq!(one.before_first(), Some(Estimate { operations: 480.0, error: 0.0 }));
        one.begin_at(1);
        assert_eq!(one.before_first(), Some(Estimate { operations: 479.0, error: 0.0 }));
    }
}
