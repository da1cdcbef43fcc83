//! An independent check of NFSv3: the `nfs3_types` crate must read our messages, and we its messages.

use nfs3_types::nfs3::*;
use nfs3_types::xdr_codec::{List, Opaque, Pack, Unpack, Void};
use plimsoll_wire::nfs::v3::{self, Answer, Attributes, Call, FileHandle, FileType, Place, SetAttributes};
use plimsoll_wire::xdr::Malformed;

const HANDLE: [u8; 28] = *b"a handle of twenty-eight byt";
const VERIFIER: [u8; 8] = *b"verifier";

fn handle() -> FileHandle {
    FileHandle::new(&HANDLE).unwrap()
}

fn their_handle() -> nfs_fh3 {
    nfs_fh3 { data: Opaque::owned(HANDLE.to_vec()) }
}

fn is_ours(theirs: &nfs_fh3) {
    assert_eq!(theirs.data.as_ref(), HANDLE);
}

fn is_place(theirs: &diropargs3<'_>, name: &[u8]) {
    is_ours(&theirs.dir);
    assert_eq!(theirs.name.as_ref(), name);
}

/// The other crate's reading of our arguments; no bytes may be left over.
fn read_by_them<T: Unpack>(call: &impl Call, number: NFS_PROGRAM) -> T {
    assert_eq!(number as u32, call.procedure());
    let mut bytes = Vec::new();
    call.emit(&mut bytes);
    let (theirs, length) = T::unpack(&mut bytes.as_slice()).unwrap();
    assert_eq!(length, bytes.len());
    theirs
}

trait Numbered: Call {
    fn procedure(&self) -> u32 {
        Self::PROCEDURE
    }
}

impl<T: Call> Numbered for T {}

/// What we make of their results; every truncation is malformed, and so is anything behind them.
fn read_by_us<T>(theirs: &impl Pack, parse: impl Fn(&[u8]) -> Result<T, Malformed>) -> T {
    let mut bytes = Vec::new();
    theirs.pack(&mut bytes).unwrap();
    for end in 0..bytes.len() {
        assert!(parse(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
    }
    bytes.extend([0; 4]);
    assert!(parse(&bytes).is_err(), "four bytes too many");
    parse(&bytes[..bytes.len() - 4]).unwrap()
}

fn their_attributes() -> fattr3 {
    fattr3 {
        type_: ftype3::NF3REG,
        mode: 0o644,
        nlink: 2,
        uid: 1000,
        gid: 100,
        size: 1 << 40,
        used: 4096,
        rdev: specdata3 { specdata1: 8, specdata2: 1 },
        fsid: 77,
        fileid: 4242,
        atime: nfstime3 { seconds: 1, nseconds: 2 },
        mtime: nfstime3 { seconds: 3, nseconds: 4 },
        ctime: nfstime3 { seconds: 5, nseconds: 6 },
    }
}

fn our_attributes() -> Attributes {
    Attributes {
        kind: FileType::Regular,
        mode: 0o644,
        links: 2,
        uid: 1000,
        gid: 100,
        size: 1 << 40,
        file_id: 4242,
        modified: (3, 4),
    }
}

fn change() -> wcc_data {
    let before =
        wcc_attr { size: 7, mtime: nfstime3 { seconds: 3, nseconds: 4 }, ctime: nfstime3 { seconds: 5, nseconds: 6 } };
    wcc_data { before: Nfs3Option::Some(before), after: Nfs3Option::Some(their_attributes()) }
}

fn known() -> post_op_attr {
    Nfs3Option::Some(their_attributes())
}

const ATTRIBUTES: SetAttributes = SetAttributes { mode: Some(0o600), uid: None, gid: Some(7), size: Some(1 << 33) };

fn are_ours(theirs: &sattr3) {
    assert_eq!(theirs.mode, Nfs3Option::Some(0o600));
    assert_eq!(theirs.uid, Nfs3Option::None);
    assert_eq!(theirs.gid, Nfs3Option::Some(7));
    assert_eq!(theirs.size, Nfs3Option::Some(1 << 33));
    assert!(matches!(theirs.atime, set_atime::DONT_CHANGE) && matches!(theirs.mtime, set_mtime::DONT_CHANGE));
}

fn place(handle: &FileHandle) -> Place<'_> {
    Place { directory: handle, name: b"name!" }
}

#[test]
fn arguments_of_files() {
    let object = &handle();
    is_ours(&read_by_them::<GETATTR3args>(&v3::getattr::GetAttr { object }, NFS_PROGRAM::NFSPROC3_GETATTR).object);
    let call = v3::setattr::SetAttr { object, attributes: ATTRIBUTES };
    let theirs: SETATTR3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_SETATTR);
    is_ours(&theirs.object);
    are_ours(&theirs.new_attributes);
    assert_eq!(theirs.guard, Nfs3Option::None);
    let call = v3::access::Access { object, rights: v3::access::ALL_RIGHTS };
    let theirs: ACCESS3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_ACCESS);
    is_ours(&theirs.object);
    let all = ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE | ACCESS3_EXECUTE;
    assert_eq!(theirs.access, all);
    let call = v3::readlink::ReadLink { link: object };
    is_ours(&read_by_them::<READLINK3args>(&call, NFS_PROGRAM::NFSPROC3_READLINK).symlink);
    let call = v3::read::Read { file: object, offset: 1 << 34, count: 9 };
    let theirs: READ3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_READ);
    is_ours(&theirs.file);
    assert_eq!((theirs.offset, theirs.count), (1 << 34, 9));
    let call = v3::commit::Commit { file: object, offset: 5, count: 6 };
    let theirs: COMMIT3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_COMMIT);
    is_ours(&theirs.file);
    assert_eq!((theirs.offset, theirs.count), (5, 6));
    let root = object;
    is_ours(&read_by_them::<FSSTAT3args>(&v3::fsstat::FsStat { root }, NFS_PROGRAM::NFSPROC3_FSSTAT).fsroot);
    is_ours(&read_by_them::<FSINFO3args>(&v3::fsinfo::FsInfo { root }, NFS_PROGRAM::NFSPROC3_FSINFO).fsroot);
    let _: Void = read_by_them(&v3::null::Null, NFS_PROGRAM::NFSPROC3_NULL);
}

