//! How much memory a connection's buffer keeps.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A buffer stays large after this many large contents, without [`LITTLE`] small ones in between.
const MUCH: u8 = 4;
/// After this many small contents in a row, the buffer gives its memory back: the connection may be idle from now on.
const LITTLE: u8 = 2;
/// Bytes that all buffers of the process together keep beyond what idle ones keep: a connection that waits after large contents looks like a
/// busy one.
const BUDGET: usize = 64 << 20;
/// How many they keep now.
static BEYOND: AtomicUsize = AtomicUsize::new(0);

/// Decides how much memory a buffer keeps when it becomes empty. A connection that always sends or receives much needs the memory again at
/// once. Others keep little, because they may be idle from now on.
#[derive(Debug, Default)]
pub(crate) struct BufferMemory {
    /// How often it held much, without little in between.
    much: u8,
    /// How often in a row it held little.
    little: u8,
    /// Its part of [`BEYOND`].
    beyond: usize,
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
        let wanted = if self.much < MUCH { 0 } else { buffer.capacity().min(busy).saturating_sub(idle) };
        if wanted != self.beyond {
            self.release();
            if BEYOND.fetch_add(wanted, Relaxed) + wanted <= BUDGET {
                self.beyond = wanted;
            } else {
                BEYOND.fetch_sub(wanted, Relaxed);
            }
        }
        buffer.shrink_to(if self.beyond > 0 { busy } else { idle });
    }

    fn release(&mut self) {
        BEYOND.fetch_sub(std::mem::take(&mut self.beyond), Relaxed);
    }
}

impl Drop for BufferMemory {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Both tests use the budget of the process.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn memory_stays_only_with_a_buffer_that_is_large_again_and_again() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

    #[test]
    fn all_buffers_together_keep_a_bounded_amount() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffers: Vec<(BufferMemory, Vec<u8>)> = Vec::new();
        for _ in 0..BUDGET / (4 << 20) + 4 {
            let (mut memory, mut buffer) = (BufferMemory::default(), Vec::new());
            for _ in 0..=MUCH {
                buffer.resize(4 << 20, 0);
                memory.empty(&mut buffer, 1_000, 4 << 20);
            }
            buffers.push((memory, buffer));
        }
        let kept: usize = buffers.iter().map(|(_, buffer)| buffer.capacity()).sum();
        assert!(kept > BUDGET / 2 && kept <= BUDGET + buffers.len() * 1_000, "{kept}");
        drop(buffers);
        assert!(BEYOND.load(Relaxed) < BUDGET / 2, "given back");
    }
}
