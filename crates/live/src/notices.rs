//! Facts that all views show for as long as they are true.

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
pub(super) fn notices(beside: &Beside<'_>) -> Vec<String> {
    beside.silence.iter().map(|silence| silence.text.clone()).collect()
}

/// The facts that lines have mentioned.
#[derive(Default)]
pub(super) struct Mentioned {
    silence: bool,
}

impl Mentioned {
    /// What is new: whether it is an error, and the text.
    pub(super) fn look(&mut self, beside: &Beside<'_>) -> Vec<(bool, String)> {
        let silence = beside.silence.filter(|silence| silence.seconds >= SILENT_S && !self.silence);
        self.silence |= silence.is_some();
        silence.iter().map(|silence| (false, silence.text.clone())).collect()
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
            mentioned.look(&Beside { silence: Some(&silence), ..Beside::default() })
        };
        assert_eq!([look(0), look(4)].concat(), []);
        assert_eq!(look(5), [(false, "No packets for 5 s".to_owned())]);
        assert_eq!(look(6), []);
    }
}
