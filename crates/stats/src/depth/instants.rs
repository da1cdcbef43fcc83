//! Instants of starts and ends, sorted as cheaply as they allow.

use serde::{Deserialize, Serialize};

use crate::state::{Reader, State, StateError, Writer};

/// How far from the end a time is inserted in its place; farther ones wait for the sort.
const NEAR: usize = 64;

/// Instants that come nearly in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Instants {
    /// Sorted, except before [`Instants::sort`] for those in `far`.
    pub(super) list: Vec<i64>,
    /// Instants that belong further back in the list, in any order.
    far: Vec<i64>,
}

impl Instants {
    /// Appends, or inserts not far from the end: at depths of some tens there is next to nothing to sort later.
    #[inline]
    pub(super) fn push(&mut self, time: i64) {
        if self.list.last().is_none_or(|&last| last <= time) {
            self.list.push(time);
        } else {
            self.put_in_place(time);
        }
    }

    fn put_in_place(&mut self, time: i64) {
        let end = self.list.len();
        let near = &self.list[end.saturating_sub(NEAR)..];
        if near.len() == NEAR && near.first().is_some_and(|&first| first > time) {
            self.far.push(time);
            return;
        }
        let later = near.iter().rev().take_while(|&&other| other > time).count();
        self.list.insert(end - later, time);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len() + self.far.len()
    }

    pub(super) fn extend(&mut self, other: &Instants) {
        self.far.extend(&other.list);
        self.far.extend(&other.far);
    }

    /// Sorts the out-of-place instants, which are few at usual depths, and merges them from the back.
    pub(super) fn sort(&mut self) {
        self.far.sort_unstable();
        let mut rest = self.list.len();
        let mut place = self.len();
        self.list.resize(place, 0);
        while let Some(&far) = self.far.last() {
            place -= 1;
            match rest.checked_sub(1).map(|last| (last, self.list[last])) {
                Some((last, time)) if time > far => (self.list[place], rest) = (time, last),
                _ => {
                    self.list[place] = far;
                    self.far.pop();
                }
            }
        }
    }
}

impl State for Instants {
    /// As differences, which are short: most come in order.
    fn put(&self, out: &mut Writer) {
        let mut all = self.clone();
        all.sort();
        all.list.len().put(out);
        let mut before = 0i64;
        for &instant in &all.list {
            instant.wrapping_sub(before).put(out);
            before = instant;
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut before = 0i64;
        let mut list = Vec::new();
        for _ in 0..from.length()? {
            before = before.wrapping_add(i64::take(from)?);
            list.push(before);
        }
        // Recordings of the past hold some that are not.
        list.sort_unstable();
        Ok(Self { list, far: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_are_there_sorted_however_they_came(
            batches in prop::collection::vec(prop::collection::vec((0i64..2_000, 0i64..500), 0..300), 1..4)
        ) {
            let (mut instants, mut other, mut expected) = (Instants::default(), Instants::default(), Vec::new());
            for batch in &batches {
                for (i, &(far, near)) in batch.iter().enumerate() {
                    // Most near the end, some anywhere.
                    let time = if far % 7 == 0 { far } else { i as i64 * 10 + near };
                    instants.push(time);
                    other.push(time + 3);
                    expected.extend([time, time + 3]);
                }
                instants.sort();
                prop_assert!(instants.list.is_sorted());
            }
            instants.extend(&other);
            prop_assert_eq!(instants.len(), expected.len());
            instants.sort();
            expected.sort_unstable();
            prop_assert_eq!(&instants.list, &expected);
        }
    }
}
