//! Memory for long messages that are kept whole.

use serde::{Deserialize, Serialize};

use super::Framer;

/// Bytes of the message under way that each stream may keep in any case.
const USUAL: usize = 2 << 20;
/// Bytes that all streams together keep beyond these, at most: the messages of dozens of clients that each write 8 MiB in a compound.
const ALL_MAX: usize = 256 << 20;

/// The bytes of long messages that all streams keep.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LongMessages {
    kept: usize,
}

impl Framer {
    /// Whether it keeps, or has kept, more than the usual of a message.
    #[inline]
    pub fn keeps_much(&self) -> bool {
        self.counted > 0 || self.message.buffer.len() > USUAL
    }

    /// Brings the count of all streams up to date. If they keep too much, no more of this message is kept, as if the snap length had cut it.
    #[cold]
    pub fn count_kept(&mut self, all: &mut LongMessages) {
        let now = self.message.buffer.len().saturating_sub(USUAL);
        self.recount(now, all);
        self.message.head_closed |= now > 0 && all.kept > ALL_MAX;
    }

    /// The stream has ended.
    pub fn release_kept(&mut self, all: &mut LongMessages) {
        self.recount(0, all);
    }

    fn recount(&mut self, now: usize, all: &mut LongMessages) {
        all.kept = all.kept.saturating_sub(self.counted) + now;
        self.counted = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_streams_keep_is_bounded() {
        let (mut all, mut framer) = (LongMessages { kept: ALL_MAX - 1 }, Framer::default());
        framer.message.buffer = vec![0; USUAL + 1];
        assert!(framer.keeps_much());
        framer.count_kept(&mut all);
        assert_eq!((all.kept, framer.message.head_closed), (ALL_MAX, false));
        framer.message.buffer.push(0);
        framer.count_kept(&mut all);
        assert!(framer.message.head_closed);
        framer.message.buffer = Vec::new();
        framer.count_kept(&mut all);
        assert_eq!((all.kept, framer.keeps_much()), (ALL_MAX - 1, false));
        framer.message.buffer = vec![0; USUAL + 7];
        framer.count_kept(&mut all);
        framer.release_kept(&mut all);
        assert_eq!(all.kept, ALL_MAX - 1);
    }
}
