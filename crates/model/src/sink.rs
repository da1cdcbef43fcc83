//! Where transactions go.

use crate::{Names, Transaction};

/// Takes transactions in the order in which they were finished.
///
/// A sink that can fail (a file) keeps its first error and tells it when it is finished, so that the hot path has
/// no error branch.
pub trait Sink {
    /// The capture begins at this time, ns since the Unix epoch. Given once, before the first transaction.
    fn begin(&mut self, _start_ns: i64) {}

    /// Takes one transaction; `names` resolves its symbols.
    fn transaction(&mut self, transaction: &Transaction, names: &Names);
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        (**self).transaction(transaction, names);
    }

    fn begin(&mut self, start_ns: i64) {
        (**self).begin(start_ns);
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        (**self).transaction(transaction, names);
    }

    fn begin(&mut self, start_ns: i64) {
        (**self).begin(start_ns);
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.0.transaction(transaction, names);
        self.1.transaction(transaction, names);
    }

    fn begin(&mut self, start_ns: i64) {
        self.0.begin(start_ns);
        self.1.begin(start_ns);
    }
}

impl<S: Sink> Sink for Option<S> {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if let Some(sink) = self {
            sink.transaction(transaction, names);
        }
    }

    fn begin(&mut self, start_ns: i64) {
        if let Some(sink) = self {
            sink.begin(start_ns);
        }
    }
}

/// Takes nothing.
impl Sink for () {
    fn transaction(&mut self, _: &Transaction, _: &Names) {}
}

impl Sink for Vec<Transaction> {
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.push(transaction.clone());
    }
}
