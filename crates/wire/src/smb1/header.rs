//! The 32-byte SMB1 header.
//! Spec: MS-CIFS 2.2.3.1

use super::fields::{u8_at, u16_at, u32_at};

/// First four bytes of every SMB1 message.
pub const MAGIC: [u8; 4] = [0xff, b'S', b'M', b'B'];
/// Bytes of the header; the first WordCount follows.
pub const HEADER_LEN: usize = 32;

const COMMAND: usize = 4;
const STATUS: usize = 5;
const STATUS_DOS_CODE: usize = 7;
const FLAGS: usize = 9;
const FLAGS2: usize = 10;
const PID_HIGH: usize = 12;
const TID: usize = 24;
const PID_LOW: usize = 26;
const UID: usize = 28;
const MID: usize = 30;

/// SMB_FLAGS_REPLY: the message is a response.
pub const FLAGS_REPLY: u8 = 0x80;
/// SMB_FLAGS2_NT_STATUS: the status field is a 32-bit NT status, otherwise a DOS class and code.
pub const FLAGS2_NT_STATUS: u16 = 0x4000;
/// SMB_FLAGS2_UNICODE: strings are UTF-16LE, otherwise in the OEM code page.
pub const FLAGS2_UNICODE: u16 = 0x8000;
/// PID (low half) and MID of a request that the server sends by itself: an oplock break (MS-CIFS 3.3.4.2).
pub const UNSOLICITED: u16 = 0xffff;

/// Status of a response, in the form that FLAGS2 says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// An NT status (MS-ERREF 2.3).
    Nt(u32),
    /// A DOS error (MS-CIFS 2.2.2.4).
    Dos {
        /// ErrorClass: 0 success, 1 ERRDOS, 2 ERRSRV, 3 ERRHRD, 0xFF ERRCMD.
        class: u8,
        /// ErrorCode within the class.
        code: u16,
    },
}

impl Status {
    /// Whether nothing at all is reported: NT status 0, or DOS class and code 0.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Nt(0) | Self::Dos { class: 0, code: 0 })
    }

    /// Whether the operation failed: NT severity 3, or any DOS error. An NT warning (severity 2, such as
    /// STATUS_BUFFER_OVERFLOW or STATUS_NO_MORE_FILES) is neither success nor error.
    pub fn is_error(self) -> bool {
        match self {
            Self::Nt(status) => status >> 30 == 3,
            Self::Dos { .. } => !self.is_success(),
        }
    }
}

/// An SMB1 header, cut anywhere after its magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    message: &'a [u8],
}

impl<'a> Header<'a> {
    /// A view of the captured part of one SMB1 message; `None` unless it begins with `FF 'SMB'`.
    pub fn new(message: &'a [u8]) -> Option<Self> {
        message.starts_with(&MAGIC).then_some(Self { message })
    }

