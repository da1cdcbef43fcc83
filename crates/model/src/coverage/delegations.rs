//! Delegations of NFS 4, by client and server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::add_fields;

/// Delegations of a client's files at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegations {
    /// The client.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
    /// Read delegations in captured responses to OPEN.
    pub granted_read: u64,
    /// Write delegations.
    pub granted_write: u64,
    /// Responses to OPEN without a delegation although the client asked for one.
    pub refused: u64,
    /// Delegations that the server recalled, whether or not it was captured that it granted them.
    pub recalled: u64,
    /// Further recalls of these.
    pub repeated: u64,
    /// Successful returns, recalled or not.
    pub returned: u64,
    /// Of these, returns of delegations that were recalled before.
    pub after_recall: u64,
    /// Sum of the times from the recall to the return, ns.
    pub after_recall_ns: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// Recalled delegations of which no DELEGRETURN was captured.
    pub unreturned: u64,
    /// The same of delegations of which the client said at the last recall that it does not hold them.
    pub not_held: u64,
    /// Recalled delegations that could not be followed further: their returns are unknown, and another recall of them counts again.
    pub untracked: u64,
    /// Requests or responses between the two that may be about delegations were not captured or could not be read: all numbers are lower
    /// bounds, and `unreturned` and `not_held` are unknown.
    pub is_partial: bool,
}

/// Sums over pairs of client and server for which there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegationsLeftOut {
    /// Granted delegations.
    pub granted: u64,
    /// Responses to OPEN without the delegation that the client asked for.
    pub refused: u64,
    /// Recalled delegations.
    pub recalled: u64,
    /// Returned delegations.
    pub returned: u64,
    /// One of the pairs is partial or has untracked delegations: all numbers are lower bounds.
    pub is_partial: bool,
}

impl DelegationsLeftOut {
    /// Adds a pair.
    pub fn add_pair(&mut self, pair: &Delegations) {
        self.granted += pair.granted_read + pair.granted_write;
        self.refused += pair.refused;
        // Each untracked delegation may have been counted twice.
        self.recalled += pair.recalled.saturating_sub(pair.untracked);
        self.returned += pair.returned;
        self.is_partial |= pair.is_partial || pair.untracked > 0;
    }

