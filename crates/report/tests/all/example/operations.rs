//! The operations of the rich example: times, bytes, queues and the slowest.

use super::*;
use crate::html_synthetic::counted;

/// All but one near the mean, and one that took eight times as long.
pub(super) fn octaves(n: u64, mean_s: f64) -> Vec<Octave> {
    let power = (mean_s * 1e6).log2().ceil() as i32;
    let octave = |more: i32, count: u64| Octave {
        below_s: 2_f64.powi(power + more) / 1e6,
        count,
        total_s: mean_s * 2_f64.powi(more) * count as f64,
    };
    vec![octave(0, n - 1), octave(1, 0), octave(2, 0), octave(3, 1)]
}

pub(super) fn heat_maps() -> Vec<HeatMap> {
    let map = |(group, n): (&str, u64)| HeatMap {
        group: group.into(),
        start_ns: 870_000_000_000_000_000,
        column_s: 10.0,
        columns: 2,
        edges_s: vec![0.001, 0.002, 0.004, 0.008, 0.016, 0.032],
        cells: vec![(0, 0, 5 * n), (1, 1, 70 * n), (0, 1, 8), (1, 2, 30), (1, 4, 1)],
    };
    [("All", 3), ("Read", 1), ("Write", 2)].map(map).to_vec()
}

pub(super) fn operations() -> Vec<OperationRow> {
    let names = [
        ["Check_Directory", "CHECK_DIRECTORY", "Other.Directory"],
        ["Delete_File", "DELETE", "Other.Directory"],
        ["Read+X", "READ_ANDX", "Read"],
        ["Set_File_Attributes", "SET_INFORMATION", "Other.Attributes"],
        ["Transaction2", "TRANSACTION2", "Other.Directory"],
        ["Find_First", "TRANSACTION2 FIND_FIRST2", "Other.Directory"],
        ["", "TRANSACTION2 SET_FS_INFORMATION", "Other.Attributes"],
        ["Write_Raw", "WRITE_RAW", "Write"],
    ];
    let numbers = [
        (235, 2.0, [0.00032, 0.0382, 0.00724, 0.0089, 0.0049], [4, 155, 76, 0, 0]),
        (269, 2.004, [0.00096, 1.64518, 0.00811, 0.04184, 0.1945], [1, 159, 101, 4, 4]),
        (8735, 3.6, [0.0002, 0.17699, 0.00732, 0.01063, 0.0126], [105, 6031, 2562, 37, 0]),
        (1, 2.0, [0.0139, 0.0139, 0.0139, 0.0139, 0.0], [0, 0, 1, 0, 0]),
        (820, 2.001, [0.00032, 0.09482, 0.00779, 0.00967, 0.006], [3, 519, 298, 0, 0]),
        (469, 2.0, [0.00073, 0.09482, 0.00755, 0.00943, 0.0063], [1, 320, 148, 0, 0]),
        (85, 2.0, [0.0039, 0.03716, 0.00792, 0.00997, 0.0056], [0, 53, 32, 0, 0]),
        (261, 7.1, [0.00699, 0.20911, 0.02325, 0.02672, 0.0157], [0, 3, 257, 1, 0]),
    ];
    let mut rows: Vec<OperationRow> = (names.into_iter().zip(numbers))
        .map(|([seed, procedure, group], (n, packets, times, decades))| {
            row(seed, procedure, group, n, packets, times, decades)
        })
        .collect();
    for child in &mut rows[5..7] {
        child.parent = Some("TRANSACTION2".into());
    }
    (rows[1].errors, rows[1].refused, rows[1].expected) = (3, 3, 1);
    rows[1].statuses = vec![
        counted(0xc000_0022, "STATUS_ACCESS_DENIED", 3, "refused"),
        counted(0x8000_0005, "STATUS_BUFFER_OVERFLOW", 1, "expected"),
    ];
    rows.push(OperationRow {
        parent: Some("WRITE_RAW".into()),
        answered: 0,
        response_time: None,
        service_time: None,
        ..row("async portion", "WRITE_RAW async portion", "Write", 263, 25.5, [0.0; 5], [0; 5])
    });
    rows.push(OperationRow {
        protocol: "NFS3".into(),
        answered: 0,
        unanswered: 2,
        packets_mean: None,
        response_time: None,
        service_time: None,
        distribution: vec![],
        percentiles: vec![],
        ..row("", "READDIRPLUS", "Other.Directory", 2, 2.0, [0.0; 5], [0; 5])
    });
    rows
}

