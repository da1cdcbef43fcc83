//! Counts of recovered sessions and state, over all clients of a run.

use plimsoll_model::add_fields;

/// Counts of recovered sessions and state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recoveries {
    /// Lost connections that were replaced for the same session.
    pub connections: u64,
    /// New sessions that replaced a lost session, with the same state.
    pub sessions: u64,
    /// Number of times that the server had lost a client's state: it restarted, or the lease expired.
    pub restarts: u64,
    /// Connections that were bound to a session recovered by another connection of the client.
    pub bound_again: u64,
    /// The longest time from a loss until session and state were recovered, ns.
    pub recovery_ns: u64,
    /// The longest time from the last response before a loss until operations succeeded again and the server refused none in its grace
    /// period, ns.
    pub outage_ns: u64,
    /// Opens that were reclaimed after a restart, opened anew, or lost.
    pub opens: Reclaims,
    /// Locks that were reclaimed after a restart, locked anew, or lost.
    pub locks: Reclaims,
    /// Requests that were sent again with the same slot and sequence ID, each once.
    pub resent: u64,
    /// Requests without a response that were sent again in another session.
    pub asked_anew: u64,
    /// Of these, requests that the server had executed the first time.
    pub done_before: u64,
    /// Uncommitted writes that were repeated after a restart.
    pub rewritten: u64,
}

/// Results for opens or locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaims {
    /// Reclaimed in the grace period.
    pub reclaimed: u64,
    /// Opened or locked again as new.
    pub anew: u64,
    /// Lost.
    pub lost: u64,
}

impl Recoveries {
    /// Adds the counts of another client.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { connections, sessions, restarts, opens, locks, resent, asked_anew, done_before, .. } = other;
        self.connections += connections;
        self.sessions += sessions;
        self.restarts += restarts;
        self.bound_again += other.bound_again;
        self.recovery_ns = self.recovery_ns.max(other.recovery_ns);
        self.outage_ns = self.outage_ns.max(other.outage_ns);
        self.opens.add(opens);
        self.locks.add(locks);
        self.resent += resent;
        self.asked_anew += asked_anew;
        self.done_before += done_before;
        self.rewritten += other.rewritten;
    }

    /// The counts as facts for the report.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let Self { connections, sessions, restarts, resent, asked_anew, done_before, .. } = *self;
        // A session that was not recovered has an outage, too.
        if connections + sessions + restarts + self.bound_again + self.outage_ns == 0 {
            return Vec::new();
        }
        let [outage_s, recovery_s] = [self.outage_ns, self.recovery_ns].map(|ns| ns as f64 / 1e9);
        let mut facts = vec![format!(
            "recovered sessions: {sessions} replaced by a new session, {restarts} restored after the server lost the client's state; longest \
            outage {outage_s:.2} s, longest recovery of a session and its state {recovery_s:.2} s"
        )];
        let same = (connections > 0)
            .then(|| format!("{connections} replaced by another connection of the same session (NFS 4.0: client ID)"));
        let joined = (self.bound_again > 0)
            .then(|| format!("{} joined a session that another connection had recovered", self.bound_again));
        let replaced: Vec<String> = same.into_iter().chain(joined).collect();
        if !replaced.is_empty() {
            facts.push(format!("recovered connections: {}", replaced.join(", ")));
        }
        for (what, Reclaims { reclaimed, anew, lost }) in [("opens", self.opens), ("locks", self.locks)] {
            if reclaimed + anew + lost > 0 {
                facts.push(format!("recovered {what}: {reclaimed} reclaimed, {anew} requested again, {lost} lost"));
            }
        }
        if resent + asked_anew > 0 {
            facts.push(format!(
                "recovered requests: {resent} sent again in the same slot, {asked_anew} sent again in a new session, or without a session in \
                NFS 4.0 (the server had already executed {done_before} of these requests)"
            ));
        }
        if self.rewritten > 0 {
            facts.push(format!("recovered writes: {} uncommitted writes repeated", self.rewritten));
        }
        facts
    }
}

impl Reclaims {
    /// Counts an open or lock that was reclaimed, or requested again as new.
    pub(super) fn count(&mut self, anew: bool) {
        *(if anew { &mut self.anew } else { &mut self.reclaimed }) += 1;
    }

    fn add(&mut self, other: &Self) {
        add_fields!(self, other; reclaimed, anew, lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_nothing_and_sums_are_of_all() {
        assert!(Recoveries::default().facts().is_empty());
        let opens = Reclaims { reclaimed: 3, anew: 2, lost: 1 };
        let one = Recoveries { restarts: 1, outage_ns: 1_234_000_000, opens, resent: 4, ..Recoveries::default() };
        let mut all =
            Recoveries { sessions: 2, connections: 8, bound_again: 3, outage_ns: 7, recovery_ns: 8_000_000, ..one };
        all.add(&one);
        // A lost connection is no session.
        let connections = Recoveries { connections: 8, ..Recoveries::default() }.facts();
        assert!(
            connections[0].starts_with("recovered sessions: 0 replaced by a new session, 0 restored"),
            "{connections:?}"
        );
        assert_eq!(
            connections[1],
            "recovered connections: 8 replaced by another connection of the same session (NFS 4.0: client ID)"
        );
        let said = [
            "recovered sessions: 2 replaced by a new session, 2 restored after the server lost the client's state; longest outage 1.23 s, \
            longest recovery of a session and its state 0.01 s",
            "recovered connections: 8 replaced by another connection of the same session (NFS 4.0: client ID), 3 joined a session that \
            another connection had recovered",
            "recovered opens: 6 reclaimed, 4 requested again, 2 lost",
            "recovered requests: 8 sent again in the same slot, 0 sent again in a new session, or without a session in NFS 4.0 (the \
            server had already executed 0 of these requests)",
        ];
        assert_eq!(all.facts(), said);
    }
}
