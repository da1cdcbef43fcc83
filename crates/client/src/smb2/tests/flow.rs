//! Credits, chunks, skipped data, long-lived requests, and late responses.

use std::sync::Arc;

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::{Command, header, write};

use super::World;
use super::server::ERROR;
use crate::client::{Client, Framing};
use crate::content::Content;
use crate::operation::{Access, Caching, Cause, Disposition, FileKey, Operation, Reply};
use crate::smb2::Dialect;

pub(super) fn open(world: &mut World) -> FileKey {
    let (access, disposition) = (Access::ReadWrite, Disposition::Open);
    let tag = world.begin(&Operation::Open { path: "a/b", access, disposition, caching: Caching::None });
    world.obey();
    match world.result(tag) {
        Some(Ok(Reply::Opened { file, size: Some(77) })) => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn few_credits_make_actions_wait_in_order() {
    let mut world = World::ready(Dialect::V210, 2);
    let tags: Vec<_> = (0..5).map(|_| world.begin(&Operation::Null)).collect();
    assert_eq!((world.asked().len(), world.client.outstanding()), (2, 5));
    // A third request waits, and behind it a compound that costs three credits; the server never grants three.
    let compound = world.begin(&Operation::Getattr { path: "x" });
    world.flush();
    world.server.asked.clear();
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    for tag in tags.into_iter().chain([compound]) {
        assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::TimedOut);
    }
    assert_eq!(world.client.outstanding(), 0);

    let mut world = World::ready(Dialect::V210, 2);
    let tags: Vec<_> = (0..5).map(|_| world.begin(&Operation::Null)).collect();
    world.obey();
    assert!(tags.into_iter().all(|tag| world.result(tag) == Some(Ok(Reply::Nothing))));
    let order: Vec<u64> = world.collected.done.iter().map(|done| done.tag.0).collect();
    assert!(order.is_sorted(), "{order:?}");
    let compound = world.begin(&Operation::Getattr { path: "x" });
    world.obey();
    let failure = world.result(compound).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.outcome), (Cause::TooFewCredits, Outcome::NeverSent));
}

#[test]
fn long_transfers_are_cut_to_what_server_and_credits_allow() {
    let content = Arc::new(Content::new(1));
    // MaxReadSize is 1 MiB, 16 credits; 4 credits allow 256 KiB; dialect 2.0.2 has but 64 KiB.
    for (dialect, credits, length) in
        [(Dialect::V210, 64, 1 << 20), (Dialect::V210, 4, 1 << 18), (Dialect::V202, 64, 1 << 16)]
    {
        let mut world = World::ready(dialect, credits);
        let file = open(&mut world);
        let tag = world.begin(&Operation::Read { file, offset: 5, length: 3 << 20, keep: false });
        let first = world.asked();
        let charge = if dialect == Dialect::V202 { 0 } else { (length >> 16) as u16 };
        assert!(first.iter().all(|asked| (asked.charge, read_length(&asked.bytes)) == (charge, length)), "{first:?}");
        world.server.asked = first;
        world.obey();
        assert_eq!(world.result(tag), Some(Ok(Reply::Read { bytes: 3 << 20 })));
        let tag = world.begin(&Operation::Write { file, offset: 5, length: 3 << 20, content: &content, key: 1 });
        world.obey();
        assert_eq!(world.result(tag), Some(Ok(Reply::Written { bytes: 3 << 20 })));
        let writes = world.collected.transactions.iter().filter(|row| row.procedure.name() == "WRITE");
        assert_eq!(writes.map(|row| row.payload_bytes.unwrap()).sum::<u64>(), 3 << 20);
        let tag = world.begin(&Operation::Read { file, offset: 5, length: 3 << 20, keep: true });
        world.obey();
        assert_eq!(world.result(tag), Some(Ok(Reply::Read { bytes: 3 << 20 })));
        let mut next = 5;
        for (offset, data) in &world.collected.data {
            assert_eq!(*offset, next, "in order");
            next += data.len() as u64;
        }
        assert_eq!(next, 5 + (3 << 20));
    }
}

