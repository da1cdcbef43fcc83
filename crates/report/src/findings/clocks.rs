//! Where the clocks of two sides stood.

use plimsoll_model::Vantage;

use super::{Findings, letter};

impl Findings {
    /// Whether its times are from the client's clock. They are longer than those of a capture.
    pub fn is_of_client(&self) -> bool {
        self.run.is_some() || self.source.vantage == Vantage::Client.label()
    }
}

/// How the clock of the side at `place` (from 1) differs from the baseline's, as a sentence; `None` if both are alike.
pub fn differing_clocks(baseline: &Findings, other: &Findings, place: usize) -> Option<String> {
    let (client, capture) = match [baseline, other].map(Findings::is_of_client) {
        [true, false] => (0, place),
        [false, true] => (place, 0),
        _ => return None,
    };
    let [client, capture] = [client, capture].map(letter);
    Some(format!("{client} was measured in the client, {capture} in a capture, where times are shorter"))
}
