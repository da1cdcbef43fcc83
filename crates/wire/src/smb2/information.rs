//! What QUERY_INFO answers, class by class, as far as a client reads it.
//!
//! Spec: MS-FSCC 2.4, 2.5

use super::attributes::{Attributes, Times};
use super::draft::Draft;
use super::reply::{Body, Buffer, Malformed};
use crate::text::Utf16Le;

/// FileBasicInformation.
pub const CLASS_BASIC: u8 = 4;
/// FileStandardInformation.
pub const CLASS_STANDARD: u8 = 5;
/// FileAllInformation.
pub const CLASS_ALL: u8 = 18;
/// FileNetworkOpenInformation.
pub const CLASS_NETWORK_OPEN: u8 = 34;
/// FileFsFullSizeInformation, of a file system.
pub const CLASS_FS_FULL_SIZE: u8 = 7;

/// FileBasicInformation. Spec: MS-FSCC 2.4.7
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileBasic {
    /// Its times.
    pub times: Times,
    /// FILE_ATTRIBUTE bits.
    pub attributes: u32,
}

impl FileBasic {
    /// Bytes of it on the wire, with four reserved ones.
    pub const LEN: usize = 40;
    /// FileAttributes, u32, behind the times.
    const ATTRIBUTES: usize = 32;

    /// Reads the class.
    ///
    /// # Errors
    ///
    /// Where it is cut.
    pub fn parse(buffer: &Buffer<'_>) -> Result<Self, Malformed> {
        Self::at(&buffer.0, 0)
    }

    /// Appends it.
    pub(super) fn put(&self, draft: &mut Draft<'_>) {
        let start = draft.end();
        draft.put(&[0; Self::LEN]);
        let Times { creation, last_access, last_write, change } = self.times;
        let places = (start..).step_by(8);
        places.zip([creation, last_access, last_write, change]).for_each(|(at, time)| draft.u64(at, time));
        draft.u32(start + Self::ATTRIBUTES, self.attributes);
    }

    fn at(body: &Body<'_>, at: usize) -> Result<Self, Malformed> {
        let attributes = body.u32(at + Self::ATTRIBUTES, "FileAttributes")?;
        Ok(Self { times: Times::parse(body, at)?, attributes })
    }
}

/// FileStandardInformation. Spec: MS-FSCC 2.4.47
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStandard {
    /// Bytes that it takes up.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// How many names it has.
    pub links: u32,
    /// It is deleted when its last handle is closed.
    pub delete_pending: bool,
    /// It is a directory.
    pub directory: bool,
}

impl FileStandard {
    /// Reads the class.
    ///
    /// # Errors
    ///
    /// Where it is cut.
    pub fn parse(buffer: &Buffer<'_>) -> Result<Self, Malformed> {
        Self::at(&buffer.0, 0)
    }

    fn at(body: &Body<'_>, at: usize) -> Result<Self, Malformed> {
        Ok(Self {
            allocation_size: body.u64(at, "AllocationSize")?,
            end_of_file: body.u64(at + 8, "EndOfFile")?,
            links: body.u32(at + 16, "NumberOfLinks")?,
            delete_pending: body.u8(at + 20, "DeletePending")? != 0,
            directory: body.u8(at + 21, "Directory")? != 0,
        })
    }
}

/// FileAllInformation. Spec: MS-FSCC 2.4.2
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAll<'a> {
    /// Times and attributes.
    pub basic: FileBasic,
    /// Sizes and links.
    pub standard: FileStandard,
    /// The file's number on its disk.
    pub index: u64,
    /// ACCESS_MASK of the handle.
    pub access: u32,
    /// The name as the server has it; cut where the buffer was too short (`STATUS_BUFFER_OVERFLOW`).
    pub name: Utf16Le<'a>,
}

impl<'a> FileAll<'a> {
    const STANDARD: usize = FileBasic::LEN;
    const INDEX: usize = Self::STANDARD + 24;
    const ACCESS: usize = Self::INDEX + 12;
    const NAME_LENGTH: usize = Self::ACCESS + 20;
    const NAME: usize = Self::NAME_LENGTH + 4;

    /// Reads the class. `whole` says that the name must be there to its end: not with `STATUS_BUFFER_OVERFLOW`.
    ///
    /// # Errors
    ///
    /// Where it is cut.
    pub fn parse(buffer: &Buffer<'a>, whole: bool) -> Result<Self, Malformed> {
        let body = &buffer.0;
        let length = body.u32(Self::NAME_LENGTH, "FileNameLength")?;
        let there = body.bytes().get(Self::NAME..).unwrap_or_default();
        let name = match usize::try_from(length).ok().and_then(|length| there.get(..length)) {
            Some(name) => name,
            None if whole => body.variable(Self::NAME as u32, length, Self::NAME, "FileName")?,
            None => there,
        };
        Ok(Self {
            basic: FileBasic::at(body, 0)?,
            standard: FileStandard::at(body, Self::STANDARD)?,
            index: body.u64(Self::INDEX, "IndexNumber")?,
            access: body.u32(Self::ACCESS, "AccessFlags")?,
            name: Utf16Le(name),
        })
    }
}

