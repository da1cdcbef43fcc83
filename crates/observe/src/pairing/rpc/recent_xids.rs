//! Xids seen lately, to tell a second request or answer from a first one.

use serde::{Deserialize, Serialize};

/// Xids in a table: a power of two.
const TABLE: usize = 256;
/// Up to this number of xids no table is needed. Most connections have fewer: a call of portmap or MOUNT, and then the end.
const FEW: usize = 16;

/// Xids seen lately; 0 is not remembered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RecentXids {
    Few(Vec<u32>),
    /// Each at its own slot, from which a later one drives it out.
    Many(#[serde(with = "steps")] Box<[u32; TABLE]>),
}

impl Default for RecentXids {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl RecentXids {
    /// Whether it is remembered.
    #[inline]
    pub(super) fn has(&self, xid: u32) -> bool {
        xid != 0
            && match self {
                Self::Many(table) => table[slot(xid)] == xid,
                Self::Few(few) => !few.is_empty() && few.contains(&xid),
            }
    }

    /// Remembers it.
    #[inline]
    pub(super) fn add(&mut self, xid: u32) {
        match self {
            Self::Many(table) => table[slot(xid)] = xid,
            Self::Few(_) => self.add_to_few(xid),
        }
    }

    #[cold]
    fn add_to_few(&mut self, xid: u32) {
        let Self::Few(few) = self else { return };
        if few.len() < FEW {
            return few.push(xid);
        }
        let mut table = Box::new([0; TABLE]);
        few.iter().for_each(|&old| table[slot(old)] = old);
        table[slot(xid)] = xid;
        *self = Self::Many(table);
    }

    /// Forgets it; whether it was remembered.
    #[inline]
    pub(super) fn forget(&mut self, xid: u32) -> bool {
        let had = self.has(xid);
        if had {
            match self {
                Self::Few(few) => few.retain(|&old| old != xid),
                Self::Many(table) => table[slot(xid)] = 0,
            }
        }
        had
    }
}

/// Spread over the slots whichever byte the client counts in (some count in the highest).
#[inline]
fn slot(xid: u32) -> usize {
    (xid.wrapping_mul(0x9e37_79b1) >> 24) as usize % TABLE
}

/// A table goes as the steps between its xids in order, which are small where clients count, in the lowest byte or in the highest. The
/// slots follow from the xids.
mod steps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{TABLE, slot};

    /// Whether the bytes of the xids are swapped, and the steps.
    type Steps = (bool, Vec<u32>);

    fn steps(table: &[u32; TABLE], swapped: bool) -> Steps {
        let xids = table.iter().filter(|&&xid| xid != 0);
        let mut xids: Vec<u32> = xids.map(|&xid| if swapped { xid.swap_bytes() } else { xid }).collect();
        xids.sort_unstable();
        let mut before = 0;
        xids.iter_mut().for_each(|xid| *xid -= std::mem::replace(&mut before, *xid));
        (swapped, xids)
    }

    pub(super) fn serialize<S: Serializer>(table: &[u32; TABLE], to: S) -> Result<S::Ok, S::Error> {
        let bits = |(_, steps): &Steps| steps.iter().map(|step| u32::BITS - step.leading_zeros()).sum::<u32>();
        let (plain, swapped) = (steps(table, false), steps(table, true));
        let least = if bits(&swapped) < bits(&plain) { swapped } else { plain };
        least.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<[u32; TABLE]>, D::Error> {
        let (swapped, steps) = Steps::deserialize(from)?;
        let mut table = Box::new([0; TABLE]);
        let mut place = 0_u32;
        for step in steps {
            place = place.wrapping_add(step);
            let xid = if swapped { place.swap_bytes() } else { place };
            table[slot(xid)] = xid;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_and_what_is_forgotten_is_not() {
        for step in [1, 0x0100_0000] {
            let mut recent_xids = RecentXids::default();
            for index in 1..=200u32 {
                let xid = index.wrapping_mul(step);
                assert!(!recent_xids.has(xid) || xid == 0);
                recent_xids.add(xid);
                assert_eq!(recent_xids.has(xid), xid != 0, "{xid:#x}");
                assert!(index <= FEW as u32 || matches!(recent_xids, RecentXids::Many(_)));
            }
            assert!((1..=200u32).filter(|index| recent_xids.has(index.wrapping_mul(step))).count() > 100);
            assert!(recent_xids.forget(200u32.wrapping_mul(step)));
            assert!(!recent_xids.forget(200u32.wrapping_mul(step)));
            let packed = postcard::to_stdvec(&recent_xids).unwrap();
            assert!(packed.len() < 300, "{} bytes", packed.len());
            let unpacked: RecentXids = postcard::from_bytes(&packed).unwrap();
            let (RecentXids::Many(table), RecentXids::Many(other)) = (recent_xids, unpacked) else { panic!("few") };
            assert_eq!(table, other);
        }
    }

    #[test]
    fn a_few_are_forgotten_one_by_one() {
        let mut recent_xids = RecentXids::default();
        (1..=5).for_each(|xid| recent_xids.add(xid));
        assert!(recent_xids.forget(3) && !recent_xids.forget(3) && !recent_xids.forget(0) && recent_xids.has(5));
    }
}
