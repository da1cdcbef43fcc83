//! Transactions by hand from the layouts in MS-CIFS 2.2.4.33, 2.2.4.46, 2.2.4.62 and what their parameters say (2.2.6, 2.2.7).

use super::super::build::{Build, first, wide, words};
use super::super::subcommand::{pipe, trans2 as t2};
use super::super::{path, trans2};
use super::*;

/// A TRANSACTION or TRANSACTION2 request; the parameters stand behind `name`, padded to four bytes.
pub(in crate::smb1) fn request(code: u8, setup: &[u16], name: &[u8], parameters: &[u8], totals: (u16, u16)) -> Vec<u8> {
    let start = 32 + 1 + 28 + setup.len() * 2 + 2;
    let padding = (4 - (start + name.len()) % 4) % 4;
    let (at, count) = ((start + name.len() + padding) as u16, parameters.len() as u16);
    let mut block = words(&[totals.0, totals.1, 10, 4096, 0, 0, 300, 0, 0, count, at, 0, 0, setup.len() as u16]);
    block.extend(words(setup));
    let bytes = [name, &vec![0; padding], parameters].concat();
    Build::request(code).unicode().block(&block, &bytes).done()
}

/// A response of the narrow form, with counts as (total, here, displacement).
pub(in crate::smb1) fn response(parameters: (u16, u16, u16), data: (u16, u16, u16)) -> Vec<u8> {
    let block = words(&[parameters.0, data.0, 0, parameters.1, 56, parameters.2, data.1, 60, data.2, 0]);
    Build::response(command::TRANSACTION2).unicode().block(&block, &[0x11; 40]).done()
}

pub(in crate::smb1) fn nt_request(function: u16, setup: &[u8], parameters: &[u8]) -> Vec<u8> {
    let at = (32 + 1 + 38 + setup.len() + 2 + 3) as u32 / 4 * 4;
    let mut block = vec![0, 0, 0];
    for number in [parameters.len() as u32, 0, 32, 0, parameters.len() as u32, at, 0, 0] {
        block.extend(number.to_le_bytes());
    }
    block.push((setup.len() / 2) as u8);
    block.extend(function.to_le_bytes());
    block.extend(setup);
    let padding = at as usize - (32 + 1 + block.len() + 2);
    Build::request(command::NT_TRANSACT).unicode().block(&block, &[&vec![0; padding], parameters].concat()).done()
}

#[test]
fn query_path_information_names_the_path() {
    // MS-CIFS 2.2.6.6.1: InformationLevel, Reserved (32), FileName.
    let parameters = [&[0x07, 0x01, 0, 0, 0, 0][..], &wide("\\dir\\x\0")].concat();
    let total = parameters.len() as u16;
    let message = request(command::TRANSACTION2, &[t2::QUERY_PATH_INFORMATION], &[0], &parameters, (total, 0));
    let link = first(&message);
    let view = Transaction::new(&link).unwrap();
    assert_eq!((view.function(), view.setup_count(), view.timeout_ms()), (Some(5), Some(1), Some(300)));
    assert!(view.is_complete());
    assert_eq!(trans2::path(&view).unwrap().text(), "\\dir\\x");
    assert_eq!(path::path(&link), trans2::path(&view));
    assert_eq!((trans2::fid(&view), view.name()), (None, None));
}

#[test]
fn every_subcommand_has_its_own_layout() {
    // MS-CIFS 2.2.6.1.1 (OPEN2), 2.2.6.2.1 (FIND_FIRST2), 2.2.6.14.1 (CREATE_DIRECTORY), MS-SMB 2.2.6 for the rest.
    for (function, at) in
        [(t2::OPEN2, 28), (t2::FIND_FIRST2, 12), (t2::SET_PATH_INFORMATION, 6), (t2::CREATE_DIRECTORY, 4)]
    {
        let parameters = [&vec![0; at][..], &wide("\\n\0")].concat();
        let message = request(command::TRANSACTION2, &[function], &[0], &parameters, (parameters.len() as u16, 0));
        assert_eq!(path::path(&first(&message)).unwrap().text(), "\\n", "function {function}");
    }
    for function in [t2::QUERY_FILE_INFORMATION, t2::SET_FILE_INFORMATION] {
        let message = request(command::TRANSACTION2, &[function], &[0], &[0x01, 0x40, 0xec, 0x03, 0, 0], (6, 0));
        let link = first(&message);
        assert_eq!(path::fid(&link), Some(0x4001));
    }
    let message =
        request(command::TRANSACTION2, &[t2::FIND_NEXT2], &[0], &[1, 0, 10, 0, 4, 1, 0, 0, 0, 0, 0, 0], (12, 0));
    let link = first(&message);
    assert_eq!(path::fid(&link), None, "a SID is no FID");
}

