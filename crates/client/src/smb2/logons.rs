//! The identities that the server gave the clients, by account: it may make a guest of any of them.

use std::collections::BTreeMap;

/// The identity that the server gave a client. The later ones are worse: of several logons of an account, the worst one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogonIdentity {
    /// The user of the account.
    User,
    /// Nobody: an anonymous logon.
    Anonymous,
    /// The server's guest account, in place of the user.
    Guest,
}

/// Successful logons by account: its place in [`super::SmbOptions::accounts`]. There are at most as many entries as accounts.
#[derive(Debug, Default)]
pub struct Logons {
    all: BTreeMap<u32, LogonIdentity>,
    recent: BTreeMap<u32, LogonIdentity>,
}

impl Logons {
    /// Adds a successful logon.
    pub fn add(&mut self, account: u32, identity: LogonIdentity) {
        for logons in [&mut self.all, &mut self.recent] {
            let worst = logons.entry(account).or_insert(identity);
            *worst = identity.max(*worst);
        }
    }

    /// All logons so far.
    #[must_use]
    pub fn all(&self) -> &BTreeMap<u32, LogonIdentity> {
        &self.all
    }

    /// The logons since the last call.
    #[must_use]
    pub fn take_recent(&mut self) -> BTreeMap<u32, LogonIdentity> {
        std::mem::take(&mut self.recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_logon_of_an_account_counts() {
        let mut logons = Logons::default();
        for (account, identity) in [(1, LogonIdentity::Guest), (2, LogonIdentity::User), (1, LogonIdentity::User)] {
            logons.add(account, identity);
        }
        let both = BTreeMap::from([(1, LogonIdentity::Guest), (2, LogonIdentity::User)]);
        assert_eq!((logons.take_recent(), logons.take_recent()), (both.clone(), BTreeMap::new()));
        logons.add(1, LogonIdentity::User);
        assert_eq!(logons.take_recent(), BTreeMap::from([(1, LogonIdentity::User)]));
        assert_eq!(*logons.all(), both);
    }
}