pub(super) fn groups() -> Vec<OperationRow> {
    vec![
        row("", "", "Open/Close", 3275, 2.0001, [0.00021, 0.04957, 0.00739, 0.00893, 0.0048], [46, 2206, 1023, 0, 0]),
        row("", "", "Other", 5455, 2.0, [0.00016, 1.64518, 0.00727, 0.01043, 0.0441], [80, 3702, 1664, 5, 4]),
        row("", "", "Other.Attributes", 3412, 2.0, [0.00026, 0.1525, 0.00719, 0.00866, 0.0052], [60, 2343, 1008, 1, 0]),
        row("", "", "Other.Directory", 1754, 2.0, [0.00016, 1.64518, 0.00751, 0.01422, 0.0773], [16, 1140, 590, 4, 4]),
        row("", "", "Read", 8735, 3.6, [0.0002, 0.17699, 0.00732, 0.01063, 0.0126], [105, 6031, 2562, 37, 0]),
        row("", "", "Write", 6042, 3.02, [0.00034, 0.77066, 0.00789, 0.0108, 0.0181], [54, 3756, 2225, 7, 0]),
    ]
}

/// Sequential reads of 64 KiB; small random writes, half of them to blocks written before.
pub(super) fn file_io() -> FileIo {
    let reads = IoDirection {
        requests: 1_000,
        bytes: 65_536_000,
        sizes: vec![SizeShare { from: 65_536, to: 131_071, count: 1_000, bytes: 65_536_000 }],
        first: 10,
        sequential: 980,
        strided: 4,
        random: 6,
        run_mean_bytes: Some(3_276_800.0),
        run_mean_requests: Some(50.0),
        runs: vec![RunShare { from: 32, to: 63, count: 20 }],
    };
    let writes = IoDirection {
        requests: 200,
        bytes: 102_400,
        sizes: vec![SizeShare { from: 512, to: 1023, count: 200, bytes: 102_400 }],
        first: 5,
        random: 195,
        run_mean_bytes: Some(512.0),
        run_mean_requests: Some(1.0),
        runs: vec![RunShare { from: 1, to: 1, count: 200 }],
        ..IoDirection::default()
    };
    let caches = vec![CacheShare { bytes: 1 << 20, hits: 0.25 }, CacheShare { bytes: 1 << 26, hits: 0.5 }];
    let working_set = WorkingSet {
        block_bytes: 4096,
        accesses: 16_200,
        bytes: Some(33_177_600),
        reused: Some(0.5),
        sampled: 0.5,
        relative_error: Some(0.011),
        caches,
    };
    FileIo { reads, writes, unknown: 3, working_set }
}

pub(super) fn queue_depth() -> QueueDepth {
    let share = |from, to, count, share| DepthShare { from, to, count, share };
    QueueDepth {
        at_arrival: vec![share(0, 0, Some(20_000), 0.85), share(1, 1, Some(3000), 0.13), share(2, 3, Some(507), 0.02)],
        over_time: vec![share(0, 0, None, 0.6), share(1, 1, None, 0.35), share(2, 3, None, 0.05)],
        mean: Some(0.45),
        max: Some(3),
        entered_late: 1,
    }
}

pub(super) fn slow() -> Slow {
    Slow {
        protocol: "SMB1".into(),
        procedure: "DELETE".into(),
        response_time_s: 1.645_18,
        service_time_s: Some(1.645_1),
        at_ns: 870_000_012_345_678_900,
        client: "10.0.0.1:1025".into(),
        server: "10.0.0.2:139".into(),
        share: Some(r"\\F630\BENCH".into()),
        path: Some("\\CLIENTS\\CLIENT1\\\x1b[31mRED\u{202e}TXT.EXE\nINVALID".into()),
        user: Some("tester".into()),
        status: Some("STATUS_SUCCESS".into()),
        request_frame: Some(12),
        response_frame: Some(15),
        display_filter: "frame.number == 12 || frame.number == 15".into(),
        ..Slow::default()
    }
}

pub(super) fn waiting() -> Slow {
    Slow {
        procedure: "READ_ANDX".into(),
        service_time_s: None,
        status: None,
        path: None,
        user: None,
        request_frame: Some(91_000),
        response_frame: None,
        display_filter: "frame.number == 91000".into(),
        ..slow()
    }
}
