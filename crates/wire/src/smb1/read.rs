//! Reads: requested ranges and returned lengths.
//! Spec: MS-CIFS 2.2.4.11, 2.2.4.20, 2.2.4.22, 2.2.4.23, 2.2.4.42, MS-SMB 2.2.4.2

use super::andx::Link;
use super::command;

/// READ, LOCK_AND_READ request: FID, CountOfBytesToRead, ReadOffsetInBytes.
const CORE: Places = Places { fid: 0, max_count: 2, offset: 4, offset_high: None };
/// READ_RAW request: FID, Offset, MaxCountOfBytesToReturn, …, OffsetHigh if there are ten words.
const RAW: Places = Places { fid: 0, max_count: 6, offset: 2, offset_high: Some(16) };
/// READ_MPX request.
const MPX: Places = Places { offset_high: None, ..RAW };
/// READ_ANDX request: after the AndX words; OffsetHigh if there are twelve words.
const ANDX: Places = Places { fid: 4, max_count: 10, offset: 6, offset_high: Some(20) };

/// READ_ANDX request: Timeout, whose low half MS-SMB 2.2.4.2.1 calls MaxCountOfBytesHigh.
const ANDX_TIMEOUT: usize = 14;
/// Largest high half of a count that is believed: reads below 16 MiB (Samba's UNIX extensions ask for the most).
const MAX_COUNT_HIGH: u32 = 0xff;
/// READ_RAW and READ_MPX request: Timeout.
const RAW_TIMEOUT: usize = 10;
/// READ response: CountOfBytesReturned.
const CORE_COUNT: usize = 0;
/// READ_MPX response: DataLength.
const MPX_COUNT: usize = 12;
/// READ_ANDX response: DataLength and DataLengthHigh (MS-SMB 2.2.4.2.2).
const ANDX_COUNT: usize = 10;
const ANDX_COUNT_HIGH: usize = 14;

struct Places {
    fid: usize,
    max_count: usize,
    offset: usize,
    offset_high: Option<usize>,
}

/// A request of READ, LOCK_AND_READ, READ_RAW, READ_MPX or READ_ANDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Open file.
    pub fid: u16,
    /// Bytes wanted at most.
    pub max_count: u32,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// How long the server may wait for data, in milliseconds: pipes and devices only, where the command has it.
    pub timeout_ms: Option<u32>,
}

impl Read {
    /// The view of a read request; `None` for other messages, or if a field is missing.
    pub fn new(link: &Link<'_>) -> Option<Self> {
        if !link.is_request() {
            return None;
        }
        let (places, timeout_at) = match link.command {
            command::READ | command::LOCK_AND_READ => (CORE, None),
            command::READ_RAW => (RAW, Some(RAW_TIMEOUT)),
            command::READ_MPX => (MPX, Some(RAW_TIMEOUT)),
            command::READ_ANDX => (ANDX, Some(ANDX_TIMEOUT)),
            _ => return None,
        };
        let low = u32::from(link.u16(places.max_count)?);
        let mut timeout_ms = timeout_at.and_then(|at| link.u32(at));
        let mut max_count = low;
        if link.command == command::READ_ANDX {
            // The same four bytes are a timeout for pipes, or the high half of the count for files of a server with
            // CAP_LARGE_READX. Clients ask for less than 16 MiB, so only a small number is taken for a high half.
            let high = link.u32(ANDX_TIMEOUT)?;
            if (1..=MAX_COUNT_HIGH).contains(&high) {
                (max_count, timeout_ms) = (high << 16 | low, None);
            }
        }
        Some(Self { fid: link.u16(places.fid)?, max_count, offset: offset(link, &places)?, timeout_ms })
    }
}

/// The 64-bit offset, whose high half stands in words that only the longer form of a request has.
fn offset(link: &Link<'_>, places: &Places) -> Option<u64> {
    let low = u64::from(link.u32(places.offset)?);
    let high_at = places.offset_high.filter(|at| usize::from(link.word_count.unwrap_or(0)) * 2 >= at + 4);
    match high_at {
        Some(at) => Some(u64::from(link.u32(at)?) << 32 | low),
        None => Some(low),
    }
}

