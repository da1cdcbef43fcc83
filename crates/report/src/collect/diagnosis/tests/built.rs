//! Traffic made of transactions, as rules see it.

use plimsoll_model::{Coverage, Endpoint, Names, Outcome, Procedure, Protocol, Symbol, Transaction};
use plimsoll_stats::{Headline, Options, Statistics};
use plimsoll_testkit::transaction;

use crate::findings::{Diagnosis, Findings, Rule, Source};

pub(super) const MS: i64 = 1_000_000;
pub(super) const START_NS: i64 = 1_700_000_000_000_000_000;

pub(super) fn read() -> Procedure {
    Procedure::of(Protocol::Smb2, 8)
}

pub(super) fn open() -> Procedure {
    Procedure::of(Protocol::Smb2, 5)
}

/// Checks of a text, which show the text where they fail.
pub(super) trait Says: AsRef<str> {
    #[track_caller]
    fn begins(&self, expected: &str) {
        assert!(self.as_ref().starts_with(expected), "{}", self.as_ref());
    }

    #[track_caller]
    fn has(&self, expected: &str) {
        assert!(self.as_ref().contains(expected), "{}", self.as_ref());
    }

    #[track_caller]
    fn ends(&self, expected: &str) {
        assert!(self.as_ref().ends_with(expected), "{}", self.as_ref());
    }
}

impl<T: AsRef<str> + ?Sized> Says for T {}

/// Consecutive requests.
pub(super) struct Traffic {
    statistics: Statistics,
    names: Names,
    now_ns: i64,
    pub(super) coverage: Coverage,
    pub(super) filters: Vec<String>,
}

impl Traffic {
    pub(super) fn new() -> Self {
        let statistics = Statistics::new(Options { tallies: true, ..Options::default() });
        Self {
            statistics,
            names: Names::default(),
            now_ns: START_NS,
            coverage: Coverage { last_responses: Some(Vec::new()), ..Coverage::default() },
            filters: Vec::new(),
        }
    }

    /// The same under a schedule: times count from intended starts.
    pub(super) fn scheduled() -> Self {
        let options = Options { tallies: true, headline: Headline::FromIntended, ..Options::default() };
        Self { statistics: Statistics::new(options), ..Self::new() }
    }

    /// A request of a client to a share of a server (\\serverN\name), with this duration.
    pub(super) fn request(&mut self, procedure: Procedure, client: u8, share: &str, path: &str, took_ns: i64) {
        self.changed(procedure, client, share, path, took_ns, |_| ());
    }

    /// The end of the last request or pause.
    pub(super) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    pub(super) fn name(&mut self, name: &str) -> Symbol {
        self.names.intern(name)
    }

    /// A pause without requests.
    pub(super) fn pause(&mut self, ns: i64) {
        self.now_ns += ns;
    }

    /// The same, changed.
    pub(super) fn changed(
        &mut self,
        procedure: Procedure,
        client: u8,
        share: &str,
        path: &str,
        took_ns: i64,
        change: impl FnOnce(&mut Transaction),
    ) {
        self.now_ns += took_ns + 10_000;
        let mut t = transaction(procedure, self.now_ns, took_ns);
        let server = share.bytes().find(u8::is_ascii_digit).unwrap_or(b'0');
        t.client = Endpoint { ip: [10, 0, 0, client].into(), port: 40_000 };
        t.server = Endpoint { ip: [10, 0, 1, server].into(), port: 445 };
        t.connection = u32::from(client) << 8 | u32::from(server);
        (t.share, t.path) = (self.names.intern(share), self.names.intern(path));
        change(&mut t);
        t.timeline.response_last.into_iter().for_each(|ns| self.responded(t.server, ns));
        self.statistics.record(&t);
    }

    /// A server sends a response, which belongs to no request if this is called alone.
    pub(super) fn responded(&mut self, server: Endpoint, ns: i64) {
        let Some(all) = &mut self.coverage.last_responses else { return };
        match all.iter_mut().find(|(of, _)| *of == server) {
            Some((_, last_ns)) => *last_ns = ns.max(*last_ns),
            None => all.push((server, ns)),
        }
    }

    /// The same, of a user.
    #[allow(clippy::too_many_arguments, reason = "one more than a request")]
    pub(super) fn changed_by(
        &mut self,
        user: &str,
        procedure: Procedure,
        client: u8,
        share: &str,
        path: &str,
        took_ns: i64,
        change: impl FnOnce(&mut Transaction),
    ) {
        let user = self.names.intern(user);
        self.changed(procedure, client, share, path, took_ns, |t| {
            t.user = user;
            change(t);
        });
    }

    /// The same, answered with an error.
    pub(super) fn error(&mut self, procedure: Procedure, status: u32, took_ns: i64) {
        self.changed(procedure, 1, r"\\server1\data", "a.txt", took_ns, |t| {
            (t.status, t.outcome) = (Some(status), Outcome::of_status(procedure, status));
        });
    }

    pub(super) fn findings(&self) -> Findings {
        let coverage = Coverage { first_ns: Some(START_NS), last_ns: Some(self.now_ns), ..self.coverage.clone() };
        let filters = self.filters.clone();
        let source = Source { inputs: vec!["trace.pcap".to_owned()], filters, ..Source::default() };
        Findings::collect(&self.statistics, &coverage, &self.names, source, |_, _| None)
    }

    /// The first sentence, which must be of this rule, where statuses have their names.
    pub(super) fn named_first(&self, rule: Rule) -> String {
        let coverage = Coverage { first_ns: Some(START_NS), last_ns: Some(self.now_ns), ..self.coverage.clone() };
        let source = Source { inputs: vec!["trace.pcap".to_owned()], ..Source::default() };
        let denied = |_: Protocol, status: u32| (status == 0xC000_0022).then_some("STATUS_ACCESS_DENIED");
        let findings = Findings::collect(&self.statistics, &coverage, &self.names, source, denied);
        let first = &findings.diagnosis.statements[0];
        assert_eq!(first.rule, rule, "{:#?}", findings.diagnosis.statements);
        first.text.clone()
    }

    pub(super) fn diagnosis(&self) -> Diagnosis {
        self.findings().diagnosis
    }

    pub(super) fn rules(&self) -> Vec<Rule> {
        self.diagnosis().statements.iter().map(|statement| statement.rule).collect()
    }

    /// The first sentence, which must be of this rule.
    pub(super) fn first(&self, rule: Rule) -> String {
        let diagnosis = self.diagnosis();
        let first = &diagnosis.statements[0];
        assert_eq!(first.rule, rule, "{:#?}", diagnosis.statements);
        first.text.clone()
    }
}
