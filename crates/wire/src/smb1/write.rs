//! Writes: how much is carried, and how much the server took. Raw writes are in [`super::raw`].
//! Spec: MS-CIFS 2.2.4.12, 2.2.4.21, 2.2.4.26, 2.2.4.40, 2.2.4.43, MS-SMB 2.2.4.3

use super::andx::Link;
use super::command;

/// WRITE, WRITE_AND_UNLOCK, WRITE_AND_CLOSE request: FID, CountOfBytesToWrite, WriteOffsetInBytes.
const CORE_FID: usize = 0;
const CORE_COUNT: usize = 2;
const CORE_OFFSET: usize = 4;
/// WRITE_MPX request: FID, ByteOffsetToBeginWrite, WriteMode, DataLength.
const MPX_FID: usize = 0;
const MPX_OFFSET: usize = 6;
const MPX_MODE: usize = 14;
const MPX_COUNT: usize = 20;
/// WRITE_ANDX request: after the AndX words; OffsetHigh if there are fourteen words.
const ANDX_FID: usize = 4;
const ANDX_OFFSET: usize = 6;
const ANDX_MODE: usize = 14;
const ANDX_COUNT_HIGH: usize = 18;
const ANDX_COUNT: usize = 20;
const ANDX_OFFSET_HIGH: usize = 24;

/// A request of WRITE, WRITE_AND_UNLOCK, WRITE_AND_CLOSE, WRITE_MPX or WRITE_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Open file.
    pub fid: u16,
    /// Bytes of data in this message. A core WRITE of 0 bytes sets the file's length to `offset`.
    pub count: u32,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// WriteMode, where the command has it: bit 0 write-through.
    pub mode: Option<u16>,
}

impl Write {
    /// The view of a write request; `None` for other messages, or if a field is missing.
    pub fn new(link: &Link<'_>) -> Option<Self> {
        if !link.is_request() {
            return None;
        }
        match link.command {
            command::WRITE | command::WRITE_AND_UNLOCK | command::WRITE_AND_CLOSE => Some(Self {
                fid: link.u16(CORE_FID)?,
                count: u32::from(link.u16(CORE_COUNT)?),
                offset: u64::from(link.u32(CORE_OFFSET)?),
                mode: None,
            }),
            command::WRITE_MPX => Some(Self {
                fid: link.u16(MPX_FID)?,
                count: u32::from(link.u16(MPX_COUNT)?),
                offset: u64::from(link.u32(MPX_OFFSET)?),
                mode: Some(link.u16(MPX_MODE)?),
            }),
            command::WRITE_ANDX => Some(Self {
                fid: link.u16(ANDX_FID)?,
                count: u32::from(link.u16(ANDX_COUNT_HIGH)?) << 16 | u32::from(link.u16(ANDX_COUNT)?),
                offset: andx_offset(link)?,
                mode: Some(link.u16(ANDX_MODE)?),
            }),
            _ => None,
        }
    }
}

fn andx_offset(link: &Link<'_>) -> Option<u64> {
    let low = u64::from(link.u32(ANDX_OFFSET)?);
    if usize::from(link.word_count?) * 2 < ANDX_OFFSET_HIGH + 4 {
        return Some(low);
    }
    Some(u64::from(link.u32(ANDX_OFFSET_HIGH)?) << 32 | low)
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, first, words};
    use super::*;

    #[test]
    fn write_andx_has_a_high_length_and_a_high_offset() {
        // MS-CIFS 2.2.4.43.1 with MS-SMB 2.2.4.3.1: DataLengthHigh 1, DataLength 2, OffsetHigh 3.
        let all = words(&[0xff, 0, 0x4001, 5, 0, 0, 0, 1, 0, 1, 2, 64, 3, 0]);
        let long = Build::request(command::WRITE_ANDX).block(&all, &[0; 8]).done();
        let write = Write::new(&first(&long)).unwrap();
        assert_eq!(write, Write { fid: 0x4001, count: 0x1_0002, offset: 0x3_0000_0005, mode: Some(1) });
        let short = Build::request(command::WRITE_ANDX).block(&all[..24], &[0; 8]).done();
        assert_eq!(Write::new(&first(&short)).unwrap().offset, 5);
    }

    #[test]
    fn core_and_multiplexed_writes() {
        // MS-CIFS 2.2.4.12.1: FID, count, offset (32 bits), estimate.
        for code in [command::WRITE, command::WRITE_AND_UNLOCK] {
            let message = Build::request(code).block(&words(&[9, 3, 4, 1, 0]), b"\x01\x03\x00abc").done();
            let write = Write::new(&first(&message)).unwrap();
            assert_eq!(write, Write { fid: 9, count: 3, offset: 0x1_0004, mode: None });
        }
        // MS-CIFS 2.2.4.26.1: FID, total, reserved, offset (32), timeout (32), mode, mask (32), length, data offset.
        let mpx = words(&[9, 3, 0, 4, 1, 0, 0, 0x81, 0, 0, 3, 60]);
        let mpx = Build::request(command::WRITE_MPX).block(&mpx, b"abc").done();
        let write = Write::new(&first(&mpx)).unwrap();
        assert_eq!(write, Write { fid: 9, count: 3, offset: 0x1_0004, mode: Some(0x81) });
    }
}
