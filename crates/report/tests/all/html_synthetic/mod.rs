//! A simulated busy file server from a seeded generator: eight groups, 300 columns of heat map, a load that rises in steps, a stall, and
//! the worst names that a capture could contain. Sums, shares and histograms are consistent.

mod compared;
mod run;

pub(crate) use compared::{compared, compared_in_full, points};
use plimsoll_report::findings::*;
pub(crate) use run::run;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Texts that would act in a page, a script, a terminal or a reader's eye.
pub(crate) const NASTY: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "' onmouseover='alert(3)",
    "</script><script>alert(4)//",
    "<!--<script>",
    "invoice\u{202e}fdp.exe",
    "bell\u{7}\u{1b}[31mred\u{85}\u{2028}\u{2029}\u{200b}line\nbreak",
    "&lt;b&gt; {{7*7}} ${x} \u{202e}\u{2066}طلب\u{2069} наряд 注文",
];

const START_NS: i64 = 872_000_000_123_456_000;
const COLUMNS: u32 = 300;
const COLUMN_S: f64 = 2.0;
const ROWS_PER_DECADE: i32 = 12;

/// Protocol, procedure, parent, seed name, operation, group, weight, median s, spread, bytes a piece.
type Kind = (Name, Name, Option<Name>, Option<Name>, Name, Name, u32, f64, f64, u64);
type Name = &'static str;

/// The parent of subcommands.
const TRANS2: Option<Name> = Some("TRANSACTION2");

const KINDS: [Kind; 13] = [
    ("SMB1", "READ_ANDX", None, Some("Read+X"), "read", "Read", 350, 0.0042, 0.7, 16_384),
    ("SMB1", "WRITE_ANDX", None, Some("Write+X"), "write", "Write", 220, 0.0065, 0.6, 16_384),
    ("SMB1", "FLUSH", None, Some("Flush_File"), "flush", "Write", 4, 0.021, 0.5, 0),
    ("SMB1", "TRANSACTION2 FIND_FIRST2", TRANS2, Some("Find_First2"), "list", "Other.Directory", 20, 0.0075, 0.7, 0),
    ("SMB1", "TRANSACTION2 FIND_NEXT2", TRANS2, Some("Find_Next"), "list", "Other.Directory", 12, 0.0085, 0.6, 0),
    ("SMB1", "TRANSACTION2 QUERY_PATH_INFO", TRANS2, None, "getattr", "Other.Attributes", 45, 0.0008, 0.8, 0),
    ("SMB1", "LOCKING_ANDX", None, Some("Locking+X"), "lock", "Other.Locking", 12, 0.0005, 0.6, 0),
    ("SMB2", "CREATE", None, None, "open", "Open/Close", 90, 0.0019, 0.8, 0),
    ("SMB2", "CLOSE", None, None, "close", "Open/Close", 88, 0.0003, 0.6, 0),
    ("SMB2", "SESSION_SETUP", None, None, "session", "Session", 3, 0.012, 0.5, 0),
    ("NFS3", "GETATTR", None, None, "getattr", "Other.Attributes", 120, 0.00018, 0.6, 0),
    ("NFS3", "READ", None, None, "read", "Read", 80, 0.00045, 0.9, 65_536),
    ("NFS4.1", "SEQUENCE", None, None, "session", "Session", 10, 0.00015, 0.4, 0),
];

/// A small generator: the same findings on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64) / (1_u64 << 53) as f64
    }

    /// Near enough to a normal deviate: a sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// One made-up operation.
#[derive(Clone, Copy)]
struct One {
    kind: usize,
    end_s: f64,
    time_s: f64,
    error: bool,
}

