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

/// The facts, most important first.
pub(super) fn notices(beside: &Beside<'_>, names: &Names) -> Vec<String> {
    beside.silence.iter().map(|silence| silence.text.clone()).chain(full(names)).collect()
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
    full: bool,
}

impl Mentioned {
    /// What is new: whether it is an error, and the text.
    pub(super) fn look(&mut self, beside: &Beside<'_>, names: &Names) -> Vec<(bool, String)> {
        let silence = beside.silence.filter(|silence| silence.seconds >= SILENT_S && !self.silence);
        self.silence |= silence.is_some();
        let full = full(names).filter(|_| !self.full);
        self.full |= full.is_some();
        silence.iter().map(|silence| silence.text.clone()).chain(full).map(|text| (false, text)).collect()
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
}
