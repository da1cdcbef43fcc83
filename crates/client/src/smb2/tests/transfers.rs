//! Writes that the server does in part, and transfers that take longer than the timeout of a request.

use std::sync::Arc;

use plimsoll_wire::smb2::{Command, status, write};

use super::World;
use super::flow::open;
use super::server::Asked;
use crate::client::Client;
use crate::content::Content;
use crate::operation::{Cause, Operation, Reply};
use crate::smb2::Dialect;

/// One second, ns.
const SECOND: i64 = 1_000_000_000;

impl World {
    /// The server has written only the first bytes of a request.
    fn write_in_part(&mut self, asked: &Asked, count: u32) {
        assert_eq!(asked.command, Command::Write);
        let body = [&[17, 0, 0, 0][..], &count.to_le_bytes(), &[0; 8]].concat();
        let answer = self.server.reply(asked, 0, &body);
        self.deliver(&answer);
    }
}

/// Offset and length of a WRITE.
fn range(asked: &Asked) -> (u64, u32) {
    let offset = u64::from_le_bytes(asked.bytes[write::OFFSET..][..8].try_into().unwrap());
    (offset, u32::from_le_bytes(asked.bytes[write::LENGTH..][..4].try_into().unwrap()))
}

/// The caller goes on behind the number of bytes that were written, so there must be no hole before it.
#[test]
fn what_the_server_leaves_out_of_a_write_is_written_again() {
    let content = Arc::new(Content::new(1));
    let (whole, half) = (1 << 20, 1 << 19);
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    world.collected.transactions.clear();
    let tag = world.begin(&Operation::Write { file, offset: 0, length: 2 * whole, content: &content, key: 1 });
    let asked = world.asked();
    assert_eq!(asked.iter().map(range).collect::<Vec<_>>(), [(0, whole), (u64::from(whole), whole)]);
    world.write_in_part(&asked[0], half);
    world.write_in_part(&asked[1], whole);
    assert_eq!(world.result(tag), None);
    let again = world.asked();
    assert_eq!(again.iter().map(range).collect::<Vec<_>>(), [(u64::from(half), half)]);
    world.write_in_part(&again[0], half);
    assert_eq!(world.result(tag), Some(Ok(Reply::Written { bytes: 2 * whole })));
    // No byte counts twice.
    let payload = world.collected.transactions.iter().map(|row| row.payload_bytes.unwrap());
    assert_eq!(payload.collect::<Vec<_>>(), [half, whole, half].map(u64::from));
}

#[test]
fn a_response_that_no_byte_was_written_is_malformed() {
    let content = Arc::new(Content::new(1));
    for length in [0, 100] {
        let mut world = World::ready(Dialect::V210, 64);
        let file = open(&mut world);
        let tag = world.begin(&Operation::Write { file, offset: 0, length, content: &content, key: 1 });
        let asked = world.asked().remove(0);
        world.write_in_part(&asked, 0);
        let expected = if length == 0 { Ok(Reply::Written { bytes: 0 }) } else { Err(Cause::Malformed) };
        assert_eq!(world.result(tag).unwrap().map_err(|failure| failure.cause), expected);
    }
}

/// The timeout is that of a request, and each one is answered.
#[test]
fn a_transfer_with_few_credits_may_take_longer_than_the_timeout() {
    let (chunks, mut world) = (20, World::ready(Dialect::V210, 1));
    let file = open(&mut world);
    let tag = world.begin(&Operation::Read { file, offset: 0, length: chunks << 16, keep: false });
    for _ in 0..chunks {
        world.flush();
        world.now += 2 * SECOND;
        let now = world.now;
        world.client.overdue(now - 30 * SECOND, now, &mut world.collected);
        let answer = world.server.answer_next().unwrap();
        world.deliver(&answer);
    }
    assert_eq!(world.result(tag), Some(Ok(Reply::Read { bytes: chunks << 16 })));
}

/// What is behind it has not sent a request.
#[test]
fn what_waits_behind_a_transfer_times_out() {
    let mut world = World::ready(Dialect::V210, 1);
    let file = open(&mut world);
    let first = world.begin(&Operation::Read { file, offset: 0, length: 9 << 16, keep: false });
    let second = world.begin(&Operation::Read { file, offset: 0, length: 1, keep: false });
    for _ in 0..2 {
        world.flush();
        world.now += 20 * SECOND;
        let now = world.now;
        world.client.overdue(now - 30 * SECOND, now, &mut world.collected);
        if let Some(answer) = world.server.answer_next() {
            world.deliver(&answer);
        }
    }
    assert_eq!(world.result(second).unwrap().unwrap_err().cause, Cause::TimedOut);
    world.obey();
    assert_eq!(world.result(first), Some(Ok(Reply::Read { bytes: 9 << 16 })));
}

/// With any error, Samba and ksmbd report how much of a copy is done.
#[test]
fn a_copy_that_fails_with_a_result_is_refused() {
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    let tag = world.begin(&Operation::Copy { from: file, to: file, length: 1_000 });
    world.flush();
    let key = world.server.answer_next().unwrap();
    world.deliver(&key);
    let asked = world.asked().remove(0);
    assert_eq!(asked.command, Command::Ioctl);
    // Nothing was copied.
    let mut body = vec![0; 48 + 12];
    (body[0], body[32], body[36]) = (49, 112, 12);
    let answer = world.server.reply(&asked, status::STATUS_DISK_FULL, &body);
    world.deliver(&answer);
    assert_eq!(world.client.over(), None);
    let failure = world.result(tag).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.status), (Cause::Status, Some(status::STATUS_DISK_FULL)));
}
