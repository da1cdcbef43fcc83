//! Clients and servers: an address, a network, or either with a port.

use std::net::{IpAddr, SocketAddr};

use plimsoll_model::Endpoint;

/// Addresses that a filter means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    networks: Vec<Network>,
    port: Option<u16>,
    /// The name of a host, if its addresses are known.
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    ip: IpAddr,
    /// Leading bits that count.
    prefix: u32,
}

impl Address {
    /// Parses an address, address:port, network or host name.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let whole = |ip: IpAddr, port| Self { networks: vec![Network::whole(ip)], port, name: None };
        if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(whole(ip, None));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(whole(address.ip(), Some(address.port())));
        }
        let network = text.split_once('/').and_then(|(ip, prefix)| {
            let (ip, prefix) = (ip.parse::<IpAddr>().ok()?, prefix.parse::<u32>().ok()?);
            (prefix <= bits(ip)).then_some(Self { networks: vec![Network { ip, prefix }], port: None, name: None })
        });
        network.or_else(|| named(text)).ok_or_else(|| {
            format!(
                "{text}: expected an address (192.0.2.1), address:port (192.0.2.1:445, [2001:db8::1]:2049), network (10.0.0.0/8) or host \
                 name from the --hosts file"
            )
        })
    }

    /// The host whose addresses it needs.
    pub fn host(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Takes the addresses of its name.
    pub fn resolve(&mut self, addresses: Vec<IpAddr>) {
        self.networks = addresses.into_iter().map(Network::whole).collect();
    }

    #[inline]
    pub(super) fn holds(&self, endpoint: Endpoint) -> bool {
        self.port.is_none_or(|port| port == endpoint.port)
            && endpoint.is_somewhere()
            && self.networks.iter().any(|network| network.holds(endpoint.ip))
    }
}

/// A name, or name:port; one that cannot be taken for an address that was misspelled.
fn named(text: &str) -> Option<Address> {
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port.parse::<u16>().ok()?)),
        None => (text, None),
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "-._".contains(c));
    let is_number = name.chars().all(|c| c.is_ascii_digit() || c == '.');
    (is_name && !is_number).then(|| Address { networks: Vec::new(), port, name: Some(name.to_owned()) })
}

impl Network {
    fn whole(ip: IpAddr) -> Self {
        Self { ip, prefix: bits(ip) }
    }

    #[inline]
    fn holds(self, ip: IpAddr) -> bool {
        match (self.ip, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                (network.to_bits() ^ ip.to_bits()).checked_shr(32 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(ip)) => {
                (network.to_bits() ^ ip.to_bits()).checked_shr(128 - self.prefix).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

fn bits(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, ip: &str, port: u16) -> bool {
        Address::parse(text).unwrap().holds(Endpoint { ip: ip.parse().unwrap(), port })
    }

    #[test]
    fn addresses_with_and_without_port() {
        assert!(holds("[::1]:2049", "::1", 2049) && !holds("[::1]:2049", "::1", 445));
        assert!(holds("::1", "::1", 445) && holds("[::1]", "::1", 445) && !holds("::1", "::2", 445));
        assert!(holds("10.1.2.3", "10.1.2.3", 9) && !holds("10.1.2.3", "10.1.2.4", 9));
        assert!(Address::parse("10.0.0.0/33").is_err() && Address::parse("10.0.0").is_err());
    }

    #[test]
    fn names() {
        let mut address = Address::parse("filer:445").unwrap();
        let filer = |port| Endpoint { ip: "10.0.0.1".parse().unwrap(), port };
        assert!(address.host() == Some("filer") && !address.holds(filer(445)));
        address.resolve(vec![filer(0).ip]);
        assert!(address.holds(filer(445)) && !address.holds(filer(2049)));
        assert!(Address::parse("a b").is_err() && Address::parse("filer:x").is_err());
    }

    #[test]
    fn networks() {
        assert!(holds("10.0.0.0/8", "10.255.0.1", 9) && !holds("10.0.0.0/8", "11.0.0.1", 9));
        assert!(holds("0.0.0.0/0", "192.0.2.1", 9) && !holds("0.0.0.0/0", "::1", 9));
        assert!(holds("10.1.2.3/32", "10.1.2.3", 9) && !holds("10.1.2.3/32", "10.1.2.2", 9));
        assert!(holds("2001:db8::/32", "2001:db8:ffff::1", 9) && !holds("2001:db8::/32", "2001:db9::1", 9));
        assert!(holds("::/0", "2001:db8::1", 9));
    }
}
