//! SMB2 messages.
//!
//! Spec: MS-SMB2 2.2.1

/// Commands.
pub mod command {
    /// NEGOTIATE.
    pub const NEGOTIATE: u16 = 0;
    /// SESSION_SETUP.
    pub const SESSION_SETUP: u16 = 1;
    /// TREE_CONNECT.
    pub const TREE_CONNECT: u16 = 3;
    /// CREATE.
    pub const CREATE: u16 = 5;
    /// CLOSE.
    pub const CLOSE: u16 = 6;
    /// READ.
    pub const READ: u16 = 8;
    /// WRITE.
    pub const WRITE: u16 = 9;
    /// LOCK.
    pub const LOCK: u16 = 10;
    /// CANCEL.
    pub const CANCEL: u16 = 12;
    /// ECHO.
    pub const ECHO: u16 = 13;
    /// CHANGE_NOTIFY.
    pub const CHANGE_NOTIFY: u16 = 15;
    /// QUERY_INFO.
    pub const QUERY_INFO: u16 = 16;
}

/// STATUS_PENDING: an interim answer.
pub const PENDING: u32 = 0x0000_0103;
const RESPONSE: u32 = 1;
const ASYNC: u32 = 2;
const RELATED: u32 = 4;

/// A message: its header and its body.
#[derive(Clone, Debug)]
pub struct Message {
    header: [u8; 64],
    body: Vec<u8>,
}

/// A request without a body, of session 7 on tree 9.
pub fn request(command: u16, id: u64) -> Message {
    let mut header = [0; 64];
    header[..6].copy_from_slice(b"\xfeSMB\x40\x00");
    header[12..14].copy_from_slice(&command.to_le_bytes());
    header[14] = 1;
    header[24..32].copy_from_slice(&id.to_le_bytes());
    header[36] = 9;
    header[40] = 7;
    Message { header, body: Vec::new() }
}

/// A response without a body.
pub fn response(command: u16, id: u64, status: u32) -> Message {
    let mut message = request(command, id).flag(RESPONSE);
    message.header[8..12].copy_from_slice(&status.to_le_bytes());
    message
}

impl Message {
    /// Sets the body.
    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    /// Marks it as asynchronous, with this id.
    pub fn asynchronous(mut self, id: u64) -> Self {
        self.header[32..40].copy_from_slice(&id.to_le_bytes());
        self.flag(ASYNC)
    }

    /// Sets the session.
    pub fn session(mut self, id: u64) -> Self {
        self.header[40..48].copy_from_slice(&id.to_le_bytes());
        self
    }

    /// Sets the credits that it asks for or grants.
    pub fn credits(mut self, credits: u16) -> Self {
        self.header[14..16].copy_from_slice(&credits.to_le_bytes());
        self
    }

    /// Marks it as a related member of a compound.
    pub fn related(self) -> Self {
        self.flag(RELATED)
    }

    /// The bytes, from FE 'SMB' on.
    pub fn bytes(&self) -> Vec<u8> {
        [self.header.as_slice(), &self.body].concat()
    }

    fn flag(mut self, flag: u32) -> Self {
        let flags = u32::from_le_bytes([self.header[16], self.header[17], self.header[18], self.header[19]]) | flag;
        self.header[16..20].copy_from_slice(&flags.to_le_bytes());
        self
    }
}

/// Members chained by NextCommand into one message.
pub fn compound(members: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let mut one = member.bytes();
        if index + 1 < members.len() {
            one.resize(one.len().next_multiple_of(8), 0);
            let next = one.len() as u32;
            one[20..24].copy_from_slice(&next.to_le_bytes());
        }
        bytes.extend(one);
    }
    bytes
}

/// A file id of this number.
pub fn file(number: u8) -> [u8; 16] {
    [number; 16]
}

/// CREATE of a name.
///
/// Spec: MS-SMB2 2.2.13
pub fn create(id: u64, name: &str) -> Message {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut body = vec![0; 56];
    body[0] = 57;
    body[44..46].copy_from_slice(&120_u16.to_le_bytes());
    body[46..48].copy_from_slice(&(name.len() as u16).to_le_bytes());
    body.extend(&name);
    request(command::CREATE, id).body(&body)
}

/// CREATE's answer with this file id.
///
/// Spec: MS-SMB2 2.2.14
pub fn created(id: u64, file: [u8; 16]) -> Message {
    let mut body = vec![0; 88];
    body[0] = 89;
    body[64..80].copy_from_slice(&file);
    response(command::CREATE, id, 0).body(&body)
}

/// READ.
///
/// Spec: MS-SMB2 2.2.19
pub fn read(id: u64, file: [u8; 16], len: u32) -> Message {
    let mut body = vec![0; 49];
    body[0] = 49;
    body[4..8].copy_from_slice(&len.to_le_bytes());
    body[16..32].copy_from_slice(&file);
    request(command::READ, id).body(&body)
}

/// READ's answer.
///
/// Spec: MS-SMB2 2.2.20
pub fn read_answer(id: u64, data: &[u8]) -> Message {
    let mut body = vec![17, 0, 80, 0];
    body.extend((data.len() as u32).to_le_bytes());
    body.extend([0; 8]);
    body.extend(data);
    response(command::READ, id, 0).body(&body)
}

/// WRITE.
///
/// Spec: MS-SMB2 2.2.21
pub fn write(id: u64, file: [u8; 16], data: &[u8]) -> Message {
    let mut body = vec![0; 48];
    body[0] = 49;
    body[2] = 112;
    body[4..8].copy_from_slice(&(data.len() as u32).to_le_bytes());
    body[16..32].copy_from_slice(&file);
    body.extend(data);
    request(command::WRITE, id).body(&body)
}

/// WRITE's answer.
///
/// Spec: MS-SMB2 2.2.22
pub fn written(id: u64, len: u32) -> Message {
    let mut body = vec![0; 16];
    body[0] = 17;
    body[4..8].copy_from_slice(&len.to_le_bytes());
    response(command::WRITE, id, 0).body(&body)
}

/// CLOSE.
///
/// Spec: MS-SMB2 2.2.15
pub fn close(id: u64, file: [u8; 16]) -> Message {
    let mut body = vec![0; 24];
    body[0] = 24;
    body[8..24].copy_from_slice(&file);
    request(command::CLOSE, id).body(&body)
}

/// CLOSE's answer.
///
/// Spec: MS-SMB2 2.2.16
pub fn closed(id: u64) -> Message {
    let mut body = vec![0; 60];
    body[0] = 60;
    response(command::CLOSE, id, 0).body(&body)
}

/// ECHO, whose body is the same both ways.
///
/// Spec: MS-SMB2 2.2.28
pub fn echo(id: u64) -> Message {
    request(command::ECHO, id).body(&[4, 0, 0, 0])
}

/// ECHO's answer.
///
/// Spec: MS-SMB2 2.2.29
pub fn echoed(id: u64) -> Message {
    response(command::ECHO, id, 0).body(&[4, 0, 0, 0])
}
