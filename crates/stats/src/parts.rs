//! Divides the time of a call into measured and inferred parts.
//!
//! ```text
//! whole = client CPU + client wait
//!                      └ = client wake-up + network + server CPU + disk + server wait
//! ```
//!
//! The whole is wall time from call to call of a single client without other work, so the parts add up to it. A part that no clock
//! measured is the difference, and is marked as inferred; if parts are missing, or overlapped when they were measured, the difference is
//! only a *remainder*.

/// Measurements of the calls of a phase: means per call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallTimes {
    /// Wall time from call to call, s: length of the phase over calls.
    pub whole_s: f64,
    /// Processor time of the client, s.
    pub client_cpu_s: f64,
    /// From when the client's kernel had the answer until the client had read it.
    pub wake_up: Known,
    /// The way to the server and back, without the server.
    pub network: Known,
    /// Processor time of the server.
    pub server_cpu: Known,
    /// What disks took.
    pub disk: Known,
    /// Calls that the client had outstanding at most. More than one overlap, so that their parts do not add up.
    pub outstanding: u32,
    /// A server answers, and not this machine's own file system.
    pub remote: bool,
}

/// A part of a call's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The client computes.
    ClientCpu,
    /// The client does not: all parts below together.
    ClientWait,
    /// From the answer's arrival until the client's thread runs.
    WakeUp,
    /// Bytes are on their way.
    Network,
    /// The server computes.
    ServerCpu,
    /// Disks work.
    Disk,
    /// Neither CPU nor disk: the server's threads wait for each other, for a lock, or for a processor.
    ServerWait,
    /// The rest of the whole. Below 0 if parts overlap by that much.
    Remainder,
}

/// The value of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// A clock or counter said so, s.
    Measured(f64),
    /// The difference of measurements, s.
    Inferred(f64),
    /// It is not known.
    Missing(Missing),
}

/// Why a part is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Not measured.
    Unmeasured,
    /// Network or server CPU are unknown, so it cannot be separated from them.
    Inseparable,
    /// The parts that were measured went on at the same time: together they are longer than the call.
    Overlapping,
    /// Several calls were outstanding, and went on at the same time.
    Outstanding,
}

/// A part with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartEstimate {
    /// Which one.
    pub part: Part,
    /// Its value.
    pub known: Known,
    /// Whether it is a term of the whole; the other parts are sums of terms, or additional information.
    pub adds: bool,
}

impl Known {
    /// s; `None` where it is not known.
    #[must_use]
    pub fn seconds(self) -> Option<f64> {
        match self {
            Known::Measured(seconds) | Known::Inferred(seconds) => Some(seconds),
            Known::Missing(_) => None,
        }
    }
}

