//! The live view of a run: its level, planned and achieved load, the load generator, the server's own metrics, finished levels.

use crate::findings::{Generator, ServerCounters, ServerSide};
use crate::safe::for_terminal;
use crate::tables::longest_counters;
use crate::{duration, significant};

/// Counters of the server in a line, at most: the table of the report has more.
const COUNTERS: usize = 4;

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
    /// The server's own counters of the last level that is over ([`counters_line`]), if requested.
    pub counters: Option<String>,
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
    /// What goes on, in lines: the level, asked and achieved, the generator, the server and its counters. Names in them are safe.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.level(), self.pace(), self.keeping_up()];
        lines.extend(self.server.as_ref().map(server).into_iter().chain(self.counters.clone()));
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

/// By how much the server's own counters grew in the last level, those that took the most time first. The name of a level may be long: it
/// is at the end, where a narrow screen cuts the line.
pub fn counters_line(level: &str, found: &ServerCounters) -> String {
    format!("The server's own counters, last level: {}  ({})", grown(found), for_terminal(level))
}

fn grown(found: &ServerCounters) -> String {
    if let Some(why) = &found.why_missing {
        return format!("not read: {}", for_terminal(why));
    }
    let all = longest_counters(&found.counters);
    let further = all.len().saturating_sub(COUNTERS);
    let mut shown: Vec<String> = all
        .into_iter()
        .take(COUNTERS)
        .map(|counter| {
            let mean = counter.mean_s.map_or_else(String::new, |mean| format!(" (mean {})", duration(mean)));
            format!("{} {}{mean}", for_terminal(&counter.name), counter.count)
        })
        .collect();
    if further > 0 {
        shown.push(format!("and {further} more"));
    }
    if shown.is_empty() { "nothing counted".to_owned() } else { shown.join("; ") }
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
    use crate::findings::calls::ServerCounter;

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
            counters: Some(counters_line("1 client", &ServerCounters::default())),
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
                "The server's own counters, last level: nothing counted  (1 client)",
            ]
        );
        assert_eq!(run.finished().unwrap(), "Finished: 1 client: 1234 op/s, p99 -, VALID");
        let late = LiveRun { generators_fault: Some("late".to_owned()), ..LiveRun::default() };
        assert!(late.lines()[2].contains("NOT RELIABLE: late") && late.lines()[1].contains("- (no rate limit"));
    }

    #[test]
    fn the_line_of_counters_begins_with_those_that_took_the_most_time() {
        let counter =
            |name: &str, count, mean_s| ServerCounter { name: name.to_owned(), count, mean_s, waiting_mean_s: None };
        let counters = vec![
            counter("smb2_close", 3, None),
            counter("smb2_create", 90, Some(0.001)),
            counter("smb2_read", 1234, Some(0.002)),
            counter("smb2_tcon", 1, None),
            counter("smb2_lock\u{1b}[2J", 2, None),
        ];
        let found = ServerCounters { counters, ..ServerCounters::default() };
        assert_eq!(
            counters_line("8 clients", &found),
            "The server's own counters, last level: smb2_read 1234 (mean 2.00 ms); smb2_create 90 (mean 1.00 ms); \
             smb2_close 3; smb2_lock\\u{1b}[2J 2; and 1 more  (8 clients)"
        );
        let narrow = crate::safe::fit(&counters_line(&"a long name ".repeat(9), &found), 80);
        assert!(narrow.contains(": smb2_read 1234 (mean 2.00 ms)"), "{narrow}");
        let why_missing = Some("no bus".to_owned());
        let line = counters_line("8 clients", &ServerCounters { why_missing, ..ServerCounters::default() });
        assert_eq!(line, "The server's own counters, last level: not read: no bus  (8 clients)");
    }
}
