//! The table of an operation.

use std::time::Duration;

use super::targets::Protected;
use crate::compare::median;
use crate::measured::Measured;

/// One run of one row.
pub struct Round {
    pub measured: Measured,
    /// Response times in order, ns.
    pub response_ns: Vec<u64>,
    /// Processor time of the server, for `all` operations.
    pub server_cpu: Option<Duration>,
    pub all: u64,
}

impl Round {
    fn client_us(&self) -> f64 {
        self.measured.cost_us()
    }

    /// A response time that this share of all does not exceed, µs.
    fn response_us(&self, share: f64) -> f64 {
        let last = self.response_ns.len().saturating_sub(1);
        let place = (last as f64 * share).round() as usize;
        self.response_ns.get(place).map_or(f64::NAN, |&ns| ns as f64 / 1e3)
    }

    fn rate(&self) -> f64 {
        self.measured.operations as f64 / self.measured.elapsed.as_secs_f64()
    }
}

/// The rounds of each row.
pub struct Table<'a> {
    rows: Vec<(&'a Protected, Vec<Round>)>,
}

impl<'a> Table<'a> {
    pub fn new(rows: &'a [Protected]) -> Self {
        Self { rows: rows.iter().map(|row| (row, Vec::new())).collect() }
    }

    pub fn add(&mut self, row: usize, round: Round) {
        if let Some((_, rounds)) = self.rows.get_mut(row) {
            rounds.push(round);
        }
    }

    /// Prints it; with `length` the throughput is that of the data.
    pub fn print(&self, length: u32) {
        let unit = if length == 0 { "operations/s" } else { "MB/s" };
        println!(
            "| protection | client CPU, µs | × none | server CPU, µs | response time p50, µs | p99, µs | × none (p50) | {unit} | × none |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        let scale = if length == 0 { 1.0 } else { f64::from(length) / 1e6 };
        for (row, rounds) in &self.rows {
            let middle = |of: fn(&Round) -> f64| median(&rounds.iter().map(of).collect::<Vec<_>>());
            let base = self.rows.get(row.base).map_or(&[][..], |(_, rounds)| rounds);
            let (p50, p99) = (|round: &Round| round.response_us(0.5), |round: &Round| round.response_us(0.99));
            println!(
                "| {} | {:.1} | {} | {} | {:.0} | {:.0} | {} | {:.0} | {} |",
                row.name,
                middle(Round::client_us),
                ratio(rounds, base, Round::client_us),
                server_us(rounds),
                middle(p50),
                middle(p99),
                ratio(rounds, base, p50),
                middle(Round::rate) * scale,
                ratio(rounds, base, Round::rate),
            );
        }
    }
}

/// Of all rounds together: the kernel counts processor time in hundredths of a second.
fn server_us(rounds: &[Round]) -> String {
    let time: Option<Duration> = rounds.iter().map(|round| round.server_cpu).sum();
    let all: u64 = rounds.iter().map(|round| round.all).sum();
    time.map_or_else(|| "–".to_owned(), |time| format!("{:.0}", time.as_secs_f64() * 1e6 / all as f64))
}

/// The rounds' ratios: their median, and the lowest and highest.
fn ratio(rounds: &[Round], base: &[Round], of: fn(&Round) -> f64) -> String {
    let same = rounds.as_ptr() == base.as_ptr();
    let mut ratios: Vec<f64> = rounds.iter().zip(base).map(|(own, base)| of(own) / of(base)).collect();
    ratios.sort_by(f64::total_cmp);
    match (ratios.first(), ratios.last()) {
        (Some(low), Some(high)) if !same => format!("{:.2} ({low:.2} to {high:.2})", median(&ratios)),
        _ => "1".to_owned(),
    }
}
