//! Damage in the capture files themselves. It comes first, because all other results depend on it.

use plimsoll_model::{Anomaly, Coverage, Downtime, Reason, Verdict};

use super::counts::plural;
use crate::instant::{self, Zone};
use crate::text::time;

/// Damage for which numbers are incomplete, or there is no time to measure. `any` says whether there is an operation.
pub(super) fn reasons(coverage: &Coverage, any: bool) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = no_time(coverage).filter(|_| any).into_iter().chain(down(coverage)).collect();
    reasons.extend(between_files(coverage));
    reasons.extend(two_clocks(coverage));
    if coverage.anomalies.count(Anomaly::ReadingInterrupted) > 0 {
        let interrupted = "Reading was interrupted: the numbers lack the rest of the input.";
        reasons.push(Reason::partial(interrupted));
    }
    if coverage.anomalies.count(Anomaly::InterfaceRemoved) > 0 {
        reasons
            .push(Reason::partial("The network interface was removed during the capture, so the capture ended early."));
    }
    let mut say = |kind, what: &str, happened: &str, therefore: &str| {
        let count = coverage.anomalies.count(kind);
        if count > 0 {
            reasons.push(Reason::partial(format!("{}: {happened}. {therefore}", plural(count, what))));
        }
    };
    say(
        Anomaly::CaptureFileTruncated,
        "capture file",
        "cut off in the middle of a record, or reserved space at the end was never written",
        "The numbers lack all packets after this place.",
    );
    say(
        Anomaly::CaptureRecordBad,
        "capture record",
        "damaged",
        "The rest of the file may be missing from the numbers.",
    );
    say(
        Anomaly::TimeOutlier,
        "packet",
        "left out because the timestamp is more than a day away from those of the packets before and after",
        "Operations in such packets are missing from the numbers.",
    );
    say(
        Anomaly::PacketWithoutTime,
        "packet",
        "left out because it has no usable timestamp",
        "Operations in such packets are missing from the numbers.",
    );
    reasons
}

/// Damage that leaves the numbers whole.
pub(super) fn warnings(coverage: &Coverage) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut say = |kind, what: &str, happened: &str, therefore: &str| {
        let count = coverage.anomalies.count(kind);
        if count > 0 {
            warnings.push(format!("{}: {happened}. {therefore}", plural(count, what)));
        }
    };
    say(
        Anomaly::CaptureFileReordered,
        "capture file",
        "read in the order of their first timestamps, not in the given order",
        "Frame numbers count over all files in the order of the timestamps.",
    );
    say(
        Anomaly::CaptureFileRepeated,
        "capture file",
        "given twice (the first packets are equal)",
        "Packets of the copy count as retransmissions; name each file once.",
    );
    say(
        Anomaly::TimeJump,
        "timestamp jump",
        "by more than a day",
        "The span, the rates and the charts over time include each such jump.",
    );
    say(
        Anomaly::ResponseBehindJump,
        "response",
        "without a response time, because the timestamps jump between request and response",
        "These responses count as operations.",
    );
    warnings
}

/// From this share of the operations on, requests that were captured after their responses make response times doubtful.
const TWO_CLOCKS: f64 = 0.01;
/// From this number of such requests on, the directions have two clocks: a few packets of a small capture may be out of order by chance.
const TWO_CLOCKS_LEAST: u64 = 10;
/// From this share on, hardly any time is right.
const TIMES_WRONG: f64 = 0.5;

/// Whether `late` requests behind their responses, of `paired` pairs, have another cause than packets out of order.
pub(super) fn has_two_clocks(late: u64, paired: u64) -> bool {
    late >= TWO_CLOCKS_LEAST && may_have_two_clocks(late, paired)
}

/// Whether they may have one. However few they are, two clocks make the times of all other requests wrong as well.
fn may_have_two_clocks(late: u64, paired: u64) -> bool {
    late > 0 && late as f64 >= TWO_CLOCKS * paired as f64
}

/// Responses that come before their requests.
fn two_clocks(coverage: &Coverage) -> Option<Reason> {
    let (late, paired) = (coverage.late_requests, coverage.unseen.paired);
    if !may_have_two_clocks(late.count, paired) {
        return None;
    }
    let were_captured = match late.count {
        1 => "1 response was".to_owned(),
        _ => format!("{} were", plural(late.count, "response")),
    };
    let most = time(late.most_ns as f64 / 1e9);
    if !has_two_clocks(late.count, paired) {
        return Some(Reason::partial(format!(
            "{were_captured} captured before the request, by up to {most}. This is too few to tell different clocks of the directions from \
            packets that are out of order. With different clocks, response times are wrong by at least this time: capture both directions \
            with the same clock.",
        )));
    }
    let are_wrong = late.count as f64 >= TIMES_WRONG * paired as f64;
    let verdict = if are_wrong { Verdict::Invalid } else { Verdict::Partial };
    let text = format!(
        "{were_captured} captured before the request, by up to {most}: the directions have different clocks, which differ by at least this \
        time, or their packets are out of order. Response times are wrong. Capture both directions with the same clock, or correct the \
        timestamps of one direction before you merge the captures (editcap -t SECONDS IN OUT).",
    );
    Some(Reason { verdict, text })
}

