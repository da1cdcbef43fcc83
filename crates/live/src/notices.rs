//! Facts that all views show for as long as they are true.

use plimsoll_model::Names;
use plimsoll_report::duration;

use super::beside::Beside;
use super::second::second_of;

/// No packet has come so far, or none comes any more.
#[derive(Clone, Debug)]
pub struct Silence {
    /// What did not come, and for how long or since when; before the first packet, also what to do.
    pub text: String,
    /// For how long.
    pub seconds: u64,
    /// Whether no packet has come at all.
    pub is_first: bool,
}

/// Time without a packet after which a line says so, s: often, the next packet comes soon.
const SILENT_S: u64 = 5;

/// An output that grows during the watch.
#[derive(Clone, Debug)]
pub struct OutputState {
    /// Its name: `save` or `record`.
    pub name: &'static str,
    /// Why it is no longer written.
    pub failure: Option<String>,
}

impl OutputState {
    /// Those that were asked for.
    pub fn wanted<const N: usize>(outputs: [(&'static str, bool); N]) -> Vec<Self> {
        let wanted = outputs.into_iter().filter(|(_, wanted)| *wanted);
        wanted.map(|(name, _)| Self { name, failure: None }).collect()
    }

    /// Notes why an output is no longer written.
    pub fn fail(outputs: &mut [Self], name: &str, failure: String) {
        let of_name = outputs.iter_mut().filter(|output| output.name == name);
        of_name.for_each(|output| output.failure = Some(failure.clone()));
    }
}

/// The facts, most important first.
pub(super) fn notices(beside: &Beside<'_>, names: &Names) -> Vec<String> {
    let silence = beside.silence.iter().map(|silence| silence.text.clone());
    let others = [late(beside), cut(beside), uncounted(beside), truncated(beside), full(names)];
    failures(beside).map(str::to_owned).chain(silence).chain(others.into_iter().flatten()).collect()
}

fn failures<'a>(beside: &Beside<'a>) -> impl Iterator<Item = &'a str> {
    beside.outputs.iter().filter_map(|output| output.failure.as_deref())
}

/// Lines and pages show each second once; the screen, the metrics and the report have these packets.
fn late(beside: &Beside<'_>) -> Option<String> {
    let packets = match beside.late {
        0 => return None,
        1 => "1 packet".to_owned(),
        packets => format!("{packets} packets"),
    };
    Some(format!("LATE: {packets} came after their second was shown: lines and pages do not count their operations"))
}

/// Without this, the last second looks like one in which the server did less.
fn cut(beside: &Beside<'_>) -> Option<String> {
    let to_ns = beside.captured?.to_ns?;
    let part_ns = to_ns.saturating_sub(second_of(to_ns));
    Some(format!("The capture ended {} after the start of the last second", duration(part_ns as f64 / 1e9)))
}

/// A line at the start has said why.
fn uncounted(beside: &Beside<'_>) -> Option<String> {
    let text = "The losses of the interface are unknown: Linux does not show them".to_owned();
    beside.losses.filter(|losses| losses.interface_unknown).map(|_| text)
}

/// Without this, the live numbers look complete, but the report is PARTIAL.
fn truncated(beside: &Beside<'_>) -> Option<String> {
    let packets = match beside.truncated {
        0 => return None,
        1 => "1 packet".to_owned(),
        packets => format!("{packets} packets"),
    };
    Some(format!("The snap length truncated {packets}: operations and file data may be missing"))
}

/// Without this, the row of all newer files looks like one of requests whose file the capture does not contain.
fn full(names: &Names) -> Option<String> {
    let refused = names.refused();
    (refused > 0)
        .then(|| format!("No memory for further names ({refused} refused): newer files share one row, (unknown)"))
}

/// The facts that lines have mentioned.
#[derive(Default)]
pub(super) struct Mentioned {
    silence: bool,
    late: u64,
    truncated: bool,
    full: bool,
    failures: Vec<String>,
}

