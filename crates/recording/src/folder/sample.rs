//! Which transactions get a row.

use plimsoll_model::Transaction;

use super::TransactionPolicy;

/// A sample keeps one in this number.
const SAMPLE: u64 = 64;

/// Which transactions get a row: a choice that depends on the transaction and a seed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// 0 for none, 1 for all.
    one_in: u64,
    seed: u64,
}

impl Sample {
    /// No transaction.
    pub const NONE: Self = Self { one_in: 0, seed: 0 };
    /// Every transaction.
    pub const ALL: Self = Self { one_in: 1, seed: 0 };

    /// One of 64, the seed says which.
    pub fn seeded(seed: u64) -> Self {
        Self { one_in: SAMPLE, seed }
    }

    /// Whether a transaction gets a row.
    #[inline]
    pub fn keeps(&self, t: &Transaction) -> bool {
        match self.one_in {
            0 => false,
            1 => true,
            one_in => {
                let begun = t.timeline.request_first.unwrap_or_default().cast_unsigned();
                let of = self.seed ^ begun ^ t.id.unwrap_or_default().rotate_left(24) ^ u64::from(t.connection) << 40;
                mixed(of).is_multiple_of(one_in)
            }
        }
    }

    /// As the manifest says it.
    pub fn policy(&self) -> TransactionPolicy {
        let (which, rule) = match self.one_in {
            0 => ("none", "no transaction has a row"),
            1 => ("all", "every transaction has a row"),
            _ => (
                "sample",
                "a transaction has a row if SplitMix64 of (seed xor request_first_ns xor (id rotated left by 24 bits) xor (connection \
                 shifted left by 40 bits)) is a multiple of one_in",
            ),
        };
        TransactionPolicy { which: which.to_owned(), one_in: self.one_in, seed: self.seed, rule: rule.to_owned() }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(value: u64) -> u64 {
    let z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_rule_do_not_select_the_sample() {
        let policy = Sample::seeded(7).policy();
        assert_eq!(TransactionPolicy { rule: "other words".to_owned(), ..policy.clone() }, policy);
        assert_ne!(TransactionPolicy { seed: policy.seed + 1, ..policy.clone() }, policy);
        assert_ne!(TransactionPolicy { one_in: policy.one_in + 1, ..policy.clone() }, policy);
    }
}
