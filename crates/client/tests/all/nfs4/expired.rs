//! A server that has dropped state of a client whose session still exists (NFS4ERR_EXPIRED).

use std::sync::Arc;

use plimsoll_client::nfs4::Nfs4Options;
use plimsoll_client::operation::{Access, Caching, Disposition};
use plimsoll_client::{Client, Operation, Reply, Tag};
use plimsoll_wire::rpc::Caller;

use super::play::Play;

const EXPIRED: u32 = 10_011;

/// Refuses the next call: its third operation fails.
fn refuse(play: &mut Play) {
    let call = play.calls.remove(0);
    play.answer(&call, &call.failing(2, EXPIRED));
}

#[test]
fn a_file_without_state_is_closed() {
    let mut play = Play::connected();
    let file = play.open();
    play.begin(9, &Operation::Close { file });
    (0..2).for_each(|_| refuse(&mut play));
    assert_eq!((play.done(Tag(9)), play.client.over()), (Some(Ok(Reply::Nothing)), None));
    assert_eq!((play.calls.len(), play.client.outstanding()), (0, 0));
    play.check_rows("closed");
}

#[test]
fn a_file_whose_open_was_dropped_before_it_was_truncated_is_opened_again() {
    let mut play = Play::connected();
    let (access, disposition) = (Access::ReadWrite, Disposition::OverwriteOrCreate);
    play.begin(9, &Operation::Open { path: "file", access, disposition, caching: Caching::None });
    play.serve_last();
    assert_eq!(play.calls[0].operations, [53, 22, 34], "SETATTR");
    refuse(&mut play);
    assert_eq!(play.calls[0].operations, [53, 22, 18, 10, 9], "OPEN");
    play.serve();
    assert!(matches!(play.done(Tag(9)), Some(Ok(Reply::Opened { .. }))));
    play.check_rows("opened again");
}

/// The server has dropped the state of another file, and truncates this one.
#[test]
fn a_file_that_is_truncated_during_a_recovery_is_opened_again() {
    let mut play = Play::connected();
    let file = play.open();
    play.begin(10, &Operation::Read { file, offset: 0, length: 5, keep: false });
    let (access, disposition) = (Access::ReadWrite, Disposition::OverwriteOrCreate);
    play.begin(9, &Operation::Open { path: "file", access, disposition, caching: Caching::None });
    play.serve_last();
    refuse(&mut play);
    assert_eq!(play.calls[0].operations, [53, 22, 34], "SETATTR");
    play.serve();
    assert_eq!((play.done(Tag(10)), play.client.over()), (Some(Ok(Reply::Read { bytes: 5 })), None));
    assert!(matches!(play.done(Tag(9)), Some(Ok(Reply::Opened { .. }))));
    play.check_rows("opened again");
}

/// Two reads are outstanding when the server drops the state. The second response arrives after the recovery.
#[test]
fn a_late_refusal_causes_no_second_recovery() {
    let options = Arc::new(Nfs4Options::new("/", 1, &Caller::Nobody).unwrap());
    let mut play = Play::connected_with(Arc::clone(&options));
    let file = play.open();
    for tag in [9, 10] {
        play.begin(tag, &Operation::Read { file, offset: 0, length: 5, keep: false });
    }
    let late = play.calls.remove(1);
    refuse(&mut play);
    // OPEN, and the first read again.
    play.serve();
    assert_eq!(play.done(Tag(9)), Some(Ok(Reply::Read { bytes: 5 })));
    play.answer(&late, &late.failing(2, EXPIRED));
    assert_eq!(play.calls[0].operations, [53, 22, 25], "READ");
    play.serve();
    assert_eq!(play.done(Tag(10)), Some(Ok(Reply::Read { bytes: 5 })));
    play.check_rows("late");
    drop(play);
    let recoveries = *options.recoveries.lock().unwrap();
    assert_eq!((recoveries.restarts, recoveries.opens.anew), (1, 1));
}
