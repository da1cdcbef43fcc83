//! Calls read, and answers written.
//!
//! Spec: RFC 5531 9; RFC 1813 3.3 (NFS), 5.2 (MOUNT)

use plimsoll_wire::nfs::status::{MNT3ERR_NOENT, NFS3ERR_BADHANDLE};
use plimsoll_wire::rpc::Call;

use crate::rpc::{MOUNT, NFS};

/// Bytes of the file: more than any test reads.
pub const FILE_SIZE: u64 = 1 << 40;
/// The only export.
pub const EXPORT: &str = "/scripted";

/// The file handles that there are.
const ROOT: &[u8] = b"scripted root---";
const FILE: &[u8] = b"scripted file-";
/// What ends the handle of a file whose name ends in no number.
const NO_NUMBER: [u8; 2] = *b"--";
/// The longest READ, bytes.
const LONGEST: u32 = 1 << 20;

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    xid: u32,
    body: Body,
    /// Whether it waits for its time.
    pub(super) timed: bool,
    pub(super) asked: Asked,
}

/// The fields of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The number that the file's name ends in.
    pub(super) file: Option<u16>,
    /// Bytes to be read.
    pub(super) read: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// Only success.
    Void,
    /// An error of RPC (RFC 5531 9, accept_stat).
    Rpc(u32),
    /// A status alone.
    Refused(u32),
    Root,
    Exports,
    Attributes(Node),
    /// A handle and attributes, in a directory.
    Found([u8; 2]),
    /// Attributes, and these words.
    Access(u32),
    Read {
        offset: u64,
        count: u32,
    },
    Limits,
    Space,
    Path,
    Committed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    File,
}

const PROGRAM_UNAVAILABLE: u32 = 1;
const PROCEDURE_UNAVAILABLE: u32 = 3;
const GARBAGE: u32 = 4;

/// Reads a call; `None` where it is none.
pub(super) fn answer(record: &[u8]) -> Option<Answer> {
    let call = Call::new(record)?;
    let arguments = call.arguments().unwrap_or_default();
    let (body, timed) = match (call.program(), call.version()) {
        (MOUNT, 3) => (mount(call.procedure(), arguments), false),
        (NFS, 3) => nfs(call.procedure(), arguments),
        _ => (Body::Rpc(PROGRAM_UNAVAILABLE), false),
    };
    let read = if let Body::Read { count, .. } = body { Some(count) } else { None };
    let file = opaque(arguments).and_then(|(handle, _)| number(handle)).filter(|number| *number != NO_NUMBER);
    Some(Answer { xid: call.xid(), body, timed, asked: Asked { file: file.map(u16::from_be_bytes), read } })
}

/// The number at the end of a file's handle; `None` for another handle.
fn number(handle: &[u8]) -> Option<[u8; 2]> {
    handle.strip_prefix(FILE)?.try_into().ok()
}

/// What ends the handle of the file of a name.
fn numbered(name: &[u8]) -> [u8; 2] {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let number =
        name.get(name.len() - digits..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u16>().ok());
    number.map_or(NO_NUMBER, u16::to_be_bytes)
}

fn mount(procedure: u32, arguments: &[u8]) -> Body {
    match procedure {
        0 | 3 | 4 => Body::Void,
        1 if opaque(arguments).is_some_and(|(path, _)| path == EXPORT.as_bytes()) => Body::Root,
        1 => Body::Refused(MNT3ERR_NOENT),
        5 => Body::Exports,
        _ => Body::Rpc(PROCEDURE_UNAVAILABLE),
    }
}