/// File data in a response of READ, LOCK_AND_READ, READ_MPX or READ_ANDX, bytes. (The answer to READ_RAW has no SMB header: its length is
/// that of its NetBIOS message.)
pub fn data_length(link: &Link<'_>) -> Option<u32> {
    if !link.is_response() {
        return None;
    }
    match link.command {
        command::READ | command::LOCK_AND_READ => link.u16(CORE_COUNT).map(u32::from),
        command::READ_MPX => link.u16(MPX_COUNT).map(u32::from),
        command::READ_ANDX => {
            let (low, high) = (link.u16(ANDX_COUNT)?, link.u16(ANDX_COUNT_HIGH)?);
            Some(u32::from(high) << 16 | u32::from(low))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, first, words};
    use super::*;

    #[test]
    fn read_andx_has_a_high_offset_only_with_twelve_words() {
        // MS-CIFS 2.2.4.42.1: FID 0x4001, Offset 0x00020000, MaxCount 0xF000, MinCount, Timeout, Remaining, OffsetHigh 1.
        let all = words(&[0xff, 0, 0x4001, 0, 2, 0xf000, 0, 0, 0, 0, 1, 0]);
        let long = Build::request(command::READ_ANDX).block(&all, &[]).done();
        let read = Read::new(&first(&long)).unwrap();
        assert_eq!(read, Read { fid: 0x4001, max_count: 0xf000, offset: 0x1_0002_0000, timeout_ms: Some(0) });
        let short = Build::request(command::READ_ANDX).block(&all[..20], &[]).done();
        assert_eq!(Read::new(&first(&short)).unwrap().offset, 0x2_0000);
    }

    #[test]
    fn read_andx_count_goes_beyond_16_bits() {
        // MS-SMB 2.2.4.2.1 and 2.2.4.2.2: high halves of the wanted and of the returned length.
        let request = words(&[0xff, 0, 1, 0, 0, 0x0000, 0, 2, 0, 0, 0, 0]);
        let request = Build::request(command::READ_ANDX).block(&request, &[]).done();
        assert_eq!(Read::new(&first(&request)).unwrap().max_count, 0x2_0000);
        let pipe = words(&[0xff, 0, 1, 0, 0, 1024, 0, 0xffff, 0xffff, 0, 0, 0]);
        let pipe = Build::request(command::READ_ANDX).block(&pipe, &[]).done();
        let pipe = Read::new(&first(&pipe)).unwrap();
        assert_eq!((pipe.max_count, pipe.timeout_ms), (1024, Some(u32::MAX)));
        let response = words(&[0xff, 0, 0xffff, 0, 0, 0x0004, 60, 1, 0, 0, 0, 0]);
        let response = Build::response(command::READ_ANDX).block(&response, &[0; 9]).done();
        assert_eq!(data_length(&first(&response)), Some(0x1_0004));
    }

    #[test]
    fn core_raw_and_mpx_reads() {
        // MS-CIFS 2.2.4.11.1: FID, count, offset (32 bits), estimate.
        let core = Build::request(command::READ).block(&words(&[7, 512, 1, 2, 0]), &[]).done();
        assert_eq!(Read::new(&first(&core)), Some(Read { fid: 7, max_count: 512, offset: 0x2_0001, timeout_ms: None }));
        // MS-CIFS 2.2.4.22.1: FID, offset (32 bits), max, min, timeout (32 bits), reserved.
        let raw = Build::request(command::READ_RAW).block(&words(&[7, 0, 1, 0xffff, 0, 5, 0, 0]), &[]).done();
        let raw = Read::new(&first(&raw)).unwrap();
        assert_eq!((raw.max_count, raw.offset, raw.timeout_ms), (0xffff, 0x1_0000, Some(5)));
        // MS-CIFS 2.2.4.23.2: DataLength is the seventh word.
        let mpx = Build::response(command::READ_MPX).block(&words(&[0, 0, 9, 0, 0, 0, 9, 50]), &[0; 9]).done();
        assert_eq!(data_length(&first(&mpx)), Some(9));
        let core = Build::response(command::READ).block(&words(&[3, 0, 0, 0, 0]), &[1, 3, 0, b'a', b'b', b'c']).done();
        assert_eq!((data_length(&first(&core)), Read::new(&first(&core))), (Some(3), None));
    }
}
