//! Counts of read delegations, over all clients of a run.

use plimsoll_model::add_fields;

/// Counts of read delegations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelegationCounts {
    /// Delegations that the server granted and the client held.
    pub granted: u64,
    /// Opens without a request, because the client held a delegation of the file.
    pub local_opens: u64,
    /// Delegations that the server recalled.
    pub recalled: u64,
    /// Delegations that the server took back.
    pub returned: u64,
    /// Of these, recalled ones, with the time from the recall to the server's answer to DELEGRETURN, ns: number, sum, maximum.
    pub recall_ns: (u64, u64, u64),
    /// Delegations whose return the server refused, because it had revoked them or lost the file.
    pub revoked: u64,
    /// Delegations that were lost with the server's state: it restarted, or the lease expired.
    pub lost: u64,
    /// Delegations whose return failed or got no answer, or whose connection ended before.
    pub unreturned: u64,
    /// Recalls of delegations that the client did not hold.
    pub unknown_recalls: u64,
}

impl DelegationCounts {
    /// Adds the counts of another client.
    pub(super) fn add(&mut self, other: &Self) {
        let (count, sum, longest) = other.recall_ns;
        add_fields!(self, other;
            granted, local_opens, recalled, returned, revoked, lost, unreturned, unknown_recalls
        );
        self.recall_ns.0 += count;
        self.recall_ns.1 = self.recall_ns.1.saturating_add(sum);
        self.recall_ns.2 = self.recall_ns.2.max(longest);
    }

    /// Counts a delegation that was returned after a recall.
    pub(super) fn returned_after(&mut self, took: i64) {
        let took = u64::try_from(took).unwrap_or(0);
        self.recall_ns = (self.recall_ns.0 + 1, self.recall_ns.1.saturating_add(took), self.recall_ns.2.max(took));
    }

    /// The counts as facts for the report.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let Self { granted, local_opens, recalled, returned, revoked, lost, unreturned, unknown_recalls, .. } = *self;
        let mut facts = vec![format!(
            "delegations: {granted} granted, {recalled} recalled, {returned} returned ({local_opens} opens used a delegation and needed no request)"
        )];
        if let (count @ 1.., sum, longest) = self.recall_ns {
            let [mean_ms, longest_ms] = [sum as f64 / count as f64, longest as f64].map(|ns| ns / 1e6);
            facts.push(format!(
                "delegation recalls: {count} answered by DELEGRETURN (time from the recall to the server's response: mean {mean_ms:.2} ms, \
                max {longest_ms:.2} ms)"
            ));
        }
        if revoked + lost + unreturned > 0 {
            facts.push(format!(
                "delegations not returned: {revoked} because the server refused the return, {lost} because the server restarted or the lease \
                expired, {unreturned} because the return failed or the connection ended first"
            ));
        }
        if unknown_recalls > 0 {
            facts.push(format!(
                "delegation recalls refused: {unknown_recalls} (the client did not hold the delegation)"
            ));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_have_the_sums_and_what_did_not_happen_is_left_out() {
        let none = DelegationCounts::default();
        assert_eq!(
            none.facts(),
            ["delegations: 0 granted, 0 recalled, 0 returned (0 opens used a delegation and needed no request)"]
        );
        let mut one = DelegationCounts { granted: 3, local_opens: 9, recalled: 2, returned: 2, revoked: 1, ..none };
        one.returned_after(1_000_000);
        one.returned_after(3_000_000);
        let mut all = DelegationCounts { lost: 1, unreturned: 2, unknown_recalls: 4, ..one };
        all.add(&one);
        let said = [
            "delegations: 6 granted, 4 recalled, 4 returned (18 opens used a delegation and needed no request)",
            "delegation recalls: 4 answered by DELEGRETURN (time from the recall to the server's response: mean 2.00 ms, max 3.00 ms)",
            "delegations not returned: 2 because the server refused the return, 1 because the server restarted or the lease \
            expired, 2 because the return failed or the connection ended first",
            "delegation recalls refused: 4 (the client did not hold the delegation)",
        ];
        assert_eq!(all.facts(), said);
    }
}
