//! The options of a target: `?NAME=VALUE&NAME=VALUE`.

use std::net::IpAddr;

use super::TargetError;

/// Options that may be given once each, and their names in messages.
const OPTIONS: [(&str, &str); 9] = [
    ("version", "option version"),
    ("slots", "option slots"),
    ("delegations", "option delegations"),
    ("mountport", "option mountport"),
    ("portmapport", "option portmapport"),
    ("resvport", "option resvport"),
    ("xprtsec", "option xprtsec"),
    ("sec", "option sec"),
    ("addresses", "option addresses"),
];

/// The options of a query with their values.
pub(super) fn options(query: &str) -> Result<Vec<(&str, &str)>, TargetError> {
    let found: Vec<(&str, &str)> = query.split('&').filter(|option| !option.is_empty()).map(option).collect();
    let is_repeated = |name: &str| found.iter().filter(|(key, _)| *key == name).count() > 1;
    match OPTIONS.into_iter().find(|(name, _)| is_repeated(name)) {
        Some((_, part)) => Err(TargetError::Part { part, problem: "is given twice; give it once" }),
        None => Ok(found),
    }
}

/// Name and value; `vers` is another name of `version`.
fn option(text: &str) -> (&str, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (if name == "vers" { "version" } else { name }, value)
}

/// The only option of an SMB target: addresses of the server for the further connections of each session.
pub(super) fn addresses(query: &str) -> Result<Vec<IpAddr>, TargetError> {
    let mut addresses = Vec::new();
    for (key, value) in options(query)? {
        if key != "addresses" {
            let problem = "must be addresses=IP,IP for smb://; in a password, write '?' as %3F";
            return Err(TargetError::Part { part: "part after '?'", problem });
        }
        addresses = value.split(',').map(address).collect::<Result<_, _>>()?;
    }
    Ok(addresses)
}

fn address(text: &str) -> Result<IpAddr, TargetError> {
    let problem = "must list IP addresses of the server, without ports and brackets: addresses=10.0.0.1,10.0.0.2";
    let is_usable = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_multicast();
    let address = text.parse::<IpAddr>().ok().filter(is_usable);
    address.ok_or(TargetError::Part { part: "option addresses", problem })
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::*;

    #[test]
    fn addresses_for_further_channels() {
        let url = "smb://anna@h:445/share/a?addresses=10.0.0.1,fd00::2";
        let target = Target::parse(url).unwrap();
        assert_eq!(target.to_string(), url);
        let Target::Smb(target) = target else { panic!("SMB") };
        assert_eq!(target.addresses, ["10.0.0.1".parse::<IpAddr>().unwrap(), "fd00::2".parse().unwrap()]);
        assert_eq!((target.share.as_str(), target.path.as_str()), ("share", "a"));
        for (wrong, says) in [
            ("smb://h/share?addresses=server", "must list IP addresses of the server, without ports"),
            ("smb://h/share?addresses", "must list IP addresses"),
            ("smb://h/share?addresses=10.0.0.1,", "must list IP addresses"),
            ("smb://h/share?addresses=10.0.0.1:445", "must list IP addresses"),
            ("smb://h/share?addresses=[fd00::2]", "without ports and brackets"),
            ("smb://h/share?addresses=0.0.0.0", "must list IP addresses"),
            ("smb://h/share?addresses=10.0.0.1&addresses=10.0.0.2", "option addresses is given twice; give it once"),
            ("smb://h/share?version=3", "must be addresses=IP,IP for smb://"),
            ("nfs://h/export?addresses=10.0.0.1", "is only for smb:// (with --channels); remove it"),
        ] {
            let error = Target::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
