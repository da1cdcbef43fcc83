//! One line for some seconds.

use super::LiveFigures;
use crate::{Zone, duration, significant};

/// The numbers in one line, for a log.
pub fn line(figures: &LiveFigures) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| duration(ns as f64 / 1e9));
    let mut line = format!(
        "{}  {} op/s  p50 {}  p99 {}  {} errors/s  queue depth {}  {} MB/s",
        Zone::shown().second(figures.from_ns),
        figures.rate(figures.operations),
        time(figures.p50_ns),
        time(figures.p99_ns),
        figures.rate(figures.errors),
        figures.queue_depth.map_or_else(|| "-".to_owned(), significant),
        figures.megabytes(),
    );
    match figures.waiting {
        Some(waiting) if waiting.requests > 0 => line += &format!("  waiting: {}", waiting.said()),
        None if figures.interface_down => line += "  waiting: unknown",
        _ => {}
    }
    let lost = match figures.lost_packets {
        0 => None,
        1 => Some("the capture lost 1 packet".to_owned()),
        packets => Some(format!("the capture lost {packets} packets")),
    };
    let causes: Vec<String> =
        figures.interface_down.then(|| "the interface was down".to_owned()).into_iter().chain(lost).collect();
    if !causes.is_empty() {
        line += &format!("  INCOMPLETE: {}", causes.join("; "));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::LiveWait;

    #[test]
    fn a_line_has_rates_times_and_what_was_lost() {
        let figures = LiveFigures {
            from_ns: 1_700_000_000_000_000_000,
            seconds: Some(10.0),
            operations: 12_345,
            errors: 5,
            bytes: Some(25_000_000),
            p50_ns: Some(210_000),
            p99_ns: Some(4_020_000),
            max_ns: Some(9_000_000),
            queue_depth: Some(2.104),
            ..LiveFigures::default()
        };
        assert_eq!(
            line(&figures),
            "2023-11-14 22:13:20 UTC  1235 op/s  p50 210 µs  p99 4.02 ms  0.500 errors/s  queue depth 2.10  2.50 MB/s"
        );
        let least = line(&LiveFigures { bytes_at_least: true, ..figures.clone() });
        assert!(least.ends_with("queue depth 2.10  \u{2265}2.50 MB/s"), "{least}");
        assert!(line(&LiveFigures { bytes: None, ..figures.clone() }).ends_with("queue depth 2.10  - MB/s"), "not 0");
        let short = line(&LiveFigures { seconds: None, bytes_at_least: true, ..figures });
        assert!(short.contains("UTC  - op/s  p50 210 µs") && short.contains("  - errors/s"), "{short}");
        assert!(short.ends_with("  - MB/s"), "{short}");
        let lossy = line(&LiveFigures { lost_packets: 7, seconds: Some(1.0), ..LiveFigures::default() });
        assert!(lossy.contains("0 op/s  p50 -  p99 -") && lossy.ends_with("the capture lost 7 packets"), "{lossy}");
        let one = line(&LiveFigures { lost_packets: 1, ..LiveFigures::default() });
        assert!(one.ends_with("INCOMPLETE: the capture lost 1 packet"), "{one}");
        let down = LiveFigures { interface_down: true, ..LiveFigures::default() };
        assert!(line(&down).ends_with("  waiting: unknown  INCOMPLETE: the interface was down"));
        let nobody = LiveFigures { waiting: Some(LiveWait::default()), ..down.clone() };
        assert!(line(&nobody).ends_with("MB/s  INCOMPLETE: the interface was down"), "it was up again at the end");
        let both = line(&LiveFigures { lost_packets: 7, ..down });
        assert!(both.ends_with("INCOMPLETE: the interface was down; the capture lost 7 packets"), "{both}");
    }
}
