//! `--from`, `--client`, `--path` and similar filters: select the transactions that count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use plimsoll_model::{Procedure, Sink};
use plimsoll_observe::Observed;
use plimsoll_observe::filter::{Address, Criteria, Filtered, Moment, Pattern, Status, Term, Terms};
use plimsoll_observe::names::HostsFile;
use plimsoll_report::When;
use plimsoll_report::safe::for_shell;
use plimsoll_results::{ProcedureSet, Tables};

use crate::exit::Usage;

/// Filters, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters (--client to --status may repeat; !VALUE excludes)")]
pub(crate) struct Filter {
    /// Only requests sent at or after this time: a time since the first packet (90 for 90 s, 1m30s), a time of day
    /// (03:08:21), or a date and time (2026-11-21 03:08). A time zone may follow (Z, +01:00) [default zone: local; with
    /// --utc: UTC]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    from: Option<When>,
    /// Only requests sent before this time; same formats as --from
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    to: Option<When>,
    /// Only this client: an address, address:port, network (10.0.0.0/8), or name from --hosts
    #[arg(long, value_name = "ADDRESS", value_parser = |text: &str| Term::parse(text, Address::parse))]
    client: Vec<Term<Address>>,
    /// Only this server: an address, address:port, network, or name from --hosts
    #[arg(long, value_name = "ADDRESS", value_parser = |text: &str| Term::parse(text, Address::parse))]
    server: Vec<Term<Address>>,
    /// Only this share or export: name alone (data), or with its server (//server/data); accepts * and ?
    #[arg(long, value_name = "GLOB", value_parser = |text: &str| Term::parse(text, Pattern::parse))]
    share: Vec<Term<Pattern>>,
    /// Only these paths within the share, in .gitignore syntax: *.docx (any folder), projects/*.docx (that folder),
    /// projects/** (everything below)
    #[arg(long, value_name = "GLOB", value_parser = |text: &str| Term::parse(text, Pattern::parse))]
    path: Vec<Term<Pattern>>,
    /// Only this user: name without domain (alice), name with domain (corp/alice), or uid; accepts * and ?
    #[arg(long, value_name = "GLOB", value_parser = |text: &str| Term::parse(text, Pattern::parse))]
    user: Vec<Term<Pattern>>,
    /// Only this operation (write), procedure (READ_ANDX) or group (Other.Directory; Write includes flush)
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Term::parse(text, ProcedureSet::of_label))]
    operation: Vec<Term<ProcedureSet>>,
    /// Only requests with this result: a status (ACCESS_DENIED, NFS3ERR_STALE, 0xc0000022), error (refused or failed),
    /// succeeded, expected, refused, failed, unanswered, cancelled, unknown, or none (the response has no status field)
    #[arg(long, value_name = "STATUS", value_parser = |text: &str| Term::parse(text, Status::parse))]
    status: Vec<Term<Status>>,
    /// Only requests with a longer response time than this, e.g. 100ms. For runs with --rate or --users, the response
    /// time counts from the intended start
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    slower_than: Option<Duration>,
    /// File of host names in /etc/hosts format, for --client, --server and the tables of --by. These names take
    /// precedence over DNS, NetBIOS and SMB logon names in the capture
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
}

impl Filter {
    /// The filters in force, as the user wrote them.
    pub(crate) fn describe(&self) -> Vec<String> {
        let time = |flag: &str, when: &When| match when {
            When::SinceStart(after) => format!("--{flag} {}", humantime::format_duration(*after)),
            When::Clock(clock) => format!("--{flag} {clock}"),
        };
        let times = [("from", &self.from), ("to", &self.to)];
        let mut all: Vec<String> =
            times.iter().filter_map(|(flag, when)| when.as_ref().map(|when| time(flag, when))).collect();
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

    /// Refuses a time that a capture from `first` to `last` does not have, or has several times.
    pub(crate) fn check(&self, first: Option<i64>, last: Option<i64>) -> Result<(), Usage> {
        let Some(span) = first.zip(last) else { return Ok(()) };
        for (flag, when) in [("--from", self.from), ("--to", self.to)] {
            when.map_or(Ok(()), |when| when.check(span)).map_err(|error| Usage(format!("{flag} {error}")))?;
        }
        Ok(())
    }

    /// Files that it reads.
    pub(crate) fn files(&self) -> Option<&Path> {
        self.hosts.as_deref()
    }

    /// Reads the names of hosts, and finds the addresses of those that are wanted.
    ///
    /// # Errors
    /// The file cannot be read, or no address has a name that is wanted.
    pub(crate) fn resolve(&mut self) -> anyhow::Result<HostsFile> {
        let hosts = self.hosts.as_deref().map(read_hosts).transpose()?.unwrap_or_default();
        for (flag, terms) in [("client", &mut self.client), ("server", &mut self.server)] {
            for address in terms.iter_mut().map(|term| &mut term.what) {
                let Some(name) = address.host() else { continue };
                let found = hosts.addresses(name);
                if found.is_empty() {
                    let why = format!(
                        "--{flag} {name}: unknown host name; give an address, or add the name to a file for --hosts"
                    );
                    return Err(Usage(why).into());
                }
                address.resolve(found);
            }
        }
        Ok(hosts)
    }

    /// Passes the wanted transactions of tables to `sink`.
    pub(crate) fn read<S: Sink>(&self, tables: Tables, sink: S) -> anyhow::Result<Observed<Filtered<S>>> {
        let (first, last) = tables.span_ns().unzip();
        self.check(first, last)?;
        let mut sink = self.before(sink);
        let (names, mut coverage) = tables.read(&mut sink)?;
        sink.narrow(&mut coverage);
        Ok(Observed { sink, names, coverage })
    }

    /// A sink that lets the wanted transactions through to `sink`.
    pub(crate) fn before<S>(&self, sink: S) -> Filtered<S> {
        let moment = |when: Option<When>| when.map(|when| -> Moment { Box::new(move |start| when.resolve(start)) });
        let criteria = || Criteria {
            times: (moment(self.from), moment(self.to)),
            clients: self.client.clone(),
            servers: self.server.clone(),
            shares: self.share.clone(),
            paths: self.path.clone(),
            users: self.user.clone(),
            procedures: procedures(&self.operation),
            statuses: self.status.clone(),
            slower_than_ns: self.slower_than.map(|limit| i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX)),
        };
        Filtered::new((!self.describe().is_empty()).then(criteria), sink)
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
