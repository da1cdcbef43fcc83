//! The thread that carries packets from one end to the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::impairments::Impairments;
use super::log::{Delivery, Fate, Log, Passage};
use crate::{Random, Side};

/// Between looks whether the wire is to end, where no packet comes.
const GLANCE: Duration = Duration::from_millis(20);
/// Packets that are taken from an end before those that are due are delivered.
const AT_ONCE: usize = 64;
/// The longest IP packet.
const LONGEST: usize = 65_536;

/// The state of a direction.
#[derive(Debug)]
struct Direction {
    impairments: Impairments,
    random: Random,
    /// When the last packet has passed the bottleneck.
    free: Instant,
    /// When the last packet arrives that is not held back.
    last_due: Instant,
    /// Packets that arrived.
    arrived: usize,
}

/// Both ends, and the packets in between.
#[derive(Debug)]
pub(super) struct Carrier {
    ends: [File; 2],
    directions: [Direction; 2],
    /// When a packet is due, how many were sent before it, and its place in the log.
    travelling: BinaryHeap<Reverse<(Instant, usize, usize)>>,
    sent: usize,
    log: Arc<Mutex<Log>>,
    stop: Arc<AtomicBool>,
}

impl Carrier {
    pub(super) fn new(
        ends: [File; 2],
        impairments: [Impairments; 2],
        log: Arc<Mutex<Log>>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let now = Instant::now();
        let directions = impairments.map(|impairments| Direction {
            impairments,
            random: Random::new(impairments.seed),
            free: now,
            last_due: now,
            arrived: 0,
        });
        Self { ends, directions, travelling: BinaryHeap::new(), sent: 0, log, stop }
    }

    /// Carries packets until it is asked to stop. Those on their way by then still arrive. The devices, which are gone when they are closed.
    pub(super) fn run(mut self) -> io::Result<[File; 2]> {
        loop {
            let stops = self.stop.load(Ordering::Relaxed);
            self.deliver()?;
            let due = self.travelling.peek().map(|Reverse((due, ..))| due.saturating_duration_since(Instant::now()));
            if stops && due.is_none() {
                return Ok(self.ends);
            }
            let wait = Timespec::try_from(due.unwrap_or(GLANCE).min(GLANCE)).map_err(io::Error::other)?;
            if stops {
                std::thread::sleep(due.unwrap_or_default());
                continue;
            }
            let mut ends = self.ends.each_ref().map(|end| PollFd::new(end, PollFlags::IN));
            poll(&mut ends, Some(&wait))?;
            let ready = ends.map(|end| !end.revents().is_empty());
            for (from, _) in [Side::Client, Side::Server].into_iter().zip(ready).filter(|(_, ready)| *ready) {
                self.take(from)?;
            }
        }
    }

    /// Takes packets that an end has sent.
    fn take(&mut self, from: Side) -> io::Result<()> {
        let mut room = vec![0; LONGEST];
        for _ in 0..AT_ONCE {
            let packet = match self.ends[from as usize].read(&mut room) {
                Ok(length) => room.get(..length).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            let (now, taken_ns) = (Instant::now(), wall_ns());
            let (passage, due) = self.directions[from as usize].decide(from, packet, (now, taken_ns));
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            for _ in 0..passage.fate.copies() {
                self.sent += 1;
                self.travelling.push(Reverse((due, self.sent, log.passages.len())));
            }
            log.passages.push(passage);
        }
        Ok(())
    }

    /// Delivers due packets to the other end.
    fn deliver(&mut self) -> io::Result<()> {
        while let Some(&Reverse((due, _, place))) = self.travelling.peek()
            && due <= Instant::now()
        {
            self.travelling.pop();
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(passage) = log.passages.get_mut(place) else { continue };
            let begun_ns = wall_ns();
            self.ends[passage.from.other() as usize].write_all(&passage.packet)?;
            let arrived = &mut self.directions[passage.from as usize].arrived;
            let took = (due - passage.delay).elapsed();
            passage.deliveries.push(Delivery { place: *arrived, took, begun_ns, ended_ns: wall_ns() });
            *arrived += 1;
        }
        Ok(())
    }
}

impl Direction {
    /// What becomes of a packet that was taken now, and when it arrives.
    fn decide(&mut self, from: Side, packet: &[u8], (now, taken_ns): (Instant, i64)) -> (Passage, Instant) {
        let drawn = self.impairments.draw(&mut self.random);
        let Impairments { delay, rate, queue_bytes, held_back, .. } = self.impairments;
        let mut fate = match drawn {
            drawn if drawn.is_lost => Fate::Lost,
            drawn if drawn.is_doubled => Fate::Doubled,
            _ => Fate::Passed,
        };
        let mut passed = now;
        if let Some(rate) = rate {
            let start = self.free.max(now);
            if (start - now).as_secs_f64() * rate > queue_bytes {
                fate = Fate::QueueFull;
            } else {
                self.free = start + Duration::from_secs_f64(packet.len() as f64 / rate);
                passed = self.free;
            }
        }
        let mut due = (passed + delay + drawn.jitter).max(self.last_due);
        match drawn.is_held_back {
            true => due += held_back,
            false if fate.copies() > 0 => self.last_due = due,
            false => {}
        }
        let packet = packet.to_vec();
        let (is_held_back, deliveries) = (drawn.is_held_back, Vec::new());
        (Passage { from, packet, taken_ns, fate, is_held_back, delay: due - now, deliveries }, due)
    }
}

/// The clock of captures.
fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(impairments: Impairments, now: Instant) -> Direction {
        Direction { impairments, random: Random::new(1), free: now, last_due: now, arrived: 0 }
    }

    #[test]
    fn a_rate_spaces_packets_and_a_full_queue_drops_them() {
        let now = Instant::now();
        let delay = Duration::from_millis(10);
        let slow = Impairments { delay, rate: Some(1_000_000.0), queue_bytes: 2_500.0, ..Impairments::default() };
        let mut direction = direction(slow, now);
        let found: Vec<(Fate, u128)> = (0..5)
            .map(|_| {
                let (passage, due) = direction.decide(Side::Client, &[0; 1_000], (now, 0));
                (passage.fate, (due - now).as_micros())
            })
            .collect();
        assert_eq!(found[..3], [(Fate::Passed, 11_000), (Fate::Passed, 12_000), (Fate::Passed, 13_000)]);
        assert_eq!([found[3].0, found[4].0], [Fate::QueueFull; 2], "3,000 bytes wait");
    }

    #[test]
    fn only_packets_that_are_held_back_are_overtaken() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let all = Impairments { jitter: ms(5), reordering: 0.3, held_back: ms(100), ..Impairments::default() };
        let mut direction = direction(all, now);
        let mut latest = now;
        let mut held_back = 0;
        for packet in 0..1_000 {
            let (passage, due) = direction.decide(Side::Server, &[0; 100], (now + packet * ms(1), 0));
            held_back += u32::from(passage.is_held_back);
            if !passage.is_held_back {
                assert!(due >= latest, "{packet}");
                latest = due;
            }
        }
        assert!((200..400).contains(&held_back), "{held_back}");
    }
}
