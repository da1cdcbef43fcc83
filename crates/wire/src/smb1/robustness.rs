//! Every cut and every damaged byte of one message of each kind: no view panics, and a cut invents nothing.

use super::build::{Build, wide, words};
use super::transaction::tests::{nt_request, request, response};
use super::*;

/// Calls every accessor of every view, and combines the results so that none is optimised away.
fn everything(message: &[u8], total_len: usize) -> String {
    let Some(chain) = Chain::new(message, total_len) else { return String::new() };
    let mut seen = format!("{:?} {:?}", chain.header().status(), chain.header().pid());
    for link in chain {
        seen += &format!("{link:?} {:?} {:?} {:?}", path::path(&link), path::new_path(&link), path::fid(&link));
        seen += &format!("{:?} {:?}", read::Read::new(&link), read::data_length(&link));
        seen += &format!("{:?} {:?}", write::Write::new(&link), raw::answer(&link));
        seen += &format!("{:?}", raw::WriteRaw::new(&link).map(|write| (write.block_len(), write)));
        seen += &format!("{:?} {:?}", open::NtCreate::new(&link), open::opened_fid(&link));
        seen += &format!("{:?} {:?}", session::credentials(&link), session::TreeConnect::new(&link));
        seen += &format!("{:?}", session::echo_number(&link));
        seen += &format!("{:?}", locking::Locking::new(&link).map(|locking| locking.may_wait()));
        seen += &format!("{:?}", transaction::is_interim(&link));
        if let Some(view) = transaction::Transaction::new(&link) {
            let complete = transaction::Progress::default().add(&view);
            seen += &format!("{:?} {complete} {:?} {:?}", view, view.is_complete(), view.reaches_end());
            seen += &format!("{:?} {:?}", view.name(), view.fid());
            seen += &format!("{:?} {:?}", view.nt_create_path(), view.nt_created_fid());
            seen +=
                &format!("{:?} {:?}", trans2::path(&view).map(|path| path.text().chars().count()), trans2::fid(&view));
            seen += &format!("{:?}", trans2::opened_fid(&view));
        }
    }
    seen
}

fn vectors() -> Vec<Vec<u8>> {
    let name = [&[0][..], &wide("\\PIPE\\x\0")].concat();
    let find = [&[0; 12][..], &wide("\\*\0")].concat();
    let create = [&[0; 44][..], &[6, 0, 0, 0, 0, 0, 0, 0, 0, 0], &wide("\\ab")].concat();
    let nt_block = [&[0xff, 0, 0, 0, 0, 6, 0][..], &[0; 41]].concat();
    let mut all = vec![
        Build::request(command::LOCKING_ANDX)
            .block(&words(&[0xff, 0, 1, 0, 9, 0, 0, 1]), &[0; 10])
            .and(command::WRITE_ANDX, &words(&[0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 80, 0, 0]), b"abc")
            .and(command::CLOSE, &words(&[1, 0, 0]), &[])
            .done(),
        Build::request(command::NT_CREATE_ANDX).unicode().block(&nt_block, &[&[0][..], &wide("\\ab")].concat()).done(),
        Build::response(command::NT_CREATE_ANDX).block(&[&[0xff][..], &[0; 67]].concat(), &[]).done(),
        Build::response(command::READ_ANDX).block(&words(&[0xff, 0, 0, 0, 0, 4, 60, 1, 0, 0, 0, 0]), &[0; 5]).done(),
        Build::request(command::RENAME).unicode().block(&words(&[0]), b"\x04\\\0a\0\0\0\x04\0\\\0b\0\0\0").done(),
        Build::request(command::WRITE_RAW).block(&words(&[1, 99, 0, 0, 0, 0, 0, 1, 0, 0, 3, 60, 0, 0]), b"abc").done(),
        Build::request(command::NEGOTIATE).block(&[], b"\x02PC\0\x02NT LM 0.12\0").done(),
        Build::response(command::NEGOTIATE).block(&[0; 34], &[0; 8]).done(),
        Build::request(command::TREE_CONNECT).block(&[], b"\x04\\\\S\\P\0\x04\0\x04A:\0").done(),
        Build::request(command::TREE_CONNECT_ANDX)
            .unicode()
            .block(&words(&[0xff, 0, 0, 1]), b"\0\\\0a\0\0\0A:\0")
            .done(),
        request(command::TRANSACTION, &[0x26, 1], &name, &[1, 2], (2, 0)),
        request(command::TRANSACTION2, &[1], &[0], &find, (find.len() as u16, 0)),
        response((2, 2, 0), (20, 9, 0)),
        nt_request(1, &[], &create),
        nt_request(4, &[3, 0, 0, 0, 1, 0x40, 1, 0], &[]),
    ];
    for setup_words in [10, 12, 13] {
        let mut block = vec![0u16; setup_words];
        (block[0], block[7]) = (0xff, 4);
        all.push(Build::request(command::SESSION_SETUP_ANDX).block(&words(&block), b"0000me\0DOM\0Unix\0").done());
    }
    all
}

#[test]
fn no_cut_panics_and_none_is_malformed() {
    for message in vectors() {
        let whole: Vec<u8> = Chain::new(&message, message.len()).unwrap().map(|link| link.command).collect();
        for length in 0..=message.len() {
            everything(&message[..length], message.len());
            everything(&message[..length], length);
            let Some(mut chain) = Chain::new(&message[..length], message.len()) else { continue };
            let found: Vec<u8> = chain.by_ref().map(|link| link.command).collect();
            assert!(whole.starts_with(&found) && !chain.malformed(), "cut at {length}");
        }
    }
}

#[test]
fn a_cut_never_changes_a_path_that_it_calls_complete() {
    for message in vectors() {
        let link_at = |length: usize| Chain::new(&message[..length], message.len()).and_then(|mut chain| chain.next());
        let whole = link_at(message.len()).and_then(|link| path::path(&link));
        for length in 0..message.len() {
            let found = link_at(length).and_then(|link| path::path(&link));
            if let Some(found) = found.filter(|path| path.complete) {
                assert_eq!(Some(found), whole, "cut at {length}");
            }
        }
    }
}

#[test]
fn no_damaged_byte_panics() {
    for message in vectors() {
        let mut damaged = message.clone();
        for at in 4..message.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff, message[at] ^ 0x10, message[at].wrapping_add(1)] {
                damaged[at] = value;
                everything(&damaged, damaged.len());
            }
            damaged[at] = message[at];
        }
    }
}