#[test]
fn pipes_have_a_fid_and_rap_has_no_function() {
    let name = [&[0][..], &wide("\\PIPE\\\0")].concat();
    let message = request(command::TRANSACTION, &[pipe::TRANSACT_NMPIPE, 0x4001], &name, &[], (0, 0));
    let view = Transaction::new(&first(&message)).unwrap();
    assert_eq!((view.function(), view.fid()), (Some(pipe::TRANSACT_NMPIPE), Some(0x4001)));
    let name = [&[0][..], &wide("\\PIPE\\LANMAN\0")].concat();
    let message = request(command::TRANSACTION, &[], &name, &[0, 0], (2, 0));
    let view = Transaction::new(&first(&message)).unwrap();
    assert_eq!((view.function(), view.fid(), view.setup_count()), (None, None, Some(0)));
}

#[test]
fn an_answer_in_parts_is_complete_with_its_last_part() {
    // Parameters and 10 bytes of data, then 20 more bytes, then the last 5.
    let parts = [response((2, 2, 0), (35, 10, 0)), response((2, 0, 2), (35, 20, 10)), response((2, 0, 2), (35, 5, 30))];
    let mut progress = Progress::default();
    let views: Vec<_> = parts.iter().map(|part| Transaction::new(&first(part)).unwrap()).collect();
    assert_eq!(views.iter().map(|view| progress.add(view)).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(views.iter().map(Transaction::reaches_end).collect::<Vec<_>>(), [false, false, true]);
    assert!(views.iter().all(|view| !view.is_complete()));
    let whole = response((2, 2, 0), (0, 0, 0));
    let view = Transaction::new(&first(&whole)).unwrap();
    assert!(view.is_complete() && view.reaches_end());
}

#[test]
fn an_interim_answer_is_no_error() {
    let interim = Build::response(command::TRANSACTION2).block(&[], &[]).done();
    assert!(is_interim(&first(&interim)) && Transaction::new(&first(&interim)).is_none());
    let error = Build::response(command::TRANSACTION2).status(0xc000_0022).block(&[], &[]).done();
    assert!(!is_interim(&first(&error)));
}

#[test]
fn secondary_requests_carry_displacements() {
    // MS-CIFS 2.2.4.47.1: totals, parameter count/offset/displacement, data count/offset/displacement, FID.
    let block = words(&[8, 100, 0, 0, 8, 60, 52, 40, 0x4001]);
    let message = Build::request(command::TRANSACTION2_SECONDARY).block(&block, &[7; 60]).done();
    let link = first(&message);
    let view = Transaction::new(&link).unwrap();
    assert_eq!((view.data.total, view.data.count, view.data.displacement), (100, 60, 40));
    assert!(view.reaches_end() && !view.is_complete());
    assert_eq!(path::fid(&link), Some(0x4001));
}

#[test]
fn nt_transactions_say_function_fid_and_path() {
    // MS-CIFS 2.2.7.4.1: CompletionFilter (32), FID, WatchTree, Reserved.
    let notify = nt_request(nt::NOTIFY_CHANGE, &[3, 0, 0, 0, 0x01, 0x40, 1, 0], &[]);
    let view = Transaction::new(&first(&notify)).unwrap();
    assert_eq!((view.function(), view.fid()), (Some(nt::NOTIFY_CHANGE), Some(0x4001)));
    let security = nt_request(nt::QUERY_SECURITY_DESC, &[], &[0x02, 0x40, 0, 0, 4, 0, 0, 0]);
    assert_eq!(path::fid(&first(&security)), Some(0x4002));
    // MS-CIFS 2.2.7.1.1: NameLength at 44, Name at 53, UTF-16 aligned to 54.
    let name = wide("\\new");
    let mut parameters = vec![0; 54];
    parameters[44] = name.len() as u8;
    parameters.extend(&name);
    let create = nt_request(nt::CREATE, &[], &parameters);
    assert_eq!(path::path(&first(&create)).unwrap().text(), "\\new");
}
