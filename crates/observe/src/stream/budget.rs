//! Memory for segments behind holes, which all streams share.

use serde::{Deserialize, Serialize};

/// Bytes that all streams together hold back beyond the usual of each stream, at most.
const BYTES_MAX: u64 = 32 << 20;

/// The memory that streams have reserved beyond their usual.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HoldBudget {
    reserved: u64,
}

impl HoldBudget {
    /// Reserves these bytes; false if there are not as many.
    pub fn reserve(&mut self, bytes: u64) -> bool {
        let reserved = self.reserved.saturating_add(bytes);
        let is_granted = reserved <= BYTES_MAX;
        if is_granted {
            self.reserved = reserved;
        }
        is_granted
    }

    /// These bytes are free again.
    pub fn give_back(&mut self, bytes: u64) {
        self.reserved = self.reserved.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_granted_than_there_is() {
        let mut budget = HoldBudget::default();
        assert!(budget.reserve(BYTES_MAX - 1) && !budget.reserve(2) && budget.reserve(1) && !budget.reserve(1));
        budget.give_back(5);
        assert!(!budget.reserve(6) && budget.reserve(5));
    }
}
