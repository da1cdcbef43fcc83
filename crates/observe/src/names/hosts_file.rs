//! Names of hosts from a file like /etc/hosts.

use std::collections::HashMap;
use std::net::IpAddr;

/// The names of addresses, in the file's order.
#[derive(Clone, Debug, Default)]
pub struct HostsFile {
    names: HashMap<IpAddr, Vec<String>>,
}

impl HostsFile {
    /// Reads lines of an address and its names; `#` begins a comment.
    ///
    /// # Errors
    /// A line does not begin with an address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut hosts = Self::default();
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next() else { continue };
            // In fe80::1%eth0 the interface is not one of the capture's.
            let ip = address.split('%').next().and_then(|ip| ip.parse::<IpAddr>().ok());
            let ip = ip.ok_or_else(|| {
                format!("line {}: expected an IP address followed by host names, got {address:?}", number + 1)
            })?;
            let names = hosts.names.entry(ip).or_default();
            for name in words {
                if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                    names.push(name.to_owned());
                }
            }
        }
        Ok(hosts)
    }

    /// The first name of an address.
    pub fn name(&self, ip: IpAddr) -> Option<&str> {
        self.names.get(&ip)?.first().map(String::as_str)
    }

    /// Every address that has the name.
    pub fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let has = |names: &[String]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.names.iter().filter(|(_, names)| has(names)).map(|(ip, _)| *ip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_hosts() {
        let hosts =
            HostsFile::parse("# ours\n10.0.0.1 filer filer.example # the old one\n\n::1\tfiler\n10.0.0.2\n").unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!((hosts.name(ip("10.0.0.1")), hosts.name(ip("10.0.0.2"))), (Some("filer"), None));
        let mut both = hosts.addresses("FILER");
        both.sort();
        assert_eq!(both, [ip("10.0.0.1"), ip("::1")], "two addresses of one name are both meant");
        assert_eq!(hosts.addresses("filer.example"), [ip("10.0.0.1")]);
        assert!(hosts.addresses("other").is_empty());
        assert!(
            HostsFile::parse("10.0.0.1 a\nfiler 10.0.0.1\n").unwrap_err().starts_with("line 2: expected an IP address")
        );
    }
}
