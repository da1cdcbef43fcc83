//! NEGOTIATE: dialects offered and chosen.
//!
//! Spec: MS-SMB2 2.2.3, 2.2.4

mod cipher;
pub mod context;
mod reply;
mod request;

pub use cipher::Cipher;
pub use reply::{Chosen, Negotiated, parse};
pub use request::{Negotiate, Offer};

use super::fields::view;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 36;
/// Request: DialectCount, u16.
pub const DIALECT_COUNT: usize = header::LEN + 2;
/// Request: SecurityMode, u16.
pub const REQUEST_SECURITY_MODE: usize = header::LEN + 4;
/// Request: Capabilities, u32.
pub const REQUEST_CAPABILITIES: usize = header::LEN + 8;
/// Request: ClientGuid, 16 bytes.
pub const CLIENT_GUID: usize = header::LEN + 12;
/// Request: NegotiateContextOffset u32, NegotiateContextCount u16, where dialect 3.1.1 is among the dialects.
pub const REQUEST_CONTEXTS: usize = header::LEN + 28;
/// Request: Dialects, u16 each.
pub const DIALECTS: usize = header::LEN + 36;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 65;
/// Response: SecurityMode, u16.
pub const RESPONSE_SECURITY_MODE: usize = header::LEN + 2;
/// Response: DialectRevision, u16.
pub const DIALECT: usize = header::LEN + 4;
/// Response: NegotiateContextCount, u16, in dialect 3.1.1.
pub const CONTEXT_COUNT: usize = header::LEN + 6;
/// Response: ServerGuid, 16 bytes.
pub const SERVER_GUID: usize = header::LEN + 8;
/// Response: Capabilities, u32.
pub const RESPONSE_CAPABILITIES: usize = header::LEN + 24;
/// Response: MaxTransactSize, u32.
pub const MAX_TRANSACT: usize = header::LEN + 28;
/// Response: MaxReadSize, u32.
pub const MAX_READ: usize = header::LEN + 32;
/// Response: MaxWriteSize, u32.
pub const MAX_WRITE: usize = header::LEN + 36;
/// Response: SystemTime, u64.
pub const SYSTEM_TIME: usize = header::LEN + 40;
/// Response: ServerStartTime, u64.
pub const START_TIME: usize = header::LEN + 48;
/// Response: SecurityBufferOffset and SecurityBufferLength, u16 each.
pub const RESPONSE_BUFFER: usize = header::LEN + 56;
/// Response: NegotiateContextOffset, u32, in dialect 3.1.1.
pub const CONTEXT_OFFSET: usize = header::LEN + 60;
/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 64;

/// SecurityMode: signs if asked to.
pub const SIGNING_ENABLED: u8 = 0x01;
/// SecurityMode: signs, and wants signatures.
pub const SIGNING_REQUIRED: u8 = 0x02;

/// SMB2_GLOBAL_CAP_LEASING.
pub const CAP_LEASING: u32 = 0x0000_0002;
/// SMB2_GLOBAL_CAP_LARGE_MTU: requests of more than one credit.
pub const CAP_LARGE_MTU: u32 = 0x0000_0004;
/// SMB2_GLOBAL_CAP_MULTI_CHANNEL, in the dialects 3: several connections with one session.
pub const CAP_MULTI_CHANNEL: u32 = 0x0000_0008;
/// SMB2_GLOBAL_CAP_PERSISTENT_HANDLES, in the dialects 3.
pub const CAP_PERSISTENT_HANDLES: u32 = 0x0000_0010;
/// SMB2_GLOBAL_CAP_DIRECTORY_LEASING, in the dialects 3.
pub const CAP_DIRECTORY_LEASING: u32 = 0x0000_0020;
/// SMB2_GLOBAL_CAP_ENCRYPTION, in the dialects 3.0 and 3.0.2.
pub const CAP_ENCRYPTION: u32 = 0x0000_0040;

/// Dialect 3.1.1, the only one with contexts.
pub const DIALECT_311: u16 = 0x0311;
/// The answer to an SMB1 client: "SMB2, ask again".
pub const DIALECT_WILDCARD: u16 = 0x02FF;

view! {
    /// The dialects that a client speaks.
    Request, request, Negotiate, REQUEST_SIZE;
    /// Names the client machine for as long as it runs.
    client_guid: [u8; 16] = array CLIENT_GUID;
    /// The client's capabilities, SMB2_GLOBAL_CAP bits.
    capabilities: u32 = u32 REQUEST_CAPABILITIES;
}
view! {
    /// The dialect that the server chose.
    Response, response, Negotiate, RESPONSE_SIZE;
    /// The dialect, or [`DIALECT_WILDCARD`].
    dialect: u16 = u16 DIALECT;
    /// Names the server.
    server_guid: [u8; 16] = array SERVER_GUID;
    /// What both will use, SMB2_GLOBAL_CAP bits.
    capabilities: u32 = u32 RESPONSE_CAPABILITIES;
    /// The longest READ, in bytes.
    max_read: u32 = u32 MAX_READ;
    /// The longest WRITE, in bytes.
    max_write: u32 = u32 MAX_WRITE;
}

impl<'a> Request<'a> {
    /// The dialects as far as they were captured, lowest first as a rule (0x0202, 0x0210, 0x0300, 0x0302, 0x0311).
    pub fn dialects(&self) -> impl Iterator<Item = u16> + 'a {
        let fields = self.fields;
        let count = usize::from(fields.u16(DIALECT_COUNT).unwrap_or(0));
        (0..count).map_while(move |index| fields.u16(DIALECTS + 2 * index))
    }
}

/// A dialect as people write it. None for a number that the specification does not name.
#[must_use]
pub fn dialect_name(dialect: u16) -> Option<&'static str> {
    Some(match dialect {
        0x0202 => "2.0.2",
        0x0210 => "2.1",
        0x0300 => "3.0",
        0x0302 => "3.0.2",
        0x0311 => "3.1.1",
        DIALECT_WILDCARD => "2.???",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.3.
    #[test]
    fn request_dialects() {
        let bytes = Message::request(0).u16(36).u16(2).u16(1).u16(0).u32(0x7F).put(&[7; 16]).u64(0);
        let bytes = bytes.u16(0x0210).u16(0x0300).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.dialects().collect::<Vec<_>>(), [0x0210, 0x0300]);
        assert_eq!(view.capabilities(), Some(0x7F));
        truncations(&bytes, |bytes| Request::new(bytes)?.client_guid());
        let cut = Request::new(&bytes[..bytes.len() - 1]).unwrap().dialects().collect::<Vec<_>>();
        assert_eq!(cut, [0x0210]);
    }

    /// Hand-assembled from 2.2.4.
    #[test]
    fn response_dialect() {
        let bytes = Message::response(0, 0).u16(65).u16(1).u16(0x0311).u16(2).put(&[9; 16]).u32(0x2F);
        let bytes = bytes.u32(0x10_0000).u32(0x80_0000).u32(0x40_0000).bytes();
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.dialect().and_then(dialect_name), Some("3.1.1"));
        assert_eq!(view.server_guid(), Some([9; 16]));
        assert_eq!(view.capabilities(), Some(0x2F));
        assert_eq!((view.max_read(), view.max_write()), (Some(0x80_0000), Some(0x40_0000)));
        truncations(&bytes, |bytes| Response::new(bytes)?.server_guid());
        assert!(Request::new(&bytes).is_none());
    }
}
