//! What a capture says beside its packets: losses, the times in which its interface was down, and until when it went on.
//!
//! Without it, a report on the copy would call complete what the original calls partial.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.6; capture/pcapng.rs reads it

use std::io::{self, Write};

use crate::capture::{CAPTURE_OF_TAP, COMMENT, Captures, Hole, INTERFACE_REMOVED};

use super::AnonymizeError;
use super::output::{block, option};

const INTERFACE_STATISTICS: u32 = 5;
/// Options: start and end of the capture, packets that the system lost.
const STARTED: u16 = 2;
const ENDED: u16 = 3;
const SYSTEM_DROPS: u16 = 7;

/// Statements of a capture that has been read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    drops: u64,
    downtimes: Vec<Hole>,
    until_ns: Option<i64>,
    is_removed: bool,
    is_tap: bool,
}

impl Stated {
    /// Those of a capture.
    ///
    /// # Errors
    /// It states more downtimes than a capture remembers.
    pub fn of(captures: &Captures) -> Result<Self, AnonymizeError> {
        let anomalies = captures.anomalies();
        let downtimes = captures.downtimes().take_holes(i64::MAX);
        if downtimes.len() as u64 != anomalies.downtime.count {
            return Err(AnonymizeError::Downtimes(anomalies.downtime.count));
        }
        Ok(Self {
            drops: anomalies.reported_drops,
            downtimes,
            until_ns: anomalies.captured_until_ns,
            is_removed: anomalies.interfaces_removed > 0,
            is_tap: anomalies.shortened_by_tap > 0,
        })
    }

    /// The name of the interfaces.
    pub(super) fn interface_name(&self) -> &'static [u8] {
        if self.is_tap { CAPTURE_OF_TAP } else { b"" }
    }

    /// Writes them for the first interface, whose times have this many digits behind the second. Its first packet came at `first_ns`.
    pub(super) fn write(&self, file: &mut impl Write, first_ns: u64, digits: u8) -> io::Result<()> {
        let ticks = |ns: u64| (ns / 10_u64.pow(u32::from(9 - digits))).rotate_left(32).to_le_bytes();
        let statistics = |file: &mut _, ns: u64, options: &[(u16, &[u8])]| {
            let mut body = 0_u32.to_le_bytes().to_vec();
            body.extend_from_slice(&ticks(ns));
            options.iter().for_each(|(code, value)| option(&mut body, *code, value));
            option(&mut body, 0, &[]);
            block(file, INTERFACE_STATISTICS, &body)
        };
        for Hole { from_ns, to_ns, .. } in &self.downtimes {
            let (from_ns, to_ns) = (from_ns.cast_unsigned(), to_ns.cast_unsigned());
            statistics(file, from_ns, &[(ENDED, &ticks(from_ns))])?;
            // A time that was not over has no end.
            if to_ns != i64::MAX.cast_unsigned() {
                statistics(file, to_ns, &[(STARTED, &ticks(to_ns))])?;
            }
        }
        let drops = (SYSTEM_DROPS, &self.drops.to_le_bytes()[..]);
        match self.until_ns.map(i64::cast_unsigned) {
            Some(until_ns) => {
                let (started, ended) = (ticks(first_ns), ticks(until_ns));
                let removed = self.is_removed.then_some((COMMENT, INTERFACE_REMOVED));
                let times = [(STARTED, &started[..]), (ENDED, &ended[..]), drops];
                statistics(file, until_ns, &removed.into_iter().chain(times).collect::<Vec<_>>())
            }
            None if self.drops > 0 => statistics(file, first_ns, &[drops]),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::servers::Scratch;

    use super::super::output::Output;
    use super::*;
    use crate::capture::{Format, Input, LinkType};

    const SECOND_NS: i64 = 1_000_000_000;

    /// What a file states with these statements about one packet, which is cut off.
    fn copied(stated: Stated, tick_ns: u64) -> Stated {
        let (mut output, mut copy) = (Output::like(Some(Format::Pcapng), Some(tick_ns), stated), Vec::new());
        output.packet(&mut copy, 1, Some(SECOND_NS), LinkType::Ethernet, &[0; 60], 90).unwrap();
        output.end(&mut copy).unwrap();
        let scratch = Scratch::new("anonymize-stated");
        let path = scratch.path().join("copy.pcapng");
        std::fs::write(&path, copy).unwrap();
        let mut captures = Captures::open(vec![Input::File(path)]).unwrap();
        while captures.next().unwrap().is_some() {}
        Stated::of(&captures).unwrap()
    }

    #[test]
    fn a_copy_states_what_its_original_stated() {
        let down = |from_ns, to_ns| Hole { from_ns, to_ns, packets: None };
        let downtimes = vec![down(2 * SECOND_NS, 3 * SECOND_NS), down(4 * SECOND_NS, i64::MAX)];
        let watched = Stated { drops: 7, downtimes, until_ns: Some(5 * SECOND_NS), is_removed: true, is_tap: true };
        let lossy = Stated { drops: 9, ..Stated::default() };
        for (stated, tick_ns) in [(Stated::default(), 1), (lossy, 1), (watched.clone(), 1), (watched, 1_000)] {
            assert_eq!(copied(stated.clone(), tick_ns), stated);
        }
    }
}