#[test]
fn arguments_of_write_with_its_data_behind() {
    for (stable, theirs) in [
        (v3::write::Stable::Unstable, stable_how::UNSTABLE),
        (v3::write::Stable::DataSync, stable_how::DATA_SYNC),
        (v3::write::Stable::FileSync, stable_how::FILE_SYNC),
    ] {
        let mut bytes = Vec::new();
        v3::write::Write { file: &handle(), offset: 1 << 35, count: 5, stable }.emit(&mut bytes);
        bytes.extend(b"12345\0\0\0");
        let (args, length) = WRITE3args::unpack(&mut bytes.as_slice()).unwrap();
        is_ours(&args.file);
        assert_eq!((args.offset, args.count, args.stable), (1 << 35, 5, theirs));
        assert_eq!((args.data.as_ref(), length), (&b"12345"[..], bytes.len()));
    }
}

#[test]
fn arguments_of_names() {
    let handle = &handle();
    let object = place(handle);
    let lookup: LOOKUP3args<'_> = read_by_them(&v3::lookup::Lookup { what: object }, NFS_PROGRAM::NFSPROC3_LOOKUP);
    is_place(&lookup.what, b"name!");
    let remove: REMOVE3args<'_> = read_by_them(&v3::remove::Remove { object }, NFS_PROGRAM::NFSPROC3_REMOVE);
    is_place(&remove.object, b"name!");
    let rmdir: RMDIR3args<'_> = read_by_them(&v3::remove::RemoveDir { object }, NFS_PROGRAM::NFSPROC3_RMDIR);
    is_place(&rmdir.object, b"name!");
    let to = Place { directory: handle, name: b"other" };
    let theirs: RENAME3args<'_, '_> =
        read_by_them(&v3::rename::Rename { from: object, to }, NFS_PROGRAM::NFSPROC3_RENAME);
    is_place(&theirs.from, b"name!");
    is_place(&theirs.to, b"other");
    let theirs: LINK3args<'_> =
        read_by_them(&v3::link::Link { file: handle, place: object }, NFS_PROGRAM::NFSPROC3_LINK);
    is_ours(&theirs.file);
    is_place(&theirs.link, b"name!");
    let call = v3::mkdir::MakeDir { place: object, attributes: ATTRIBUTES };
    let theirs: MKDIR3args<'_> = read_by_them(&call, NFS_PROGRAM::NFSPROC3_MKDIR);
    is_place(&theirs.where_, b"name!");
    are_ours(&theirs.attributes);
    let call = v3::symlink::SymLink { place: object, attributes: ATTRIBUTES, text: b"../where" };
    let theirs: SYMLINK3args<'_> = read_by_them(&call, NFS_PROGRAM::NFSPROC3_SYMLINK);
    is_place(&theirs.where_, b"name!");
    are_ours(&theirs.symlink.symlink_attributes);
    assert_eq!(theirs.symlink.symlink_data.as_ref(), b"../where");
}