/// The interface was down while it was captured.
fn down(coverage: &Coverage) -> Option<Reason> {
    let Downtime { count, first_ns, first_end_ns, total_ns } = coverage.downtime;
    let from = first_ns.filter(|_| count > 0)?;
    let first = match first_end_ns {
        Some(to) => format!("from {}", Zone::shown().span(from, to)),
        None => format!("from {} on (the capture has no later end of this time)", instant::second(from)),
    };
    let total = time(total_ns as f64 / 1e9);
    let text = match count {
        1 if first_end_ns.is_none() => format!("The interface was down {first}: all packets of this time are missing."),
        1 => format!("The interface was down {first} ({total}): all packets of this time are missing."),
        _ => format!(
            "The interface was down {count} times ({total} in total), first {first}: all packets of these times are missing."
        ),
    };
    Some(Reason::partial(text))
}

/// Below this share of the time, rates are hardly wrong even if nobody captured between the files.
const BETWEEN_FILES: f64 = 0.01;

/// Time between capture files, in which perhaps nobody captured.
struct BetweenFiles {
    total_ns: u64,
    longest: (i64, i64),
    is_one: bool,
}

impl BetweenFiles {
    /// None if it is short.
    fn of(coverage: &Coverage) -> Option<Self> {
        let (first, last) = coverage.first_ns.zip(coverage.last_ns)?;
        let gaps: Vec<(i64, i64)> = coverage.file_gaps.within((first, last)).collect();
        let length = |&(from, to): &(i64, i64)| to.abs_diff(from);
        // With a filter, the other gaps may be outside the selected time.
        let others = if coverage.capture_ns.is_none() { coverage.file_gaps.others_ns() } else { 0 };
        let total_ns = gaps.iter().map(length).fold(others, u64::saturating_add);
        let &longest = gaps.iter().max_by_key(|gap| length(gap))?;
        let is_long = total_ns as f64 >= BETWEEN_FILES * last.abs_diff(first) as f64;
        is_long.then_some(Self { total_ns, longest, is_one: gaps.len() == 1 })
    }
}

/// The time between capture files that rates leave out, ns.
pub(super) fn between_files_ns(coverage: &Coverage) -> u64 {
    BetweenFiles::of(coverage).map_or(0, |between| between.total_ns)
}

/// Other numbers than the throughput include the time between capture files.
fn between_files(coverage: &Coverage) -> Option<Reason> {
    let BetweenFiles { total_ns, longest: (from, to), is_one } = BetweenFiles::of(coverage)?;
    let longest = Zone::shown().span(from, to);
    let which = if is_one { format!("from {longest}") } else { format!("the longest from {longest}") };
    Some(Reason::partial(format!(
        "The captures have no packets for {} between the end of a file and the beginning of the next one ({which}). The throughput does \
         not include this time; comparisons and histories include it. If nobody captured then, all other numbers per second, all shares \
         of the time and the mean queue depth are too low: analyse these captures separately.",
        time(total_ns as f64 / 1e9)
    )))
}

