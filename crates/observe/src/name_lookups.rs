//! Names that hosts ask DNS servers for, and how long they wait: a host that resolves the name of a file server before it connects, and a
//! server that resolves the address of a client before it answers, wait as long.
//!
//! Spec: RFC 1035 4.1

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Coverage, NameLookup, NameServer, Names};
use serde::{Deserialize, Serialize};

const DNS: u16 = 53;
/// Header; its fields.
const HEADER: usize = 12;
const FLAGS: usize = 2;
const QUESTIONS: usize = 4;
/// QR: a response.
const RESPONSE: u8 = 0x80;
/// Longest name, in the form that it has in messages.
const NAME_MAX: usize = 255;
/// The two high bits of a length byte: a pointer. A question has none before it that it could point to.
const POINTER: u8 = 0xC0;
/// Maximum number of names looked up at the same time: 400 KiB. Further names are not observed.
const OPEN_MAX: usize = 1024;
/// DNS servers that are counted.
const SERVERS_MAX: usize = 256;
/// A question this long after the last one is a new one, ns: resolvers wait for 5 s and retry a few times.
const AGAIN_NS: i64 = 30_000_000_000;

/// A host, and the bytes of its question: name, type, class.
type Question = (IpAddr, Box<[u8]>);

/// All open lookups.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct NameLookups {
    open: HashMap<Question, NameLookup>,
    done: Vec<NameLookup>,
    servers: Vec<NameServer>,
    /// A message was cut before the end of its question: it may be an answer.
    is_cut: bool,
}

impl NameLookups {
    /// Takes a datagram, with its source and destination.
    #[inline]
    pub(crate) fn datagram(
        &mut self,
        [source, destination]: [(IpAddr, u16); 2],
        payload: &[u8],
        is_cut: bool,
        at_ns: i64,
        names: &mut Names,
    ) {
        if source.1 == DNS || destination.1 == DNS {
            self.message([source, destination], payload, is_cut, at_ns, names);
        }
    }

    #[cold]
    fn message(
        &mut self,
        [source, destination]: [(IpAddr, u16); 2],
        payload: &[u8],
        is_cut: bool,
        at_ns: i64,
        names: &mut Names,
    ) {
        let Some((is_response, question)) = question(payload) else {
            self.is_cut |= is_cut;
            return;
        };
        if is_response && source.1 == DNS {
            self.answer(destination.0, source.0, question, at_ns);
        } else if !is_response && destination.1 == DNS {
            self.ask(source.0, destination.0, question, at_ns, names);
        }
    }

    fn ask(&mut self, asker: IpAddr, server: IpAddr, question: &[u8], at_ns: i64, names: &mut Names) {
        self.count(server, |one| one.questions += 1);
        let key = (asker, Box::from(question));
        let is_again = |one: &NameLookup| at_ns.saturating_sub(one.last_ns) <= AGAIN_NS;
        if let Some(one) = self.open.get_mut(&key).filter(|one| is_again(one)) {
            (one.last_ns, one.questions) = (at_ns.max(one.last_ns), one.questions + 1);
            return;
        }
        let new = NameLookup {
            asker,
            server,
            name: names.intern(&text(question)),
            first_ns: at_ns,
            last_ns: at_ns,
            questions: 1,
            answered_ns: None,
            is_answered_by_first: false,
            connected_ns: None,
        };
        if self.open.len() < OPEN_MAX || self.open.contains_key(&key) {
            let before = self.open.insert(key, new);
            self.done(before);
        }
    }

    fn answer(&mut self, asker: IpAddr, server: IpAddr, question: &[u8], at_ns: i64) {
        self.count(server, |one| one.answers += 1);
        let Some(mut one) = self.open.remove(&(asker, Box::from(question))) else { return };
        (one.answered_ns, one.is_answered_by_first) = (Some(at_ns), one.server == server);
        self.done(Some(one));
    }

    fn count(&mut self, server: IpAddr, count: impl Fn(&mut NameServer)) {
        let is_room = self.servers.len() < SERVERS_MAX;
        match self.servers.iter_mut().find(|one| one.server == server) {
            Some(one) => count(one),
            None if is_room => {
                let mut one = NameServer { server, questions: 0, answers: 0 };
                count(&mut one);
                self.servers.push(one);
            }
            None => {}
        }
    }

    /// Keeps one that took long.
    fn done(&mut self, one: Option<NameLookup>) {
        let is_late = |one: &NameLookup| {
            one.answered_ns.is_none_or(|at_ns| at_ns.saturating_sub(one.first_ns) > NameLookup::LATE_NS)
        };
        if self.done.len() < Coverage::LOOKUPS {
            self.done.extend(one.filter(is_late));
        }
    }

