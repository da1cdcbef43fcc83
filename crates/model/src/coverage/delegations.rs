//! Delegations of NFS 4, by client and server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

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
}

impl DelegationsLeftOut {
    /// Adds a pair.
    pub fn add_pair(&mut self, pair: &Delegations) {
        self.granted += pair.granted_read + pair.granted_write;
        self.refused += pair.refused;
        self.recalled += pair.recalled;
        self.returned += pair.returned;
    }

    /// Adds further ones.
    pub fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.refused += other.refused;
        self.recalled += other.recalled;
        self.returned += other.returned;
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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

    /// Adds the pairs of another capture. A pair that is in one of the captures only is partial if the other one left out pairs.
    pub(super) fn add_all(
        (mine, left_out): (&mut Vec<Self>, &mut DelegationsLeftOut),
        (theirs, left_out_there): (&[Self], &DelegationsLeftOut),
    ) {
        let is_same = |one: &Self, other: &Self| (one.client, one.server) == (other.client, other.server);
        for one in mine.iter_mut() {
            one.is_partial |= !left_out_there.is_empty() && !theirs.iter().any(|other| is_same(one, other));
        }
        for other in theirs {
            match mine.iter_mut().find(|one| is_same(one, other)) {
                Some(one) => one.add(other),
                None => mine.push(Self { is_partial: other.is_partial || !left_out.is_empty(), ..*other }),
            }
        }
        left_out.add(left_out_there);
        Self::limit(mine, left_out);
    }

    /// Adds others of the same client and server.
    pub fn add(&mut self, other: &Self) {
        self.granted_read += other.granted_read;
        self.granted_write += other.granted_write;
        self.refused += other.refused;
        self.recalled += other.recalled;
        self.repeated += other.repeated;
        self.returned += other.returned;
        self.after_recall += other.after_recall;
        self.after_recall_ns = self.after_recall_ns.saturating_add(other.after_recall_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.unreturned += other.unreturned;
        self.not_held += other.not_held;
        self.untracked += other.untracked;
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
