//! Filters: the transactions that count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use plimsoll_model::{Procedure, Sink};
use plimsoll_observe::Observed;
use plimsoll_observe::filter::{
    Address, Filtered, Filters, Moment, NameFilter, Pattern, Status, Term, Terms, TimeRange,
};
use plimsoll_observe::names::HostsFile;
use plimsoll_report::When;
use plimsoll_report::safe::for_shell;
use plimsoll_results::{ProcedureSet, Tables, Usage};
use plimsoll_stats::Headline;

/// The transactions that count; those of no criterion all do.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Requests at or after this time.
    pub from: Option<When>,
    /// Requests before this time.
    pub to: Option<When>,
    /// Clients.
    pub client: Vec<Term<Address>>,
    /// Servers.
    pub server: Vec<Term<Address>>,
    /// Shares.
    pub share: Vec<Term<Pattern>>,
    /// Paths.
    pub path: Vec<Term<Pattern>>,
    /// Users.
    pub user: Vec<Term<Pattern>>,
    /// Operations.
    pub operation: Vec<Term<ProcedureSet>>,
    /// Results.
    pub status: Vec<Term<Status>>,
    /// Minimum response time.
    pub slower_than: Option<Duration>,
    /// File of host names.
    pub hosts: Option<PathBuf>,
}

impl Filter {
    /// The filters in force, as the user wrote them.
    pub fn describe(&self) -> Vec<String> {
        let times = [("--from", self.from), ("--to", self.to)];
        let mut all: Vec<String> = times.into_iter().filter_map(|(flag, when)| Some(time(flag, when?))).collect();
        all.extend(described("client", &self.client));
        all.extend(described("server", &self.server));
        all.extend(described("share", &self.share));
        all.extend(described("path", &self.path));
        all.extend(described("user", &self.user));
        all.extend(described("operation", &self.operation));
        all.extend(described("status", &self.status));
        let limit = self.slower_than.map(|limit| humantime::format_duration(limit).to_string());
        all.extend(limit.map(|limit| format!("--slower-than {}", for_shell(&limit))));
        all
    }

    /// Refuses a time that a capture from `first` to `last` does not have, or has several times, and an end before the start.
    ///
    /// # Errors
    /// The capture does not have it, or has it several times; no time is between the two.
    pub fn check(&self, first: Option<i64>, last: Option<i64>) -> Result<(), Usage> {
        let Some(span) = first.zip(last) else { return Ok(()) };
        for (flag, when) in [("--from", self.from), ("--to", self.to)] {
            when.map_or(Ok(()), |when| when.check(span)).map_err(|error| Usage(format!("{flag} {error}")))?;
        }
        match self.from.zip(self.to) {
            Some((from, to)) if to.resolve(span.0) <= from.resolve(span.0) => {
                let (from, to) = (time("--from", from), time("--to", to));
                Err(Usage(format!(
                    "{to}: this is not after {from}, so no request is between the two; give a later --to"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Reads the names of hosts, and finds the addresses of those that are wanted.
    ///
    /// # Errors
    /// The file cannot be read, or no address has a name that is wanted.
    pub fn resolve(&mut self) -> anyhow::Result<HostsFile> {
        let hosts = self.hosts.as_deref().map(read_hosts).transpose()?.unwrap_or_default();
        for (flag, terms) in [("client", &mut self.client), ("server", &mut self.server)] {
            for address in terms.iter_mut().map(|term| &mut term.what) {
                let Some(name) = address.host() else { continue };
                let found = hosts.addresses(name);
                if found.is_empty() {
                    let why = format!(
                        "--{flag} {name}: unknown host name; give an IP address, or a hosts file that has this name \
                        (--hosts FILE)"
                    );
                    return Err(Usage(why).into());
                }
                address.resolve(found);
            }
        }
        Ok(hosts)
    }

    /// Passes the wanted transactions of tables to `sink`.
    ///
    /// # Errors
    /// A time is refused, or a file cannot be read.
    pub fn read<S: Sink>(&self, tables: Tables, sink: S) -> anyhow::Result<Observed<Filtered<S>>> {
        let (first, last) = tables.span_ns().unzip();
        self.check(first, last)?;
        let mut sink = self.in_front(sink, tables.headline());
        let (names, mut coverage) = tables.read(&mut sink)?;
        sink.narrow(&mut coverage);
        Ok(Observed { sink, names, coverage })
    }

    /// A sink that lets the wanted transactions through to `sink`.
    pub fn before<S>(&self, sink: S) -> Filtered<S> {
        self.in_front(sink, Headline::Response)
    }

    /// The same, if this response time leads.
    fn in_front<S>(&self, sink: S, headline: Headline) -> Filtered<S> {
        let moment = |when: Option<When>| when.map(|when| -> Moment { Box::new(move |start| when.resolve(start)) });
        let filters = || Filters {
            range: TimeRange::new((moment(self.from), moment(self.to))),
            clients: Terms::of(&self.client),
            servers: Terms::of(&self.server),
            shares: NameFilter::of(&self.share),
            paths: NameFilter::of(&self.path),
            users: NameFilter::of(&self.user),
            procedures: procedures(&self.operation),
            statuses: Terms::of(&self.status),
            slower_than_ns: self.slower_than.map(|limit| i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX)),
            from_intended: headline == Headline::FromIntended,
        };
        Filtered::new((!self.describe().is_empty()).then(filters), sink)
    }
}

/// An option with its time, as the user wrote it.
fn time(flag: &str, when: When) -> String {
    match when {
        When::SinceStart(after) => format!("{flag} {}", humantime::format_duration(after)),
        When::Clock(clock) => format!("{flag} {clock}"),
    }
}

fn read_hosts(file: &Path) -> anyhow::Result<HostsFile> {
    let shown = format!("--hosts {}", file.display());
    let text = std::fs::read_to_string(file).with_context(|| shown.clone())?;
    HostsFile::parse(&text).map_err(|why| Usage(format!("{shown}: {why}")).into())
}

/// Which procedures the values of `--operation` leave.
fn procedures(terms: &[Term<ProcedureSet>]) -> Option<Vec<bool>> {
    let terms = Terms::of(terms)?;
    Some(Procedure::all().map(|procedure| terms.pass(|set| set.contains(procedure))).collect())
}

fn described<T>(flag: &str, terms: &[Term<T>]) -> impl Iterator<Item = String> {
    terms.iter().map(move |term| format!("--{flag} {}", for_shell(&term.written)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_before_the_start_is_refused() {
        let check = |from: &str, to: &str| {
            let (from, to) = (from.parse().ok(), to.parse().ok());
            // 2026-11-21 03:08:17.5 to 03:08:27.5 UTC.
            let first = 1_795_230_497_500_000_000;
            let filter = Filter { from, to, ..Filter::default() };
            filter.check(Some(first), Some(first + 10_000_000_000)).err().map(|Usage(why)| why)
        };
        assert_eq!(check("50", "100"), None);
        for (from, to) in [("100", "50"), ("5", "5"), ("5", "2026-11-21 03:08:18Z")] {
            let why = check(from, to).unwrap();
            assert!(why.starts_with("--to ") && why.contains(": this is not after --from "), "{why}");
        }
    }
}