/// All packets have the same timestamp: 0, as written by a program without a clock, or another one.
fn no_time(coverage: &Coverage) -> Option<Reason> {
    let (first, last) = coverage.capture_ns.or(coverage.first_ns.zip(coverage.last_ns))?;
    (first == last && coverage.packets.total > 1).then(|| {
        Reason::invalid(format!(
            "Times cannot be measured: all {} have the same timestamp, {}. Capture again with a program that records timestamps.",
            plural(coverage.packets.total, "packet"),
            instant::microsecond(first)
        ))
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{LateRequests, Unseen};

    use super::*;

    #[test]
    fn two_clocks_are_named_with_their_offset() {
        let mut coverage = Coverage::default();
        let said = |coverage: &Coverage| two_clocks(coverage).map(|reason| (reason.verdict, reason.text));
        coverage.unseen.paired = 1_000;
        assert_eq!(said(&coverage), None);
        coverage.late_requests = LateRequests { count: 9, most_ns: 5_000_000 };
        assert_eq!(said(&coverage), None, "below 1 %: packets out of order");
        coverage.late_requests.count = 10;
        let (verdict, text) = said(&coverage).unwrap();
        assert_eq!(verdict, Verdict::Partial);
        assert!(
            text.starts_with("10 responses were captured before the request, by up to 5.00 ms: the directions"),
            "{text}"
        );
        coverage.late_requests.count = 900;
        assert_eq!(said(&coverage).unwrap().0, Verdict::Invalid);
    }

    /// Two clocks 5 ms apart: the nine responses that took less come before their requests, and eleven times are 5 ms too short.
    #[test]
    fn few_requests_behind_their_responses_make_all_times_doubtful() {
        let said = |late: u64, paired: u64| {
            let late_requests = LateRequests { count: late, most_ns: 4_800_000 };
            let unseen = Unseen { paired, ..Unseen::default() };
            let coverage = Coverage { late_requests, unseen, ..Coverage::default() };
            two_clocks(&coverage).map(|reason| (reason.verdict, reason.text))
        };
        let (verdict, text) = said(9, 20).unwrap();
        assert_eq!(verdict, Verdict::Partial);
        let begin = "9 responses were captured before the request, by up to 4.80 ms. This is too few to tell different clocks of the";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("response times are wrong by at least this time"), "{text}");
        assert!(said(1, 100).unwrap().1.starts_with("1 response was captured before"));
        assert_eq!((said(1, 101), said(0, 0)), (None, None), "below 1 %, and none");
        assert_eq!([(9, 9), (1, 1)].map(|(late, paired)| said(late, paired).unwrap().0), [Verdict::Partial; 2]);
        assert_eq!(said(10, 20).unwrap().0, Verdict::Invalid);
    }

    #[test]
    fn times_between_capture_files_are_named_unless_they_are_short() {
        const START: i64 = 1_700_000_000_000_000_000;
        const SECOND: i64 = 1_000_000_000;
        let mut coverage =
            Coverage { first_ns: Some(START), last_ns: Some(START + 100 * SECOND), ..Coverage::default() };
        let said = |coverage: &Coverage| between_files(coverage).map(|reason| reason.text).unwrap_or_default();
        assert_eq!(said(&coverage), "");
        coverage.file_gaps.add(START + 10 * SECOND, START + 40 * SECOND);
        let one = said(&coverage);
        assert!(one.starts_with("The captures have no packets for 30.0 s between the end of a file"), "{one}");
        assert!(one.contains("(from 2023-11-14 22:13:30 to 22:14:00 UTC)"), "{one}");
        assert_eq!(between_files_ns(&coverage), 30_000_000_000);
        coverage.file_gaps.add(START + 50 * SECOND, START + 62 * SECOND);
        assert!(
            said(&coverage).contains("42.0 s") && said(&coverage).contains("(the longest from 2023-11-14 22:13:30")
        );
        // Of many captures, only the longest of these times are known one by one.
        let mut many = coverage.clone();
        (0..100).for_each(|at| many.file_gaps.add(START - at * 40 * SECOND, START - at * 40 * SECOND + 11 * SECOND));
        many.first_ns = Some(START - 4_000 * SECOND);
        assert!(said(&many).contains(&time(30.0 + 12.0 + 1_100.0)), "{}", said(&many));
        // Of hours that are left, 42 s change no rate; a filter selects a time without a gap.
        coverage.last_ns = Some(START + 4_300 * SECOND);
        assert_eq!((said(&coverage), between_files_ns(&coverage)), (String::new(), 0));
        (coverage.first_ns, coverage.last_ns) = (Some(START + 70 * SECOND), Some(START + 90 * SECOND));
        assert_eq!(said(&coverage), "");
    }

    #[test]
    fn times_without_the_interface_are_named() {
        const START: i64 = 1_700_000_000_000_000_000;
        let mut coverage = Coverage::default();
        let said = |coverage: &Coverage| down(coverage).map(|reason| reason.text).unwrap_or_default();
        assert_eq!(said(&coverage), "");
        coverage.downtime.begin(START);
        let open = said(&coverage);
        assert!(open.starts_with("The interface was down from 2023-11-14 22:13:20 UTC on"), "{open}");
        coverage.downtime.end(START, START + 6_000_000_000);
        assert_eq!(
            said(&coverage),
            "The interface was down from 2023-11-14 22:13:20 to 22:13:26 UTC (6.00 s): all packets of this time are missing."
        );
        coverage.downtime.begin(START + 20_000_000_000);
        coverage.downtime.end(START + 20_000_000_000, START + 21_000_000_000);
        assert!(said(&coverage).starts_with("The interface was down 2 times (7.00 s in total), first from 2023-11-14"));
    }
}
