//! The controls that a client uses: their inputs and outputs.
//!
//! Spec: MS-SMB2 2.2.31.1, 2.2.31.3, 2.2.31.4, 2.2.32.1, 2.2.32.3, 2.2.32.5, 2.2.32.6

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::smb2::Command;
use crate::smb2::draft::{Draft, TooLong, fit16, fit32};
use crate::smb2::reply::{Body, Buffer, Malformed, Why};

/// FSCTL_SRV_REQUEST_RESUME_KEY.
pub const REQUEST_RESUME_KEY: u32 = 0x0014_0078;
/// FSCTL_SRV_COPYCHUNK: the destination's handle must be readable too.
pub const COPY_CHUNK: u32 = 0x0014_40F2;
/// FSCTL_SRV_COPYCHUNK_WRITE.
pub const COPY_CHUNK_WRITE: u32 = 0x0014_80F2;
/// FSCTL_CREATE_OR_GET_OBJECT_ID (MS-FSCC 2.3.1).
pub const OBJECT_ID: u32 = 0x0009_00C0;
/// FSCTL_SRV_ENUMERATE_SNAPSHOTS (MS-SMB2 2.2.31, 2.2.32.2).
pub const SNAPSHOTS: u32 = 0x0014_4064;
/// FSCTL_VALIDATE_NEGOTIATE_INFO.
pub const VALIDATE_NEGOTIATE: u32 = 0x0014_0204;
/// FSCTL_QUERY_NETWORK_INTERFACE_INFO.
pub const QUERY_NETWORK_INTERFACES: u32 = 0x0014_01FC;

/// Identifies a source file of a copy while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeKey(pub [u8; 24]);

/// Bytes to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// From where in the source.
    pub source: u64,
    /// To where in the destination.
    pub target: u64,
    /// How many bytes.
    pub length: u32,
}

/// The client's or the server's values of the negotiation, exchanged again with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    /// Capabilities.
    pub capabilities: u32,
    /// The server's GUID.
    pub guid: [u8; 16],
    /// SecurityMode.
    pub security_mode: u16,
    /// The dialect chosen.
    pub dialect: u16,
}

/// A control with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// Names the handle's file for server-side copies from it; [`resume_key`] reads the answer.
    RequestResumeKey,
    /// Copies on the server, into the handle's file; [`copied`] reads the answer.
    CopyChunk {
        /// The file to copy from.
        source: ResumeKey,
        /// What to copy.
        chunks: &'a [Chunk],
        /// The destination is not open for reading.
        write_only: bool,
    },
    /// Queries the negotiated values, dialects 3.0 and 3.0.2; [`validated`] reads the answer.
    ValidateNegotiate {
        /// As in the NEGOTIATE.
        capabilities: u32,
        /// As in the NEGOTIATE.
        guid: [u8; 16],
        /// As in the NEGOTIATE.
        security_mode: u16,
        /// As in the NEGOTIATE.
        dialects: &'a [u16],
    },
    /// Asks for the server's network interfaces.
    NetworkInterfaces,
    /// Any other.
    Other {
        /// Which.
        code: u32,
        /// Its input.
        input: &'a [u8],
    },
}