/// What to answer, and whether it waits.
fn nfs(procedure: u32, arguments: &[u8]) -> (Body, bool) {
    if procedure == 0 {
        return (Body::Void, true);
    }
    let Some((handle, rest)) = opaque(arguments) else { return (Body::Rpc(GARBAGE), false) };
    let node = match handle {
        ROOT => Node::Directory,
        file if number(file).is_some() => Node::File,
        _ => return (Body::Refused(NFS3ERR_BADHANDLE), false),
    };
    match procedure {
        1 => (Body::Attributes(node), true),
        3 => opaque(rest).map_or((Body::Rpc(GARBAGE), false), |(name, _)| (Body::Found(numbered(name)), true)),
        4 => word(rest, 0).map_or((Body::Rpc(GARBAGE), false), |wanted| (Body::Access(wanted), true)),
        6 => match (word(rest, 0), word(rest, 4), word(rest, 8)) {
            (Some(high), Some(low), Some(count)) => {
                let offset = u64::from(high) << 32 | u64::from(low);
                (Body::Read { offset, count }, true)
            }
            _ => (Body::Rpc(GARBAGE), false),
        },
        18 => (Body::Space, false),
        19 => (Body::Limits, false),
        20 => (Body::Path, false),
        21 => (Body::Committed, false),
        _ => (Body::Rpc(PROCEDURE_UNAVAILABLE), false),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Variable-length opaque data, and what follows.
fn opaque(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let data = bytes.get(4..)?.get(..length)?;
    Some((data, bytes.get(4 + length.next_multiple_of(4)..)?))
}

impl Answer {
    /// Writes it, record mark and all.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put(out, &[0, self.xid, 1, 0, 0, 0]);
        if let Body::Rpc(status) = self.body {
            put(out, &[status]);
        } else {
            put(out, &[0]);
            self.body.write(out);
        }
        let length = (out.len() - start - 4) as u32;
        if let Some(mark) = out.get_mut(start..start + 4) {
            mark.copy_from_slice(&(length | 0x8000_0000).to_be_bytes());
        }
    }
}

impl Body {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Body::Void | Body::Rpc(_) => (),
            // Every refusal of NFS that is used here says that there are no attributes.
            Body::Refused(status) if status == MNT3ERR_NOENT => put(out, &[status]),
            Body::Refused(status) => put(out, &[status, 0]),
            Body::Root => {
                put(out, &[0]);
                put_opaque(out, ROOT);
                // AUTH_NONE and AUTH_SYS.
                put(out, &[2, 0, 1]);
            }
            Body::Exports => {
                put(out, &[1]);
                put_opaque(out, EXPORT.as_bytes());
                put(out, &[0, 0]);
            }
            Body::Attributes(node) => {
                put(out, &[0]);
                node.write(out);
            }
            Body::Found(number) => {
                put(out, &[0]);
                put_opaque(out, &[FILE, &number].concat());
                put(out, &[1]);
                Node::File.write(out);
                put(out, &[1]);
                Node::Directory.write(out);
            }
            Body::Access(wanted) => {
                put(out, &[0, 0, wanted]);
            }
            Body::Read { offset, count } => {
                let count = u64::from(count.min(LONGEST)).min(FILE_SIZE.saturating_sub(offset)) as u32;
                let end = offset.saturating_add(u64::from(count)) >= FILE_SIZE;
                put(out, &[0, 1]);
                Node::File.write(out);
                put(out, &[count, u32::from(end), count]);
                out.resize(out.len() + (count as usize).next_multiple_of(4), 0);
            }
            // No attributes; sizes; 8 EiB a file; a nanosecond; symbolic links and times.
            Body::Limits => {
                put(out, &[0, 0, LONGEST, LONGEST, 1, LONGEST, LONGEST, 1, 1 << 16]);
                put(out, &[0x7fff_ffff, u32::MAX, 0, 1, 0x18]);
            }
            // No attributes; 1 TiB, all of it free; files; for ever.
            Body::Space => {
                let (high, low) = ((FILE_SIZE >> 32) as u32, FILE_SIZE as u32);
                put(out, &[0, 0, high, low, high, low, high, low, 0, 9, 0, 9, 0, 9, 0]);
            }
            Body::Path => put(out, &[0, 0, 1, 255, 1, 1, 0, 1]),
            Body::Committed => put(out, &[0, 0, 0, 0, 0]),
        }
    }
}