#[test]
fn arguments_of_create() {
    use v3::create::How;
    let handle = &handle();
    let create = |how| -> CREATE3args<'_> {
        let call = v3::create::Create { place: place(handle), how };
        let theirs: CREATE3args<'_> = read_by_them(&call, NFS_PROGRAM::NFSPROC3_CREATE);
        is_place(&theirs.where_, b"name!");
        theirs
    };
    let createhow3::UNCHECKED(attributes) = create(How::Unchecked(ATTRIBUTES)).how else { panic!() };
    are_ours(&attributes);
    let createhow3::GUARDED(attributes) = create(How::Guarded(ATTRIBUTES)).how else { panic!() };
    are_ours(&attributes);
    let createhow3::EXCLUSIVE(verifier) = create(How::Exclusive(VERIFIER)).how else { panic!() };
    assert_eq!(verifier.0, VERIFIER);
}

#[test]
fn arguments_of_listings() {
    let directory = &handle();
    let call = v3::readdir::ReadDir { directory, cookie: 1 << 36, verifier: VERIFIER, count: 4096 };
    let theirs: READDIR3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_READDIR);
    is_ours(&theirs.dir);
    assert_eq!((theirs.cookie, theirs.cookieverf.0, theirs.count), (1 << 36, VERIFIER, 4096));
    let call = v3::readdirplus::ReadDirPlus {
        directory,
        cookie: 1 << 36,
        verifier: VERIFIER,
        directory_count: 512,
        count: 4096,
    };
    let theirs: READDIRPLUS3args = read_by_them(&call, NFS_PROGRAM::NFSPROC3_READDIRPLUS);
    is_ours(&theirs.dir);
    assert_eq!((theirs.cookie, theirs.cookieverf.0), (1 << 36, VERIFIER));
    assert_eq!((theirs.dircount, theirs.maxcount), (512, 4096));
}

#[test]
fn results_of_files() {
    let getattr = GETATTR3res::Ok(GETATTR3resok { obj_attributes: their_attributes() });
    assert_eq!(read_by_us(&getattr, v3::getattr::parse), Answer::Done(our_attributes()));
    let setattr = SETATTR3res::Ok(SETATTR3resok { obj_wcc: change() });
    assert_eq!(read_by_us(&setattr, v3::setattr::parse), Answer::Done(()));
    let access = ACCESS3res::Ok(ACCESS3resok { obj_attributes: known(), access: 5 });
    assert_eq!(read_by_us(&access, v3::access::parse), Answer::Done(5));
    let link = READLINK3resok { symlink_attributes: known(), data: nfspath3::from(&b"../x"[..]) };
    let linked = |bytes: &[u8]| {
        v3::readlink::parse(bytes).map(|answer| match answer {
            Answer::Done(text) => assert_eq!(text, b"../x"),
            Answer::Refused(status) => panic!("{status}"),
        })
    };
    read_by_us(&READLINK3res::Ok(link), linked);
    let written =
        WRITE3resok { file_wcc: change(), count: 9, committed: stable_how::FILE_SYNC, verf: writeverf3(VERIFIER) };
    let expected = v3::write::Written { count: 9, committed: v3::write::Stable::FileSync, verifier: VERIFIER };
    assert_eq!(read_by_us(&WRITE3res::Ok(written), v3::write::parse), Answer::Done(expected));
    let commit = COMMIT3res::Ok(COMMIT3resok { file_wcc: change(), verf: writeverf3(VERIFIER) });
    assert_eq!(read_by_us(&commit, v3::commit::parse), Answer::Done(VERIFIER));
}

#[test]
fn results_of_reads_kept_or_not() {
    for (attributes, data) in [(known(), &b"12345"[..]), (Nfs3Option::None, b"1234"), (known(), b"")] {
        let resok = READ3resok {
            file_attributes: attributes,
            count: data.len() as u32,
            eof: data.is_empty(),
            data: Opaque::borrowed(data),
        };
        let mut bytes = Vec::new();
        READ3res::Ok(resok).pack(&mut bytes).unwrap();
        let before = bytes.len() - data.len().next_multiple_of(4);
        assert!(before <= v3::read::BEFORE_DATA);
        for kept in 0..=bytes.len() {
            let read = v3::read::parse(&bytes[..kept], bytes.len());
            if kept < before {
                assert_eq!(read, Err(Malformed), "{kept} bytes kept");
                continue;
            }
            let Ok(Answer::Done(read)) = read else { panic!("{kept} bytes kept: {read:?}") };
            assert_eq!((read.count as usize, read.eof), (data.len(), data.is_empty()));
            assert_eq!(read.kept, &data[..(kept - before).min(data.len())]);
        }
        assert_eq!(v3::read::parse(&bytes, bytes.len() + 4), Err(Malformed), "longer than its data");
        assert_eq!(v3::read::parse(&bytes, bytes.len() - 1), Err(Malformed), "shorter than its data");
    }
    let refused = READ3res::Err((nfsstat3::NFS3ERR_STALE, READ3resfail { file_attributes: known() }));
    let refused = read_by_us(&refused, |bytes| {
        v3::read::parse(bytes, bytes.len()).map(|answer| matches!(answer, Answer::Refused(70)))
    });
    assert!(refused);
}

