//! Each misbehaviour of a table, in the response to each operation: the operation ends once, as in the table, and each request has one row.

use std::sync::Arc;

use plimsoll_wire::smb2::header;
use plimsoll_wire::smb2::status::{self, NAMED};

use super::World;
use super::server::{Asked, ERROR, Server};
use crate::client::Client;
use crate::content::Content;
use crate::listing::MOST_NAMES;
use crate::operation::{Access, Caching, Cause, Disposition, FileKey, Operation, Reply, Tag};
use crate::smb2::Dialect;

/// How an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fine,
    Failed(Cause, Option<u32>),
    /// With the connection.
    Over(Cause),
}

const SENSELESS: End = End::Over(Cause::Malformed);
const LATE: End = End::Failed(Cause::TimedOut, None);

/// A name, the server's action instead of the first response, and the end of the operation.
type Misbehaviour = (&'static str, fn(&mut World, &[Asked]), End);

/// Operations whose first message gets a wrong response.
fn operations<'a>(file: FileKey, content: &'a Arc<Content>) -> Vec<Operation<'a>> {
    let open = |path, disposition, caching| Operation::Open { path, access: Access::ReadWrite, disposition, caching };
    vec![
        Operation::Null,
        Operation::Fsinfo,
        Operation::GetattrOpen { file },
        Operation::Getattr { path: "other" },
        Operation::Read { file, offset: 0, length: 1_000, keep: false },
        Operation::Read { file, offset: 0, length: 1_000, keep: true },
        Operation::Write { file, offset: 0, length: 1_000, content, key: 1 },
        Operation::Flush { file },
        Operation::Truncate { file, size: 5 },
        Operation::Lock { file, offset: 0, length: 9, exclusive: true, wait: false },
        Operation::Close { file },
        open("new", Disposition::Create, Caching::None),
        open("leased", Disposition::OpenOrCreate, Caching::Lease),
        open("durable", Disposition::OpenOrCreate, Caching::Durable),
        Operation::Mkdir { path: "folder" },
        Operation::Remove { path: "gone" },
        Operation::Rename { from: "from", to: "to" },
        Operation::Link { from: "from", to: "to" },
        Operation::List { path: "" },
        Operation::Copy { from: file, to: file, length: 1_000 },
    ]
}

/// A client with an open file, and an outstanding operation.
fn begun(number: usize, content: &Arc<Content>) -> (World, Tag, Vec<Asked>, String) {
    let mut world = World::ready(Dialect::V302, 64);
    let (access, disposition, caching) = (Access::ReadWrite, Disposition::OpenOrCreate, Caching::None);
    let open = world.begin(&Operation::Open { path: "file", access, disposition, caching });
    world.obey();
    let Some(Ok(Reply::Opened { file, .. })) = world.result(open) else { panic!() };
    world.collected.transactions.clear();
    world.server.heard = 0;
    let operation = operations(file, content).swap_remove(number);
    let tag = world.begin(&operation);
    let asked = world.asked();
    (world, tag, asked, format!("{operation:?}"))
}

/// The end of the operation; no request is left, and each has a row.
fn end(mut world: World, tag: Tag, what: &str) -> End {
    if world.client.over().is_none() {
        // Further requests of the operation get right responses.
        world.obey();
    }
    let end = match (world.result(tag), world.client.over()) {
        (Some(Ok(_)), None) => End::Fine,
        (Some(Err(failure)), None) => End::Failed(failure.cause, failure.status),
        (Some(Err(failure)), Some(over)) if failure.cause == over => End::Over(over),
        // The operation got its response, and a malformed message followed.
        (Some(Ok(_)), Some(over)) => End::Over(over),
        (done, over) => panic!("{what}: {done:?}, {over:?}"),
    };
    assert_eq!(world.client.outstanding(), 0, "{what}");
    // Its remaining messages are not delivered.
    world.flush();
    assert_eq!(world.collected.transactions.len(), world.server.heard, "{what}: rows and requests");
    end
}

fn number_of_operations() -> usize {
    operations(FileKey(0), &Arc::new(Content::new(1))).len()
}