/// The parts of a call, in the order of the diagram. Those that add up are as long as the whole together.
#[must_use]
pub fn parts(of: &CallTimes) -> Vec<PartEstimate> {
    let wait = of.whole_s - of.client_cpu_s;
    let alone = of.outstanding <= 1;
    let mut estimates = vec![
        PartEstimate { part: Part::ClientCpu, known: Known::Measured(of.client_cpu_s), adds: true },
        PartEstimate { part: Part::ClientWait, known: Known::Measured(wait), adds: !alone },
    ];
    let within: &[(Part, Known)] = match of.remote {
        true => &[
            (Part::WakeUp, of.wake_up),
            (Part::Network, of.network),
            (Part::ServerCpu, of.server_cpu),
            (Part::Disk, of.disk),
        ],
        false => &[(Part::Disk, of.disk)],
    };
    estimates.extend(within.iter().map(|&(part, known)| PartEstimate {
        part,
        known,
        adds: alone && known.seconds().is_some(),
    }));
    let left = wait - within.iter().filter_map(|(_, known)| known.seconds()).sum::<f64>();
    let separable = of.network.seconds().is_some() && of.server_cpu.seconds().is_some();
    let waited = match (alone, separable) {
        (false, _) => Known::Missing(Missing::Outstanding),
        (true, false) => Known::Missing(Missing::Inseparable),
        (true, true) if left < 0.0 => Known::Missing(Missing::Overlapping),
        (true, true) => Known::Inferred(left),
    };
    if of.remote {
        estimates.push(PartEstimate { part: Part::ServerWait, known: waited, adds: waited.seconds().is_some() });
    }
    if alone && !(of.remote && waited.seconds().is_some()) {
        estimates.push(PartEstimate { part: Part::Remainder, known: Known::Inferred(left), adds: true });
    }
    estimates
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e-6;
    const NOT_KNOWN: Known = Known::Missing(Missing::Unmeasured);

    /// A call of 100 µs, all parts of which are known.
    fn call() -> CallTimes {
        CallTimes {
            whole_s: 100.0 * US,
            client_cpu_s: 20.0 * US,
            wake_up: Known::Measured(5.0 * US),
            network: Known::Measured(10.0 * US),
            server_cpu: Known::Measured(30.0 * US),
            disk: Known::Measured(15.0 * US),
            outstanding: 1,
            remote: true,
        }
    }

    fn of(estimates: &[PartEstimate], part: Part) -> Option<Known> {
        estimates.iter().find(|one| one.part == part).map(|one| one.known)
    }

    fn near(known: Option<Known>, us: f64) -> bool {
        known.and_then(Known::seconds).is_some_and(|seconds| (seconds - us * US).abs() < 1e-12)
    }

    fn sum(estimates: &[PartEstimate]) -> f64 {
        estimates.iter().filter(|one| one.adds).filter_map(|one| one.known.seconds()).sum()
    }

    #[test]
    fn what_is_left_is_the_servers_wait() {
        let estimates = parts(&call());
        assert!(
            near(of(&estimates, Part::ClientWait), 80.0) && near(of(&estimates, Part::ServerWait), 20.0),
            "{estimates:?}"
        );
        assert!(matches!(of(&estimates, Part::ServerWait), Some(Known::Inferred(_))));
        assert_eq!(of(&estimates, Part::Remainder), None);
    }

    #[test]
    fn parts_add_up_whatever_is_missing() {
        for missing in 0..16 {
            for (outstanding, remote) in [(1, true), (8, true), (1, false)] {
                let keep = |bit: u32, known| if missing & bit == 0 { known } else { NOT_KNOWN };
                let whole = call();
                let times = CallTimes {
                    wake_up: keep(1, whole.wake_up),
                    network: keep(2, whole.network),
                    server_cpu: keep(4, whole.server_cpu),
                    disk: keep(8, whole.disk),
                    outstanding,
                    remote,
                    ..whole
                };
                let estimates = parts(&times);
                assert!((sum(&estimates) - times.whole_s).abs() < 1e-12, "{times:?} {estimates:?}");
                assert!(estimates.iter().all(|one| !one.adds || one.known.seconds().is_some()));
            }
        }
    }

    #[test]
    fn a_server_that_does_not_tell_is_not_guessed_at() {
        let estimates = parts(&CallTimes { server_cpu: NOT_KNOWN, ..call() });
        assert_eq!(of(&estimates, Part::ServerCpu), Some(NOT_KNOWN));
        assert_eq!(of(&estimates, Part::ServerWait), Some(Known::Missing(Missing::Inseparable)));
        assert!(near(of(&estimates, Part::Remainder), 50.0), "{estimates:?}");
    }

    #[test]
    fn parts_that_overlap_leave_less_than_nothing() {
        let estimates = parts(&CallTimes { server_cpu: Known::Measured(70.0 * US), ..call() });
        assert_eq!(of(&estimates, Part::ServerWait), Some(Known::Missing(Missing::Overlapping)));
        assert!(near(of(&estimates, Part::Remainder), -20.0), "{estimates:?}");
    }

    #[test]
    fn calls_that_overlap_have_parts_beside_each_other() {
        let estimates = parts(&CallTimes { outstanding: 8, ..call() });
        assert_eq!(of(&estimates, Part::ServerWait), Some(Known::Missing(Missing::Outstanding)));
        let adding: Vec<Part> = estimates.iter().filter(|one| one.adds).map(|one| one.part).collect();
        assert_eq!(adding, [Part::ClientCpu, Part::ClientWait]);
    }

    #[test]
    fn a_local_call_has_no_server() {
        let estimates = parts(&CallTimes { remote: false, ..call() });
        let named: Vec<Part> = estimates.iter().map(|one| one.part).collect();
        assert_eq!(named, [Part::ClientCpu, Part::ClientWait, Part::Disk, Part::Remainder]);
        assert!(near(of(&estimates, Part::Remainder), 65.0), "{estimates:?}");
    }
}