#[test]
fn results_of_names() {
    let found = LOOKUP3resok { object: their_handle(), obj_attributes: known(), dir_attributes: known() };
    let expected = v3::lookup::Found { object: handle(), attributes: Some(our_attributes()) };
    assert_eq!(read_by_us(&LOOKUP3res::Ok(found), v3::lookup::parse), Answer::Done(expected));
    let expected = v3::create::Made { object: Some(handle()), attributes: Some(our_attributes()) };
    let made = CREATE3resok { obj: Nfs3Option::Some(their_handle()), obj_attributes: known(), dir_wcc: change() };
    assert_eq!(read_by_us(&CREATE3res::Ok(made), v3::create::parse), Answer::Done(expected));
    let made = MKDIR3resok { obj: Nfs3Option::Some(their_handle()), obj_attributes: known(), dir_wcc: change() };
    assert_eq!(read_by_us(&MKDIR3res::Ok(made), v3::mkdir::parse), Answer::Done(expected));
    let made = SYMLINK3resok { obj: Nfs3Option::Some(their_handle()), obj_attributes: known(), dir_wcc: change() };
    assert_eq!(read_by_us(&SYMLINK3res::Ok(made), v3::symlink::parse), Answer::Done(expected));
    let nothing = v3::create::Made { object: None, attributes: None };
    let made = CREATE3resok { obj: Nfs3Option::None, obj_attributes: Nfs3Option::None, dir_wcc: wcc_data::default() };
    assert_eq!(read_by_us(&CREATE3res::Ok(made), v3::create::parse), Answer::Done(nothing));
    let removed = REMOVE3res::Ok(REMOVE3resok { dir_wcc: change() });
    assert_eq!(read_by_us(&removed, v3::remove::parse), Answer::Done(()));
    let removed = RMDIR3res::Ok(RMDIR3resok { dir_wcc: wcc_data::default() });
    assert_eq!(read_by_us(&removed, v3::remove::parse), Answer::Done(()));
    let renamed = RENAME3res::Ok(RENAME3resok { fromdir_wcc: change(), todir_wcc: wcc_data::default() });
    assert_eq!(read_by_us(&renamed, v3::rename::parse), Answer::Done(()));
    let linked = LINK3res::Ok(LINK3resok { file_attributes: known(), linkdir_wcc: change() });
    assert_eq!(read_by_us(&linked, v3::link::parse), Answer::Done(()));
}

#[test]
fn results_of_listings() {
    let names = ["a", "bcde", "fgh"];
    let entries = (1..).zip(names).map(|(number, name)| entry3 {
        fileid: number,
        name: filename3::from(name.as_bytes()),
        cookie: number * 10,
    });
    let listed = READDIR3resok {
        dir_attributes: known(),
        cookieverf: cookieverf3(VERIFIER),
        reply: dirlist3 { entries: List(entries.collect()), eof: true },
    };
    let page = v3::readdir::Page { verifier: VERIFIER, cookie: Some(30), eof: true };
    let parse = |bytes: &[u8]| {
        let mut seen = Vec::new();
        let answer = v3::readdir::parse(bytes, |entry| seen.push(entry.name.to_vec()))?;
        assert_eq!(seen, names.map(|name| name.as_bytes().to_vec()));
        Ok(answer)
    };
    assert_eq!(read_by_us(&READDIR3res::Ok(listed), parse), Answer::Done(page));
    let entries = (1..).zip(names).map(|(number, name)| entryplus3 {
        fileid: number,
        name: filename3::from(name.as_bytes()),
        cookie: number * 10,
        name_attributes: if number == 2 { Nfs3Option::None } else { known() },
        name_handle: if number == 1 { Nfs3Option::None } else { Nfs3Option::Some(their_handle()) },
    });
    let listed = READDIRPLUS3resok {
        dir_attributes: known(),
        cookieverf: cookieverf3(VERIFIER),
        reply: dirlistplus3 { entries: List(entries.collect()), eof: false },
    };
    let parse = |bytes: &[u8]| {
        let mut seen = Vec::new();
        let answer = v3::readdirplus::parse(bytes, |entry| seen.push(entry.file_id))?;
        assert_eq!(seen, [1, 2, 3]);
        Ok(answer)
    };
    let page = v3::readdir::Page { eof: false, ..page };
    assert_eq!(read_by_us(&READDIRPLUS3res::Ok(listed), parse), Answer::Done(page));
}

