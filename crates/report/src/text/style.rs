//! The appearance of the report, and its sections.

/// Declares the sections, each with its word in flags: those of a report of one side, in its order, and those of comparisons only.
macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident $word:literal,)* ; $($(#[$own_doc:meta])* $own:ident $own_word:literal,)*) => {
        /// Parts of the report. The title and the verdict are no parts: they are always there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Section {
            $($(#[$doc])* $section,)*
            $($(#[$own_doc])* $own,)*
        }

        impl Section {
            /// Every section of a report of one side, in its order.
            pub const ALL: [Section; [$($word),*].len()] = [$(Section::$section),*];

            /// The word used in flags.
            pub fn label(self) -> &'static str {
                match self {
                    $(Section::$section => $word,)*
                    $(Section::$own => $own_word,)*
                }
            }
        }
    };
}

sections! {
    /// The main waits, and the next command.
    Diagnosis "diagnosis",
    /// Packet counts, elapsed time, clock; what to know before believing the numbers.
    Packets "packets",
    /// How the load was made, and a line a load level; nothing for a capture.
    Run "run",
    /// All clients of each load level; nothing for a capture.
    Clients "clients",
    /// A line per operation group, with its distribution as a sparkline.
    Summary "summary",
    /// The command table.
    Commands "commands",
    /// The group table.
    Groups "groups",
    /// Distributions in decades for every command and group.
    Distributions "distributions",
    /// Anomalies, counted.
    Anomalies "anomalies",
    /// Percentiles of response and service time.
    Percentiles "percentiles",
    /// Operations and bytes a second.
    Throughput "throughput",
    /// Sizes and sequences of reads and writes, and the working set.
    Io "io",
    /// Answers by status.
    Errors "errors",
    /// Requests that wait by design.
    LongLived "long-lived",
    /// Requests outstanding at once.
    QueueDepth "queue-depth",
    /// Operation mix and sizes, and service times in powers of two of all operations together.
    ServiceTime "service-time",
    /// Service times in powers of two of every operation: long.
    ServiceOctaves "service-octaves",
    /// By client, server, share, operation and similar, if requested; the parts of a call.
    Breakdown "breakdown",
    /// The slowest operations, and where to find them in the capture.
    Slowest "slowest",
    /// The longest-waiting requests without an answer.
    Unanswered "unanswered",
    /// What could not be seen.
    Unseen "unseen",
    ;
    /// Of a comparison: the leader at each load.
    Ranking "ranking",
    /// Of a comparison: every number of each level beside the baseline's.
    Differences "differences",
}

impl Section {
    /// Every section of a comparison, in its order.
    pub const OF_COMPARISONS: [Section; 5] =
        [Section::Diagnosis, Section::Ranking, Section::Differences, Section::Run, Section::Clients];
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
