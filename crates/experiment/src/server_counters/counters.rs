//! Counts of a server, and their growth.

use std::collections::BTreeMap;

use plimsoll_report::findings::calls::ServerCounter;

/// The counters by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters(BTreeMap<String, Counter>);

/// How often it has counted, how long all that took, s, and how much of it was waiting, s, where the server says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counter {
    count: u64,
    time_s: Option<f64>,
    waiting_s: Option<f64>,
}

impl Counters {
    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a counter's count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.0.entry(name.to_owned()).or_default().count = count;
    }

    /// Adds the total time of the counted operations, s.
    pub fn time(&mut self, name: &str, seconds: f64) {
        self.0.entry(name.to_owned()).or_default().time_s = Some(seconds);
    }

    /// Adds the part of this time in which they waited, s.
    pub fn waiting(&mut self, name: &str, seconds: f64) {
        self.0.entry(name.to_owned()).or_default().waiting_s = Some(seconds);
    }

    /// The counts since `before`; a counter that went back is unknown.
    pub fn since(&self, before: &Self) -> Vec<ServerCounter> {
        let grown = |(name, counter): (&String, &Counter)| {
            let before = before.0.get(name).copied().unwrap_or_default();
            let count = counter.count.checked_sub(before.count).filter(|&count| count > 0)?;
            let mean =
                |now: Option<f64>, before: Option<f64>| now.map(|now| (now - before.unwrap_or(0.0)) / count as f64);
            // A server that counts and does not time leaves its times at 0.
            let mean_s = mean(counter.time_s, before.time_s).filter(|&mean| mean > 0.0);
            let waiting_mean_s =
                mean(counter.waiting_s, before.waiting_s).filter(|&mean| mean_s.is_some() && mean >= 0.0);
            Some(ServerCounter { name: name.clone(), count, mean_s, waiting_mean_s })
        };
        self.0.iter().filter_map(grown).collect()
    }
}