    /// Those that took long, and the servers. `connections` has the host and the time of each new connection to a file server.
    pub(crate) fn finish(mut self, connections: &[(IpAddr, i64)]) -> (Vec<NameLookup>, Vec<NameServer>) {
        if self.is_cut {
            return (Vec::new(), self.servers);
        }
        let mut open: Vec<NameLookup> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|one| (one.first_ns, one.asker, one.name));
        open.into_iter().for_each(|one| self.done(Some(one)));
        for one in &mut self.done {
            let behind = connections.iter().filter(|(host, at_ns)| *host == one.asker && *at_ns >= one.first_ns);
            one.connected_ns = behind.map(|(_, at_ns)| *at_ns).min();
        }
        self.done.sort_by_key(|one| (one.first_ns, one.asker, one.name));
        (self.done, self.servers)
    }
}

/// Whether a message is a response, and the question that it repeats, where that is whole and the only one.
fn question(message: &[u8]) -> Option<(bool, &[u8])> {
    let count = message.get(QUESTIONS..QUESTIONS + 2)?;
    let is_response = message.get(FLAGS)? & RESPONSE != 0;
    let mut end = HEADER;
    loop {
        let length = *message.get(end)?;
        end += 1 + usize::from(length);
        if length & POINTER != 0 || end - HEADER > NAME_MAX {
            return None;
        }
        if length == 0 {
            break;
        }
    }
    (count == [0, 1]).then_some((is_response, message.get(HEADER..end + 4)?))
}

/// A question's name as people write it.
fn text(question: &[u8]) -> String {
    let mut labels = Vec::new();
    let mut rest = question;
    while let Some((&length, behind)) = rest.split_first().filter(|(length, _)| **length > 0) {
        let Some((label, next)) = behind.split_at_checked(usize::from(length)) else { break };
        labels.push(String::from_utf8_lossy(label).into_owned());
        rest = next;
    }
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// A message about `filer.example`, type A.
    fn message(is_response: bool) -> Vec<u8> {
        let mut bytes = vec![0, 7, if is_response { 0x81 } else { 1 }, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"\x05filer\x07example\0\0\x01\0\x01");
        bytes
    }

    /// The lookups and waits for these messages: (host, server, is an answer, ms).
    fn waits(messages: &[(u8, u8, bool, i64)]) -> (Vec<NameLookup>, Names, Vec<NameServer>) {
        let (mut lookups, mut names) = (NameLookups::default(), Names::default());
        for &(host, server, is_answer, at_ms) in messages {
            let ends = [(ip(host), 40_000), (ip(server), DNS)];
            let ends = if is_answer { [ends[1], ends[0]] } else { ends };
            lookups.datagram(ends, &message(is_answer), false, at_ms * MS, &mut names);
        }
        let (waits, servers) = lookups.finish(&[(ip(1), 6_000 * MS), (ip(1), 9_000 * MS), (ip(2), 5_002 * MS)]);
        (waits, names, servers)
    }

    #[test]
    fn a_server_that_does_not_answer_keeps_its_asker_waiting_until_another_does() {
        let (waits, names, servers) = waits(&[(1, 53, false, 0), (1, 54, false, 5_000), (1, 54, true, 5_001)]);
        let [one] = waits[..] else { panic!("{waits:?}") };
        assert_eq!((one.asker, one.server, one.questions), (ip(1), ip(53), 2));
        assert_eq!((one.first_ns, one.answered_ns, one.is_answered_by_first), (0, Some(5_001 * MS), false));
        assert_eq!((names.text(one.name), one.connected_ns), (Some("filer.example"), Some(6_000 * MS)));
        let of = |server| servers.iter().find(|one| one.server == ip(server)).map(|one| (one.questions, one.answers));
        assert_eq!((of(53), of(54)), (Some((1, 0)), Some((1, 1))));
    }

    #[test]
    fn questions_that_are_answered_soon_are_no_waits() {
        let (late, ..) = waits(&[(1, 53, false, 0), (1, 53, true, 101)]);
        assert_eq!(late.len(), 1, "late");
        assert!(waits(&[(1, 53, false, 0), (1, 53, true, 99)]).0.is_empty(), "soon");
        assert_eq!(waits(&[(1, 53, false, 0), (2, 53, true, 1)]).0.len(), 1, "of another host");
        let (again, ..) = waits(&[(1, 53, false, 0), (1, 53, false, 31_000)]);
        assert_eq!(again.iter().map(|one| one.questions).collect::<Vec<_>>(), [1, 1], "much later");
    }

    #[test]
    fn what_is_cut_or_no_question_says_nothing() {
        for cut in 0..message(false).len() {
            assert_eq!(question(&message(false)[..cut]), None, "cut at {cut}");
        }
        let mut two = message(false);
        two[5] = 2;
        assert_eq!(question(&two), None);
        let mut lookups = NameLookups::default();
        let ends = [(ip(1), 40_000), (ip(53), DNS)];
        lookups.datagram(ends, &message(false), false, 0, &mut Names::default());
        lookups.datagram([ends[1], ends[0]], &message(true)[..20], true, MS, &mut Names::default());
        assert!(lookups.finish(&[]).0.is_empty(), "the answer may have come");
    }
}
