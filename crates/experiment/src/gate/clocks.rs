//! Recordings of captures against recordings of runs: the times of a client are longer, whatever the servers do.

use plimsoll_report::findings::{Report, differing_clocks};
use plimsoll_stats::comparison::Unit;

use super::question::Question;

/// Closes the questions about changes of response times if some sides were measured in the client, and others in captures.
pub(super) fn refuse_other_clocks(questions: &mut [Question], report: &Report) {
    let clocks = report.sides.split_first().and_then(|(baseline, others)| {
        (1..).zip(others).find_map(|(place, other)| differing_clocks(baseline, other, place))
    });
    let Some(clocks) = clocks else { return };
    let times = questions.iter_mut().filter(|question| question.condition.metric.unit() == Unit::Seconds);
    times.for_each(|question| question.refuse(format!("{clocks}, which may cause or hide a difference")));
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::{Findings, Source};
    use plimsoll_results::comparison::Condition;

    use super::*;

    #[test]
    fn changes_of_times_between_a_capture_and_a_client_are_not_judged() {
        let side = |vantage: &str| {
            let source = Source { vantage: vantage.to_owned(), ..Source::default() };
            Findings { source, ..Findings::default() }
        };
        let open = |vantages: [&str; 2]| {
            let sides = vantages.map(side).to_vec();
            let report = Report { schema: String::new(), tool: String::new(), sides, comparison: None };
            let ask = |text: &str| Question::new(Condition::parse(text).unwrap(), "4 clients".to_owned(), 0.05);
            let mut questions = ["mean > +3%", "throughput < -5%", "mean > 1ms"].map(ask);
            refuse_other_clocks(&mut questions, &report);
            questions.map(|question| question.is_open())
        };
        assert_eq!(open(["wire", "client"]), [false, true, true], "only changes of times depend on the clock");
        assert_eq!([open(["wire"; 2]), open(["client"; 2])], [[true; 3]; 2]);
    }
}