/// MS-SMB2 3.3.5.13 lets servers refuse a write-through that is buffered; only 3.0.2 and later can say that it is not.
#[test]
fn a_write_through_is_unbuffered_or_not_sent() {
    let content = Arc::new(Content::new(1));
    for dialect in [Dialect::V202, Dialect::V210, Dialect::V300, Dialect::V302] {
        let mut world = World::ready(dialect, 64);
        let file = open(&mut world);
        for through in [false, true] {
            let (offset, length, content, key) = (0, 100, &content, 1);
            let tag = world.begin(&match through {
                true => Operation::WriteThrough { file, offset, length, content, key },
                false => Operation::Write { file, offset, length, content, key },
            });
            let asked = world.asked();
            let flags = asked.iter().map(|asked| asked.bytes[write::FLAGS]);
            if through && dialect < Dialect::V302 {
                assert_eq!(flags.count(), 0, "{}", dialect.name());
                let failure = world.result(tag).unwrap().unwrap_err();
                assert_eq!((failure.cause, failure.outcome), (Cause::NoWriteThrough, Outcome::NeverSent));
                continue;
            }
            assert_eq!(flags.collect::<Vec<_>>(), [if through { 3 } else { 0 }], "{}", dialect.name());
            world.server.asked = asked;
            world.obey();
            assert_eq!(world.result(tag), Some(Ok(Reply::Written { bytes: 100 })));
        }
    }
}

fn read_length(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[header::LEN + 4..][..4].try_into().unwrap())
}

