//! Connections of captures that were analysed by themselves: each counts them from 0.

use super::Statistics;

impl Statistics {
    /// Behind the numbers of all connections that are mentioned.
    pub fn connections_end(&self) -> u32 {
        let listed = self.slowest().chain(self.unanswered()).map(|t| t.connection);
        let keys = self.breakdown.iter().flat_map(|breakdown| breakdown.connections());
        let all = listed.chain(keys).chain(self.channels.connections());
        all.max().map_or(0, |highest| highest.saturating_add(1))
    }

    /// Counts connections from another number than 0.
    pub fn renumber_connections(&mut self, from: u32) {
        let number = |connection: u32| connection.saturating_add(from);
        self.slowest.renumber(number);
        self.unanswered.renumber(number);
        self.channels = self.channels.renumbered(number);
        if let Some(breakdown) = &mut self.breakdown {
            *breakdown = breakdown.renumbered(number);
        }
    }
}
