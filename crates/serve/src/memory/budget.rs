//! How much memory the files may take, and how much they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Trouble;

/// A bound that everything of one file system shares.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicU64::new(0) })
    }

    /// Bytes in all.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that are left.
    pub(crate) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Takes `bytes` bytes, or none.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Result<Share, Trouble> {
        let mut share = Share { budget: Arc::clone(self), bytes: 0 };
        share.grow(bytes)?;
        Ok(share)
    }
}

/// A file's part of the budget; returned when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Share {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the whole budget.
    pub(crate) fn limit(&self) -> u64 {
        self.budget.limit
    }

    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), Trouble> {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.budget.limit);
        let taken = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map_err(|_| Trouble::NoSpace)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(crate) fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_comes_back_and_too_much_is_refused_whole() {
        let budget = Budget::new(100);
        let mut share = budget.take(60).unwrap();
        assert_eq!(share.grow(41), Err(Trouble::NoSpace));
        assert_eq!(share.grow(u64::MAX), Err(Trouble::NoSpace));
        assert_eq!(budget.free(), 40);
        share.shrink(10);
        assert_eq!((share.bytes(), budget.free()), (50, 50));
        drop(share);
        assert_eq!((budget.free(), budget.limit()), (100, 100));
    }
}
