//! A server's own counters, before and after a phase.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_report::findings::calls::ServerCounter;

use super::{ganesha, samba};

/// How often each counter has counted, and how long all that took, s, where it is timed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters(BTreeMap<String, (u64, Option<f64>)>);

/// A server with counters.
#[derive(Clone, Debug)]
pub enum CounterSource {
    /// Samba, by its smb.conf.
    Samba(PathBuf),
    /// Ganesha, by its D-Bus: `system` or an address.
    Ganesha(String),
}

impl CounterSource {
    /// The counts so far.
    ///
    /// # Errors
    /// The server does not count, or cannot be asked.
    pub fn read(&self) -> anyhow::Result<Counters> {
        match self {
            Self::Samba(configuration) => samba::settled(configuration),
            Self::Ganesha(bus) => ganesha::read(bus),
        }
    }
}

impl Counters {
    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a counter's count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.0.entry(name.to_owned()).or_default().0 = count;
    }

    /// Adds the total time of the counted operations, s.
    pub fn time(&mut self, name: &str, seconds: f64) {
        self.0.entry(name.to_owned()).or_default().1 = Some(seconds);
    }

    /// The counts since `before`; a counter that went back is unknown.
    pub fn since(&self, before: &Self) -> Vec<ServerCounter> {
        let grown = |(name, (count, time)): (&String, &(u64, Option<f64>))| {
            let (count_before, time_before) = before.0.get(name).copied().unwrap_or_default();
            let count = count.checked_sub(count_before).filter(|&count| count > 0)?;
            // A server that counts and does not time leaves its times at 0.
            let time = time.map(|time| time - time_before.unwrap_or(0.0)).filter(|&time| time > 0.0);
            Some(ServerCounter { name: name.clone(), count, mean_s: time.map(|time| time / count as f64) })
        };
        self.0.iter().filter_map(grown).collect()
    }
}
