//! What QUERY_INFO answers, class by class, as far as a client reads it.
//!
//! Spec: MS-FSCC 2.4, 2.5

use super::attributes::{Attributes, Times};
use super::draft::Draft;
use super::reply::{Body, Buffer, Malformed};

/// FileBasicInformation.
pub const CLASS_BASIC: u8 = 4;
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

    fn basic() -> Message {
        Message::structure().u64(1).u64(2).u64(3).u64(4).u32(0x20).u32(0)
    }

    /// Hand-assembled from MS-FSCC 2.4.7; it ends with reserved bytes, which may be missing.
    #[test]
    fn basic_information() {
        let basic = basic().bytes();
        assert_eq!(basic.len(), FileBasic::LEN);
        assert_eq!(FileBasic::parse(&buffer(&basic)), Ok(FileBasic { times: TIMES, attributes: 0x20 }));
        cuts_are_errors(&basic, 36, |buffer| FileBasic::parse(&buffer));
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