    /// Adds further ones.
    pub fn add(&mut self, other: &Self) {
        add_fields!(self, other; granted, refused, recalled, returned);
        self.is_partial |= other.is_partial;
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Pairs of client and server that are partial and have no row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialPairs {
    /// The pairs, sorted; at most [`super::Coverage::PARTIAL_PAIRS`].
    pub pairs: Vec<(IpAddr, IpAddr)>,
    /// There are more of them: any pair without a row may be partial.
    pub all: bool,
}

impl PartialPairs {
    /// Whether a pair without a row is partial, or may be.
    fn has(&self, pair: &Delegations) -> bool {
        self.all || self.pairs.contains(&(pair.client, pair.server))
    }

    /// Whether no pair is partial.
    pub fn is_empty(&self) -> bool {
        !self.all && self.pairs.is_empty()
    }

    /// Adds those of another capture, without the pairs that have rows now.
    fn add(&mut self, other: &Self, rows: &[Delegations]) {
        self.pairs.extend_from_slice(&other.pairs);
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.pairs.retain(|pair| !rows.iter().any(|row| (row.client, row.server) == *pair));
        self.all |= other.all || self.pairs.len() > super::Coverage::PARTIAL_PAIRS;
        self.pairs.truncate(super::Coverage::PARTIAL_PAIRS);
    }
}

impl super::Coverage {
    /// Adds the delegations of another capture. A pair without a row in one of the captures is partial if it is so there, or may be among
    /// the pairs that the capture left out.
    pub(super) fn add_delegations(&mut self, other: &Self) {
        let may_lack =
            |of: &Self, pair: &Delegations| !of.delegations_left_out.is_empty() || of.delegations_partial.has(pair);
        let mut rows = std::mem::take(&mut self.delegations);
        for one in &mut rows {
            match other.delegations.iter().find(|theirs| theirs.is_same_pair(one)) {
                Some(theirs) => one.add(theirs),
                None => one.is_partial |= may_lack(other, one),
            }
        }
        let own = rows.len();
        for theirs in &other.delegations {
            if !rows[..own].iter().any(|one| one.is_same_pair(theirs)) {
                rows.push(Delegations { is_partial: theirs.is_partial || may_lack(self, theirs), ..*theirs });
            }
        }
        self.delegations_partial.add(&other.delegations_partial, &rows);
        self.delegations_left_out.add(&other.delegations_left_out);
        Delegations::limit(&mut rows, &mut self.delegations_left_out);
        self.delegations = rows;
        if !self.delegations_left_out.is_empty() {
            self.delegations_left_out.is_partial |= !self.delegations_partial.is_empty();
        }
    }
}

impl Delegations {
    /// Of a client and a server, none yet.
    #[must_use]
    pub fn of(client: IpAddr, server: IpAddr) -> Self {
        Self {
            client,
            server,
            granted_read: 0,
            granted_write: 0,
            refused: 0,
            recalled: 0,
            repeated: 0,
            returned: 0,
            after_recall: 0,
            after_recall_ns: 0,
            longest_ns: 0,
            unreturned: 0,
            not_held: 0,
            untracked: 0,
            is_partial: false,
        }
    }

    /// Sorts pairs, those with most recalls first, and moves those beyond the limit to the sums of pairs without a row.
    pub fn limit(all: &mut Vec<Self>, left_out: &mut DelegationsLeftOut) {
        all.sort_by_key(|one| {
            let granted = one.granted_read + one.granted_write;
            (std::cmp::Reverse((one.recalled, granted)), one.client, one.server)
        });
        let further = all.split_off(all.len().min(super::Coverage::DELEGATIONS));
        further.iter().for_each(|one| left_out.add_pair(one));
    }

    fn is_same_pair(&self, other: &Self) -> bool {
        (self.client, self.server) == (other.client, other.server)
    }

    /// Adds others of the same client and server.
    pub fn add(&mut self, other: &Self) {
        add_fields!(self, other; granted_read, granted_write, refused, recalled, repeated, returned, after_recall);
        add_fields!(self, other; after_recall_ns, unreturned, not_held, untracked);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.is_partial |= other.is_partial;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coverage;

    /// A pair with this client, and this number of recalls.
    fn pair(client: u32, recalled: u64) -> Delegations {
        Delegations { recalled, ..Delegations::of(std::net::Ipv4Addr::from(client).into(), [10, 0, 0, 9].into()) }
    }

    fn of(delegations: Vec<Delegations>) -> Coverage {
        Coverage { delegations, ..Coverage::default() }
    }

    #[test]
    fn captures_add_up_by_client_and_server_in_any_order() {
        let one = of(vec![pair(1, 5), pair(2, 1)]);
        let two = of(vec![Delegations { is_partial: true, ..pair(2, 9) }, pair(3, 7)]);
        let expected = [Delegations { is_partial: true, ..pair(2, 10) }, pair(3, 7), pair(1, 5)];
        for (first, second) in [(&one, &two), (&two, &one)] {
            let mut sum = first.clone();
            sum.add(second);
            assert_eq!(
                (&sum.delegations[..], sum.delegations_left_out),
                (&expected[..], DelegationsLeftOut::default())
            );
        }
    }

    /// Coverage in which this pair is partial and has no row.
    fn partial(client: u32) -> Coverage {
        let pair = pair(client, 0);
        let delegations_partial = PartialPairs { pairs: vec![(pair.client, pair.server)], all: false };
        Coverage { delegations_partial, ..Coverage::default() }
    }

    #[test]
    fn a_pair_that_is_partial_without_a_row_in_another_capture_is_partial() {
        let whole = of(vec![pair(1, 5), pair(2, 4)]);
        let expected = [Delegations { is_partial: true, ..pair(1, 5) }, pair(2, 4)];
        for (first, second) in [(&whole, &partial(1)), (&partial(1), &whole)] {
            let mut sum = first.clone();
            sum.add(second);
            assert_eq!((&sum.delegations[..], sum.delegations_partial), (&expected[..], PartialPairs::default()));
        }
        let all = PartialPairs { all: true, ..PartialPairs::default() };
        let mut sum = whole.clone();
        sum.add(&Coverage { delegations_partial: all, ..of(vec![pair(2, 1)]) });
        assert_eq!(sum.delegations, [Delegations { is_partial: true, ..pair(1, 5) }, pair(2, 5)]);
    }

    #[test]
    fn partial_pairs_without_a_row_are_bounded() {
        let mut sum = partial(1);
        (2..=Coverage::PARTIAL_PAIRS as u32).for_each(|client| {
            sum.delegations_partial.pairs.push((pair(client, 0).client, pair(client, 0).server));
        });
        sum.add(&partial(1));
        assert_eq!(
            (sum.delegations_partial.pairs.len(), sum.delegations_partial.all),
            (Coverage::PARTIAL_PAIRS, false)
        );
        sum.add(&partial(0));
        assert_eq!((sum.delegations_partial.pairs.len(), sum.delegations_partial.all), (Coverage::PARTIAL_PAIRS, true));
        sum.add(&of(vec![pair(u32::MAX, 1)]));
        assert!(sum.delegations[0].is_partial, "it may be one that did not fit");
    }

    #[test]
    fn sums_of_pairs_without_a_row_are_lower_bounds_if_one_of_them_is_unknown() {
        let left_out = |pairs: &[Delegations]| {
            let mut left_out = DelegationsLeftOut::default();
            pairs.iter().for_each(|pair| left_out.add_pair(pair));
            left_out
        };
        let known = left_out(&[pair(1, 2)]);
        assert_eq!((known.recalled, known.is_partial), (2, false));
        let partial_one = left_out(&[Delegations { is_partial: true, ..pair(1, 2) }, pair(2, 1)]);
        assert_eq!((partial_one.recalled, partial_one.is_partial), (3, true));
        let untracked = left_out(&[Delegations { untracked: 2, ..pair(1, 5) }]);
        assert_eq!((untracked.recalled, untracked.is_partial), (3, true), "two may have been recalled twice");
        let with = |delegations_left_out| Coverage { delegations_left_out, ..Coverage::default() };
        for (one, other, expected) in [
            (with(known), with(known), false),
            (with(known), with(partial_one), true),
            (with(partial_one), with(known), true),
            (with(known), partial(3), true),
            (partial(3), with(known), true),
        ] {
            let mut sum = one.clone();
            sum.add(&other);
            assert_eq!(sum.delegations_left_out.is_partial, expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_pair_that_another_capture_may_have_left_out_is_partial() {
        let most = Coverage::DELEGATIONS as u32;
        let many = of((0..most).map(|client| pair(client, 2)).collect());
        let few = of(vec![pair(0, 1), pair(most, 1), pair(most + 1, 3)]);
        let mut sum = many.clone();
        sum.add(&few);
        let kept: Vec<_> = sum.delegations.iter().map(|pair| pair.recalled).collect();
        assert_eq!((kept.len(), kept[0], kept[1], kept[2]), (Coverage::DELEGATIONS, 3, 3, 2));
        assert_eq!(sum.delegations_left_out, DelegationsLeftOut { recalled: 3, ..DelegationsLeftOut::default() });
        assert!(sum.delegations.iter().all(|pair| !pair.is_partial), "each has all of its recalls");
        sum.add(&few);
        let partial =
            |client: u32| sum.delegations.iter().find(|one| one.client == pair(client, 0).client).unwrap().is_partial;
        assert!(!partial(0) && !partial(1), "the second capture left out none");
        sum.add(&of(vec![pair(most, 9)]));
        let back = sum.delegations.iter().find(|one| one.client == pair(most, 0).client).unwrap();
        assert!(back.is_partial, "its earlier recalls are among those left out");
    }
}
