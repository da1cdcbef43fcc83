//! `--from`, `--client`, `--path` and similar filters: the flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_analysis::Filter;
use plimsoll_observe::filter::{Address, Pattern, Status, Term};
use plimsoll_report::When;
use plimsoll_results::ProcedureSet;

/// Filters, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters (may be repeated, except times; !VALUE excludes)")]
pub(crate) struct FilterFlags {
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
    /// Only this operation (write), procedure (READ_ANDX, NFS3 WRITE) or group (Other.Directory; Write includes flush)
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Term::parse(text, ProcedureSet::of_label))]
    operation: Vec<Term<ProcedureSet>>,
    /// Only requests with this result: a status (ACCESS_DENIED, NFS3ERR_STALE, 0xc0000022), or succeeded, expected (e.g. the
    /// name does not exist), refused, failed, error (refused or failed), unanswered, cancelled, unknown or none (the response has no
    /// status field)
    #[arg(long, value_name = "STATUS", value_parser = |text: &str| Term::parse(text, Status::parse))]
    status: Vec<Term<Status>>,
    /// Only requests with a longer response time than this, e.g. 100ms. In runs with --rate or --users, the response time begins
    /// at the intended start
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    slower_than: Option<Duration>,
    /// File of host names in /etc/hosts format, for --client, --server and the tables of --by. These names take
    /// precedence over DNS, NetBIOS and SMB logon names in the capture
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
}

impl FilterFlags {
    /// The filters in force.
    pub(crate) fn filter(&self) -> Filter {
        let Self { from, to, client, server, share, path, user, operation, status, slower_than, hosts } = self.clone();
        Filter { from, to, client, server, share, path, user, operation, status, slower_than, hosts }
    }

    /// Files that they read.
    pub(crate) fn files(&self) -> Option<&Path> {
        self.hosts.as_deref()
    }
}