#[test]
fn a_short_read_ends_the_transfer() {
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    let tag = world.begin(&Operation::Read { file, offset: 0, length: 2 << 20, keep: false });
    let asked = world.asked();
    let mut short = vec![17, 0, 80, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    short.extend([1; 10]);
    let short = world.server.reply(&asked[0], 0, &short);
    world.deliver(&short);
    let end = world.server.reply(&asked[1], 0xC000_0011, &ERROR);
    world.deliver(&end);
    assert_eq!(world.result(tag), Some(Ok(Reply::Read { bytes: 10 })));
    let tag = world.begin(&Operation::Read { file, offset: 0, length: 0, keep: false });
    assert_eq!(world.asked().len(), 1, "even nothing is asked for");
    world.broken(Cause::ConnectionReset);
    assert_eq!(world.result(tag).unwrap().unwrap_err().outcome, Outcome::Unanswered);
}

#[test]
fn data_that_nobody_wants_is_stepped_over() {
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    for (keep, length, kept) in [(false, 100_000, 84), (true, 100_000, 100_084), (false, 100, 184)] {
        let tag = world.begin(&Operation::Read { file, offset: 0, length, keep });
        let asked = world.asked().remove(0);
        let answer = world.server.answer(&asked);
        let bytes = [&(answer.len() as u32).to_be_bytes()[..], &answer].concat();
        let Framing::Message { length: whole, keep } = world.client.framing(0, &bytes) else { panic!() };
        assert_eq!((whole, keep), (bytes.len() as u64, kept));
        world.deliver(&answer);
        assert_eq!(world.result(tag), Some(Ok(Reply::Read { bytes: length })));
    }
}

#[test]
fn long_lived_requests_are_out_of_the_way() {
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    let lock = world.begin(&Operation::Lock { file, offset: 0, length: 1, exclusive: true, wait: true });
    let locking = world.asked().remove(0);
    assert_eq!(world.client.outstanding(), 1);
    let interim = world.server.interim(&locking, 99);
    world.deliver(&interim);
    assert_eq!(world.client.outstanding(), 0);
    let watch = world.begin(&Operation::Watch { path: "d" });
    world.flush();
    let opened = world.server.answer_next().unwrap();
    world.deliver(&opened);
    let watching = world.asked().remove(0);
    assert_eq!((watching.command, world.client.outstanding()), (Command::ChangeNotify, 0));
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!((world.result(lock), world.result(watch)), (None, None));

    let cancel = world.begin(&Operation::Cancel { tag: lock });
    assert_eq!(world.result(cancel), Some(Ok(Reply::Nothing)));
    let sent = world.asked().remove(0);
    assert_eq!((sent.command, sent.id, sent.charge, sent.credits), (Command::Cancel, locking.id, 0, 0));
    assert_eq!((sent.bytes[header::FLAGS], sent.bytes[header::ASYNC_ID]), (2, 99));
    world.begin(&Operation::Cancel { tag: watch });
    let sent = world.asked().remove(0);
    assert_eq!((sent.id, sent.bytes[header::FLAGS], sent.bytes[header::TREE_ID]), (watching.id, 0, 5));
    for (asked, tag) in [(locking, lock), (watching, watch)] {
        let cancelled = world.server.reply(&asked, 0xC000_0120, &ERROR);
        world.deliver(&cancelled);
        world.obey();
        let failure = world.result(tag).unwrap().unwrap_err();
        assert_eq!((failure.outcome, failure.status), (Outcome::Cancelled, Some(0xC000_0120)));
    }
    let closes = world.collected.transactions.iter().filter(|row| row.procedure.name() == "CLOSE").count();
    assert_eq!(closes, 1, "the watched directory is closed");
    let row = world.collected.transactions.iter().find(|row| row.procedure.name() == "LOCK").unwrap();
    assert!(row.long_lived && row.timeline.interim < row.timeline.response_first);
}

#[test]
fn late_answers_match_no_request_and_still_bring_credits() {
    let mut world = World::ready(Dialect::V210, 4);
    let tags: Vec<_> = (0..4).map(|_| world.begin(&Operation::Null)).collect();
    let asked = world.asked();
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    for tag in tags {
        let failure = world.result(tag).unwrap().unwrap_err();
        assert_eq!((failure.cause, failure.outcome), (Cause::TimedOut, Outcome::Unanswered));
    }
    let waits = world.begin(&Operation::Null);
    assert!(world.asked().is_empty());
    let late = world.server.answer(&asked[0]);
    world.deliver(&late);
    assert_eq!((world.client.unmatched_responses(), world.result(waits)), (1, None));
    world.obey();
    assert_eq!(world.result(waits), Some(Ok(Reply::Nothing)));
    world.deliver(&late);
    assert_eq!(world.client.unmatched_responses(), 2, "sent twice");
}

#[test]
fn compounds_are_rows_of_their_own() {
    let mut world = World::ready(Dialect::V210, 64);
    let tag = world.begin(&Operation::Rename { from: "dir/old", to: "new" });
    let asked = world.asked();
    let commands: Vec<Command> = asked.iter().map(|asked| asked.command).collect();
    assert_eq!(commands, [Command::Create, Command::SetInfo, Command::Close]);
    let lengths: Vec<u64> = asked.iter().map(|asked| asked.bytes.len() as u64).collect();
    world.server.asked = asked;
    world.obey();
    assert_eq!(world.result(tag), Some(Ok(Reply::Nothing)));
    let rows = &world.collected.transactions;
    assert_eq!(rows.iter().map(|row| row.request_bytes.unwrap()).collect::<Vec<_>>(), lengths);
    assert_eq!(rows.iter().map(|row| row.compound_position).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert!(rows.iter().all(|row| row.timeline.request_first == rows[0].timeline.request_first));

    // The first failure is reported.
    let tag = world.begin(&Operation::Remove { path: "x" });
    for (asked, status) in world.asked().iter().zip([0xC000_0034, 0xC000_0128]) {
        let refused = world.server.reply(asked, status, &ERROR);
        world.deliver(&refused);
    }
    let failure = world.result(tag).unwrap().unwrap_err();
    assert_eq!((failure.status, failure.procedure.unwrap().name().as_str()), (Some(0xC000_0034), "CREATE"));
}

#[test]
fn listings_end_with_their_directory_closed() {
    let mut world = World::ready(Dialect::V210, 64);
    let tag = world.begin(&Operation::List { path: "" });
    world.obey();
    assert_eq!(
        (world.result(tag), &world.collected.names[..]),
        (Some(Ok(Reply::Listed { entries: 1 })), &["name".to_owned()][..])
    );
    let names: Vec<String> = world.collected.transactions.iter().map(|row| row.procedure.name()).collect();
    assert_eq!(names, ["CREATE", "QUERY_DIRECTORY", "QUERY_DIRECTORY", "CLOSE"]);

    // A file of a failed operation is closed, too.
    let tag = world.begin(&Operation::List { path: "" });
    world.flush();
    let opened = world.server.answer_next().unwrap();
    world.deliver(&opened);
    let listing = world.asked().remove(0);
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::TimedOut);
    let late = world.server.answer(&listing);
    world.deliver(&late);
    let closing = world.asked().remove(0);
    assert_eq!((closing.command, world.client.unmatched_responses()), (Command::Close, 1));
}

#[test]
fn a_connection_goes_on_where_a_listing_never_ends() {
    let mut world = World::ready(Dialect::V210, 64);
    let tag = world.begin(&Operation::List { path: "" });
    world.flush();
    let opened = world.server.answer_next().unwrap();
    world.deliver(&opened);
    assert_eq!(world.asked().remove(0).command, Command::QueryDirectory, "and it is never answered");
    let now = world.tick();
    world.client.overdue(now, now, &mut world.collected);
    assert_eq!(world.result(tag).unwrap().unwrap_err().cause, Cause::TimedOut);
    world.begin(&Operation::Null);
    let asked: Vec<Command> = world.asked().iter().map(|asked| asked.command).collect();
    assert_eq!(asked, [Command::Close, Command::Echo]);
}

#[test]
fn a_malformed_answer_breaks_the_connection() {
    let mut world = World::ready(Dialect::V210, 64);
    let file = open(&mut world);
    let (one, two) =
        (world.begin(&Operation::Read { file, offset: 0, length: 10, keep: false }), world.begin(&Operation::Null));
    let asked = world.asked().remove(0);
    let more = [&[17, 0, 80, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0; 11]].concat();
    let more = world.server.reply(&asked, 0, &more);
    world.deliver(&more);
    assert!(world.closed);
    let failure = world.result(one).unwrap().unwrap_err();
    assert_eq!((failure.cause, failure.outcome), (Cause::Malformed, Outcome::Failed), "more than was asked for");
    assert_eq!(world.result(two).unwrap().unwrap_err().outcome, Outcome::Unanswered);
    let later = world.begin(&Operation::Null);
    assert_eq!(world.result(later).unwrap().unwrap_err().outcome, Outcome::NeverSent);
}

/// When each request was due, and when its answer was there.
fn due(world: &mut World) -> Vec<(Option<i64>, i64)> {
    let rows = std::mem::take(&mut world.collected.transactions);
    rows.iter().map(|row| (row.timeline.intended, row.timeline.response_last.unwrap())).collect()
}

#[test]
fn a_request_is_due_when_the_answer_that_it_waited_for_is_there() {
    let mut world = World::ready(Dialect::V210, 64);
    world.begin_due(&Operation::List { path: "" }, Some(7));
    world.obey();
    let listing = due(&mut world);
    assert!(listing.len() > 2, "opened, listed, closed: {listing:?}");
    assert_eq!(listing[0].0, Some(7));
    let mut cause = Some(listing[0].1);
    for (intended, answered) in &listing[1..] {
        // Members of a compound are answered together, and due together.
        assert!(*intended == cause || *intended == Some(7) && cause == Some(*answered), "{listing:?}");
        cause = Some(*answered);
    }
    let last = listing.last().unwrap();
    assert!(last.0 > Some(7), "the schedule meant the first request alone: {listing:?}");
    // In a closed loop no request has an intended instant.
    world.begin(&Operation::List { path: "" });
    world.obey();
    assert!(due(&mut world).iter().all(|(intended, _)| intended.is_none()));
}

#[test]
fn requests_of_a_transfer_are_due_with_the_first_one_or_when_an_answer_makes_room() {
    for (credits, at_once) in [(64, 3), (16, 1)] {
        let mut world = World::ready(Dialect::V210, credits);
        let file = open(&mut world);
        world.collected.transactions.clear();
        world.begin_due(&Operation::Read { file, offset: 0, length: 3 << 20, keep: false }, Some(7));
        world.obey();
        let reads = due(&mut world);
        assert_eq!(reads.len(), 3);
        for (number, (intended, _)) in reads.iter().enumerate() {
            let cause = number.checked_sub(at_once).map_or(7, |before| reads[before].1);
            assert_eq!(*intended, Some(cause), "{reads:?}");
        }
    }
    // A request that waits for credits keeps its scheduled time, even if it is sent much later.
    let mut world = World::ready(Dialect::V210, 16);
    let file = open(&mut world);
    world.collected.transactions.clear();
    for intended in [7, 8] {
        world.begin_due(&Operation::Read { file, offset: 0, length: 2 << 20, keep: false }, Some(intended));
    }
    world.obey();
    let reads = due(&mut world);
    assert_eq!(reads.len(), 4);
    let intended: Vec<i64> = reads.iter().map(|(intended, _)| intended.unwrap()).collect();
    assert_eq!((intended[0], intended[1]), (7, reads[0].1), "{reads:?}");
    assert_eq!((intended[2], intended[3]), (8, reads[2].1), "{reads:?}");
}