impl Control<'_> {
    /// The number on the wire.
    #[must_use]
    pub const fn code(&self) -> u32 {
        match self {
            Self::RequestResumeKey => REQUEST_RESUME_KEY,
            Self::CopyChunk { write_only: false, .. } => COPY_CHUNK,
            Self::CopyChunk { write_only: true, .. } => COPY_CHUNK_WRITE,
            Self::ValidateNegotiate { .. } => VALIDATE_NEGOTIATE,
            Self::NetworkInterfaces => QUERY_NETWORK_INTERFACES,
            Self::Other { code, .. } => *code,
        }
    }

    /// Length of the input in bytes.
    pub(super) fn input_len(&self) -> u32 {
        let bytes = match self {
            Self::RequestResumeKey | Self::NetworkInterfaces => 0,
            Self::CopyChunk { chunks, .. } => 32 + 24 * chunks.len(),
            Self::ValidateNegotiate { dialects, .. } => 24 + 2 * dialects.len(),
            Self::Other { input, .. } => input.len(),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    pub(super) fn put(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        match self {
            Self::RequestResumeKey | Self::NetworkInterfaces => {}
            Self::CopyChunk { source, chunks, .. } => {
                draft.put(&source.0);
                draft.put(&fit32("ChunkCount", chunks.len())?.to_le_bytes());
                draft.put(&[0; 4]);
                for chunk in *chunks {
                    draft.put(&chunk.source.to_le_bytes());
                    draft.put(&chunk.target.to_le_bytes());
                    draft.put(&chunk.length.to_le_bytes());
                    draft.put(&[0; 4]);
                }
            }
            Self::ValidateNegotiate { capabilities, guid, security_mode, dialects } => {
                draft.put(&capabilities.to_le_bytes());
                draft.put(guid);
                draft.put(&security_mode.to_le_bytes());
                draft.put(&fit16("DialectCount", dialects.len())?.to_le_bytes());
                dialects.iter().for_each(|dialect| draft.put(&dialect.to_le_bytes()));
            }
            Self::Other { input, .. } => draft.put(input),
        }
        Ok(())
    }
}

/// Reads SRV_REQUEST_RESUME_KEY. Spec: MS-SMB2 2.2.32.3
///
/// # Errors
///
/// Where it is cut.
pub fn resume_key(output: &Buffer<'_>) -> Result<ResumeKey, Malformed> {
    output.0.array(0, "ResumeKey").map(ResumeKey)
}

/// The result of a server-side copy; with `STATUS_INVALID_PARAMETER`, the server's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Chunks copied; or how many it takes.
    pub chunks: u32,
    /// Bytes of a chunk that was copied in part; or how many a chunk may have.
    pub chunk_bytes: u32,
    /// Bytes copied; or how many it takes in all.
    pub total_bytes: u32,
}

/// Reads SRV_COPYCHUNK_RESPONSE. Spec: MS-SMB2 2.2.32.1
///
/// # Errors
///
/// Where it is cut.
pub fn copied(output: &Buffer<'_>) -> Result<Copied, Malformed> {
    let body = &output.0;
    Ok(Copied {
        chunks: body.u32(0, "ChunksWritten")?,
        chunk_bytes: body.u32(4, "ChunkBytesWritten")?,
        total_bytes: body.u32(8, "TotalBytesWritten")?,
    })
}

/// Reads VALIDATE_NEGOTIATE_INFO. Spec: MS-SMB2 2.2.32.6
///
/// # Errors
///
/// Where it is cut.
pub fn validated(output: &Buffer<'_>) -> Result<Validated, Malformed> {
    let body = &output.0;
    Ok(Validated {
        capabilities: body.u32(0, "Capabilities")?,
        guid: body.array(4, "Guid")?,
        security_mode: body.u16(20, "SecurityMode")?,
        dialect: body.u16(22, "Dialect")?,
    })
}

/// One address of a network interface of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Number of the interface; several addresses may have the same one.
    pub index: u32,
    /// It spreads connections over processors (RSS_CAPABLE).
    pub rss: bool,
    /// Bits per second.
    pub speed: u64,
    /// The address; `None` of a family that is neither IPv4 nor IPv6.
    pub address: Option<IpAddr>,
}

/// RSS_CAPABLE, in Capability.
const RSS_CAPABLE: u32 = 0x0000_0001;
/// Bytes of a NETWORK_INTERFACE_INFO: Next, IfIndex, Capability, Reserved, LinkSpeed, SockAddr_Storage.
const INTERFACE_LEN: usize = 152;
/// Where in it the address begins.
const SOCKADDR: usize = 24;
/// Families of SockAddr_Storage.
const INET: u16 = 0x0002;
const INET6: u16 = 0x0017;
/// Maximum number of addresses to read from one answer; servers have fewer.
const MOST_INTERFACES: usize = 512;

/// Reads the list of NETWORK_INTERFACE_INFO. Spec: MS-SMB2 2.2.32.5
///
/// Samba and ksmbd succeed with an empty list if no interface is suitable. The last entry of ksmbd has an offset to the end of the list if
/// its interface has no IPv6.
///
/// # Errors
///
/// Where one is cut, or the list leads backwards or has no end.
pub fn interfaces(output: &Buffer<'_>) -> Result<Vec<Interface>, Malformed> {
    let body = &output.0;
    let (mut found, mut at) = (Vec::new(), 0_usize);
    while at != body.bytes().len() {
        found.push(interface(body, at)?);
        let next = body.u32(at, "Next")?;
        if next == 0 {
            break;
        }
        let bad = || Malformed { command: Command::Ioctl, field: "Next", why: Why::Value(next.into()) };
        let step = usize::try_from(next).ok().filter(|step| *step >= INTERFACE_LEN).ok_or_else(bad)?;
        if found.len() >= MOST_INTERFACES {
            return Err(bad());
        }
        at = at.checked_add(step).ok_or_else(bad)?;
    }
    Ok(found)
}

