//! Monotonic counters, and their rates over a span of time.

/// A server's counters so far; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// Processor time, s.
    pub(super) cpu_s: Option<f64>,
    pub(super) disk_read_bytes: Option<f64>,
    pub(super) disk_write_bytes: Option<f64>,
    pub(super) received_bytes: Option<f64>,
    pub(super) sent_bytes: Option<f64>,
    /// Bytes read from disks by the whole machine, and the sum of the times of these reads, s.
    pub(super) machine_read_bytes: Option<f64>,
    pub(super) machine_read_s: Option<f64>,
    /// Number of reads of the whole machine's disks, bytes written to them, and number of writes.
    pub(super) machine_reads: Option<f64>,
    pub(super) machine_write_bytes: Option<f64>,
    pub(super) machine_writes: Option<f64>,
}

/// Counters at an instant, ns since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) at_ns: i64,
    pub(super) counters: Counters,
}

/// Counters are taken to grow evenly between two looks that are not further apart than this, ns.
const FAR_APART: i64 = 5_000_000_000;

impl Counters {
    /// Combines the counters of both; `None` if one of them is missing.
    fn with(self, other: Counters, join: impl Fn(f64, f64) -> Option<f64>) -> Counters {
        let one = |pick: fn(&Counters) -> Option<f64>| pick(&self).zip(pick(&other)).and_then(|(a, b)| join(a, b));
        Counters {
            cpu_s: one(|counters| counters.cpu_s),
            disk_read_bytes: one(|counters| counters.disk_read_bytes),
            disk_write_bytes: one(|counters| counters.disk_write_bytes),
            received_bytes: one(|counters| counters.received_bytes),
            sent_bytes: one(|counters| counters.sent_bytes),
            machine_read_bytes: one(|counters| counters.machine_read_bytes),
            machine_read_s: one(|counters| counters.machine_read_s),
            machine_reads: one(|counters| counters.machine_reads),
            machine_write_bytes: one(|counters| counters.machine_write_bytes),
            machine_writes: one(|counters| counters.machine_writes),
        }
    }
}

impl Counters {
    /// For rates: disk time of the server's reads, s/s: its fraction, by bytes, of the time of the machine's disks.
    pub(super) fn disk_read_s(&self) -> Option<f64> {
        its_share((self.disk_read_bytes, self.machine_read_bytes), self.machine_read_s)
    }

    /// Of rates: disk reads per second, the server's share by bytes as above.
    pub(super) fn disk_reads(&self) -> Option<f64> {
        its_share((self.disk_read_bytes, self.machine_read_bytes), self.machine_reads)
    }

    /// The same of writes.
    pub(super) fn disk_writes(&self) -> Option<f64> {
        its_share((self.disk_write_bytes, self.machine_write_bytes), self.machine_writes)
    }
}

/// The server's part of a disk metric of the machine, by its fraction of bytes, because the system counts only bytes per process.
fn its_share((own, machine): (Option<f64>, Option<f64>), of: Option<f64>) -> Option<f64> {
    let own = own?;
    if own == 0.0 {
        return Some(0.0);
    }
    let machine = machine.filter(|&machine| machine > 0.0)?;
    Some(of? * (own / machine).min(1.0))
}

/// Rate of each counter over a span, per second; `None` without samples near its ends, and for a counter that went back (a restarted
/// server, or an ended child).
pub(super) fn between(samples: &[Sample], (first, last): (i64, i64)) -> Option<Counters> {
    let seconds = last.checked_sub(first).filter(|&length| length > 0)? as f64 / 1e9;
    let inside = samples.iter().filter(|sample| sample.at_ns >= first && sample.at_ns <= last);
    let mut points: Vec<Counters> = vec![at(samples, first)?];
    points.extend(inside.map(|sample| sample.counters));
    points.push(at(samples, last)?);
    let steps = points.windows(2).map(|pair| pair[1].with(pair[0], |to, from| (to >= from).then_some(to - from)));
    let grown = steps.reduce(|sum, step| sum.with(step, |a, b| Some(a + b)))?;
    Some(grown.with(grown, |grown, _| Some(grown / seconds)))
}

/// The counters at an instant, between the looks before and after it.
fn at(samples: &[Sample], at_ns: i64) -> Option<Counters> {
    let after = samples.partition_point(|sample| sample.at_ns < at_ns);
    let (before, after) = (samples.get(after.checked_sub(1)?)?, samples.get(after)?);
    let apart = after.at_ns - before.at_ns;
    let share = (at_ns - before.at_ns) as f64 / apart.max(1) as f64;
    (apart <= FAR_APART).then(|| before.counters.with(after.counters, |from, to| Some(from + share * (to - from))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn sample(second: i64, cpu_s: f64) -> Sample {
        Sample { at_ns: second * S, counters: Counters { cpu_s: Some(cpu_s), ..Counters::default() } }
    }

    #[test]
    fn a_span_between_looks_gets_its_part() {
        let samples = [sample(0, 10.0), sample(1, 11.0), sample(2, 13.0), sample(3, 13.0)];
        let cores = |span| between(&samples, span).and_then(|rates| rates.cpu_s);
        assert_eq!(cores((0, 2 * S)), None, "nobody looked before its beginning");
        assert_eq!(cores((S / 2, 2 * S + S / 2)), Some(1.25));
        assert_eq!(cores((S, 2 * S)), Some(2.0));
        assert_eq!(cores((2 * S, 4 * S)), None);
        assert_eq!(cores((S, S)), None);
    }

    #[test]
    fn reads_took_their_share_of_what_disks_took() {
        let rates = |own: f64, machine: f64, took: f64| Counters {
            disk_read_bytes: Some(own),
            machine_read_bytes: Some(machine),
            machine_read_s: Some(took),
            ..Counters::default()
        };
        assert_eq!(rates(1e6, 4e6, 0.8).disk_read_s(), Some(0.2));
        assert_eq!(rates(1e6, 1e6, 0.8).disk_read_s(), Some(0.8));
        assert_eq!(rates(0.0, 1e6, 0.8).disk_read_s(), Some(0.0), "who reads nothing waits for no disk");
        assert_eq!(rates(1e6, 0.0, 0.0).disk_read_s(), None, "read from what is no disk of this machine");
        assert_eq!(Counters { machine_read_s: None, ..rates(1.0, 1.0, 1.0) }.disk_read_s(), None);
        let counted = Counters {
            machine_reads: Some(100.0),
            disk_write_bytes: Some(2e6),
            machine_write_bytes: Some(1e6),
            machine_writes: Some(50.0),
            ..rates(1e6, 4e6, 0.8)
        };
        assert_eq!((counted.disk_reads(), counted.disk_writes()), (Some(25.0), Some(50.0)), "never more than all");
    }

    #[test]
    fn a_counter_that_went_back_says_nothing() {
        let samples = [sample(0, 10.0), sample(1, 11.0), sample(2, 1.0), sample(3, 12.0)];
        assert_eq!(between(&samples, (S / 2, 2 * S + S / 2)), Some(Counters::default()));
        assert_eq!(between(&samples, (S / 4, S / 2)).and_then(|rates| rates.cpu_s), Some(1.0));
    }

    #[test]
    fn looks_that_are_far_apart_say_nothing() {
        assert_eq!(between(&[sample(0, 1.0), sample(60, 2.0)], (S, 2 * S)), None);
    }
}
