//! Recordings of captures that lack operations, or time between their files: the missing part is no difference between servers.

use plimsoll_report::findings::Report;
use plimsoll_results::comparison::possible;

use super::question::Question;

/// Notes what missing operations, and the time between capture files, may change. The first sides of the comparison are the recordings of
/// the baseline.
pub(super) fn note_missing(questions: &mut [Question], report: &Report, baselines: usize) {
    let sides = [0..baselines, baselines..report.sides.len().max(baselines)];
    for level in report.comparison.iter().flat_map(|comparison| &comparison.levels) {
        for question in questions.iter_mut().filter(|question| question.level_name == level.level_name) {
            question.possible = possible(level, &question.condition, sides.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::Findings;
    use plimsoll_report::findings::comparison::{
        ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, Comparison, Possible,
    };
    use plimsoll_results::comparison::{Condition, MAY_CHANGE, Outcome};

    use super::super::observation::{Observation, RunNumber};
    use super::super::question::Nothing;
    use super::*;

    /// A fifth of the candidate's operations is missing: they may be the fastest.
    #[test]
    fn captures_that_lack_operations_decide_only_what_these_cannot_change() {
        let report = |least: f64| {
            let metric = ComparedMetric {
                metric: "p50".to_owned(),
                unit: ComparedUnit::Seconds,
                more_is_better: false,
                estimates: vec![None, None],
                differences: vec![None],
                possible: vec![None, Possible::of((least, 1.0), 0.0)],
            };
            let (scope, name, protocol) = ("all".to_owned(), "All".to_owned(), String::new());
            let rows = vec![ComparedRow { scope, name, protocol, metrics: vec![metric] }];
            let level = ComparedLevel { level_name: "4 clients".to_owned(), rows, ..ComparedLevel::default() };
            let comparison = Some(Comparison { levels: vec![level], ..Comparison::default() });
            let sides = vec![Findings::default(), Findings::default()];
            Report { schema: String::new(), tool: String::new(), sides, comparison }
        };
        let judged = |least: f64| {
            let condition = Condition::parse("p50 > +3%").unwrap();
            let mut asked = [Question::new(condition, "4 clients".to_owned(), 0.05)];
            note_missing(&mut asked, &report(least), 1);
            for difference in [5.1, 4.9, 5.0, 5.2, 4.8, 5.0, 5.0] {
                let one = |value: f64| vec![RunNumber { value, grain: 0.0, operations: 1_000 }];
                let sides = [one(1.0), one(f64::exp(difference / 100.0))];
                let observed = Observation::of(&asked[0].condition, [&sides[0], &sides[1]]);
                asked[0].observe(observed.map_err(Nothing::Ever));
            }
            (asked[0].outcome, asked[0].why_unknown())
        };
        assert_eq!(judged(0.8), (Outcome::Undecided, Some(MAY_CHANGE.to_owned())));
        assert_eq!(judged(0.999), (Outcome::Failed, None), "one in a thousand is not the difference");
    }
}
