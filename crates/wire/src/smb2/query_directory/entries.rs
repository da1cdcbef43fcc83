//! The entries of a directory, in the classes that a client asks for.
//!
//! Spec: MS-FSCC 2.4.8, 2.4.10, 2.4.15, 2.4.19, 2.4.20, 2.4.31

use crate::smb2::attributes::{Attributes, Times};
use crate::smb2::reply::{Body, Buffer, Malformed, Why};
use crate::text::Utf16Le;

/// The requested information about each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// FileDirectoryInformation: name, times, sizes, attributes.
    Directory,
    /// FileFullDirectoryInformation: the size of extended attributes too.
    FullDirectory,
    /// FileBothDirectoryInformation: a short name too.
    BothDirectory,
    /// FileNamesInformation: the name alone.
    Names,
    /// FileIdBothDirectoryInformation: short name and file id. What Windows asks for.
    IdBothDirectory,
    /// FileIdFullDirectoryInformation: file id.
    IdFullDirectory,
}

/// Where a class has what differs.
struct Layout {
    name: usize,
    name_length: usize,
    id: Option<usize>,
    attributes: bool,
}

const TIMES: usize = 8;
const END_OF_FILE: usize = 40;
const ALLOCATION_SIZE: usize = 48;
const ATTRIBUTES: usize = 56;

impl Class {
    /// Every class.
    pub const ALL: [Self; 6] = [
        Self::Directory,
        Self::FullDirectory,
        Self::BothDirectory,
        Self::Names,
        Self::IdBothDirectory,
        Self::IdFullDirectory,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Directory => 1,
            Self::FullDirectory => 2,
            Self::BothDirectory => 3,
            Self::Names => 12,
            Self::IdBothDirectory => 37,
            Self::IdFullDirectory => 38,
        }
    }

    const fn layout(self) -> Layout {
        let (name, id) = match self {
            Self::Directory => (64, None),
            Self::FullDirectory => (68, None),
            Self::BothDirectory => (94, None),
            Self::IdBothDirectory => (104, Some(96)),
            Self::IdFullDirectory => (80, Some(72)),
            Self::Names => return Layout { name: 12, name_length: 8, id: None, attributes: false },
        };
        Layout { name, name_length: 60, id, attributes: true }
    }
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name, `.` and `..` among them.
    pub name: Utf16Le<'a>,
    /// None in [`Class::Names`].
    pub attributes: Option<Attributes>,
    /// The file's number on its disk, in the classes that have it.
    pub id: Option<u64>,
}

/// The entries of one answer, in its order. Each takes bytes, so any input ends it; it ends with an error too.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: Body<'a>,
    class: Class,
}

impl<'a> Entries<'a> {
    /// `class` is that of the request.
    #[must_use]
    pub fn new(buffer: &Buffer<'a>, class: Class) -> Self {
        Self { rest: buffer.0, class }
    }

    #[inline]
    fn take(&mut self) -> Result<Entry<'a>, Malformed> {
        let layout = self.class.layout();
        let body = self.rest.take();
        let next = body.u32(0, "NextEntryOffset")?;
        let one = if next == 0 {
            body
        } else {
            let (one, more) = body.split(next, "NextEntryOffset")?;
            if one.bytes().len() < layout.name || more.bytes().is_empty() {
                return Err(body.malformed("NextEntryOffset", Why::Value(next.into())));
            }
            self.rest = more;
            one
        };
        let length = one.u32(layout.name_length, "FileNameLength")?;
        let name = one.variable(layout.name as u32, length, layout.name, "FileName")?;
        let attributes = if layout.attributes { Some(attributes(&one)?) } else { None };
        let id = layout.id.map(|at| one.u64(at, "FileId")).transpose()?;
        Ok(Entry { name: Utf16Le(name), attributes, id })
    }
}

#[inline]
fn attributes(one: &Body<'_>) -> Result<Attributes, Malformed> {
    Ok(Attributes {
        times: Times::parse(one, TIMES)?,
        allocation_size: one.u64(ALLOCATION_SIZE, "AllocationSize")?,
        end_of_file: one.u64(END_OF_FILE, "EndOfFile")?,
        attributes: one.u32(ATTRIBUTES, "FileAttributes")?,
    })
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.bytes().is_empty() { None } else { Some(self.take()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, buffer};

    /// Hand-assembled from the class's section, name last.
    fn entry(class: Class, message: Message, next: u32, name: &str) -> Message {
        let length = 2 * name.encode_utf16().count() as u32;
        let start = message.u32(next).u32(0);
        if class == Class::Names {
            return start.u32(length).utf16(name);
        }
        let fixed = start.u64(1).u64(2).u64(3).u64(4).u64(99).u64(4096).u32(0x20).u32(length);
        let named = match class {
            Class::FullDirectory => fixed.u32(7),
            Class::IdFullDirectory => fixed.u32(7).u32(0).u64(0x1234),
            Class::BothDirectory => fixed.u32(7).u8(0).u8(0).fill(24),
            Class::IdBothDirectory => fixed.u32(7).u8(0).u8(0).fill(24).u16(0).u64(0x1234),
            Class::Directory | Class::Names => fixed,
        };
        named.utf16(name)
    }

    fn two(class: Class) -> Vec<u8> {
        let length = class.layout().name + 8;
        let next = length.next_multiple_of(8);
        let first = entry(class, Message::structure(), next as u32, "a.b.").fill(next - length);
        entry(class, first, 0, "..").bytes()
    }

    fn read(class: Class, bytes: &[u8]) -> Result<Vec<Entry<'_>>, Malformed> {
        Entries::new(&buffer(bytes), class).collect()
    }

    #[test]
    fn every_class_has_its_layout() {
        let times = Times { creation: 1, last_access: 2, last_write: 3, change: 4 };
        let attributes = Attributes { times, allocation_size: 4096, end_of_file: 99, attributes: 0x20 };
        for class in Class::ALL {
            let bytes = two(class);
            let entries = read(class, &bytes).unwrap();
            assert_eq!(entries.len(), 2, "{class:?}");
            assert!(entries[0].name == "a.b." && entries[1].name == "..", "{class:?}");
            let with_id = matches!(class, Class::IdBothDirectory | Class::IdFullDirectory);
            assert_eq!(entries[0].id, with_id.then_some(0x1234), "{class:?}");
            assert_eq!(entries[1].attributes, (class != Class::Names).then_some(attributes), "{class:?}");
        }
        assert_eq!(read(Class::Names, &[]), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for class in Class::ALL {
            let bytes = two(class);
            for cut in 1..bytes.len() {
                assert!(read(class, &bytes[..cut]).is_err(), "{class:?} cut at {cut}");
            }
            let mut short = bytes.clone();
            short[0] = 8;
            assert_eq!(read(class, &short).unwrap_err().field, "NextEntryOffset");
            let mut long = bytes.clone();
            long[class.layout().name_length + 1] = 1;
            assert_eq!(read(class, &long).unwrap_err().field, "FileName");
        }
    }
}
