//! How much memory a connection's buffer keeps.

/// Buffers that were large so often, without [`LITTLE`] in between, stay large.
const MUCH: u8 = 4;
/// After so many small contents in a row, the connection may be idle from now on.
const LITTLE: u8 = 2;

/// Decides how much memory a buffer keeps when it becomes empty. A connection that always sends or receives much needs the memory again at
/// once. Others keep little, because they may be idle from now on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferMemory {
    /// How often it held much, without little in between.
    much: u8,
    /// How often in a row it held little.
    little: u8,
}

impl BufferMemory {
    /// Empties a buffer. It keeps at most `idle` bytes of memory, or at most `busy` if it held more than `idle` again and again.
    pub(crate) fn empty(&mut self, buffer: &mut Vec<u8>, idle: usize, busy: usize) {
        if buffer.len() > idle {
            (self.much, self.little) = (self.much.saturating_add(1), 0);
        } else {
            self.little = self.little.saturating_add(1);
            self.much = if self.little < LITTLE { self.much } else { 0 };
        }
        buffer.clear();
        buffer.shrink_to(if self.much < MUCH { idle } else { busy });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_only_with_a_buffer_that_is_large_again_and_again() {
        let (mut memory, mut buffer) = (BufferMemory::default(), Vec::new());
        let mut hold = |bytes: usize| {
            buffer.resize(bytes, 0);
            memory.empty(&mut buffer, 1_000, 16_000);
            assert!(buffer.is_empty());
            buffer.capacity()
        };
        for _ in 1..MUCH {
            assert_eq!((hold(9_000), hold(100)), (1_000, 1_000), "an encrypted write, and the next request");
            assert_eq!(hold(100), 1_000);
        }
        let last = (0..MUCH).map(|_| hold(9_000)).last();
        assert!(last.is_some_and(|kept| (9_000..=16_000).contains(&kept)));
        assert!(hold(100_000) <= 16_000);
        assert!(hold(100) > 1_000, "one short request between long ones");
        assert_eq!(hold(100), 1_000);
    }
}