/// The busy server.
pub(crate) fn busy() -> Findings {
    static MADE: OnceLock<Findings> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

#[allow(clippy::too_many_lines, reason = "one field after the other")]
fn make() -> Findings {
    let ones = operations();
    let total = ones.len() as u64;
    let mut rows: Vec<OperationRow> = (0..KINDS.len())
        .map(|kind| {
            let these: Vec<One> = ones.iter().filter(|one| one.kind == kind).copied().collect();
            let (protocol, procedure, parent, seed, operation, group, ..) = KINDS[kind];
            OperationRow {
                protocol: protocol.into(),
                procedure: procedure.into(),
                netbench_name: seed.map(Into::into),
                parent: parent.map(Into::into),
                operation: operation.into(),
                group: group.into(),
                ..row(&these, total)
            }
        })
        .collect();
    // A command's row, the sum of its subcommands, stands before them.
    let command: Vec<One> = ones.iter().filter(|one| KINDS[one.kind].2.is_some()).copied().collect();
    let first = rows.iter().position(|row| row.parent.is_some()).unwrap();
    let named = OperationRow {
        protocol: "SMB1".into(),
        procedure: "TRANSACTION2".into(),
        operation: "other".into(),
        ..row(&command, total)
    };
    rows.insert(first, named);
    let groups =
        ["Open/Close", "Other", "Other.Attributes", "Other.Directory", "Other.Locking", "Read", "Write", "Session"];
    let in_group =
        |one: &&One, group: &str| KINDS[one.kind].5.split('.').next() == Some(group) || KINDS[one.kind].5 == group;
    let groups: Vec<OperationRow> = groups
        .iter()
        .map(|group| {
            let these: Vec<One> = ones.iter().filter(|one| in_group(one, group)).copied().collect();
            OperationRow { group: (*group).into(), ..row(&these, total) }
        })
        .collect();
    let maps = ["All", "Open/Close", "Other", "Read", "Write"].iter().map(|group| heat_map(group, &ones)).collect();
    let breakdown = NASTY.iter().zip(&rows).map(|(key, row)| by_path(key, row)).collect();
    Findings {
        letter: "A".into(),
        name: "synthetic".into(),
        diagnosis: Diagnosis {
            waited_s: Some(1.5),
            statements: vec![Statement {
                rule: Rule::Operation,
                text: format!("Clients waited 1.50 s for {}.", NASTY[0]),
                share: Some(0.5),
                confidence: Confidence::Measured,
            }],
            next: Some(format!("plimsoll analyze '{}' --by client", NASTY[1])),
        },
        source: Source {
            tool: "plimsoll 0.1.0".into(),
            inputs: vec!["ring-00001.pcapng".into(), NASTY[3].into(), "-".into()],
            filters: vec!["--server".into(), "10.0.0.9".into()],
            vantage: "wire".into(),
            ..Source::default()
        },
        span: Span {
            first_ns: Some(START_NS),
            last_ns: Some(START_NS + 599_795_400_000),
            elapsed_s: Some(599.7954),
            between_files_s: 0.0,
        },
        packets: packets(total),
        clock: Clock { granularity_s: Some(4e-6), at_most: true, backward_steps: 3 },
        resent: Resent { operations: Some(3), wait_s: Some(0.65), ..Resent::default() },
        unseen: Unseen {
            paired: total - 211,
            requests_after_gap: 172,
            responses_after_gap: 164,
            requests_waiting: 39,
            responses_before_start: 12,
            share_missing: Some(0.0058),
            share_missing_low: Some(0.0051),
            share_missing_high: Some(0.0071),
            missing: 137,
            ..Unseen::default()
        },
        long_lived: vec![long_lived(&rows[0])],
        members: vec![OperationRow { procedure: "COMPOUND".into(), protocol: "NFS4".into(), ..long_lived(&rows[0]) }],
        operations: rows,
        groups,
        breakdown: Some(Breakdown {
            by: "path".into(),
            dimensions: vec!["path".into()],
            rows: breakdown,
            others: 1234,
            ..Breakdown::default()
        }),
        queue_depth: queue_depth(),
        slowest: slowest(&ones),
        unanswered: unanswered(),
        series: series(&ones),
        heat_maps: maps,
        anomalies: vec![
            AnomalyCount {
                kind: "dropped_by_capture".into(),
                count: 7065,
                text: "packets that were acknowledged but never captured".into(),
            },
            AnomalyCount {
                kind: "response_without_request".into(),
                count: 164,
                text: "response without a captured request".into(),
            },
        ],
        warnings: vec![
            "At least 7,065 packets were dropped by the capture: slow moments may be missing from every number here."
                .into(),
            format!("2 files could not be named: {}", NASTY[1]),
        ],
        one_way: 18,
        connections: 24,
        ..Findings::default()
    }
}

/// As [`busy`], and not to be used.
pub(crate) fn invalid() -> Findings {
    let reasons = ["62 % of the packets were dropped by the capture.", NASTY[0]];
    Findings { validity: Validity::of(reasons.map(Reason::invalid)), ..busy() }
}

fn operations() -> Vec<One> {
    let mut chance = Chance(42);
    let weights: u32 = KINDS.iter().map(|kind| kind.6).sum();
    let mut ones = Vec::new();
    let mut now = 0.0;
    while now < f64::from(COLUMNS) * COLUMN_S - 0.5 {
        // Load rises a step a minute; a stall holds everything at 400 s.
        let level = 1.0 + (now / 60.0_f64).floor();
        let stalled = (400.0..412.0).contains(&now);
        now += -(1.0 - chance.next()).ln() / (28.0 * level * if stalled { 0.25 } else { 1.0 });
        let mut ticket = (chance.next() * f64::from(weights)) as u32;
        let kind = KINDS.iter().position(|kind| {
            let mine = ticket < kind.6;
            ticket = ticket.saturating_sub(kind.6);
            mine
        });
        let kind = kind.unwrap_or(0);
        let (median, spread) = (KINDS[kind].7, KINDS[kind].8);
        let queueing = 1.0 + (level / 7.0).powi(2) * if kind < 6 { 1.6 } else { 0.5 };
        let cached = kind == 0 && chance.next() < 0.45;
        let mut time_s = median * queueing * (spread * chance.normal()).exp() * if cached { 0.07 } else { 1.0 };
        if stalled && chance.next() < 0.7 {
            time_s += 0.3 + (412.0 - now).max(0.0) * 0.12 * chance.next();
        }
        let end_s = now.min(f64::from(COLUMNS) * COLUMN_S - 0.001);
        ones.push(One { kind, end_s, time_s: time_s.clamp(1.1e-5, 9.9), error: chance.next() < 0.012 });
    }
    ones
}

fn times(sorted: &[f64]) -> Option<Times> {
    let n = sorted.len();
    let at = |p: f64| sorted[((p / 100.0 * n as f64).ceil() as usize).clamp(1, n) - 1];
    (n > 0).then(|| {
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares = sorted.iter().map(|s| (s - mean).powi(2)).sum::<f64>();
        Times {
            count: n as u64,
            min_s: sorted[0],
            max_s: sorted[n - 1],
            mean_s: mean,
            stddev_s: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            p50_s: at(50.0),
            p90_s: at(90.0),
            p95_s: at(95.0),
            p99_s: at(99.0),
            p999_s: at(99.9),
        }
    })
}

fn octaves(sorted: &[f64]) -> Vec<Octave> {
    let mut all: BTreeMap<i32, (u64, f64)> = BTreeMap::new();
    for s in sorted {
        let octave = all.entry((s * 1e6).log2().floor() as i32 + 1).or_default();
        *octave = (octave.0 + 1, octave.1 + s);
    }
    let shown = |(power, (count, total_s))| Octave { below_s: 2_f64.powi(power) / 1e6, count, total_s };
    all.into_iter().map(shown).collect()
}

/// A status with its number of responses.
pub(crate) fn counted(status: u32, name: &str, count: u64, outcome: &str) -> StatusCount {
    StatusCount { status, name: name.into(), count, error: outcome == "refused", outcome: outcome.into() }
}

fn row(these: &[One], total: u64) -> OperationRow {
    let mut sorted: Vec<f64> = these.iter().map(|one| one.time_s).collect();
    sorted.sort_by(f64::total_cmp);
    let service: Vec<f64> = sorted.iter().map(|s| s * 0.83).collect();
    let n = these.len() as u64;
    let mut decades = BTreeMap::new();
    for s in &sorted {
        *decades.entry(s.log10().floor() as i32 + 1).or_insert(0_u64) += 1;
    }
    let (low, high) = (decades.keys().min().copied().unwrap_or(0), decades.keys().max().copied().unwrap_or(-1));
    let steps = [
        0.0, 10.0, 25.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95,
        99.99, 100.0,
    ];
    let errors = these.iter().filter(|one| one.error).count() as u64;
    let at = |p: f64| sorted[((p / 100.0 * n as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    OperationRow {
        count: n + n / 900,
        share: n as f64 / total as f64,
        answered: n,
        unanswered: n / 900,
        errors,
        expected: n / 80,
        refused: errors,
        packets_mean: Some(
            2.0 + these.iter().map(|one| KINDS[one.kind].9 as f64 / 1448.0).sum::<f64>() / n.max(1) as f64,
        ),
        payload_bytes: Some(these.iter().map(|one| KINDS[one.kind].9).sum()),
        wire_bytes: Some(these.iter().map(|one| KINDS[one.kind].9 + 140).sum()),
        response_time: times(&sorted),
        service_time: times(&service),
        service_octaves: octaves(&service),
        distribution: (low..=high)
            .map(|e| Bucket { below_s: 10_f64.powi(e), count: decades.get(&e).copied().unwrap_or(0) })
            .collect(),
        statuses: vec![
            counted(0xC000_0034, "STATUS_OBJECT_NAME_NOT_FOUND", errors, "refused"),
            counted(0x8000_0006, "STATUS_NO_MORE_FILES", n / 80, "expected"),
        ],
        percentiles: steps.iter().map(|p| PercentilePoint { percentile: *p, value_s: at(*p) }).collect(),
        ..OperationRow::default()
    }
}

fn heat_map(group: &str, ones: &[One]) -> HeatMap {
    let low = -5;
    let rows = (6 * ROWS_PER_DECADE) as u32;
    let mut cells = BTreeMap::new();
    for one in ones.iter().filter(|one| group == "All" || KINDS[one.kind].5.starts_with(group)) {
        let row = ((one.time_s.log10() - f64::from(low)) * f64::from(ROWS_PER_DECADE)).max(0.0) as u32;
        *cells.entry(((one.end_s / COLUMN_S) as u32, row.min(rows - 1))).or_insert(0_u64) += 1;
    }
    HeatMap {
        group: group.into(),
        start_ns: START_NS,
        column_s: COLUMN_S,
        columns: COLUMNS,
        edges_s: (0..=rows).map(|i| 10_f64.powf(f64::from(low) + f64::from(i) / f64::from(ROWS_PER_DECADE))).collect(),
        cells: cells.into_iter().map(|((column, row), n)| (column, row, n)).collect(),
    }
}

fn series(ones: &[One]) -> Series {
    let bins = 600;
    let mut series = Series {
        start_ns: START_NS,
        bin_s: 1.0,
        operations: vec![0; bins],
        errors: vec![0; bins],
        read_bytes: vec![0; bins],
        write_bytes: vec![0; bins],
        payload_unknown: vec![0; bins],
        response_mean_s: vec![],
    };
    let mut sums = vec![0.0; bins];
    for one in ones {
        let bin = one.end_s as usize;
        series.operations[bin] += 1;
        series.errors[bin] += u64::from(one.error);
        sums[bin] += one.time_s;
        match KINDS[one.kind].4 {
            "read" => series.read_bytes[bin] += KINDS[one.kind].9,
            "write" => series.write_bytes[bin] += KINDS[one.kind].9,
            _ => {}
        }
    }
    series.response_mean_s =
        sums.iter().zip(&series.operations).map(|(s, n)| (*n > 0).then(|| s / *n as f64)).collect();
    series
}

fn slowest(ones: &[One]) -> Vec<Slow> {
    let mut sorted: Vec<&One> = ones.iter().collect();
    sorted.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    let slow = |(i, one): (usize, &&One)| Slow {
        protocol: KINDS[one.kind].0.into(),
        procedure: KINDS[one.kind].1.into(),
        response_time_s: one.time_s,
        service_time_s: Some(one.time_s * 0.97),
        at_ns: START_NS + ((one.end_s - one.time_s) * 1e9) as i64,
        client: format!("10.0.0.{}:{}", 21 + i, 49_152 + i * 7),
        server: "10.0.0.9:445".into(),
        share: Some(if i == 4 { NASTY[2].into() } else { "\\\\F630\\home".into() }),
        path: Some(if i < NASTY.len() { NASTY[i].into() } else { "CLIENTS\\CLIENT1\\~DMTMP\\SEED\\LARGE.FIL".into() }),
        user: Some(if i == 5 { NASTY[5].into() } else { format!("WORKGROUP\\user{i}") }),
        status: Some(if i % 4 == 3 { "STATUS_OBJECT_NAME_NOT_FOUND".into() } else { "STATUS_SUCCESS".into() }),
        request_frame: Some(18_200 + 37 * i as u64),
        response_frame: Some(18_222 + 41 * i as u64),
        display_filter: format!("frame.number in {{{}, {}}}", 18_200 + 37 * i, 18_222 + 41 * i),
        ..Slow::default()
    };
    sorted.iter().take(20).enumerate().map(slow).collect()
}

fn unanswered() -> Vec<Slow> {
    let waiting = |i: usize| Slow {
        protocol: "SMB2".into(),
        procedure: "CREATE".into(),
        response_time_s: 199.0 - 11.0 * i as f64,
        at_ns: START_NS + 400_000_000_000 + 11_000_000_000 * i as i64,
        client: format!("[2001:db8::{i:x}]:50123"),
        server: "[2001:db8::9]:445".into(),
        path: (i == 0).then(|| NASTY[7].into()),
        request_frame: Some(51_000 + i as u64),
        display_filter: format!("frame.number == {}", 51_000 + i),
        ..Slow::default()
    };
    (0..5).map(waiting).collect()
}

fn long_lived(like: &OperationRow) -> OperationRow {
    OperationRow {
        protocol: "SMB2".into(),
        procedure: "CHANGE_NOTIFY".into(),
        operation: "notify".into(),
        netbench_name: None,
        parent: None,
        count: 31,
        answered: 22,
        unanswered: 9,
        expected: 0,
        errors: 0,
        refused: 0,
        failed: 0,
        statuses: vec![],
        payload_bytes: Some(0),
        payload_unknown: 0,
        ..like.clone()
    }
}

fn queue_depth() -> QueueDepth {
    let ranges =
        [(0, 0, 0.31), (1, 1, 0.27), (2, 3, 0.22), (4, 7, 0.13), (8, 15, 0.05), (16, 31, 0.0199), (32, 63, 0.0001)];
    let share = |(from, to, share): &(u64, u64, f64), count: Option<u64>| DepthShare {
        from: *from,
        to: *to,
        count,
        share: *share,
    };
    QueueDepth {
        at_arrival: ranges.iter().map(|r| share(r, Some((r.2 * 90_000.0) as u64))).collect(),
        over_time: ranges.iter().rev().zip(&ranges).map(|(r, s)| share(&(s.0, s.1, (r.2 + s.2) / 2.0), None)).collect(),
        mean: Some(1.87),
        max: Some(41),
        entered_late: 2,
    }
}

fn packets(total: u64) -> PacketCounts {
    PacketCounts {
        total: total * 4,
        tcp: total * 4 - 900,
        tcp_data: total * 3,
        ack_only: total - 900,
        ack_repeated: 13,
        udp: 800,
        other: 100,
        retransmitted: 6,
        out_of_order: 11,
        dropped_at_least: 7065,
        dropped_estimate: 9204,
        missing_bytes: 6_400_000,
        largest: 1_514,
        truncated: 0,
        continued: total,
        commands: total * 2,
        command_first: total,
        command_continued_sync: total / 4,
        command_continued_async: total / 3,
        command_ack: total / 3,
        command_retry: 13,
        captured_bytes: total * 5_000,
        wire_bytes: total * 5_400,
    }
}

fn by_path(key: &str, row: &OperationRow) -> BreakdownRow {
    BreakdownRow {
        key: key.into(),
        keys: vec![Some(key.into())],
        waited_share: None,
        bytes_per_s: None,
        series: BreakdownSeries::default(),
        row: row.clone(),
    }
}
