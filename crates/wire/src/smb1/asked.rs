//! The requested object of a request: range, open mode, or new name.
//!
//! Spec: MS-CIFS 2.2.4.3, 2.2.4.4, 2.2.4.13, 2.2.4.16, 2.2.4.32, 2.2.4.41, 2.2.4.64, 2.2.6.1, 2.2.7.1

use super::andx::Link;
use super::fields::{u16_at, u32_at};
use super::open::NtCreate;
use super::raw::WriteRaw;
use super::read::Read;
use super::string::SmbString;
use super::subcommand::{nt, trans2};
use super::transaction::Transaction;
use super::write::Write;
use super::{command, locking, path};

/// LOCK_BYTE_RANGE, UNLOCK_BYTE_RANGE: FID, Count, Offset.
const LOCK_COUNT: usize = 2;
const LOCK_OFFSET: usize = 6;
/// OPEN: AccessMode. OPEN_ANDX: after the AndX words, Flags, AccessMode, …, OpenMode.
const CORE_ACCESS: usize = 0;
const ANDX_ACCESS: usize = 6;
const ANDX_OPEN_MODE: usize = 16;
/// OPEN2, in the parameters: Flags, AccessMode, …, OpenMode.
const OPEN2_ACCESS: usize = 2;
const OPEN2_OPEN_MODE: usize = 12;
/// NT_TRANSACT CREATE, in the parameters: DesiredAccess, …, CreateDisposition.
const NT_ACCESS: usize = 8;
const NT_DISPOSITION: usize = 28;
/// A range of LOCKING_ANDX: PID, offset and length of 32 bits; or PID, padding, and both with their high half first.
const RANGE: [usize; 2] = [2, 6];
const LARGE_RANGE: [usize; 2] = [4, 12];

/// Access rights by the lowest bits of the sharing mode: read, write, both, execute. FILE_READ_DATA and FILE_WRITE_DATA.
const ACCESS_OF_MODE: [u32; 4] = [0x01, 0x02, 0x03, 0x20];
/// Both.
const READ_WRITE: u32 = 0x03;

/// Fields of a request; `None` if the command does not have the field, or it was cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Reads, writes and locks (the first range): where in the file.
    pub offset: Option<u64>,
    /// How many bytes from there.
    pub bytes: Option<u64>,
    /// Opens: the handling of existing and missing files, with the numbers of NT_CREATE_ANDX (CreateDisposition).
    pub disposition: Option<u32>,
    /// Opens: access rights, as in NT_CREATE_ANDX (DesiredAccess).
    pub access: Option<u32>,
    /// RENAME and NT_RENAME: the new name.
    pub new_name: Option<SmbString<'a>>,
}

impl<'a> Asked<'a> {
    /// The fields of a request.
    pub fn of(link: &Link<'a>) -> Self {
        if !link.is_request() {
            return Self::default();
        }
        Self::range(link)
            .or_else(|| Self::open(link))
            .unwrap_or_else(|| Self { new_name: path::new_path(link), ..Self::default() })
    }

    fn range(link: &Link<'a>) -> Option<Self> {
        let range = |offset, bytes| Self { offset: Some(offset), bytes: Some(bytes), ..Self::default() };
        if let Some(read) = Read::new(link) {
            return Some(range(read.offset, read.max_count.into()));
        }
        if let Some(write) = Write::new(link) {
            return Some(range(write.offset, write.count.into()));
        }
        if let Some(write) = WriteRaw::new(link) {
            return Some(range(write.offset, write.count.into()));
        }
        match link.command {
            command::LOCK_BYTE_RANGE | command::UNLOCK_BYTE_RANGE => {
                Some(range(link.u32(LOCK_OFFSET)?.into(), link.u32(LOCK_COUNT)?.into()))
            }
            command::LOCKING_ANDX => {
                let locking = locking::Locking::new(link).filter(|locking| locking.locks > 0 || locking.unlocks > 0)?;
                let number = |at: usize| u32_at(link.bytes, at).map(u64::from);
                let [offset, length] = if locking.kind & locking::LARGE_FILES != 0 {
                    LARGE_RANGE.map(|at| Some(number(at)? << 32 | number(at + 4)?))
                } else {
                    RANGE.map(number)
                };
                Some(range(offset?, length?))
            }
            _ => None,
        }
    }

