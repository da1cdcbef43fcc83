//! Where transactions go.

use crate::{Names, Transaction};

/// Takes transactions in the order in which they were finished.
///
/// A sink that can fail (a file) keeps its first error and tells it when it is finished, so that the hot path has
/// no error branch.
pub trait Sink {
    /// Takes one transaction; `names` resolves its symbols.
    fn transaction(&mut self, transaction: &Transaction, names: &Names);
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        (**self).transaction(transaction, names);
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        (**self).transaction(transaction, names);
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.0.transaction(transaction, names);
        self.1.transaction(transaction, names);
    }
}

impl<S: Sink> Sink for Option<S> {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if let Some(sink) = self {
            sink.transaction(transaction, names);
        }
    }
}

impl Sink for Vec<Transaction> {
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.push(transaction.clone());
    }
}
