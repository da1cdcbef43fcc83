//! Iterations that are dealt: as many cards of a kind as its weight says.
//!
//! Drawing by weight gives shares that scatter: of a thousand draws of a 34 % kind, one run in three has 355 or more, or 325
//! or fewer. A slot that goes through a deck again and again has the exact shares after each round, wherever the round begins.

use rand::seq::SliceRandom as _;

use super::program::IterationKind;
use crate::{Rng, seed_of};

/// Maximum number of cards: each slot has a separate order of them.
const MOST: u64 = 1000;

/// The cards of a workload: kinds of iterations, each as often as its weight.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    cards: Vec<u16>,
}

impl Deck {
    /// The smallest one that has every kind in its share.
    pub(super) fn new(iterations: &[IterationKind]) -> Result<Self, String> {
        let weights = || iterations.iter().map(|iteration| u64::from(iteration.weight));
        let unit = weights().fold(0, greatest_common_divisor).max(1);
        let all = weights().sum::<u64>() / unit;
        if all > MOST {
            return Err(format!(
                "the sum of the weights, divided by their greatest common divisor, is {all}; with order = \"shuffled\" the limit is \
                 {MOST}: use smaller weights"
            ));
        }
        let of_a_kind = |(kind, weight): (u16, u64)| std::iter::repeat_n(kind, (weight / unit) as usize);
        // A workload has far fewer kinds of iterations than 65,536.
        Ok(Self { cards: (0..).zip(weights()).flat_map(of_a_kind).collect() })
    }

    /// A slot's order of the cards.
    pub(super) fn shuffled(&self, seed: u64, client_index: u32, slot: u32) -> Vec<u16> {
        let mut cards = self.cards.clone();
        // A separate seed from those of iterations, which are numbered from 1.
        cards.shuffle(&mut Rng::new(seed_of(seed ^ SHUFFLE, client_index, slot)));
        cards
    }
}

/// Seed of the order.
const SHUFFLE: u64 = 0x7368_7566_666c_6521;

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