    fn open(link: &Link<'a>) -> Option<Self> {
        let how = |disposition, access| Some(Self { disposition, access, ..Self::default() });
        match link.command {
            command::NT_CREATE_ANDX => {
                let create = NtCreate::new(link)?;
                how(Some(create.disposition), Some(create.access))
            }
            command::OPEN => how(Some(1), link.u16(CORE_ACCESS).and_then(access)),
            command::CREATE => how(Some(5), Some(READ_WRITE)),
            command::CREATE_NEW | command::CREATE_TEMPORARY => how(Some(2), Some(READ_WRITE)),
            command::OPEN_ANDX => {
                how(link.u16(ANDX_OPEN_MODE).and_then(disposition), link.u16(ANDX_ACCESS).and_then(access))
            }
            command::TRANSACTION2 => {
                let transaction = Transaction::new(link).filter(|it| it.function() == Some(trans2::OPEN2))?;
                let word = |at| u16_at(transaction.parameters.bytes, at);
                how(word(OPEN2_OPEN_MODE).and_then(disposition), word(OPEN2_ACCESS).and_then(access))
            }
            command::NT_TRANSACT => {
                let transaction = Transaction::new(link).filter(|it| it.function() == Some(nt::CREATE))?;
                let word = |at| u32_at(transaction.parameters.bytes, at);
                how(word(NT_DISPOSITION), word(NT_ACCESS))
            }
            _ => None,
        }
    }
}

/// CreateDisposition from OpenMode: the handling of an existing file (fail, open, truncate), and whether a missing one is created.
fn disposition(open_mode: u16) -> Option<u32> {
    match (open_mode & 3, open_mode & 0x10 != 0) {
        (0, true) => Some(2),
        (1, creates) => Some(if creates { 3 } else { 1 }),
        (2, creates) => Some(if creates { 5 } else { 4 }),
        _ => None,
    }
}

/// Of AccessMode: its lowest three bits.
fn access(mode: u16) -> Option<u32> {
    ACCESS_OF_MODE.get(usize::from(mode & 7)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::super::build::{Build, words};
    use super::*;

    fn asked(message: &[u8]) -> (Option<u64>, Option<u64>, Option<u32>, Option<u32>) {
        let asked = Asked::of(&Chain::new(message, message.len()).unwrap().next().unwrap());
        (asked.offset, asked.bytes, asked.disposition, asked.access)
    }

    #[test]
    fn ranges_of_reads_writes_and_locks() {
        let read = words(&[0xff, 0, 0x4001, 0, 2, 0xf000, 0, 0, 0, 0, 1, 0]);
        let read = Build::request(command::READ_ANDX).block(&read, &[]).done();
        assert_eq!(asked(&read), (Some(0x1_0002_0000), Some(0xf000), None, None));
        let write = Build::request(command::WRITE).block(&words(&[9, 3, 4, 1, 0]), b"\x01\x03\x00abc").done();
        assert_eq!(asked(&write), (Some(0x1_0004), Some(3), None, None));
        // MS-CIFS 2.2.4.13.1: FID, count (32 bits), offset (32 bits).
        let lock = Build::request(command::LOCK_BYTE_RANGE).block(&words(&[9, 5, 0, 7, 1]), &[]).done();
        assert_eq!(asked(&lock), (Some(0x1_0007), Some(5), None, None));
        // MS-CIFS 2.2.4.32.1: a range of 32 bits, and one of 64 with the high halves first.
        let locking = |kind: u16, range: &[u8]| {
            let block = words(&[0xff, 0, 0x4001, kind, 0, 0, 0, 1]);
            Build::request(command::LOCKING_ANDX).block(&block, range).done()
        };
        assert_eq!(asked(&locking(0, &words(&[1, 0x10, 0, 0x20, 0]))), (Some(0x10), Some(0x20), None, None));
        let large = words(&[1, 0, 2, 0, 0x10, 0, 0, 0, 0x20, 0]);
        assert_eq!(asked(&locking(0x10, &large)), (Some(0x2_0000_0010), Some(0x20), None, None));
        assert_eq!(asked(&locking(0, &[1, 0, 3])), (None, None, None, None), "cut");
    }

    #[test]
    fn opens_of_every_age() {
        let open = Build::request(command::OPEN).block(&words(&[0x42, 0]), b"\x04\\A\0").done();
        assert_eq!(asked(&open), (None, None, Some(1), Some(3)));
        // MS-CIFS 2.2.4.41.1: Flags, AccessMode, SearchAttrs, FileAttrs, CreationTime, OpenMode.
        let andx = |access: u16, mode: u16| {
            let block = words(&[0xff, 0, 0, access, 0, 0, 0, 0, mode, 0, 0, 0, 0, 0, 0]);
            Build::request(command::OPEN_ANDX).block(&block, b"\\B\0").done()
        };
        for (mode, disposition) in [(0x10, 2), (0x01, 1), (0x11, 3), (0x02, 4), (0x12, 5)] {
            assert_eq!(asked(&andx(0x40, mode)), (None, None, Some(disposition), Some(1)), "{mode:#x}");
        }
        assert_eq!(asked(&andx(0x0F, 0)), (None, None, None, None), "of no meaning");
        let create = Build::request(command::CREATE).block(&words(&[0, 0, 0]), b"\x04\\A\0").done();
        assert_eq!(asked(&create), (None, None, Some(5), Some(3)));
        let mut answer = Build::response(command::CREATE).block(&words(&[1]), &[]).done();
        assert_eq!(asked(&answer), (None, None, None, None));
        answer.truncate(33);
        assert_eq!(asked(&answer), (None, None, None, None));
    }
}
