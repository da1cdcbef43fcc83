//! The scripted server without a socket and without a clock: for networks in memory under a virtual one.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::answers::answer;
use super::machine::first_record;
use super::schedule::Schedule;
use super::script::Script;

/// One connection to a scripted server. The caller passes the arrival times of bytes, and gets the times of the answers.
#[derive(Debug)]
pub struct Offline {
    schedule: Arc<Mutex<Schedule>>,
    incoming: Vec<u8>,
}

impl Offline {
    /// The first connection to a new server.
    #[must_use]
    pub fn new(script: &Script) -> Self {
        Self { schedule: Arc::new(Mutex::new(Schedule::new(script))), incoming: Vec::new() }
    }

    /// A further connection to the same server: their calls wait for each other if the script says so.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { schedule: Arc::clone(&self.schedule), incoming: Vec::new() }
    }

    /// Bytes came in at `at` ns of a clock that never goes back, over all connections. What goes back, each with its time.
    ///
    /// # Errors
    /// They are no RPC calls.
    pub fn received(&mut self, at: u64, bytes: &[u8]) -> io::Result<Vec<(u64, Vec<u8>)>> {
        self.incoming.extend_from_slice(bytes);
        let mut answers = Vec::new();
        while let Some((record, length)) = first_record(&self.incoming)? {
            let answer = answer(record).ok_or(io::ErrorKind::InvalidData)?;
            self.incoming.drain(..length);
            let due = match answer.timed {
                true => self.schedule.lock().unwrap_or_else(PoisonError::into_inner).due(at, answer.asked),
                false => Some(at),
            };
            let Some(due) = due else { continue };
            let mut bytes = Vec::new();
            answer.write(&mut bytes);
            answers.push((due, bytes));
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Latency;
    use super::*;
    use crate::rpc;

    #[test]
    fn connections_share_one_queue_and_calls_may_come_in_pieces() {
        let mut one = Offline::new(&Script::queue(Latency::Constant(Duration::from_millis(1))));
        let mut two = one.another();
        let call = rpc::record(&rpc::call(7, rpc::NFS, 3, 0, &[]));
        let (head, tail) = call.split_at(5);
        assert!(one.received(10, head).unwrap().is_empty());
        let due = |answers: Vec<(u64, Vec<u8>)>| answers.iter().map(|(due, _)| *due).collect::<Vec<_>>();
        assert_eq!(due(one.received(20, tail).unwrap()), [1_000_020]);
        assert_eq!(due(two.received(30, &call.repeat(2)).unwrap()), [2_000_020, 3_000_020]);
        assert!(two.received(40, &[0; 8]).is_err());
    }
}
