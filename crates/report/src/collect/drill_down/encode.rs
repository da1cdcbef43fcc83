//! Cells of a cube as few bytes; `assets/cube.js` reads them.
//!
//! Numbers are LEB128: seven bits per byte, lowest first. Cells with the same keys stand together: a byte per dimension, how many cells
//! follow, and for each of them the bin of time + 1 less that of the one before it (0 first; bin + 1 is 0 where the time is not known), requests, a byte
//! of flags, what the flags announce, and up to three histograms.

use plimsoll_stats::cube::{CubeHistogram, FoldedCell, FoldedCube};

/// All requests are errors; some are, and how many follows.
const ALL_ERRORS: u8 = 1;
const SOME_ERRORS: u8 = 2;
/// Bytes of file data follow, and the number of requests that moved an unknown amount.
const BYTES: u8 = 4;
const UNKNOWN_BYTES: u8 = 8;
/// Histograms of times that are response and service time, of other response times, of other service times follow.
const HISTOGRAMS: [u8; 3] = [16, 32, 64];
/// The time waited is the longest response time, and does not follow.
const WAITED_LONGEST: u8 = 128;

/// Encodes the cells; returns the unit of times, ns, and the bytes.
pub(super) fn encode(cube: &FoldedCube) -> (u64, Vec<u8>) {
    let unit_ns = cube.cells.iter().flat_map(times).fold(0, greatest_common_divisor).max(1);
    let mut out = Encoder { bytes: Vec::new(), unit_ns, joined: cube.joined };
    for same_keys in cube.cells.chunk_by(|a, b| a.keys == b.keys) {
        let keys = same_keys.first().map(|first| first.keys).into_iter().flatten();
        keys.for_each(|key| out.number(key.into()));
        out.number(same_keys.len() as u64);
        let mut before = 0;
        for one in same_keys {
            let at = one.bin.map_or(0, |bin| bin as u64 + 1);
            out.number(at - before);
            before = at;
            out.cell(one);
        }
    }
    (unit_ns, out.bytes)
}

fn histograms(one: &FoldedCell) -> [&CubeHistogram; 3] {
    [&one.cell.both, &one.cell.response, &one.cell.service]
}

fn waited_ns(one: &FoldedCell) -> u64 {
    u64::try_from(one.cell.waiting.ns()).unwrap_or(u64::MAX)
}

fn times(one: &FoldedCell) -> [u64; 4] {
    let [both, response, service] = histograms(one).map(CubeHistogram::max_ns);
    [both, response, service, waited_ns(one)]
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

struct Encoder {
    bytes: Vec<u8>,
    unit_ns: u64,
    joined: u32,
}

impl Encoder {
    fn number(&mut self, mut n: u64) {
        while n >= 128 {
            self.bytes.push(n as u8 | 128);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    fn cell(&mut self, one: &FoldedCell) {
        let cell = &one.cell;
        let [both, response, _, waited] = times(one);
        let (bytes, unknown) = (cell.payload.at_least().unwrap_or(0), cell.payload.unknown());
        let has_histogram = histograms(one).map(|histogram| histogram.bins().len() > 0);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let waited_longest = waited == both.max(response);
        let some_errors = cell.errors > 0 && cell.errors < cell.count;
        let flags = flag(cell.errors == cell.count, ALL_ERRORS)
            | flag(some_errors, SOME_ERRORS)
            | flag(bytes > 0, BYTES)
            | flag(unknown > 0, UNKNOWN_BYTES)
            | flag(waited_longest, WAITED_LONGEST)
            | has_histogram.into_iter().zip(HISTOGRAMS).map(|(has, bit)| flag(has, bit)).sum::<u8>();
        self.number(cell.count);
        self.bytes.push(flags);
        let follow = [(some_errors, cell.errors), (bytes > 0, bytes), (unknown > 0, unknown)];
        follow.into_iter().filter(|(follows, _)| *follows).for_each(|(_, n)| self.number(n));
        if !waited_longest {
            self.number(waited / self.unit_ns);
        }
        histograms(one).into_iter().filter(|one| one.bins().len() > 0).for_each(|one| self.histogram(one));
    }

    /// Number of bins. For each bin: twice its number minus that of the previous one, plus 1 if it has more than one time; if so, the
    /// number of times minus 2 follows. Then the longest time above the lower edge of the last bin.
    fn histogram(&mut self, histogram: &CubeHistogram) {
        self.number(histogram.bins().len() as u64);
        let mut before = 0;
        for (bin, count) in histogram.bins() {
            self.number(u64::from(bin - before) << 1 | u64::from(count > 1));
            if count > 1 {
                self.number(count - 2);
            }
            before = bin;
        }
        let lowest = CubeHistogram::lowest_ns(before.into(), self.joined).div_ceil(self.unit_ns);
        self.number((histogram.max_ns() / self.unit_ns).saturating_sub(lowest));
    }
}
