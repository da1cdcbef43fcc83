//! The requested object of a request: range, open mode, or new name.
//!
//! Spec: MS-SMB2 2.2.13, 2.2.19, 2.2.21, 2.2.26, 2.2.39

use super::command::Command;
use super::{create, lock, read, set_info, write};
use crate::text::Utf16Le;

/// Fields of a request; `None` if the command does not have the field, or it was cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// READ, WRITE, LOCK (its first range): where in the file.
    pub offset: Option<u64>,
    /// How many bytes from there.
    pub bytes: Option<u64>,
    /// CREATE: CreateDisposition.
    pub disposition: Option<u32>,
    /// CREATE: DesiredAccess.
    pub access: Option<u32>,
    /// WRITE: whether the data are to be on stable storage before the answer.
    pub durable: Option<bool>,
    /// LOCK: whether its first range is unlocked.
    pub unlock: Option<bool>,
    /// SET_INFO with a rename or a link: the new name.
    pub new_name: Option<Utf16Le<'a>>,
}

impl<'a> Asked<'a> {
    /// The fields of a request of this command; `bytes` begin with its header.
    #[inline]
    #[must_use]
    pub fn of(command: Command, request: &'a [u8]) -> Self {
        Self::read(command, request).unwrap_or_default()
    }

    // Where the command is known, one arm is left of it.
    #[inline]
    fn read(command: Command, request: &'a [u8]) -> Option<Self> {
        let range = |offset, bytes| Self { offset, bytes, ..Self::default() };
        Some(match command {
            Command::Read => {
                let read = read::Request::new(request)?;
                range(read.offset(), read.length().map(u64::from))
            }
            Command::Write => {
                let write = write::Request::new(request)?;
                Self { durable: write.is_durable(), ..range(write.offset(), write.data_len().map(u64::from)) }
            }
            Command::Lock => {
                let lock = lock::Request::new(request)?;
                let (offset, length) = lock.first_range()?;
                let unlock = lock.first_flags().map(lock::LockFlags::is_unlock);
                Self { unlock, ..range(Some(offset), Some(length)) }
            }
            Command::Create => {
                let create = create::Request::new(request)?;
                Self { disposition: create.disposition(), access: create.desired_access(), ..Self::default() }
            }
            Command::SetInfo => Self { new_name: set_info::Request::new(request)?.new_name(), ..Self::default() },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileId;
    use super::super::lock::{Element, LockFlags};
    use super::super::testing::emitted;
    use super::*;

    #[test]
    fn each_command_says_what_it_has() {
        let file = FileId([1; 16]);
        let read = emitted(&read::Read { file, offset: 1 << 40, length: 7, minimum: 0, flags: 0 });
        let asked = Asked::of(Command::Read, &read);
        assert_eq!((asked.offset, asked.bytes), (Some(1 << 40), Some(7)));
        let write = emitted(&write::Write { file, offset: 3, length: 9, flags: 0 });
        let asked = Asked::of(Command::Write, &write);
        assert_eq!(
            (asked.offset, asked.bytes, asked.disposition, asked.durable),
            (Some(3), Some(9), None, Some(false))
        );
        let through = emitted(&write::Write { file, offset: 3, length: 9, flags: write::FLAG_WRITE_THROUGH });
        assert_eq!(Asked::of(Command::Write, &through).durable, Some(true));
        let elements = [2, 4].map(|offset| Element { offset, length: 5, flags: LockFlags(lock::FLAG_UNLOCK) });
        let lock = emitted(&lock::Lock { file, sequence: 0, elements: &elements });
        let asked = Asked::of(Command::Lock, &lock);
        assert_eq!((asked.offset, asked.bytes, asked.unlock), (Some(2), Some(5), Some(true)));
        let create = create::Create { disposition: create::DISPOSITION_CREATE, ..create::Create::reading("a") };
        let create_bytes = emitted(&create);
        let asked = Asked::of(Command::Create, &create_bytes);
        assert_eq!((asked.disposition, asked.access), (Some(2), Some(create.access)));
        let change = set_info::Change::Rename { name: "b/c", replace: false };
        let rename = emitted(&set_info::SetInfo { file, change });
        let asked = Asked::of(Command::SetInfo, &rename);
        assert_eq!(asked.new_name.map(|name| name.to_string()).as_deref(), Some(r"b\c"));
        assert!(Asked::of(Command::Read, &read[..70]).offset.is_none(), "cut");
        assert!(Asked::of(Command::Write, &read).offset.is_none(), "of another command");
    }
}
