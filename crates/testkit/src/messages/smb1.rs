//! SMB1 messages.
//!
//! Spec: MS-CIFS 2.2.3

/// NEGOTIATE.
pub const NEGOTIATE: u8 = 0x72;
/// ECHO.
pub const ECHO: u8 = 0x2b;
/// READ_ANDX.
pub const READ_ANDX: u8 = 0x2e;
/// WRITE_ANDX.
pub const WRITE_ANDX: u8 = 0x2f;
/// NT_CREATE_ANDX.
pub const NT_CREATE_ANDX: u8 = 0xa2;
/// CLOSE.
pub const CLOSE: u8 = 0x04;
/// READ_RAW.
pub const READ_RAW: u8 = 0x1a;
/// WRITE_RAW.
pub const WRITE_RAW: u8 = 0x1d;
/// TRANSACTION2.
pub const TRANSACTION2: u8 = 0x32;

/// A message of one block: parameter words and data bytes.
#[derive(Clone, Debug)]
pub struct Message {
    command: u8,
    response: bool,
    status: u32,
    pid: u16,
    mid: u16,
    words: Vec<u8>,
    bytes: Vec<u8>,
}

/// A request.
pub fn request(command: u8, pid: u16, mid: u16) -> Message {
    Message { command, response: false, status: 0, pid, mid, words: Vec::new(), bytes: Vec::new() }
}

/// A response that succeeded.
pub fn response(command: u8, pid: u16, mid: u16) -> Message {
    Message { response: true, ..request(command, pid, mid) }
}

impl Message {
    /// Sets the parameter words.
    pub fn words(mut self, words: &[u16]) -> Self {
        self.words = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self
    }

    /// Sets the data bytes.
    pub fn data(mut self, bytes: &[u8]) -> Self {
        self.bytes = bytes.to_vec();
        self
    }

    /// Sets the NTSTATUS.
    pub fn status(mut self, status: u32) -> Self {
        self.status = status;
        self
    }

    /// The bytes, from FF 'SMB' on: tree 1, user 100, long names and NT statuses.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"\xffSMB".to_vec();
        bytes.push(self.command);
        bytes.extend(self.status.to_le_bytes());
        bytes.push(if self.response { 0x98 } else { 0x18 });
        bytes.extend(0x4001_u16.to_le_bytes());
        bytes.extend([0; 12]);
        for id in [1, self.pid, 100, self.mid] {
            bytes.extend(id.to_le_bytes());
        }
        bytes.push((self.words.len() / 2) as u8);
        bytes.extend(&self.words);
        bytes.extend((self.bytes.len() as u16).to_le_bytes());
        bytes.extend(&self.bytes);
        bytes
    }
}
