//! The diagnosis of workloads that ran at the same time: what the others did to each.

use super::measured;
use crate::findings::comparison::ComparedUnit;
use crate::findings::{InterferedNumber, Interference, Rule, Statement};
use crate::tables::{interval, signed};
use crate::text::with_unit;

/// The number that a sentence is about where it changed, the first that did.
const TELLING: [&str; 5] = ["p95", "mean", "p99", "throughput", "bytes"];

/// A sentence for each workload.
pub(super) fn statements(found: &[Interference]) -> Vec<Statement> {
    found.iter().filter_map(of_workload).collect()
}

fn of_workload(found: &Interference) -> Option<Statement> {
    let number = |name: &str| found.numbers.iter().find(|number| number.metric == name);
    let telling = || TELLING.iter().filter_map(|name| number(name));
    let (name, others) = (format!("{} ({})", found.workload, found.load), found.beside.join(" and "));
    let text = if let Some(changed) = telling().find(|number| number.is_changed()) {
        // A closed loop shows it in what it carries, too.
        let also = ["throughput", "bytes"].iter().filter_map(|name| number(name)).find(|other| other.is_changed());
        let also = also
            .filter(|other| other.metric != changed.metric)
            .map_or_else(String::new, |other| format!("; {}", of_number(other)));
        let verb = if found.beside.len() == 1 { "changes" } else { "change" };
        format!("{others} {verb} {name}: {}{also}.", of_number(changed))
    } else if let Some(first) = telling().find(|number| number.verdict.is_some() && !number.is_moved()) {
        format!(
            "No effect of {others} on {name} was shown in {rounds} rounds: {number}.",
            rounds = found.rounds,
            number = of_number(first)
        )
    } else if let Some(first) = telling().find(|number| number.is_moved()) {
        format!("{name}, alone and at the same time as {others}: {}", of_number(first))
    } else {
        let first = telling().next()?;
        format!(
            "{name}, alone and at the same time as {others}: {}. An interval and a verdict need at least three valid rounds: increase --repeat.",
            of_number(first)
        )
    };
    let moved: Vec<&str> = telling().filter(|number| number.is_moved()).map(|number| number.metric.as_str()).collect();
    let text = match moved.is_empty() {
        true => text,
        false => format!(
            "{}. Not judged, because the load generator was late: {}.",
            text.trim_end_matches('.'),
            moved.join(", ")
        ),
    };
    Some(measured(Rule::Interference, text))
}

/// `p95 response time 3.1 ms alone, 9.4 ms at the same time (+203 %, 95 % interval +150 % to +270 %)`.
fn of_number(number: &InterferedNumber) -> String {
    let interval = number.change_interval.map_or_else(String::new, |of| format!(", 95 % interval {}", interval(of)));
    let change = number.change.map_or_else(String::new, |change| format!(" ({}{interval})", signed(change)));
    let name = match number.metric.as_str() {
        "bytes" => "file data".to_owned(),
        metric if number.unit == ComparedUnit::Seconds => format!("{metric} response time"),
        metric => metric.to_owned(),
    };
    let [alone, beside] = [number.alone, number.beside].map(|value| with_unit(number.unit, value));
    format!("{name} {alone} alone, {beside} at the same time{change}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Interval;
    use crate::findings::comparison::ComparedVerdict;

    fn found(verdict: Option<ComparedVerdict>) -> Interference {
        let number = |metric: &str, unit: ComparedUnit, alone: f64, beside: f64| InterferedNumber {
            metric: metric.to_owned(),
            unit,
            alone,
            beside,
            change: Some(beside / alone - 1.0),
            change_interval: verdict.map(|_| Interval { low: 1.5, high: 2.5 }),
            p_value: None,
            verdict,
        };
        let throughput = number("throughput", ComparedUnit::PerSecond, 100.0, 50.0);
        let numbers = vec![throughput, number("p95", ComparedUnit::Seconds, 0.003, 0.009)];
        let beside = vec!["stream-read".to_owned()];
        Interference { workload: "home".to_owned(), load: "4 clients".to_owned(), beside, rounds: 5, numbers }
    }

    #[test]
    fn a_sentence_says_what_was_shown_and_nothing_else() {
        let said = |verdict| statements(&[found(verdict)])[0].text.clone();
        assert_eq!(
            said(Some(ComparedVerdict::Worse)),
            "stream-read changes home (4 clients): p95 response time 3.00 ms alone, 9.00 ms at the same time (+200.0 %, 95 % interval \
            +150.0 to +250.0 %); throughput 100/s alone, 50.0/s at the same time (-50.0 %, 95 % interval +150.0 to +250.0 %)."
        );
        assert!(
            said(Some(ComparedVerdict::NotShown))
                .starts_with("No effect of stream-read on home (4 clients) was shown in 5 rounds: p95")
        );
        assert!(said(None).contains("need at least three valid rounds: increase --repeat."));
        let late = said(Some(ComparedVerdict::CannotTell));
        assert!(late.starts_with("home (4 clients), alone and at the same time as stream-read: p95"), "{late}");
        assert!(late.ends_with("%). Not judged, because the load generator was late: p95, throughput."), "{late}");
    }
}
