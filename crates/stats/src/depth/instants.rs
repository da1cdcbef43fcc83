//! Instants of starts and ends, sorted as cheaply as they allow.

use crate::state::{Reader, State, StateError, Writer};

/// How far from the end a time is inserted in its place; farther ones wait for the sort.
const NEAR: usize = 16;

/// Instants that come nearly in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Instants {
    pub(super) list: Vec<i64>,
    pub(super) unsorted: bool,
}

impl Instants {
    /// Appends, or inserts not far from the end: at depths of some ten the list stays sorted and costs no sorting
    /// later.
    #[inline]
    pub(super) fn push(&mut self, time: i64) {
        let is_last = self.list.last().is_none_or(|&last| last <= time);
        self.list.push(time);
        if !is_last {
            self.put_in_place(time);
        }
    }

    /// Moves the last one, `time`, to its place.
    fn put_in_place(&mut self, time: i64) {
        let end = self.list.len() - 1;
        let near = end.saturating_sub(NEAR);
        let later = self.list[near..end].iter().rev().take_while(|&&other| other > time).count();
        if later < NEAR {
            self.list[end - later..].rotate_right(1);
        } else {
            self.unsorted = true;
        }
    }

    pub(super) fn extend(&mut self, other: &Instants) {
        self.list.extend(&other.list);
        self.unsorted = true;
    }

    pub(super) fn sort(&mut self) {
        if self.unsorted {
            // A stable sort: it uses that the list is sorted but for its newest part.
            self.list.sort();
            self.unsorted = false;
        }
    }
}

impl State for Instants {
    /// As differences, which are short: most come in order.
    fn put(&self, out: &mut Writer) {
        self.list.len().put(out);
        let mut before = 0i64;
        for &instant in &self.list {
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
        let unsorted = !list.is_sorted();
        Ok(Self { list, unsorted })
    }
}
