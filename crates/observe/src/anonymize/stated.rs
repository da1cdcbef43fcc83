//! What a capture says beside its packets: losses, the times in which its interface was down, and until when it went on.
//!
//! Without it, a report on the copy would call complete what the original calls partial.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.6; capture/pcapng.rs reads it

use std::io::{self, Write};

use crate::capture::pcapng::blocks::{ISB_ENDTIME, ISB_OSDROP, ISB_STARTTIME, OPT_COMMENT};
use crate::capture::pcapng::writer::{statistics, timestamp};
use crate::capture::pcapng::{CAPTURE_OF_TAP, INTERFACE_REMOVED};
use crate::capture::{Captures, Hole};

use super::AnonymizeError;

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
        let ticks = |ns: u64| ns / 10_u64.pow(u32::from(9 - digits));
        let time = |ns: u64| timestamp(ticks(ns));
        for Hole { from_ns, to_ns, .. } in &self.downtimes {
            let (from_ns, to_ns) = (from_ns.cast_unsigned(), to_ns.cast_unsigned());
            file.write_all(&statistics(ticks(from_ns), &[(ISB_ENDTIME, &time(from_ns))]))?;
            // A time that was not over has no end.
            if to_ns != i64::MAX.cast_unsigned() {
                file.write_all(&statistics(ticks(to_ns), &[(ISB_STARTTIME, &time(to_ns))]))?;
            }
        }
        let drops = (ISB_OSDROP, &self.drops.to_le_bytes()[..]);
        match self.until_ns.map(i64::cast_unsigned) {
            Some(until_ns) => {
                let (started, ended) = (time(first_ns), time(until_ns));
                let removed = self.is_removed.then_some((OPT_COMMENT, INTERFACE_REMOVED));
                let times = [(ISB_STARTTIME, &started[..]), (ISB_ENDTIME, &ended[..]), drops];
                let options: Vec<_> = removed.into_iter().chain(times).collect();
                file.write_all(&statistics(ticks(until_ns), &options))
            }
            None if self.drops > 0 => file.write_all(&statistics(ticks(first_ns), &[drops])),
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