impl Node {
    /// `fattr3`, 84 bytes.
    fn write(self, out: &mut Vec<u8>) {
        let (kind, links, size, id) = match self {
            Node::Directory => (2, 2, 4096, 1),
            Node::File => (1, 1, FILE_SIZE, 2),
        };
        let (high, low) = ((size >> 32) as u32, size as u32);
        put(out, &[kind, 0o644, links, 0, 0, high, low, 0, 0, 0, 0, 0, 1, 0, id]);
        // Times: all 2001-09-09.
        put(out, &[1_000_000_000, 0, 1_000_000_000, 0, 1_000_000_000, 0]);
    }
}

fn put(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
}

fn put_opaque(out: &mut Vec<u8>, data: &[u8]) {
    put(out, &[data.len() as u32]);
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::nfs::v3;

    use super::*;
    use crate::rpc;

    /// Of any name without a number.
    const HANDLE: &[u8] = b"scripted file---";

    /// The results of an answer, behind its record mark and RPC header, both as they should be.
    fn results(call: &[u8], timed: bool) -> Vec<u8> {
        let answer = answer(call).unwrap();
        assert_eq!(answer.timed, timed);
        let mut bytes = Vec::new();
        answer.write(&mut bytes);
        assert_eq!(bytes[..4], (0x8000_0000 | (bytes.len() - 4) as u32).to_be_bytes());
        assert_eq!(bytes[4..28], rpc::words(&[7, 1, 0, 0, 0, 0]));
        bytes[28..].to_vec()
    }

    #[test]
    fn answers_are_what_the_strict_reader_takes() {
        let bytes = results(&rpc::read(7, HANDLE, 10), true);
        let read = v3::read::parse(&bytes, bytes.len()).unwrap();
        let v3::Answer::Done(data) = read else { panic!("{read:?}") };
        assert_eq!((data.count, data.eof, data.kept), (10, false, &[0; 10][..]));
        let got = v3::getattr::parse(&results(&rpc::getattr(7, HANDLE), true)).unwrap();
        let v3::Answer::Done(attributes) = got else { panic!("{got:?}") };
        assert_eq!((attributes.size, attributes.file_id), (FILE_SIZE, 2));
        let limits = rpc::call(7, NFS, 3, 19, &rpc::opaque(ROOT));
        let limits = v3::fsinfo::parse(&results(&limits, false)).unwrap();
        let v3::Answer::Done(limits) = limits else { panic!("{limits:?}") };
        assert_eq!((limits.read_max, limits.file_max), (LONGEST, i64::MAX as u64));
        let found = v3::lookup::parse(&results(&rpc::lookup(7, ROOT, "any"), true)).unwrap();
        assert!(matches!(found, v3::Answer::Done(_)), "{found:?}");
    }

    #[test]
    fn a_files_number_is_that_of_its_name() {
        let asked = |call: &[u8]| answer(call).unwrap().asked;
        let handle = |name: &str| [FILE, &numbered(name.as_bytes())].concat();
        assert_eq!(asked(&rpc::read(7, &handle("f12"), 1_500)), Asked { file: Some(12), read: Some(1_500) });
        assert_eq!(asked(&rpc::getattr(7, &handle("any"))), Asked::default());
        assert_eq!(handle("any"), HANDLE);
    }

    #[test]
    fn unknown_calls_are_refused() {
        assert_eq!(answer(b"no call"), None);
        let status = |call: &[u8]| answer(call).map(|answer| answer.body);
        assert_eq!(status(&rpc::getattr(7, b"elsewhere")), Some(Body::Refused(NFS3ERR_BADHANDLE)));
        assert_eq!(status(&rpc::call(7, MOUNT, 3, 1, &rpc::opaque(b"/none"))), Some(Body::Refused(MNT3ERR_NOENT)));
        assert_eq!(status(&rpc::call(7, NFS, 3, 7, &rpc::opaque(ROOT))), Some(Body::Rpc(PROCEDURE_UNAVAILABLE)));
        assert_eq!(status(&rpc::call(7, 100_000, 2, 3, &[])), Some(Body::Rpc(PROGRAM_UNAVAILABLE)));
        assert_eq!(status(&rpc::call(7, NFS, 3, 6, &rpc::opaque(HANDLE))), Some(Body::Rpc(GARBAGE)));
    }
}
