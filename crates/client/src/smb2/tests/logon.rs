//! NEGOTIATE to TREE_CONNECT and back.

use plimsoll_wire::smb2::Command;

use super::World;
use super::server::ERROR;
use crate::client::Client;
use crate::operation::{Cause, Operation, Reply, Tag};
use crate::smb2::auth::Credentials;
use crate::smb2::{Dialect, Requirement, SmbOptions};

fn options(dialect: Dialect) -> SmbOptions {
    let mut options = SmbOptions::new("srv", "share", Credentials::anonymous());
    options.dialects = dialect..=dialect;
    options
}

#[test]
fn goes_on_the_share_and_leaves_it() {
    let mut world = World::ready(Dialect::V210, 32);
    let now = world.tick();
    world.client.leave(now, &mut world.out, &mut world.collected);
    world.obey();
    assert_eq!(world.result(Tag::LEAVE), Some(Ok(Reply::Nothing)));
    let names: Vec<String> = world.collected.transactions.iter().map(|row| row.procedure.name()).collect();
    assert_eq!(names, ["TREE_DISCONNECT", "LOGOFF"]);
    let late = world.begin(&Operation::Null);
    assert_eq!(world.result(late).unwrap().unwrap_err().cause, Cause::Ended);
}

#[test]
fn each_refusal_has_its_cause() {
    let causes =
        [Cause::NotOffered, Cause::LogonRefused, Cause::LogonRefused, Cause::ShareRefused].into_iter().enumerate();
    for (step, cause) in causes {
        let mut world = World::new(options(Dialect::V210));
        world.server.dialect = 0x0210;
        world.connect();
        for _ in 0..step {
            world.flush();
            let answer = world.server.answer_next().unwrap();
            world.deliver(&answer);
        }
        let asked = world.asked().remove(0);
        let refusal = world.server.reply(&asked, 0xC000_0022, &ERROR);
        world.deliver(&refusal);
        let failure = world.result(Tag::CONNECT).unwrap().unwrap_err();
        assert_eq!((failure.cause, failure.status), (cause, Some(0xC000_0022)), "{:?}", asked.command);
        assert!(!world.closed, "a refusal is no broken connection");
    }
}

#[test]
fn a_dialect_that_was_not_offered_is_not_spoken() {
    let mut world = World::new(options(Dialect::V210));
    world.server.dialect = 0x0202;
    world.connect();
    world.obey();
    assert_eq!(world.result(Tag::CONNECT).unwrap().unwrap_err().cause, Cause::Malformed);
}

#[test]
fn what_is_demanded_and_cannot_be_had_ends_the_logon() {
    for demand in ["signing", "encryption"] {
        let mut options = options(Dialect::V210);
        options.signing = if demand == "signing" { Requirement::Demanded } else { Requirement::ServerDefault };
        options.encryption = if demand == "encryption" { Requirement::Demanded } else { Requirement::ServerDefault };
        let mut world = World::new(options);
        world.server.dialect = 0x0210;
        world.connect();
        world.obey();
        assert_eq!(world.result(Tag::CONNECT).unwrap().unwrap_err().cause, Cause::NoSessionKey, "{demand}");
        assert!(!world.collected.transactions.iter().any(|row| row.procedure.name() == "TREE_CONNECT"), "{demand}");
    }
}

#[test]
fn a_server_that_always_wants_another_token_gets_an_end() {
    let mut world = World::new(options(Dialect::V210));
    world.server.dialect = 0x0210;
    world.connect();
    for _ in 0..20 {
        world.flush();
        let Some(asked) = world.server.asked.pop() else { break };
        let answer = match asked.command {
            Command::Negotiate => world.server.answer(&asked),
            _ => {
                let token = super::server::challenge();
                let body = [&[9, 0, 0, 0, 72, 0][..], &(token.len() as u16).to_le_bytes(), &token].concat();
                world.server.reply(&asked, 0xC000_0016, &body)
            }
        };
        world.deliver(&answer);
    }
    assert_eq!(world.result(Tag::CONNECT).unwrap().unwrap_err().cause, Cause::Malformed);
}

#[test]
fn nothing_is_begun_before_and_a_second_connect_is_refused() {
    let mut world = World::new(options(Dialect::V210));
    let early = world.begin(&Operation::Null);
    assert_eq!(world.result(early).unwrap().unwrap_err().cause, Cause::Ended);
    world.connect();
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.result(Tag::CONNECT).unwrap().unwrap_err().cause, Cause::TimedOut);
}