impl Mentioned {
    /// What is new: whether it is an error, and the text.
    pub(super) fn look(&mut self, beside: &Beside<'_>, names: &Names) -> Vec<(bool, String)> {
        let silence = beside.silence.filter(|silence| silence.seconds >= SILENT_S && !self.silence);
        // The next packets may stay away again.
        self.silence = beside.silence.is_some() && (self.silence || silence.is_some());
        // The end has the final number.
        let late = late(beside).filter(|_| self.late == 0 || beside.ended && self.late < beside.late);
        self.late = if late.is_some() { beside.late } else { self.late };
        let truncated = truncated(beside).filter(|_| !self.truncated);
        self.truncated |= truncated.is_some();
        let full = full(names).filter(|_| !self.full);
        self.full |= full.is_some();
        let is_new = |failure: &&str| !self.failures.iter().any(|before| before == failure);
        let failures: Vec<String> = failures(beside).filter(is_new).map(str::to_owned).collect();
        self.failures.extend_from_slice(&failures);
        let silence = silence.map(|silence| silence.text.clone());
        let others = [silence, late, truncated, full].into_iter().flatten();
        failures.into_iter().map(|text| (true, text)).chain(others.map(|text| (false, text))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mention_once_that_no_packet_comes() {
        let mut mentioned = Mentioned::default();
        let mut look = |seconds| {
            let silence = Silence { text: format!("No packets for {seconds} s"), seconds, is_first: false };
            let silence = (seconds > 0).then_some(&silence);
            mentioned.look(&Beside { silence, ..Beside::default() }, &Names::default())
        };
        assert_eq!([look(1), look(4)].concat(), []);
        assert_eq!(look(5), [(false, "No packets for 5 s".to_owned())]);
        assert_eq!([look(6), look(0), look(4)].concat(), []);
        assert_eq!(look(5), [(false, "No packets for 5 s".to_owned())], "again");
    }

    #[test]
    fn packets_of_seconds_that_were_shown_are_mentioned_and_counted_at_the_end() {
        let (names, mut mentioned) = (Names::default(), Mentioned::default());
        let text = |packets| {
            format!("LATE: {packets} came after their second was shown: lines and pages do not count their operations")
        };
        let mut look = |late, ended| mentioned.look(&Beside { late, ended, ..Beside::default() }, &names);
        assert_eq!([look(0, false), look(0, true)].concat(), []);
        assert_eq!(look(1, false), [(false, text("1 packet"))]);
        assert_eq!(look(144, false), []);
        assert_eq!([look(144, true), look(144, true)].concat(), [(false, text("144 packets"))]);
        assert_eq!(notices(&Beside { late: 7, ..Beside::default() }, &names), [text("7 packets")]);
    }

    #[test]
    fn losses_that_nobody_counts_are_in_all_views() {
        let shown = |interface_unknown| {
            let losses = plimsoll_stats::live::LiveLosses { interface_unknown, ..Default::default() };
            notices(&Beside { losses: Some(losses), ..Beside::default() }, &Names::default())
        };
        assert_eq!(shown(false), Vec::<String>::new());
        assert_eq!(shown(true), ["The losses of the interface are unknown: Linux does not show them"]);
    }

    #[test]
    fn a_last_second_that_was_cut_short_is_in_all_views() {
        let captured = |to_ns| Some(crate::beside::Captured { from_ns: 0, to_ns });
        let shown = |to_ns| notices(&Beside { captured: captured(to_ns), ..Beside::default() }, &Names::default());
        assert_eq!(shown(None), Vec::<String>::new());
        assert_eq!(shown(Some(2_300_000_000)), ["The capture ended 300 ms after the start of the last second"]);
    }

    #[test]
    fn names_without_room_are_in_all_views_and_mentioned_once() {
        let (mut names, mut mentioned, beside) = (Names::with_limit(70), Mentioned::default(), Beside::default());
        names.intern("a");
        assert_eq!((notices(&beside, &names), mentioned.look(&beside, &names)), (vec![], vec![]));
        names.intern("b");
        let text = "No memory for further names (1 refused): newer files share one row, (unknown)".to_owned();
        assert_eq!(notices(&beside, &names), [text.as_str()]);
        assert_eq!(mentioned.look(&beside, &names), [(false, text)]);
        names.intern("c");
        assert!(notices(&beside, &names)[0].contains("(2 refused)"));
        assert_eq!(mentioned.look(&beside, &names), []);
    }

    #[test]
    fn truncated_packets_are_in_all_views_and_mentioned_once() {
        let (names, mut mentioned) = (Names::default(), Mentioned::default());
        let beside = |truncated| Beside { truncated, ..Beside::default() };
        assert_eq!((notices(&beside(0), &names), mentioned.look(&beside(0), &names)), (vec![], vec![]));
        let text = "The snap length truncated 1 packet: operations and file data may be missing".to_owned();
        assert_eq!(mentioned.look(&beside(1), &names), [(false, text)]);
        assert!(notices(&beside(7), &names)[0].starts_with("The snap length truncated 7 packets: "));
        assert_eq!(mentioned.look(&beside(7), &names), []);
    }

    #[test]
    fn an_output_that_fails_stays_in_all_views_and_is_an_error_of_lines() {
        let mut outputs = OutputState::wanted([("save", true), ("record", false)]);
        assert_eq!(outputs.len(), 1);
        let (names, mut mentioned) = (Names::default(), Mentioned::default());
        fn beside(outputs: &[OutputState]) -> Beside<'_> {
            Beside { outputs, ..Beside::default() }
        }
        assert_eq!(mentioned.look(&beside(&outputs), &names), []);
        OutputState::fail(&mut outputs, "record", "not asked for".to_owned());
        OutputState::fail(&mut outputs, "save", "--save: cannot write".to_owned());
        assert_eq!(mentioned.look(&beside(&outputs), &names), [(true, "--save: cannot write".to_owned())]);
        for _ in 0..3 {
            assert_eq!(mentioned.look(&beside(&outputs), &names), [], "once");
            assert_eq!(notices(&beside(&outputs), &names), ["--save: cannot write"], "until the end");
        }
    }
}
