//! Clients that do everything at once and block meanwhile: a thread for each.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use plimsoll_client::Outbox;
use plimsoll_client::clock::Clock;
use plimsoll_client::operation::{Cause, Done, Operation, Reply, Tag, Ticket};
use plimsoll_client::{Arrived, Client, Events, Framing};
use plimsoll_drive::engine::{ConnectionInfo, Plan, ServerAccess, Setup, Watch, run};
use plimsoll_model::{Names, Procedure, Protocol, Timeline, Transaction};
use plimsoll_testkit::transaction;
use plimsoll_workload::scenario::Scenario;
use plimsoll_workload::{Arrivals, Load, Pause, Phases};

use super::toy::{Do, Toys};

/// Sleeps a little for each operation.
struct Sleeper {
    info: ConnectionInfo,
    clock: Clock,
}

impl Client for Sleeper {
    fn connect(&mut self, now: i64, _: &mut Outbox, events: &mut dyn Events) {
        events.done(Done { tag: Tag::CONNECT, at: now, result: Ok(Reply::Nothing) });
    }

    fn begin(&mut self, operation: &Operation<'_>, ticket: Ticket, now: i64, _: &mut Outbox, events: &mut dyn Events) {
        std::thread::sleep(Duration::from_micros(300));
        let mut result = Ok(Reply::Nothing);
        if let Operation::Read { length, keep, .. } = *operation {
            if keep {
                events.data(ticket.tag, 0, &vec![1; length as usize / 2]);
                events.data(ticket.tag, u64::from(length) / 2, &vec![2; (length - length / 2) as usize]);
                events.entry(ticket.tag, "name");
            }
            result = Ok(Reply::Read { bytes: length });
        }
        let at = self.clock.now();
        let plain = transaction(Procedure::of(Protocol::Smb2, 13), at, at - now);
        events.transaction(
            Some(ticket.tag),
            &mut Transaction {
                client: self.info.client,
                server: self.info.server,
                connection: self.info.connection,
                path: ticket.path,
                payload_bytes: None,
                request_bytes: None,
                response_bytes: None,
                timeline: Timeline { intended: ticket.intended, ..plain.timeline },
                ..plain
            },
        );
        events.done(Done { tag: ticket.tag, at, result });
    }

    fn framing(&self, _: u32, _: &[u8]) -> Framing {
        Framing::Broken
    }

    fn message(&mut self, _: Arrived<'_>, _: &mut Outbox, _: &mut dyn Events) {}
    fn sent(&mut self, _: u32, _: u64, _: i64) {}
    fn broken(&mut self, _: i64, _: Cause, _: &mut dyn Events) {}
    fn overdue(&mut self, _: i64, _: i64, _: &mut dyn Events) {}

    fn leave(&mut self, now: i64, _: &mut Outbox, events: &mut dyn Events) {
        events.done(Done { tag: Tag::LEAVE, at: now, result: Ok(Reply::Nothing) });
    }

    fn outstanding(&self) -> usize {
        0
    }

    fn unmatched_responses(&self) -> u64 {
        0
    }
}

struct Sleepers(Toys);

impl ServerAccess for Sleepers {
    fn address(&self) -> Option<std::net::SocketAddr> {
        None
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        assert_eq!(info.server.port, 0);
        Box::new(Sleeper { info: *info, clock: Clock::new() })
    }
}

impl Setup for Sleepers {
    fn server(&self) -> &dyn ServerAccess {
        self
    }

    fn scenario(&self, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        self.0.scenario(client_index, slot, seed)
    }

    fn names(&self) -> &Names {
        &self.0.names
    }
}

#[test]
fn blocking_clients_have_a_thread_each_and_their_data_arrives() {
    let loads = [
        (Load::Closed { clients: 3, think: Pause::None }, 3),
        (Load::Open { clients: 3, rate: 500.0, arrivals: Arrivals::Poisson }, 3),
        (Load::Partly { users: 3, every_ns: 5_000_000, arrivals: Arrivals::Constant }, 2),
    ];
    for (load, threads) in loads {
        let setup = Sleepers(Toys::new(&[Do::ReadData(1_001), Do::Null, Do::IterationOver]));
        let phases = Phases { warmup_ns: 20_000_000, measured_ns: Some(500_000_000), ..Phases::default() };
        let threads_asked = if threads == 3 { 0 } else { threads };
        let plan = Plan { phases, threads: threads_asked, level: 1, ..Plan::new(load) };
        let ran = run(&plan, &setup, |_| Vec::<Transaction>::new(), &Watch::new(), None).unwrap();
        assert_eq!(ran.sinks.len(), threads as usize);
        assert!(ran.clients.iter().all(|tally| tally.connected && tally.error_count() == 0), "{:?}", ran.clients);
        let rows: Vec<&Transaction> = ran.sinks.iter().flatten().collect();
        let seen: &Arc<_> = &setup.0.seen;
        assert_eq!(rows.len() as u64, seen.done.load(SeqCst));
        assert_eq!(seen.begun.load(SeqCst), seen.done.load(SeqCst));
        let reads = seen.ends.lock().unwrap().iter().filter(|end| end.2 == Ok(Reply::Read { bytes: 1_001 })).count();
        assert!(reads > 0);
        assert_eq!(seen.data.load(SeqCst), reads as u64 * 1_001);
        assert_eq!(seen.names.load(SeqCst), reads as u64);
        let actions: u64 = ran.clients.iter().map(|tally| tally.actions).sum();
        assert_eq!(actions, rows.iter().filter(|row| row.level.is_some()).count() as u64);
        assert!(rows.iter().all(|row| row.timeline.intended <= row.timeline.request_first));
    }
}
