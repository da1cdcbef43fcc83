//! `--from`, `--to`, `--server`, `--operation`: which transactions count.

use std::net::IpAddr;

use plimsoll_experiment::ProcedureSet;
use plimsoll_model::{Coverage, Endpoint, Names, Procedure, Sink, Transaction};

use crate::when::When;

/// Which transactions count, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Filter {
    /// Only requests sent from then on: seconds or a duration since the first packet, or an RFC 3339 time
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<When>,
    /// Only requests sent before then
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    to: Option<When>,
    /// Only this server: an address, or address:port; may be repeated
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_server)]
    server: Vec<Server>,
    /// Only this operation (read), procedure (READ_ANDX) or group (Other.Directory); may be repeated
    #[arg(long, value_name = "NAME", value_parser = ProcedureSet::named)]
    operation: Vec<ProcedureSet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Server {
    ip: IpAddr,
    port: Option<u16>,
}

impl Filter {
    /// The filters in force, as the user wrote them.
    pub(crate) fn describe(&self) -> Vec<String> {
        let time = |flag: &str, when: &When| match when {
            When::SinceStart(after) => format!("--{flag} {}", humantime::format_duration(*after)),
            When::Absolute(_) => {
                let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(when.resolve(0) as u64);
                format!("--{flag} {}", humantime::format_rfc3339_nanos(at))
            }
        };
        let times = [("from", &self.from), ("to", &self.to)];
        let mut all: Vec<String> =
            times.iter().filter_map(|(flag, when)| when.as_ref().map(|when| time(flag, when))).collect();
        all.extend(self.server.iter().map(|server| match server.port {
            Some(port) => format!("--server {}", Endpoint { ip: server.ip, port }),
            None => format!("--server {}", server.ip),
        }));
        all.extend(self.operation.iter().map(|wanted| format!("--operation {}", wanted.name())));
        all
    }

    /// A sink that lets the wanted transactions through to `sink`.
    pub(crate) fn before<S>(&self, sink: S) -> Filtered<S> {
        let mut procedures = vec![self.operation.is_empty(); Procedure::COUNT];
        for procedure in self.operation.iter().flat_map(ProcedureSet::procedures) {
            procedures[procedure.index()] = true;
        }
        Filtered {
            all: self.describe().is_empty(),
            times: (self.from, self.to),
            from_ns: None,
            to_ns: None,
            servers: self.server.clone(),
            procedures,
            refused: 0,
            sink,
        }
    }
}

/// Lets the wanted transactions through.
#[derive(Debug)]
pub(crate) struct Filtered<S> {
    /// Nothing is filtered.
    all: bool,
    /// What is wanted, as the user wrote it.
    times: (Option<When>, Option<When>),
    /// The same, known when the capture begins.
    from_ns: Option<i64>,
    to_ns: Option<i64>,
    servers: Vec<Server>,
    procedures: Vec<bool>,
    /// Transactions that were not let through.
    refused: u64,
    /// Where they go.
    pub(crate) sink: S,
}

impl<S> Filtered<S> {
    /// The time that is left of a capture's, ns since the Unix epoch.
    pub(crate) fn span(&self, (first, last): (i64, i64)) -> (i64, i64) {
        (self.from_ns.map_or(first, |from| from.max(first)), self.to_ns.map_or(last, |to| to.min(last)))
    }

    /// Leaves the time that the filters leave in `coverage`, and says there what they kept out and of which capture.
    pub(crate) fn narrow(&self, coverage: &mut Coverage) {
        coverage.filtered_out = self.refused;
        let Some(whole) = coverage.first_ns.zip(coverage.last_ns) else { return };
        let (first, last) = self.span(whole);
        // Rates are of the time that is looked at.
        (coverage.first_ns, coverage.last_ns) = (Some(first), Some(last.max(first)));
        coverage.capture_ns = (!self.all).then_some(whole);
    }

    fn wants(&self, transaction: &Transaction) -> bool {
        let at = transaction.timeline.request_first;
        let in_time = self.from_ns.is_none_or(|from| at.is_some_and(|at| at >= from))
            && self.to_ns.is_none_or(|to| at.is_some_and(|at| at < to));
        let server = transaction.server;
        let of_server = self.servers.is_empty()
            || self.servers.iter().any(|want| want.ip == server.ip && want.port.is_none_or(|port| port == server.port));
        in_time && of_server && self.procedures[transaction.procedure.index()]
    }
}

impl<S: Sink> Sink for Filtered<S> {
    fn begin(&mut self, start_ns: i64) {
        let (from, to) = self.times;
        self.from_ns = from.map(|when| when.resolve(start_ns));
        self.to_ns = to.map(|when| when.resolve(start_ns));
        self.sink.begin(start_ns);
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if self.all || self.wants(transaction) {
            self.sink.transaction(transaction, names);
        } else {
            self.refused += 1;
        }
    }
}

fn parse_server(text: &str) -> Result<Server, String> {
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(Server { ip, port: None });
    }
    let address = text.parse::<std::net::SocketAddr>();
    let address =
        address.map_err(|_| format!("{text} is no address (192.0.2.1, 192.0.2.1:445, [2001:db8::1]:2049)"))?;
    Ok(Server { ip: address.ip(), port: Some(address.port()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_and_without_port() {
        assert_eq!(parse_server("[::1]:2049").unwrap().port, Some(2049));
        assert_eq!(parse_server("::1").unwrap().port, None);
        assert!(parse_server("filer").is_err());
    }
}