/// Reads FileNetworkOpenInformation. Spec: MS-FSCC 2.4.33
///
/// # Errors
///
/// Where it is cut.
pub fn network_open(buffer: &Buffer<'_>) -> Result<Attributes, Malformed> {
    let body = &buffer.0;
    Ok(Attributes {
        times: Times::parse(body, 0)?,
        allocation_size: body.u64(32, "AllocationSize")?,
        end_of_file: body.u64(40, "EndOfFile")?,
        attributes: body.u32(48, "FileAttributes")?,
    })
}

/// FileFsFullSizeInformation. Spec: MS-FSCC 2.5.4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullSize {
    /// Allocation units there are.
    pub total: u64,
    /// Free ones that the user may take.
    pub available_to_caller: u64,
    /// Free ones.
    pub available: u64,
    /// Sectors in an allocation unit.
    pub sectors_per_unit: u32,
    /// Bytes in a sector.
    pub bytes_per_sector: u32,
}

impl FullSize {
    /// Reads the class.
    ///
    /// # Errors
    ///
    /// Where it is cut.
    pub fn parse(buffer: &Buffer<'_>) -> Result<Self, Malformed> {
        let body = &buffer.0;
        Ok(Self {
            total: body.u64(0, "TotalAllocationUnits")?,
            available_to_caller: body.u64(8, "CallerAvailableAllocationUnits")?,
            available: body.u64(16, "ActualAvailableAllocationUnits")?,
            sectors_per_unit: body.u32(24, "SectorsPerAllocationUnit")?,
            bytes_per_sector: body.u32(28, "BytesPerSector")?,
        })
    }

    /// Bytes in an allocation unit.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.sectors_per_unit) * u64::from(self.bytes_per_sector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, buffer, cuts_are_errors};

    const TIMES: Times = Times { creation: 1, last_access: 2, last_write: 3, change: 4 };
    const STANDARD: FileStandard =
        FileStandard { allocation_size: 4096, end_of_file: 99, links: 2, delete_pending: false, directory: true };

    fn basic() -> Message {
        Message::structure().u64(1).u64(2).u64(3).u64(4).u32(0x20).u32(0)
    }

    fn standard(message: Message) -> Message {
        message.u64(4096).u64(99).u32(2).u8(0).u8(1).u16(0)
    }

    /// Hand-assembled from MS-FSCC 2.4.7 and 2.4.47; both end with reserved bytes, which may be missing.
    #[test]
    fn basic_and_standard() {
        let (basic, standard) = (basic().bytes(), standard(Message::structure()).bytes());
        assert_eq!((basic.len(), standard.len()), (FileBasic::LEN, 24));
        assert_eq!(FileBasic::parse(&buffer(&basic)), Ok(FileBasic { times: TIMES, attributes: 0x20 }));
        assert_eq!(FileStandard::parse(&buffer(&standard)), Ok(STANDARD));
        cuts_are_errors(&basic, 36, |buffer| FileBasic::parse(&buffer));
        cuts_are_errors(&standard, 22, |buffer| FileStandard::parse(&buffer));
    }

    /// Hand-assembled from MS-FSCC 2.4.2.
    #[test]
    fn all_with_a_name() {
        let index = standard(basic()).u64(0x1234).u32(0);
        let access = index.u32(0x0012_019F).u64(0).u32(0).u32(0);
        let bytes = access.u32(6).utf16(r"\ab").bytes();
        let all = FileAll::parse(&buffer(&bytes), true).unwrap();
        assert_eq!((all.basic.times, all.standard), (TIMES, STANDARD));
        assert_eq!((all.index, all.access), (0x1234, 0x0012_019F));
        assert_eq!(all.name, r"\ab");
        cuts_are_errors(&bytes, bytes.len(), |buffer| FileAll::parse(&buffer, true));
        let cut = FileAll::parse(&buffer(&bytes[..bytes.len() - 2]), false).unwrap();
        assert_eq!(cut.name, r"\a", "as STATUS_BUFFER_OVERFLOW leaves it");
    }

    /// Hand-assembled from MS-FSCC 2.4.33.
    #[test]
    fn network_open_information() {
        let times = Message::structure().u64(1).u64(2).u64(3).u64(4);
        let bytes = times.u64(4096).u64(99).u32(0x20).u32(0).bytes();
        let expected = Attributes { times: TIMES, allocation_size: 4096, end_of_file: 99, attributes: 0x20 };
        assert_eq!(network_open(&buffer(&bytes)), Ok(expected));
        cuts_are_errors(&bytes, 52, |buffer| network_open(&buffer));
    }

    /// Hand-assembled from MS-FSCC 2.5.4.
    #[test]
    fn room_on_a_file_system() {
        let bytes = Message::structure().u64(1000).u64(500).u64(600).u32(8).u32(512).bytes();
        let size = FullSize::parse(&buffer(&bytes)).unwrap();
        assert_eq!((size.total, size.available_to_caller, size.available), (1000, 500, 600));
        assert_eq!(size.unit_bytes(), 4096);
        cuts_are_errors(&bytes, bytes.len(), |buffer| FullSize::parse(&buffer));
    }
}
