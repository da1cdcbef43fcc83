//! Any bytes as a recording's state of statistics: a valid state can be merged, shown and written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_model::Names;
use plimsoll_stats::Statistics;

/// Names that a state may bring, bytes.
const NAMES: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut names = Names::with_limit(NAMES);
    let Ok((statistics, coverage)) = Statistics::from_bytes(data, &mut names) else { return };
    let mut twice = statistics.clone();
    twice.merge(&statistics);
    twice.queue_depth().mean();
    twice.heat_maps();
    for (_, row) in twice.groups() {
        row.response().curve();
        row.response().moments().stddev_ns();
    }
    // Written and read, it is the same again, but for the numbers of names; after one more round these are, too.
    let (mut second, mut third) = (Names::with_limit(NAMES), Names::with_limit(NAMES));
    let written = statistics.to_bytes(&coverage, &names);
    let (again, coverage) = Statistics::from_bytes(&written, &mut second).expect("what was written is a state");
    let once = again.to_bytes(&coverage, &second);
    let (again, coverage) = Statistics::from_bytes(&once, &mut third).expect("what was written is a state");
    assert!(again.to_bytes(&coverage, &third) == once);
});
