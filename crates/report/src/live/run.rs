//! The live view of a run: its level, planned and achieved load, the load generator, the server's own metrics, finished levels.

use crate::findings::{Generator, ServerSide};
use crate::safe::for_terminal;
use crate::{duration, significant};

/// A run as it goes on.
#[derive(Clone, Debug, Default)]
pub struct LiveRun {
    /// The load level, or the work on files.
    pub activity: String,
    /// The phase of the run.
    pub phase: String,
    /// Time since the start of the phase, and its planned length; `None` if unknown.
    pub elapsed_s: Option<(f64, f64)>,
    /// Clients that are logged on, and how many there are.
    pub clients: (u32, u32),
    /// Iterations per second that the schedule asks for; `None` in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Iterations that ended, per second; `None` before there is a level.
    pub achieved_per_s: Option<f64>,
    /// Actions that failed in this level.
    pub errors: u64,
    /// How well the load threads kept up; `None` before the measured phase.
    pub generator: Option<Generator>,
    /// Faults of the generators; `None` if they kept up.
    pub generators_fault: Option<String>,
    /// The server's own metrics, if requested.
    pub server: Option<ServerSide>,
    /// The levels that are over.
    pub levels: Vec<LiveLevel>,
}

/// A level that is over.
#[derive(Clone, Debug, Default)]
pub struct LiveLevel {
    /// Its load in words.
    pub words: String,
    /// Requests answered, per second.
    pub operations_per_s: f64,
    /// Leading response times, s; `None` without operations.
    pub p50_s: Option<f64>,
    /// The same.
    pub p99_s: Option<f64>,
    /// VALID, PARTIAL or INVALID.
    pub verdict: String,
}

impl LiveRun {
    /// What goes on, in lines: the level, asked and achieved, the generator, the server. Names in them are safe.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.level(), self.pace(), self.keeping_up()];
        lines.extend(self.server.as_ref().map(server));
        lines
    }

    /// The levels that are over, latest first, in one line.
    pub fn finished(&self) -> Option<String> {
        let one = |level: &LiveLevel| {
            let [name, operations, _, p99, verdict] = level.cells();
            format!("{name}: {operations} op/s, p99 {p99}, {verdict}")
        };
        let all: Vec<String> = self.levels.iter().rev().map(one).collect();
        (!all.is_empty()).then(|| format!("Finished: {}", all.join("; ")))
    }

    fn level(&self) -> String {
        let activity = for_terminal(&self.activity);
        let elapsed = self
            .elapsed_s
            .map_or_else(String::new, |(elapsed, all)| format!(", {:.0} of {:.0} s", elapsed.clamp(0.0, all), all));
        let (connected, clients) = self.clients;
        let clients = if clients > 0 { format!("  {connected} of {clients} clients connected") } else { String::new() };
        format!("{activity}: {}{elapsed}{clients}", self.phase)
    }

    fn pace(&self) -> String {
        let achieved = self.achieved_per_s.map_or_else(|| "-".to_owned(), significant);
        let asked = match self.asked_per_s {
            Some(asked) => format!("asked for {}", significant(asked)),
            None => "no rate limit".to_owned(),
        };
        format!("Iterations per second: {achieved} ({asked})  {} failed actions", self.errors)
    }

    fn keeping_up(&self) -> String {
        if let Some(fault) = &self.generators_fault {
            return format!("Load generator: NOT RELIABLE: {fault}");
        }
        let Some(generator) = &self.generator else { return "Load generator: nothing measured yet".to_owned() };
        let lag = |name: &str, times: &Option<crate::findings::Times>| {
            times.map_or_else(String::new, |times| format!(", {name} p99 {}", duration(times.p99_s)))
        };
        format!(
            "Load generator: on time, {:.0} % busy{}{}",
            generator.cpu_share * 100.0,
            lag("start lag", &generator.schedule_lag),
            lag("wake-up lag", &generator.wake_up_lag),
        )
    }
}

impl LiveLevel {
    /// Name (safe), operations per second, p50, p99 and verdict.
    pub fn cells(&self) -> [String; 5] {
        let time = |s: Option<f64>| s.map_or_else(|| "-".to_owned(), duration);
        let verdict = self.verdict.clone();
        [
            for_terminal(&self.words).into_owned(),
            significant(self.operations_per_s),
            time(self.p50_s),
            time(self.p99_s),
            verdict,
        ]
    }
}

fn server(server: &ServerSide) -> String {
    if let Some(why) = &server.why_missing {
        return format!("Server: no numbers: {}", for_terminal(why));
    }
    let rate = |name: &str, bytes: Option<f64>| {
        bytes.map_or_else(String::new, |bytes| format!(", {name} {} MB/s", significant(bytes / 1e6)))
    };
    let cores = server.cores_busy.map_or_else(|| "CPU not known".to_owned(), |cores| format!("{cores:.2} cores busy"));
    format!(
        "Server: {cores}{}{}{}{}",
        rate("disk reads", server.disk_read_bytes_per_s),
        rate("disk writes", server.disk_write_bytes_per_s),
        rate("received", server.received_bytes_per_s),
        rate("sent", server.sent_bytes_per_s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_level_its_pace_and_who_is_to_blame() {
        let level = LiveLevel {
            words: "1 client".to_owned(),
            operations_per_s: 1234.0,
            verdict: "VALID".to_owned(),
            ..LiveLevel::default()
        };
        let run = LiveRun {
            activity: "8 clients\u{1b}[2J".to_owned(),
            phase: "measuring".to_owned(),
            elapsed_s: Some((3.2, 10.0)),
            clients: (7, 8),
            asked_per_s: Some(500.0),
            achieved_per_s: Some(498.0),
            generator: Some(Generator { cpu_share: 0.34, ..Generator::default() }),
            server: Some(ServerSide { cores_busy: Some(1.5), sent_bytes_per_s: Some(2e6), ..ServerSide::default() }),
            levels: vec![level],
            ..LiveRun::default()
        };
        assert_eq!(
            run.lines(),
            [
                "8 clients\\u{1b}[2J: measuring, 3 of 10 s  7 of 8 clients connected",
                "Iterations per second: 498 (asked for 500)  0 failed actions",
                "Load generator: on time, 34 % busy",
                "Server: 1.50 cores busy, sent 2.00 MB/s",
            ]
        );
        assert_eq!(run.finished().unwrap(), "Finished: 1 client: 1234 op/s, p99 -, VALID");
        let late = LiveRun { generators_fault: Some("late".to_owned()), ..LiveRun::default() };
        assert!(late.lines()[2].contains("NOT RELIABLE: late") && late.lines()[1].contains("- (no rate limit"));
    }
}
