//! The outage of a client with durable handles: from the last response to the next success.

use plimsoll_model::Endpoint;
use plimsoll_wire::smb2::Command;

use super::World;
use super::durable::with_file;
use crate::client::Client;
use crate::operation::{Cause, FileKey, Operation, Tag};
use crate::outbox::Outbox;
use crate::smb2::Dialect;

const SECOND: i64 = 1_000_000_000;

impl World {
    fn wait(&mut self, seconds: i64) -> i64 {
        self.now += seconds * SECOND;
        self.now
    }

    fn outage_s(&self) -> u64 {
        // Ticks take less than a second.
        self.client.durable.as_ref().unwrap().counts.outage_ns / SECOND as u64
    }

    fn read(&mut self, file: FileKey) -> Tag {
        let tag = self.begin(&Operation::Read { file, offset: 0, length: 100, keep: false });
        self.flush();
        tag
    }

    /// The loss is detected now; another connection takes over after 2 s.
    fn recover(&mut self) {
        assert!(self.lose());
        self.wait(2);
        self.resume();
        self.obey();
    }
}

#[test]
fn it_begins_with_the_oldest_request_or_the_last_response() {
    // Two requests of an idle client; the server answers the second one, and then no more.
    for (answers_between, expected) in [(false, 1 + 4 + 2), (true, 4 + 2)] {
        let (mut world, file) = with_file(Dialect::V302);
        world.wait(100);
        world.read(file);
        let first = world.asked();
        world.wait(1);
        if answers_between {
            world.read(file);
            let second = world.asked();
            world.answer(&second[0], 0);
        }
        assert_eq!(first.len(), 1);
        world.wait(4);
        world.recover();
        assert_eq!(world.outage_s(), expected, "{answers_between}");
    }
}

#[test]
fn a_request_that_has_timed_out_was_missed() {
    let (mut world, file) = with_file(Dialect::V302);
    let tag = world.read(file);
    let now = world.wait(40);
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.ended(tag), (1, Some(Err(Cause::TimedOut))));
    world.wait(1);
    world.read(file);
    world.wait(1);
    world.recover();
    assert_eq!(world.outage_s(), 40 + 1 + 1 + 2);
}

#[test]
fn without_a_request_nothing_was_missed_before_the_loss() {
    let (mut world, file) = with_file(Dialect::V302);
    // A request that waits by design misses nothing.
    world.begin(&Operation::Watch { path: "" });
    world.obey();
    world.wait(100);
    world.recover();
    world.wait(3);
    world.read(file);
    world.obey();
    assert_eq!(world.outage_s(), 2 + 3);
}

#[test]
fn a_client_that_gets_no_service_again_counts_until_its_end() {
    for (gives_up, resumes) in [(true, false), (true, true), (false, false), (false, true)] {
        let (mut world, file) = with_file(Dialect::V302);
        world.read(file);
        world.wait(1);
        assert!(world.lose());
        world.wait(5);
        if resumes {
            let now = world.now;
            world.out = Outbox::new();
            world.client.resume(Endpoint::NOWHERE, 1, now, &mut world.out, &mut world.collected);
        }
        match gives_up {
            true => world.broken(Cause::ConnectionReset),
            false => world.client.leave(world.now, &mut world.out, &mut world.collected),
        }
        assert_eq!(world.outage_s(), 1 + 5, "{gives_up} {resumes}");
        let facts = world.client.durable.as_ref().unwrap().counts.facts();
        let stated = "recovered sessions: 0 on another connection; longest outage 6.0";
        assert!(facts[1].starts_with(stated), "{facts:?}");
        assert!(!facts.iter().any(|fact| fact.starts_with("recovered opens")), "{facts:?}");
    }
}

/// A client in its think time has service again, although it makes no use of it.
#[test]
fn without_another_action_it_ends_when_the_session_is_recovered() {
    const ACCESS_DENIED: u32 = 0xC000_0022;
    for (asks, refuses, expected) in [(false, false, 2), (true, false, 2 + 30), (true, true, 2 + 30)] {
        let (mut world, file) = with_file(Dialect::V302);
        world.begin(&Operation::Watch { path: "" });
        world.obey();
        world.wait(100);
        world.recover();
        if asks {
            world.read(file);
        }
        if refuses {
            let asked = world.asked().into_iter().find(|asked| asked.command == Command::Read).unwrap();
            world.answer(&asked, ACCESS_DENIED);
        }
        world.wait(30);
        world.client.leave(world.now, &mut world.out, &mut world.collected);
        assert_eq!(world.outage_s(), expected, "{asks} {refuses}");
    }
}
