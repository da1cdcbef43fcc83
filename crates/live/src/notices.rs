//! Facts that all views show for as long as they are true.

use plimsoll_model::Names;

use super::beside::Beside;

/// No packet has come so far.
#[derive(Clone, Debug)]
pub struct Silence {
    /// What did not come, for how long, and what to do.
    pub text: String,
    /// For how long.
    pub seconds: u64,
}

/// Time without a packet after which a line says so, s: often, the first packet comes soon.
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
    failures(beside).map(str::to_owned).chain(silence).chain(truncated(beside)).chain(full(names)).collect()
}

fn failures<'a>(beside: &Beside<'a>) -> impl Iterator<Item = &'a str> {
    beside.outputs.iter().filter_map(|output| output.failure.as_deref())
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
    truncated: bool,
    full: bool,
    failures: Vec<String>,
}

impl Mentioned {
    /// What is new: whether it is an error, and the text.
    pub(super) fn look(&mut self, beside: &Beside<'_>, names: &Names) -> Vec<(bool, String)> {
        let silence = beside.silence.filter(|silence| silence.seconds >= SILENT_S && !self.silence);
        self.silence |= silence.is_some();
        let truncated = truncated(beside).filter(|_| !self.truncated);
        self.truncated |= truncated.is_some();
        let full = full(names).filter(|_| !self.full);
        self.full |= full.is_some();
        let is_new = |failure: &&str| !self.failures.iter().any(|before| before == failure);
        let failures: Vec<String> = failures(beside).filter(is_new).map(str::to_owned).collect();
        self.failures.extend_from_slice(&failures);
        let others = silence.iter().map(|silence| silence.text.clone()).chain(truncated).chain(full);
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
            let silence = Silence { text: format!("No packets for {seconds} s"), seconds };
            mentioned.look(&Beside { silence: Some(&silence), ..Beside::default() }, &Names::default())
        };
        assert_eq!([look(0), look(4)].concat(), []);
        assert_eq!(look(5), [(false, "No packets for 5 s".to_owned())]);
        assert_eq!(look(6), []);
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
