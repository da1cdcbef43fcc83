//! The result of a client program, a line of numbers on its standard output, and processor times.

use std::error::Error;
use std::time::{Duration, Instant};

/// A client's numbers after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Operations.
    pub operations: u64,
    /// Processor time of the whole process, user and system.
    pub cpu: Duration,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Bytes of a request on the stream, framing included; 0 where the client does not know.
    pub request: u64,
    /// Bytes of an answer.
    pub answer: u64,
}

impl Measured {
    /// The line that stands for it.
    pub fn line(&self) -> String {
        let Self { operations, cpu, elapsed, request, answer } = self;
        format!("{operations} {} {} {request} {answer}", cpu.as_nanos(), elapsed.as_nanos())
    }

    /// From such a line.
    pub fn parse(line: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = line.split_whitespace().map(|number| number.parse().ok()).collect();
        let [operations, cpu, elapsed, request, answer] = numbers?.try_into().ok()?;
        let (cpu, elapsed) = (Duration::from_nanos(cpu), Duration::from_nanos(elapsed));
        Some(Self { operations, cpu, elapsed, request, answer })
    }

    /// Processor time of an operation, µs.
    pub fn cost_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.operations as f64
    }
}

/// A stopwatch for wall-clock and processor time of this process.
pub struct Watch {
    cpu: Duration,
    started: Instant,
}

impl Watch {
    /// Starts.
    pub fn start() -> Self {
        Self { cpu: cpu_time(), started: Instant::now() }
    }

    /// The cost of `operations` operations.
    pub fn stop(&self, operations: u64) -> Measured {
        let (cpu, elapsed) = (cpu_time() - self.cpu, self.started.elapsed());
        Measured { operations, cpu, elapsed, request: 0, answer: 0 }
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU time of all ended child processes.
pub fn children() -> Duration {
    // SAFETY: all zeros is a valid `rusage`, which only has numbers, and the pointer is to a complete one that outlives the call. The
    // call cannot fail with these arguments.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].iter().map(|time| micros(time.tv_sec, time.tv_usec)).sum()
}

fn micros(seconds: i64, micros: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs()) + Duration::from_micros(micros.unsigned_abs())
}

/// Processor time that a process has taken so far; with `group`, also that of the processes in the group that it leads.
pub fn cpu_of(leader: u32, group: bool) -> Result<Duration, Box<dyn Error>> {
    let leader = leader.to_string();
    let mut ticks = 0;
    for process in std::fs::read_dir("/proc")? {
        let Ok(stat) = std::fs::read_to_string(process?.path().join("stat")) else { continue };
        // proc(5): after the name in parentheses: state, ppid, pgrp, … utime and stime are fields 14 and 15, and those of ended
        // children 16 and 17.
        let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = fields.split(' ').collect();
        let own = stat.split(' ').next() == Some(&leader);
        if own || (group && fields.get(2) == Some(&leader.as_str())) {
            let times = fields.get(11..if own { 15 } else { 13 }).unwrap_or_default();
            ticks += times.iter().filter_map(|time| time.parse::<u64>().ok()).sum::<u64>();
        }
    }
    let a_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(ticks as f64 / a_second as f64))
}
