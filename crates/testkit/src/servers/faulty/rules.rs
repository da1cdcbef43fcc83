//! What happens to which answer.

use std::net::Ipv4Addr;
use std::time::Duration;

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It never comes.
    Never,
    /// It comes twice.
    Twice,
    /// It is delayed by this time; others overtake it.
    Delayed(Duration),
    /// It is sent after this number of later messages.
    After(u64),
    /// One bit of it is inverted, counted from the first bit of its framing, modulo its length.
    Flipped(u64),
    /// Only this number of its bytes are sent, followed by the next message.
    Cut(usize),
}

/// Which answers of a connection, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Only this message.
    Nth(u64),
    /// This message and all later ones.
    From(u64),
    /// One in this number: `Every(3)` are 2, 5, 8 …
    Every(u64),
}

impl Which {
    fn has(self, reply: u64) -> bool {
        match self {
            Which::Nth(nth) => reply == nth,
            Which::From(first) => reply >= first,
            Which::Every(count) => (reply + 1).is_multiple_of(count),
        }
    }
}

/// A rule. The first that fits an answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Something happens to answers.
    Answers {
        /// On which connection, counted from 0; on all where none is named.
        connection: Option<usize>,
        /// Which answers.
        which: Which,
        /// What happens.
        fault: Fault,
    },
    /// The connection ends after this number of bytes of answers, framing included.
    End {
        /// On which connection, counted from 0; on all where none is named.
        connection: Option<usize>,
        /// The number of bytes.
        offset: u64,
        /// By a reset; otherwise by an orderly close.
        reset: bool,
    },
    /// The answers of an SMB server say that it has persistent handles where it has durable ones. Only for guests, because for users a
    /// signature protects the negotiation.
    PersistentHandles,
    /// An SMB server lists these addresses, with the same speed and RSS, where its answer has no signature.
    Interfaces([Ipv4Addr; 2]),
}

impl Rule {
    /// This happens to these answers on every connection.
    #[must_use]
    pub fn answers(which: Which, fault: Fault) -> Self {
        Rule::Answers { connection: None, which, fault }
    }

    /// Every connection is reset after this number of bytes of answers.
    #[must_use]
    pub fn reset_at(offset: u64) -> Self {
        Rule::End { connection: None, offset, reset: true }
    }
}

/// The rules as they stand for one connection.
#[derive(Debug)]
pub(super) struct Judge {
    rules: Vec<Rule>,
    replies: u64,
}

impl Judge {
    /// Keeps only this connection's rules: there may be one for each of thousands.
    pub(super) fn new(mut rules: Vec<Rule>, number: usize) -> Self {
        rules.retain(|rule| {
            let connection = match rule {
                Rule::Answers { connection, .. } | Rule::End { connection, .. } => *connection,
                Rule::PersistentHandles | Rule::Interfaces(_) => None,
            };
            connection.is_none_or(|connection| connection == number)
        });
        Self { rules, replies: 0 }
    }

    /// What happens to the next answer.
    pub(super) fn next(&mut self) -> Option<Fault> {
        let reply = self.replies;
        self.replies += 1;
        self.rules.iter().find_map(|rule| match rule {
            Rule::Answers { which, fault, .. } => which.has(reply).then_some(*fault),
            Rule::End { .. } | Rule::PersistentHandles | Rule::Interfaces(_) => None,
        })
    }

    /// After how many bytes the connection ends, and whether by a reset.
    pub(super) fn end(&self) -> Option<(u64, bool)> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::End { offset, reset, .. } => Some((*offset, *reset)),
            Rule::Answers { .. } | Rule::PersistentHandles | Rule::Interfaces(_) => None,
        })
    }

    /// Whether the server is to have persistent handles.
    pub(super) fn has_persistent_handles(&self) -> bool {
        self.rules.contains(&Rule::PersistentHandles)
    }

    /// The addresses that the server is to list.
    pub(super) fn interfaces(&self) -> Option<[Ipv4Addr; 2]> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::Interfaces(addresses) => Some(*addresses),
            Rule::Answers { .. } | Rule::End { .. } | Rule::PersistentHandles => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_counts() {
        let elsewhere = Rule::Answers { connection: Some(1), which: Which::From(0), fault: Fault::Twice };
        let rules = vec![
            elsewhere,
            Rule::answers(Which::Nth(2), Fault::Never),
            Rule::answers(Which::Every(3), Fault::Twice),
            Rule::answers(Which::From(6), Fault::Cut(1)),
            Rule::reset_at(9),
        ];
        let mut judge = Judge::new(rules.clone(), 0);
        let faults: Vec<Option<Fault>> = (0..9).map(|_| judge.next()).collect();
        let expected = [2, 5, 6, 7, 8].map(|reply| match reply {
            2 => (reply, Fault::Never),
            5 | 8 => (reply, Fault::Twice),
            _ => (reply, Fault::Cut(1)),
        });
        for (reply, fault) in faults.into_iter().enumerate() {
            assert_eq!(fault, expected.iter().find(|(which, _)| *which == reply).map(|(_, fault)| *fault), "{reply}");
        }
        assert_eq!(judge.end(), Some((9, true)));
        assert_eq!(Judge::new(rules, 1).next(), Some(Fault::Twice));
    }
}
