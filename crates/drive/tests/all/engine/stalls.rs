//! A thread that was kept from running has responses even if it reads them late.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use plimsoll_drive::engine::{Plan, Watch, run_on};
use plimsoll_drive::network::memory::{Accept, Delays, Delivery, Memory, Reply};
use plimsoll_drive::network::{ConnectionKey, Network, Ready, Received, Take};
use plimsoll_workload::{Load, Pause};

use super::failures::ITERATION;
use super::memory::{MS, Over, S, START, all, door, phases, steady};
use super::toy::{Toys, answer, head, message};

/// Each wait reports one connection, as a wait for an epoll set reports at most 64.
struct OneAtATime(Memory);

impl Network for OneAtATime {
    fn now(&mut self) -> i64 {
        self.0.now()
    }

    fn connect(&mut self, key: ConnectionKey, to: SocketAddr) -> io::Result<()> {
        self.0.connect(key, to)
    }

    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr> {
        self.0.local(key)
    }

    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send(key, slices)
    }

    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], take: Take) -> io::Result<Received> {
        self.0.receive(key, buffer, take)
    }

    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        self.0.discard(key, count)
    }

    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()> {
        self.0.want_writable(key, wanted)
    }

    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let mut all = Vec::new();
        self.0.wait(until, &mut all)?;
        ready.extend(all.first().copied());
        Ok(())
    }

    fn close(&mut self, key: ConnectionKey) {
        self.0.close(key);
    }
}

/// Clients with a response time of 35 ms: they send requests at 980 ms, and the responses arrive at 1,015 ms. The thread does not run from
/// 1,000 ms to 1,200 ms.
fn stalled(plan: &Plan, toys: &Toys, served: fn() -> Memory) -> Over {
    // The start is 6 s after the beginning of a period.
    let delays = Delays { taken_ns: (7 * S, 200 * MS), ..Delays::default() };
    let net = |_| Ok(OneAtATime(served().delayed(delays)));
    run_on(plan, toys, |_| Vec::new(), &Watch::new(), net, None).unwrap()
}

fn plan(clients: u32, measured: u64, timeout_ms: u64) -> Plan {
    let load = Load::Closed { clients, think: Pause::None };
    Plan { threads: 1, phases: phases(0, measured, 50), timeout_ns: timeout_ms * MS as u64, ..Plan::new(load) }
}

fn check_all_answered(ran: &Over) {
    let rows = all(ran);
    assert!(rows.len() > 60, "{}", rows.len());
    assert!(rows.iter().all(|row| row.timeline.response_last.is_some()), "{:?}", ran.clients);
    assert!(ran.clients.iter().all(|tally| tally.error_count() == 0), "{:?}", ran.clients);
}

/// The thread runs again after the end of the drain, and the first wait reports one of the three responses.
#[test]
fn a_response_that_arrived_in_the_drain_is_not_missing() {
    check_all_answered(&stalled(&plan(3, 985, 10_000), &Toys::new(&ITERATION), || steady(35 * MS)));
}

#[test]
fn a_response_that_arrived_in_time_is_not_overdue() {
    check_all_answered(&stalled(&plan(3, 1_500, 80), &Toys::new(&ITERATION), || steady(35 * MS)));
}

/// One response of the second client comes on the further channel of its session.
#[test]
fn a_response_that_arrived_in_time_on_a_further_channel_is_not_overdue() {
    let served = || {
        door(|key, _, _| {
            let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
                let (_, id, word) = head(bytes).unwrap();
                // The requests of 980 ms have this id.
                let reply = match (key.0, id) {
                    (1, 29) => None,
                    (3, _) => Some((START + 1_015 * MS, message(29, 0, 0))),
                    _ => answer(id, word).map(|bytes| (at + 35 * MS, bytes)),
                };
                replies.extend(reply.map(|(at, bytes)| Reply { at, what: Delivery::Bytes(bytes) }));
            };
            Accept::Serve(Box::new(serve), 0)
        })
    };
    let toys = Toys { binds: 1, ..Toys::new(&ITERATION) };
    check_all_answered(&stalled(&Plan { channels: 2, ..plan(2, 1_500, 80) }, &toys, served));
}