fn interface(body: &Body<'_>, at: usize) -> Result<Interface, Malformed> {
    let index = body.u32(at + 4, "IfIndex")?;
    let rss = body.u32(at + 8, "Capability")? & RSS_CAPABLE != 0;
    let speed = body.u64(at + 16, "LinkSpeed")?;
    // The structure must be complete for every address family.
    let storage: [u8; INTERFACE_LEN - SOCKADDR] = body.array(at + SOCKADDR, "SockAddr_Storage")?;
    let address = match u16::from_le_bytes([storage[0], storage[1]]) {
        // Behind Port.
        INET => storage.get(4..).and_then(|rest| rest.first_chunk::<4>()).map(|ip| Ipv4Addr::from(*ip).into()),
        // Behind Port and FlowInfo.
        INET6 => storage.get(8..).and_then(|rest| rest.first_chunk::<16>()).map(|ip| Ipv6Addr::from(*ip).into()),
        _ => None,
    };
    Ok(Interface { index, rss, speed, address })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_DISK_FULL, STATUS_INVALID_PARAMETER};
    use crate::smb2::testing::{Message, buffer, cuts_are_errors, emitted, refused, whole};
    use crate::smb2::{Answer, Call, FileId, header, ioctl};

    fn input_of(control: Control<'_>) -> Vec<u8> {
        let call = ioctl::Ioctl { file: FileId([6; 16]), control, max_output: 1024 };
        let bytes = emitted(&call);
        let view = ioctl::Request::new(&bytes).unwrap();
        assert_eq!(view.ctl_code(), Some(control.code()));
        assert_eq!((view.file_id(), view.input_len()), (Some(call.file), Some(control.input_len())));
        let length = control.input_len();
        let offset = if length == 0 { 0 } else { 0x78 };
        let fixed = Message::request(11).u16(57).u16(0).u32(control.code()).put(&[6; 16]).u32(offset).u32(length);
        let fixed = fixed.u32(0).u32(0).u32(0).u32(1024).u32(1).u32(0).like(&bytes);
        assert_eq!(bytes[..ioctl::REQUEST_END], fixed, "as 2.2.31 lays it out");
        bytes[ioctl::REQUEST_END..].to_vec()
    }

    /// Hand-assembled from 2.2.31.1, 2.2.31.1.1 and 2.2.31.4.
    #[test]
    fn calls_read_as_they_were_said() {
        assert_eq!(input_of(Control::RequestResumeKey), [0], "StructureSize 57 counts a byte");
        assert_eq!(input_of(Control::NetworkInterfaces), [0]);
        let chunks = [Chunk { source: 1, target: 2, length: 3 }, Chunk { source: 4, target: 5, length: 6 }];
        let source = ResumeKey([7; 24]);
        let expected = Message::structure().put(&[7; 24]).u32(2).u32(0).u64(1).u64(2).u32(3).u32(0);
        let expected = expected.u64(4).u64(5).u32(6).u32(0).bytes();
        for write_only in [false, true] {
            assert_eq!(input_of(Control::CopyChunk { source, chunks: &chunks, write_only }), expected);
        }
        let dialects = [0x0210, 0x0300];
        let control =
            Control::ValidateNegotiate { capabilities: 0x7F, guid: [8; 16], security_mode: 1, dialects: &dialects };
        let expected = Message::structure().u32(0x7F).put(&[8; 16]).u16(1).u16(2).u16(0x0210).u16(0x0300).bytes();
        assert_eq!(input_of(control), expected);
        assert_eq!(input_of(Control::Other { code: 0x0011_C017, input: b"rpc" }), b"rpc");
        let call = ioctl::Ioctl { file: FileId([6; 16]), control, max_output: 1 << 17 };
        assert_eq!(header::charge(call.payload()), 2);
    }

    /// Hand-assembled from 2.2.32.
    #[test]
    fn an_answer_is_read_strictly() {
        let response = |status, offset, count| {
            let head = Message::response(11, status).u16(49).u16(0).u32(COPY_CHUNK).put(&[6; 16]).u32(0).u32(0);
            head.u32(offset).u32(count).u32(0).u32(0).u32(1).u32(2).u32(3).bytes()
        };
        for status in [0, STATUS_INVALID_PARAMETER, STATUS_DISK_FULL] {
            let good = response(status, 0x70, 12);
            let answer = ioctl::parse(&whole(&good)).unwrap().done().unwrap();
            assert_eq!((answer.code, answer.file), (COPY_CHUNK, FileId([6; 16])));
            assert_eq!(copied(&answer.output), Ok(Copied { chunks: 1, chunk_bytes: 2, total_bytes: 3 }));
        }
        refused(&response(0, 0x70, 12), |reply| ioctl::parse(reply).map(Answer::refusal));
        for (offset, count) in [(0x70, 13), (0x6F, 12), (u32::MAX, u32::MAX)] {
            assert_eq!(ioctl::parse(&whole(&response(0, offset, count))).unwrap_err().field, "Output");
        }
        let error = Message::response(11, STATUS_INVALID_PARAMETER).u16(9).u16(0).u32(0).u8(0).bytes();
        let refusal = ioctl::parse(&whole(&error)).unwrap().refusal().unwrap();
        assert_eq!(refusal.status, STATUS_INVALID_PARAMETER, "controls other than copies have an ERROR body");
    }

    /// Hand-assembled from 2.2.32.1, 2.2.32.3 and 2.2.32.6.
    #[test]
    fn outputs_are_read_strictly() {
        let key = Message::structure().put(&[7; 24]).u32(0).bytes();
        assert_eq!(resume_key(&buffer(&key)), Ok(ResumeKey([7; 24])));
        cuts_are_errors(&key, 24, |buffer| resume_key(&buffer));
        let validation = Message::structure().u32(0x7F).put(&[8; 16]).u16(1).u16(0x0302).bytes();
        let expected = Validated { capabilities: 0x7F, guid: [8; 16], security_mode: 1, dialect: 0x0302 };
        assert_eq!(validated(&buffer(&validation)), Ok(expected));
        cuts_are_errors(&validation, 24, |buffer| validated(&buffer));
        let copy = Message::structure().u32(1).u32(2).u32(3).bytes();
        cuts_are_errors(&copy, 12, |buffer| copied(&buffer));
    }

    /// Hand-assembled from 2.2.32.5, 2.2.32.5.1.1 and 2.2.32.5.1.2.
    #[test]
    fn interfaces_are_read_strictly() {
        let entry = |next: u32, family: u16, rest: &[u8]| {
            let head = Message::structure().u32(next).u32(7).u32(1).u32(0).u64(1_000_000_000).u16(family).put(rest);
            head.put(&vec![0; 126 - rest.len()]).bytes()
        };
        let four = entry(152, 2, &[0, 0, 10, 1, 2, 3]);
        let six = entry(152, 0x17, &[&[0; 6][..], &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]].concat());
        let all = [four, six, entry(0, 99, &[])].concat();
        let of = |address| Interface { index: 7, rss: true, speed: 1_000_000_000, address };
        let expected = [Some("10.1.2.3".parse().unwrap()), Some("fe80::5".parse().unwrap()), None].map(of);
        assert_eq!(interfaces(&buffer(&all)), Ok(expected.to_vec()));
        // Samba and ksmbd send such lists: one without an entry, and one whose last entry has an offset to the end.
        for cut in 0..=all.len() {
            let found = interfaces(&buffer(&all[..cut])).ok().map(|found| found.len());
            assert_eq!(found, cut.is_multiple_of(INTERFACE_LEN).then_some(cut / INTERFACE_LEN), "cut at {cut}");
        }
        // Backwards, into itself, and around for ever.
        assert!(interfaces(&buffer(&entry(u32::MAX, 2, &[]))).is_err());
        for next in [1, 151] {
            assert_eq!(interfaces(&buffer(&entry(next, 2, &[]))).unwrap_err().field, "Next", "{next}");
        }
        let endless = entry(152, 2, &[]).repeat(600);
        assert_eq!(interfaces(&buffer(&endless)).unwrap_err().field, "Next");
    }
}
