//! `wire` and `model` have no I/O, no clock and no log.

use super::source::Source;

const PURE: [&str; 2] = ["crates/wire/src/", "crates/model/src/"];
/// Modules of `std` that do I/O or read a clock.
const IMPURE: [&str; 8] = ["fs", "net", "time", "io", "env", "process", "thread", "os"];
/// Of `std::net`, these are mere numbers.
const NUMBERS: [&str; 4] = ["IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr"];

/// Sockets, however they were imported.
const SOCKETS: [&str; 3] = ["TcpStream", "TcpListener", "UdpSocket"];

/// Uses of the outside world in crates that must not know it.
pub(crate) fn breaches(sources: &[Source]) -> Vec<String> {
    let pure = sources.iter().filter(|source| PURE.iter().any(|folder| source.path.starts_with(folder)));
    let lines = pure.flat_map(|source| source.code().map(move |(number, line)| (source, number, line)));
    let impure = lines.filter_map(|(source, number, line)| Some((source, number, impurity(line)?)));
    impure
        .map(|(source, number, what)| format!("{}:{number}: uses {what}, where no I/O is allowed", source.path))
        .collect()
}

fn impurity(line: &str) -> Option<String> {
    if ["log::", "tracing::"].iter().any(|log| starts_a_path(line, log)) {
        return Some("a log".to_owned());
    }
    if let Some(socket) = SOCKETS.iter().find(|socket| line.contains(**socket)) {
        return Some((*socket).to_owned());
    }
    line.split("std::").skip(1).find_map(|rest| match rest.strip_prefix('{') {
        // use std::{fmt, net::IpAddr};
        Some(group) => group.split(',').find_map(|item| impure_module(item.trim())),
        None => impure_module(rest),
    })
}

/// The module at the start of `rest`, when it is impure and not merely a number of `std::net`.
fn impure_module(rest: &str) -> Option<String> {
    let (module, inside) = match rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    let harmless = module == "net" && inside.strip_prefix("::").is_some_and(only_numbers);
    (IMPURE.contains(&module) && !harmless).then(|| format!("std::{module}"))
}

/// Whether only numeric types are used from `std::net`, up to the next path or statement.
fn only_numbers(taken: &str) -> bool {
    let taken = match taken.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap_or_default(),
        None => taken.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default(),
    };
    taken.split(',').all(|name| NUMBERS.contains(&name.trim()))
}

/// Whether a path beginning with `start` is in the line, rather than a longer word that ends so.
fn starts_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks(line: &str) -> bool {
        !breaches(&[Source::new("crates/wire/src/a.rs", line)]).is_empty()
    }

    #[test]
    fn io_clocks_and_logs_are_seen() {
        for line in [
            "use std::fs::File;",
            "use std::{fmt, time::Instant};",
            "let now = std::time::SystemTime::now();",
            "use std::net::TcpStream;",
            "use std::net::{IpAddr, UdpSocket};",
            "use std::{fmt, net::{IpAddr, UdpSocket}};",
            "use std::net;",
            "use std::io::Read;",
            "log::info!(\"read\");",
        ] {
            assert!(breaks(line), "{line}");
        }
    }

    #[test]
    fn addresses_and_other_words_are_not() {
        for line in [
            "use std::net::IpAddr;",
            "use std::net::{IpAddr, Ipv4Addr};",
            "use std::{fmt, num::NonZeroU64};",
            "// std::fs is not used here",
            "let dialog::Name = catalog::find();",
        ] {
            assert!(!breaks(line), "{line}");
        }
        let elsewhere = Source::new("crates/observe/src/a.rs", "use std::fs::File;");
        assert!(breaches(&[elsewhere]).is_empty());
        let test = Source::new("crates/wire/src/rpc/tests.rs", "use std::fs::File;");
        assert!(breaches(&[test]).is_empty());
    }
}