#[test]
fn results_of_file_systems() {
    let space = FSSTAT3resok {
        obj_attributes: known(),
        tbytes: 1,
        fbytes: 2,
        abytes: 3,
        tfiles: 4,
        ffiles: 5,
        afiles: 6,
        invarsec: 7,
    };
    let expected = v3::fsstat::Space { total: 1, free: 2, available: 3 };
    assert_eq!(read_by_us(&FSSTAT3res::Ok(space), v3::fsstat::parse), Answer::Done(expected));
    let limits = FSINFO3resok {
        obj_attributes: known(),
        rtmax: 1,
        rtpref: 2,
        rtmult: 3,
        wtmax: 4,
        wtpref: 5,
        wtmult: 6,
        dtpref: 7,
        maxfilesize: 8,
        time_delta: nfstime3 { seconds: 9, nseconds: 10 },
        properties: 11,
    };
    let expected = v3::fsinfo::Limits {
        read_max: 1,
        read_preferred: 2,
        write_max: 4,
        write_preferred: 5,
        directory_preferred: 7,
        file_max: 8,
    };
    assert_eq!(read_by_us(&FSINFO3res::Ok(limits), v3::fsinfo::parse), Answer::Done(expected));
}

#[test]
fn refusals() {
    fn refused<T: std::fmt::Debug>(theirs: &impl Pack, parse: impl Fn(&[u8]) -> Result<Answer<T>, Malformed>) {
        let answer = read_by_us(theirs, parse);
        assert!(matches!(answer, Answer::Refused(10_008)), "{answer:?}");
    }
    let status = nfsstat3::NFS3ERR_JUKEBOX;
    refused(&GETATTR3res::Err((status, Void)), v3::getattr::parse);
    refused(&SETATTR3res::Err((status, SETATTR3resfail { obj_wcc: change() })), v3::setattr::parse);
    refused(&LOOKUP3res::Err((status, LOOKUP3resfail { dir_attributes: known() })), v3::lookup::parse);
    refused(&ACCESS3res::Err((status, ACCESS3resfail { obj_attributes: known() })), v3::access::parse);
    refused(&WRITE3res::Err((status, WRITE3resfail { file_wcc: change() })), v3::write::parse);
    refused(&CREATE3res::Err((status, CREATE3resfail { dir_wcc: change() })), v3::create::parse);
    refused(&MKDIR3res::Err((status, MKDIR3resfail { dir_wcc: change() })), v3::mkdir::parse);
    refused(&SYMLINK3res::Err((status, SYMLINK3resfail { dir_wcc: change() })), v3::symlink::parse);
    refused(&REMOVE3res::Err((status, REMOVE3resfail { dir_wcc: change() })), v3::remove::parse);
    refused(&RMDIR3res::Err((status, RMDIR3resfail { dir_wcc: change() })), v3::remove::parse);
    let renamed = RENAME3resfail { fromdir_wcc: change(), todir_wcc: change() };
    refused(&RENAME3res::Err((status, renamed)), v3::rename::parse);
    let linked = LINK3resfail { file_attributes: known(), linkdir_wcc: change() };
    refused(&LINK3res::Err((status, linked)), v3::link::parse);
    let listed = READDIR3res::Err((status, READDIR3resfail { dir_attributes: known() }));
    refused(&listed, |bytes| v3::readdir::parse(bytes, |_| {}));
    let listed = READDIRPLUS3res::Err((status, READDIRPLUS3resfail { dir_attributes: known() }));
    refused(&listed, |bytes| v3::readdirplus::parse(bytes, |_| {}));
    refused(&FSSTAT3res::Err((status, FSSTAT3resfail { obj_attributes: known() })), v3::fsstat::parse);
    refused(&FSINFO3res::Err((status, FSINFO3resfail { obj_attributes: known() })), v3::fsinfo::parse);
    refused(&COMMIT3res::Err((status, COMMIT3resfail { file_wcc: change() })), v3::commit::parse);
}
