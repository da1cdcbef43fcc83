//! The appearance of the report, and its sections.

/// Parts of the report. The title and the verdict are no parts: they are always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Section {
    /// The main waits, and the next command.
    Diagnosis,
    /// Packet counts, elapsed time, clock; what to know before believing the numbers.
    Packets,
    /// How the load was made, and a line a load level; nothing for a capture.
    Run,
    /// All clients of each load level; nothing for a capture.
    Clients,
    /// A line per operation group, with its distribution as a sparkline.
    Summary,
    /// The command table.
    Commands,
    /// The group table.
    Groups,
    /// Distributions in decades for every command and group.
    Distributions,
    /// Anomalies, counted.
    Anomalies,
    /// Percentiles of response and service time.
    Percentiles,
    /// Operations and bytes a second.
    Throughput,
    /// Sizes and sequences of reads and writes, and the working set.
    Io,
    /// Answers by status.
    Errors,
    /// Requests that wait by design.
    LongLived,
    /// Requests outstanding at once.
    QueueDepth,
    /// Operation mix and sizes, and service times in powers of two of all operations together.
    ServiceTime,
    /// Service times in powers of two of every operation: long.
    ServiceOctaves,
    /// By client, server, share, operation and similar, if requested; the parts of a call.
    Breakdown,
    /// The slowest operations, and where to find them in the capture.
    Slowest,
    /// The longest-waiting requests without an answer.
    Unanswered,
    /// What could not be seen.
    Unseen,
    /// Of a comparison: the leader at each load.
    Ranking,
    /// Of a comparison: every number of each level beside the baseline's.
    Differences,
}

impl Section {
    /// Every section of a report of one side, in its order.
    pub const ALL: [Section; 21] = [
        Section::Diagnosis,
        Section::Packets,
        Section::Run,
        Section::Clients,
        Section::Summary,
        Section::Commands,
        Section::Groups,
        Section::Distributions,
        Section::Anomalies,
        Section::Percentiles,
        Section::Throughput,
        Section::Io,
        Section::Errors,
        Section::LongLived,
        Section::QueueDepth,
        Section::ServiceTime,
        Section::ServiceOctaves,
        Section::Breakdown,
        Section::Slowest,
        Section::Unanswered,
        Section::Unseen,
    ];

    /// Every section of a comparison, in its order.
    pub const OF_COMPARISONS: [Section; 5] =
        [Section::Diagnosis, Section::Ranking, Section::Differences, Section::Run, Section::Clients];

    /// The word used in flags.
    pub fn label(self) -> &'static str {
        match self {
            Section::Diagnosis => "diagnosis",
            Section::Packets => "packets",
            Section::Run => "run",
            Section::Clients => "clients",
            Section::Summary => "summary",
            Section::Commands => "commands",
            Section::Groups => "groups",
            Section::Distributions => "distributions",
            Section::Anomalies => "anomalies",
            Section::Percentiles => "percentiles",
            Section::Throughput => "throughput",
            Section::Io => "io",
            Section::Errors => "errors",
            Section::LongLived => "long-lived",
            Section::QueueDepth => "queue-depth",
            Section::ServiceTime => "service-time",
            Section::ServiceOctaves => "service-octaves",
            Section::Breakdown => "breakdown",
            Section::Slowest => "slowest",
            Section::Unanswered => "unanswered",
            Section::Unseen => "unseen",
            Section::Ranking => "ranking",
            Section::Differences => "differences",
        }
    }
}

/// A set of [`Section`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections(u32);

impl Sections {
    /// The whole report.
    pub const ALL: Sections = Sections(u32::MAX);
    /// Title and verdict only.
    pub const NONE: Sections = Sections(0);
    /// With one more.
    #[must_use]
    pub const fn with(self, section: Section) -> Sections {
        Sections(self.0 | 1 << section as u8)
    }

    /// With one less.
    #[must_use]
    pub const fn without(self, section: Section) -> Sections {
        Sections(self.0 & !(1 << section as u8))
    }

    /// Whether it is in the set.
    pub const fn contains(self, section: Section) -> bool {
        self.0 >> section as u8 & 1 == 1
    }
}

/// How the report is to look. The caller decides: nothing here looks at a terminal or the environment.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to use ANSI colours.
    pub colour: bool,
    /// Maximum width of lines, in columns, except for display filters (which are meant to be copied). At least 40.
    pub width: u16,
    /// What to show.
    pub sections: Sections,
}

impl Style {
    /// Narrowest report: below this its longest numbers do not fit beside their words.
    pub const MIN_WIDTH: u16 = 40;

    /// The whole report without colour.
    pub const fn plain(width: u16) -> Style {
        Style { colour: false, width, sections: Sections::ALL }
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.width.max(Self::MIN_WIDTH))
    }
}

impl Default for Style {
    /// The whole report, 80 columns wide, without colour.
    fn default() -> Self {
        Style::plain(80)
    }
}