    /// Everything that was captured, header included: offsets in SMB1 count from its start.
    pub fn message(&self) -> &'a [u8] {
        self.message
    }

    /// SMB_COM code, see [`super::command`].
    pub fn command(&self) -> Option<u8> {
        u8_at(self.message, COMMAND)
    }

    /// The four status bytes as a little-endian number, in either form.
    pub fn status_wire(&self) -> Option<u32> {
        u32_at(self.message, STATUS)
    }

    /// The status in the form that FLAGS2 says; `None` until FLAGS2 was captured too.
    pub fn status(&self) -> Option<Status> {
        if self.flags2()? & FLAGS2_NT_STATUS != 0 {
            return self.status_wire().map(Status::Nt);
        }
        Some(Status::Dos { class: u8_at(self.message, STATUS)?, code: u16_at(self.message, STATUS_DOS_CODE)? })
    }

    /// FLAGS.
    pub fn flags(&self) -> Option<u8> {
        u8_at(self.message, FLAGS)
    }

    /// FLAGS2.
    pub fn flags2(&self) -> Option<u16> {
        u16_at(self.message, FLAGS2)
    }

    /// Whether the server sent this as an answer.
    pub fn is_response(&self) -> Option<bool> {
        Some(self.flags()? & FLAGS_REPLY != 0)
    }

    /// Whether strings are UTF-16LE.
    pub fn unicode(&self) -> Option<bool> {
        Some(self.flags2()? & FLAGS2_UNICODE != 0)
    }

    /// Tree id: the share.
    pub fn tid(&self) -> Option<u16> {
        u16_at(self.message, TID)
    }

    /// Process id, PIDHigh << 16 | PIDLow.
    pub fn pid(&self) -> Option<u32> {
        let (high, low) = (u16_at(self.message, PID_HIGH)?, u16_at(self.message, PID_LOW)?);
        Some(u32::from(high) << 16 | u32::from(low))
    }

    /// User id: the session.
    pub fn uid(&self) -> Option<u16> {
        u16_at(self.message, UID)
    }

    /// Multiplex id: with the PID, pairs a response with its request.
    pub fn mid(&self) -> Option<u16> {
        u16_at(self.message, MID)
    }

    /// The captured bytes after the header: WordCount, words, ByteCount, bytes.
    pub fn body(&self) -> &'a [u8] {
        self.message.get(HEADER_LEN..).unwrap_or_default()
    }

    /// Whether a request has the ids of one that the server sends by itself (an oplock break): it gets no answer under
    /// these ids.
    pub fn is_unsolicited(&self) -> Option<bool> {
        let low_pid = u16_at(self.message, PID_LOW)?;
        Some(!self.is_response()? && low_pid == UNSOLICITED && self.mid()? == UNSOLICITED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the layout in MS-CIFS 2.2.3.1.
    const ERROR: [u8; 36] = [
        0xff, b'S', b'M', b'B', 0xa2, 0x34, 0x00, 0x00, 0xc0, 0x98, 0x07, 0xc8, 0x01, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0,
        0, 0x00, 0x08, 0xfe, 0xca, 0x64, 0x00, 0x40, 0x01, 0, 0, 0, 0xee,
    ];

    #[test]
    fn every_field_is_where_the_spec_puts_it() {
        let header = Header::new(&ERROR).unwrap();
        assert_eq!(header.command(), Some(0xa2));
        assert_eq!(header.status(), Some(Status::Nt(0xc000_0034)));
        assert_eq!(header.status_wire(), Some(0xc000_0034));
        assert_eq!(header.is_response(), Some(true));
        assert_eq!(header.unicode(), Some(true));
        assert_eq!(header.tid(), Some(0x0800));
        assert_eq!(header.pid(), Some(0x0001_cafe));
        assert_eq!(header.uid(), Some(100));
        assert_eq!(header.mid(), Some(0x0140));
        assert_eq!(header.body(), [0, 0, 0, 0xee]);
        assert_eq!(header.is_unsolicited(), Some(false));
    }

    #[test]
    fn without_the_nt_bit_the_status_is_class_and_code() {
        // MS-CIFS 2.2.3.1: ErrorClass, Reserved, ErrorCode. ERRDOS 1, ERRnofiles 18.
        let mut message = ERROR;
        message[STATUS..FLAGS].copy_from_slice(&[1, 0, 18, 0]);
        message[FLAGS2 + 1] &= !0x40;
        let status = Header::new(&message).unwrap().status().unwrap();
        assert_eq!(status, Status::Dos { class: 1, code: 18 });
        assert!(status.is_error() && !status.is_success());
    }

    #[test]
    fn warnings_are_neither_success_nor_lost() {
        assert!(Status::Nt(0).is_success() && !Status::Nt(0).is_error());
        let overflow = Status::Nt(0x8000_0005);
        assert!(!overflow.is_error() && !overflow.is_success(), "STATUS_BUFFER_OVERFLOW has severity 2");
        assert!(!Status::Nt(0x0000_010c).is_error(), "STATUS_NOTIFY_ENUM_DIR has severity 0");
    }

    #[test]
    fn truncation_takes_fields_from_the_end_only() {
        assert_eq!(Header::new(&ERROR[..3]), None);
        for length in 4..ERROR.len() {
            let header = Header::new(&ERROR[..length]).unwrap();
            assert_eq!(header.command().is_some(), length >= 5);
            assert_eq!(header.status().is_some(), length >= 12, "needs FLAGS2");
            assert_eq!(header.pid().is_some(), length >= 28);
            assert_eq!(header.mid().is_some(), length >= 32);
        }
    }
}
