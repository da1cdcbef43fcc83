//! Transactions with their names, to compare.

use plimsoll_model::{Names, Transaction};
use plimsoll_observe::Observed;

fn named<'n>(t: &Transaction, names: &'n Names) -> [Option<&'n str>; 4] {
    [t.share, t.path, t.user, t.asked.second_path].map(|symbol| names.text(symbol))
}

/// A transaction as bytes, which are quicker to compare than text.
pub(crate) fn row(transaction: &Transaction, names: &Names) -> Vec<u8> {
    postcard::to_stdvec(&(transaction, named(transaction, names))).unwrap()
}

/// All transactions as bytes.
pub(crate) fn rows(observed: &Observed<Vec<Transaction>>) -> Vec<Vec<u8>> {
    observed.sink.iter().map(|transaction| row(transaction, &observed.names)).collect()
}

/// A transaction as text, for a test that fails.
pub(crate) fn text(observed: &Observed<Vec<Transaction>>, at: usize) -> String {
    observed.sink.get(at).map(|t| format!("{t:?} {:?}", named(t, &observed.names))).unwrap_or_default()
}