#[test]
fn every_misbehaviour_in_answer_to_every_operation_is_counted_as_what_it_is() {
    let content = Arc::new(Content::new(1));
    let (mut cases, mut wrong) = (0, Vec::new());
    for (name, misbehave, expected) in table() {
        for number in 0..number_of_operations() {
            let (mut world, tag, asked, operation) = begun(number, &content);
            misbehave(&mut world, &asked);
            let what = format!("{name}: {operation}");
            let end = end(world, tag, &what);
            if end != expected {
                wrong.push(format!("{what}: {end:?}"));
            }
            cases += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cases >= 200, "{cases}");
}

/// Every error that has a name, of every request of a message, in answer to every operation.
#[test]
fn every_status_in_every_place_has_its_outcome() {
    let content = Arc::new(Content::new(1));
    let (mut cases, mut wrong) = (0, Vec::new());
    for &status in NAMED.iter().filter(|&&status| status >> 30 == 3) {
        for number in 0..number_of_operations() {
            for place in 0.. {
                let (mut world, tag, asked, operation) = begun(number, &content);
                if place >= asked.len() {
                    break;
                }
                // Behind the first that fails the rest of a compound does.
                for (at, one) in asked.iter().enumerate() {
                    let answer =
                        if at < place { world.server.answer(one) } else { world.server.reply(one, status, &ERROR) };
                    world.deliver(&answer);
                }
                let what = format!("{status:08x} at {place}: {operation}");
                let end = end(world, tag, &what);
                let expected = match status {
                    // The file is empty.
                    status::STATUS_END_OF_FILE if operation.starts_with("Read") => End::Fine,
                    // All further requests would be refused, too.
                    status::STATUS_NETWORK_SESSION_EXPIRED | status::STATUS_USER_SESSION_DELETED => {
                        End::Over(Cause::SessionLost)
                    }
                    status => End::Failed(Cause::Status, Some(status)),
                };
                if end != expected {
                    wrong.push(format!("{what}: {end:?}"));
                }
                cases += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cases >= 2_000, "{cases}");
}

/// The primary session goes on.
#[test]
fn the_end_of_a_secondary_session_ends_no_connection() {
    for status in [status::STATUS_USER_SESSION_DELETED, status::STATUS_NETWORK_SESSION_EXPIRED] {
        let mut world = World::ready(Dialect::V302, 64);
        let tag = world.begin(&Operation::LogOn);
        world.obey();
        assert_eq!(world.result(tag), Some(Ok(Reply::Nothing)));
        let tag = world.begin(&Operation::Null);
        let asked = world.asked().remove(0);
        let answer = world.server.reply(&asked, status, &ERROR);
        world.deliver(&answer);
        assert_eq!(world.result(tag).unwrap().unwrap_err().status, Some(status));
        assert_eq!(world.client.over(), None);
    }
}

/// Without the key of the session, the server cannot sign that the session has ended.
#[test]
fn an_unsigned_end_of_the_session_is_no_forged_response() {
    let content = Arc::new(Content::new(1));
    for sealed in [false, true] {
        for (status, cause) in [
            (status::STATUS_USER_SESSION_DELETED, Cause::SessionEndedUnsigned),
            (status::STATUS_NETWORK_SESSION_EXPIRED, Cause::SessionEndedUnsigned),
            (status::STATUS_ACCESS_DENIED, Cause::Untrusted),
        ] {
            let (mut world, tag, asked, _) = begun(0, &content);
            let session = &mut world.client.connection.session;
            (session.signs, session.seals) = (!sealed, sealed);
            let answer = world.server.reply(&asked[0], status, &ERROR);
            world.deliver(&answer);
            assert_eq!(world.client.over(), Some(cause), "{status:08x}");
            assert_eq!(world.result(tag).unwrap().unwrap_err().cause, cause);
        }
    }
}

/// Answers each request with changed bytes.
fn changed(world: &mut World, asked: &[Asked], change: impl Fn(&mut Vec<u8>)) {
    for one in asked {
        let mut answer = world.server.answer(one);
        change(&mut answer);
        world.deliver(&answer);
    }
}

fn overdue(world: &mut World) {
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
}

fn table() -> Vec<Misbehaviour> {
    [times(), nonsense(), losses()].concat()
}

/// Responses that are missing, repeated, late or unrequested.
fn times() -> Vec<Misbehaviour> {
    vec![
        ("no answer", |world, _| overdue(world), LATE),
        (
            "an interim answer, and no other",
            |world, asked| {
                for (one, id) in asked.iter().zip(1..) {
                    let answer = world.server.interim(one, id);
                    world.deliver(&answer);
                }
                overdue(world);
            },
            LATE,
        ),
        (
            "an answer that comes too late",
            |world, asked| {
                overdue(world);
                changed(world, asked, |_| {});
                assert_eq!(world.client.unmatched_responses(), asked.len() as u64);
            },
            LATE,
        ),
        (
            "a thousand interim answers before the last",
            |world, asked| {
                for (one, id) in asked.iter().zip(1..) {
                    (0..1_000).for_each(|_| {
                        let answer = world.server.interim(one, id);
                        world.deliver(&answer);
                    });
                }
                changed(world, asked, |_| {});
            },
            End::Fine,
        ),
        (
            "answers in the wrong order, to what was never asked, and again",
            |world, asked| {
                let answers: Vec<Vec<u8>> = asked.iter().map(|one| world.server.answer(one)).collect();
                for answer in &answers {
                    let mut other = answer.clone();
                    other[header::MESSAGE_ID + 1] ^= 0x40;
                    world.deliver(&other);
                    world.deliver(answer);
                    world.deliver(answer);
                }
            },
            End::Fine,
        ),
        (
            "a storm of breaks of what is not open",
            |world, asked| {
                for key in 0..200 {
                    world.deliver(&Server::breaks([key; 16], 7, 0));
                }
                changed(world, asked, |_| {});
            },
            End::Fine,
        ),
    ]
}

/// Each response of the listing is valid, but the server sends no end.
#[test]
fn a_listing_without_an_end_breaks_the_connection() {
    for name in ["name", "."] {
        let mut world = World::ready(Dialect::V302, 64);
        world.server.endless = Some(name);
        let tag = world.begin(&Operation::List { path: "" });
        for _ in 0..2 * MOST_NAMES {
            world.flush();
            let Some(answer) = world.server.answer_next() else { break };
            world.deliver(&answer);
        }
        assert_eq!(world.result(tag).map(|result| result.unwrap_err().cause), Some(Cause::Malformed), "{name}");
        assert!(world.closed);
    }
}

/// Malformed or empty responses.
fn nonsense() -> Vec<Misbehaviour> {
    vec![
        (
            "no credits",
            |world, asked| changed(world, asked, |answer| answer[header::CREDITS..][..2].fill(0)),
            End::Fine,
        ),
        ("cut in the header", |world, asked| changed(world, asked, |answer| answer.truncate(50)), SENSELESS),
        ("a header without a body", |world, asked| changed(world, asked, |answer| answer.truncate(64)), SENSELESS),
        ("a body that is too short", |world, asked| changed(world, asked, |answer| answer.truncate(65)), SENSELESS),
        ("another StructureSize", |world, asked| changed(world, asked, |answer| answer[64] = 0xEE), SENSELESS),
        ("another protocol", |world, asked| changed(world, asked, |answer| answer[1] = b'X'), SENSELESS),
        ("compressed", |world, asked| changed(world, asked, |answer| answer[0] = 0xFC), SENSELESS),
        ("encrypted with no key", |world, asked| changed(world, asked, |answer| answer[0] = 0xFD), SENSELESS),
        (
            "a request instead of an answer",
            |world, asked| changed(world, asked, |answer| answer[header::FLAGS] &= !1),
            SENSELESS,
        ),
        ("another command", |world, asked| changed(world, asked, |answer| answer[header::COMMAND] = 3), SENSELESS),
        (
            "the next answer beyond the message",
            |world, asked| changed(world, asked, |answer| answer[header::NEXT_COMMAND + 2] = 1),
            SENSELESS,
        ),
    ]
}

/// Nothing follows.
fn losses() -> Vec<Misbehaviour> {
    vec![
        ("noise", |world, _| world.deliver(&[0xA5; 300]), SENSELESS),
        ("an empty message", |world, _| world.deliver(&[]), SENSELESS),
        ("the connection is reset", |world, _| world.broken(Cause::ConnectionReset), End::Over(Cause::ConnectionReset)),
        (
            "the session is gone",
            |world, asked| {
                for one in asked {
                    let answer = world.server.reply(one, status::STATUS_USER_SESSION_DELETED, &ERROR);
                    world.deliver(&answer);
                }
            },
            End::Over(Cause::SessionLost),
        ),
    ]
}
