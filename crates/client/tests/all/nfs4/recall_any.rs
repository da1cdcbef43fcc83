//! CB_RECALL_ANY: the server limits the number of read delegations or of other state.
//!
//! Spec: RFC 8881 20.6

use std::sync::Arc;

use plimsoll_client::nfs4::Nfs4Options;
use plimsoll_client::operation::{Access, Caching, Disposition};
use plimsoll_client::{FileKey, Operation};
use plimsoll_testkit::nfs4::{DELEGATION, recall_any};

use super::delegations::{NONE, RETURN, about, asks, counts, opened, served, statuses, wanting};
use super::play::Play;

/// Bits of the type mask.
const READ_DELEGATIONS: u32 = 1;
const OTHERS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 0x0003_F300;

pub(super) fn to_read(path: &str) -> Operation<'_> {
    Operation::Open { path, access: Access::Read, disposition: Disposition::Open, caching: Caching::None }
}

/// A client that holds a delegation of each of `count` files, and these files.
pub(super) fn holder_of(count: u16) -> (Play, Arc<Nfs4Options>, Vec<FileKey>) {
    let (mut play, options) = wanting();
    let files = (0..count).map(|number| {
        play.begin(number.into(), &to_read(&format!("file{number}")));
        let call = play.calls.remove(0);
        let mut results = call.fine();
        for known in [&DELEGATION[..], b"a handle"] {
            let at = results.windows(known.len()).position(|bytes| bytes == known).unwrap();
            let places = results[at..at + known.len()].chunks_mut(2);
            places.for_each(|place| place.copy_from_slice(&number.to_be_bytes()));
        }
        play.answer(&call, &results);
        opened(&play, number.into())
    });
    let files = files.collect();
    (play, options, files)
}

/// The files whose delegations are returned.
fn returned(play: &mut Play) -> Vec<u16> {
    let returns = play.calls.iter().filter(|call| about(call) == RETURN);
    let mut files: Vec<u16> = returns.map(|call| u16::from_be_bytes(*call.arguments.last_chunk().unwrap())).collect();
    files.sort_unstable();
    served(play);
    files
}

#[test]
fn as_many_as_the_server_says_stay_and_unused_ones_go_first() {
    let (mut play, options, files) = holder_of(5);
    for (tag, file) in [(10, files[1]), (11, files[3])] {
        assert_eq!(asks(&mut play, tag, &Operation::Close { file }), NONE);
    }
    for (keep, expected) in [(u32::MAX, &[][..]), (5, &[]), (4, &[1]), (2, &[0, 3]), (3, &[]), (0, &[2, 4])] {
        play.feed(&recall_any(keep, &[keep, 1, READ_DELEGATIONS]));
        assert_eq!(returned(&mut play), expected, "keep {keep}");
    }
    assert_eq!(statuses(&play), [0; 6]);
    let read = Operation::Read { file: files[4], offset: 0, length: 5, keep: false };
    assert_eq!(asks(&mut play, 12, &read).len(), 1, "the open stays");
    let counts = counts(play, &options);
    assert_eq!((counts.granted, counts.returned, counts.recalled, counts.unreturned), (5, 5, 0, 0));
}

#[test]
fn a_second_recall_counts_what_is_being_returned_as_gone() {
    let (mut play, _options, _) = holder_of(4);
    play.feed(&recall_any(1, &[2, 1, READ_DELEGATIONS]));
    play.feed(&recall_any(2, &[2, 1, READ_DELEGATIONS | OTHERS]));
    assert_eq!(returned(&mut play), [0, 1]);
}

#[test]
fn a_recall_of_other_types_returns_no_read_delegation() {
    let (mut play, options, _) = holder_of(2);
    // Write and directory delegations, layouts; no type at all; types of no name; a mask that is cut.
    for (words, status) in [
        (&[0, 1, OTHERS][..], 0),
        (&[0, 0], 0),
        (&[0, 1, READ_DELEGATIONS | 1 << 5], 22),
        (&[0, 2, READ_DELEGATIONS, 1], 22),
        (&[0, 1], 10_036),
        (&[], 10_036),
    ] {
        play.feed(&recall_any(1, words));
        assert_eq!((statuses(&play).last(), returned(&mut play)), (Some(&status), vec![]), "{words:?}");
    }
    assert_eq!(asks(&mut play, 20, &to_read("file1")), NONE, "both are still held");
    assert_eq!(counts(play, &options).returned, 0);
}
