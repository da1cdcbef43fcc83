//! Names of hosts, as the traffic tells them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Where a name comes from, the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HostNameFrom {
    /// A client asked for `\\NAME\share` there: an alias, perhaps.
    Share,
    /// The host's own name in an NTLM logon.
    Logon,
    /// An answer of DNS or of NetBIOS' name service.
    Answer,
}

/// One name per address: the first of the surest origin.
///
/// Machines behind one address that say different names of themselves leave it without a name: a wrong one is worse.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostNames {
    /// `None` as a name: sources disagree.
    known: BTreeMap<IpAddr, (HostNameFrom, Option<Box<str>>)>,
}

impl HostNames {
    /// More hosts than that are not named: their addresses may be forged.
    pub const MOST: usize = 65_536;

    /// Notes the name of `ip`. Ignores texts that are not host names, especially addresses.
    pub fn learn(&mut self, ip: IpAddr, name: &str, from: HostNameFrom) {
        let name = name.trim_end_matches('.');
        if !is_name(name) {
            return;
        }
        let full = self.known.len() >= Self::MOST;
        match self.known.get_mut(&ip) {
            Some(known) if known.0 > from => {}
            Some((known_from, known)) if *known_from == from => {
                let differs = known.as_deref().is_some_and(|known| !known.eq_ignore_ascii_case(name));
                // An address may have several names in DNS, all of them correct.
                if differs && from != HostNameFrom::Answer {
                    *known = None;
                }
            }
            None if full => {}
            _ => drop(self.known.insert(ip, (from, Some(name.into())))),
        }
    }

    /// The name of an address.
    pub fn name(&self, ip: IpAddr) -> Option<&str> {
        self.known.get(&ip)?.1.as_deref()
    }
}

/// Letters, digits, hyphens, dots and underscores, as hosts have them, and no address.
fn is_name(name: &str) -> bool {
    let usual = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (1..=253).contains(&name.len())
        && name.chars().all(usual)
        && name.contains(char::is_alphabetic)
        && name.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn the_surest_origin_names_a_host() {
        let mut hosts = HostNames::default();
        hosts.learn(ip(1), "alias", HostNameFrom::Share);
        hosts.learn(ip(1), "FILER", HostNameFrom::Logon);
        hosts.learn(ip(1), "filer.example.", HostNameFrom::Answer);
        hosts.learn(ip(1), "FILER", HostNameFrom::Logon);
        hosts.learn(ip(1), "www.example", HostNameFrom::Answer);
        assert_eq!((hosts.name(ip(1)), hosts.name(ip(2))), (Some("filer.example"), None));
    }

    #[test]
    fn machines_behind_one_address_have_no_name() {
        let mut hosts = HostNames::default();
        for name in ["PC1", "pc1", "PC2", "PC1"] {
            hosts.learn(ip(1), name, HostNameFrom::Logon);
        }
        assert_eq!(hosts.name(ip(1)), None);
    }

    #[test]
    fn what_is_no_name_is_not_noted() {
        let mut hosts = HostNames::default();
        for name in ["", "10.0.0.1", "::1", "a b", "<script>", "\u{1b}[31m", "42", &"x".repeat(254)] {
            hosts.learn(ip(1), name, HostNameFrom::Answer);
            assert_eq!(hosts.name(ip(1)), None, "{name:?}");
        }
        hosts.learn(ip(1), "büro-3", HostNameFrom::Answer);
        assert_eq!(hosts.name(ip(1)), Some("büro-3"));
    }

    #[test]
    fn forged_addresses_are_bounded() {
        let mut hosts = HostNames::default();
        for number in 0..=u32::try_from(HostNames::MOST).unwrap() {
            hosts.learn(IpAddr::V4(number.into()), "a", HostNameFrom::Answer);
        }
        assert_eq!(hosts.known.len(), HostNames::MOST);
    }
}
