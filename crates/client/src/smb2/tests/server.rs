//! A server that executes every request successfully.

use plimsoll_wire::smb2::{Command, Header, compound::Members, header, query_directory};

use super::PREFIX;

/// A request that the server heard.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) command: Command,
    pub(super) id: u64,
    pub(super) charge: u16,
    pub(super) credits: u16,
    /// From its header on.
    pub(super) bytes: Vec<u8>,
    /// There is another in the same message.
    pub(super) chained: bool,
}

/// Received requests, and the settings of responses.
#[derive(Default)]
pub(super) struct Server {
    stream: Vec<u8>,
    /// Not answered yet.
    pub(super) asked: Vec<Asked>,
    /// Number of received requests that need a response.
    pub(super) heard: usize,
    pub(super) dialect: u16,
    /// Credits in each response, at most the requested number.
    pub(super) grants: u16,
    /// Opens get the durable handles that they ask for.
    pub(super) durable: bool,
    /// Flags of these handles.
    pub(super) durable_flags: u8,
    /// The capabilities that NEGOTIATE adds.
    pub(super) capabilities: u8,
    pub(super) share_capabilities: u8,
    /// A command that is refused, and the status.
    pub(super) refuses: Option<(Command, u32)>,
    /// A listing has no end: every response has an entry with this name.
    pub(super) endless: Option<&'static str>,
    /// Listings that have been answered with entries.
    listed: Vec<[u8; 16]>,
}

/// STATUS_MORE_PROCESSING_REQUIRED.
const MORE: u32 = 0xC000_0016;
/// STATUS_NO_MORE_FILES.
const NO_MORE: u32 = 0x8000_0006;

impl Server {
    /// Takes bytes of the stream.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.stream.extend_from_slice(bytes);
        while let Some(prefix) = self.stream.first_chunk::<PREFIX>() {
            let length = u32::from_be_bytes(*prefix) as usize;
            if self.stream.len() < PREFIX + length {
                return;
            }
            let message: Vec<u8> = self.stream.drain(..PREFIX + length).skip(PREFIX).collect();
            self.take(&message);
        }
    }

    fn take(&mut self, message: &[u8]) {
        let mut members = Members::new(message, message.len());
        for member in members.by_ref() {
            let header = member.header;
            assert!(!header.is_response());
            let asked = Asked {
                command: header.command(),
                id: header.message_id().unwrap(),
                charge: header.credit_charge(),
                credits: header.credits(),
                bytes: member.bytes.to_vec(),
                chained: header.next_command() != 0,
            };
            self.heard += usize::from(asked.command != Command::Cancel);
            self.asked.push(asked);
        }
        assert!(!members.malformed() && !members.cut_short());
    }

    /// The response to the oldest message; for a compound one message.
    pub(super) fn answer_next(&mut self) -> Option<Vec<u8>> {
        let mut answer: Vec<u8> = Vec::new();
        loop {
            if self.asked.is_empty() {
                return (!answer.is_empty()).then_some(answer);
            }
            let asked = self.asked.remove(0);
            if asked.command == Command::Cancel {
                continue;
            }
            let mut one = self.answer(&asked);
            if asked.chained {
                one.resize(one.len().next_multiple_of(8), 0);
                let next = one.len() as u32;
                one[header::NEXT_COMMAND..][..4].copy_from_slice(&next.to_le_bytes());
            }
            answer.extend(one);
            if !asked.chained {
                return Some(answer);
            }
        }
    }

    /// The answer to one request.
    pub(super) fn answer(&mut self, asked: &Asked) -> Vec<u8> {
        if let Some((_, status)) = self.refuses.filter(|(command, _)| *command == asked.command) {
            return self.reply(asked, status, &ERROR);
        }
        let mut status = 0;
        if asked.command == Command::SessionSetup && !asked.bytes.windows(12).any(|part| part == AUTHENTICATE) {
            status = MORE;
        }
        if asked.command == Command::QueryDirectory && self.endless.is_none() {
            let file: [u8; 16] = asked.bytes[72..88].try_into().unwrap();
            if asked.bytes[query_directory::FLAGS] & query_directory::FLAG_REOPEN != 0 {
                self.listed.retain(|listed| *listed != file);
            }
            if self.listed.contains(&file) {
                status = NO_MORE;
            } else {
                self.listed.push(file);
            }
        }
        let body = if status == NO_MORE { ERROR.to_vec() } else { self.body(asked, status) };
        self.reply(asked, status, &body)
    }

    /// A reply with any status and body.
    pub(super) fn reply(&self, asked: &Asked, status: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = asked.bytes[..header::LEN].to_vec();
        let set = |bytes: &mut Vec<u8>, at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        set(&mut bytes, header::STATUS, &status.to_le_bytes());
        set(&mut bytes, header::CREDITS, &asked.credits.min(self.grants).to_le_bytes());
        let flags = Header::new(&asked.bytes).unwrap().flags() | header::FLAG_RESPONSE;
        set(&mut bytes, header::FLAGS, &flags.to_le_bytes());
        set(&mut bytes, header::NEXT_COMMAND, &[0; 4]);
        set(&mut bytes, header::SESSION_ID, &7_u64.to_le_bytes());
        set(&mut bytes, header::SIGNATURE, &[0; 16]);
        if asked.command == Command::TreeConnect {
            set(&mut bytes, header::TREE_ID, &5_u32.to_le_bytes());
        }
        bytes.extend_from_slice(body);
        bytes
    }

    /// "Later", under an async id.
    pub(super) fn interim(&self, asked: &Asked, async_id: u64) -> Vec<u8> {
        let mut bytes = self.reply(asked, 0x103, &ERROR);
        bytes[header::FLAGS] |= 2;
        bytes[header::ASYNC_ID..][..8].copy_from_slice(&async_id.to_le_bytes());
        bytes
    }

    fn body(&self, asked: &Asked, status: u32) -> Vec<u8> {
        let four = || vec![4, 0, 0, 0];
        let u32_at = |at: usize| u32::from_le_bytes(asked.bytes[at..at + 4].try_into().unwrap());
        match asked.command {
            Command::Negotiate => self.negotiated(),
            Command::SessionSetup => {
                let token = if status == MORE { challenge() } else { Vec::new() };
                buffer(9, 0, &token)
            }
            Command::TreeConnect => [&[16, 0, 1, 0, 0, 0, 0, 0, self.share_capabilities][..], &[0; 7]].concat(),
            Command::Create => {
                let mut body = vec![0; 88];
                body[0] = 89;
                body[48] = 77;
                // The file of this message id.
                body[64..72].copy_from_slice(&asked.id.to_le_bytes());
                body[72] = 1;
                // Another connection has the same message ids.
                body[76..80].copy_from_slice(&(self.heard as u32).to_le_bytes());
                grant(&asked.bytes, self.durable.then_some(self.durable_flags), &mut body);
                body
            }
            Command::Close => [&[60][..], &[0; 59]].concat(),
            Command::Read => {
                let length = u32_at(68);
                let mut body = vec![17, 0, 80, 0];
                body.extend(length.to_le_bytes());
                body.resize(16 + length as usize, 0xDA);
                body
            }
            Command::Write => [&[17, 0, 0, 0][..], &u32_at(68).to_le_bytes(), &[0; 8]].concat(),
            Command::QueryInfo => info(9, &[1; 56]),
            Command::QueryDirectory => info(9, &entry(self.endless.unwrap_or("name"))),
            Command::ChangeNotify => info(9, &[]),
            Command::SetInfo => vec![2, 0],
            Command::Ioctl => {
                let mut body = vec![0; 48];
                body[0] = 49;
                body[4..8].copy_from_slice(&u32_at(68).to_le_bytes());
                body[32..36].copy_from_slice(&112_u32.to_le_bytes());
                body[36] = 32;
                body.extend([1; 32]);
                body
            }
            Command::OplockBreak => asked.bytes[header::LEN..].to_vec(),
            _ => four(),
        }
    }

    /// The server breaks a lease, and requires an acknowledgement.
    pub(super) fn breaks(key: [u8; 16], from: u32, to: u32) -> Vec<u8> {
        let mut bytes = vec![0; header::LEN];
        bytes[..4].copy_from_slice(b"\xFESMB");
        bytes[4] = header::LEN as u8;
        bytes[12] = 0x12;
        bytes[header::FLAGS] = header::FLAG_RESPONSE as u8;
        bytes[header::MESSAGE_ID..][..8].fill(0xFF);
        let body = [&[44, 0, 0, 0, 1, 0, 0, 0][..], &key, &from.to_le_bytes(), &to.to_le_bytes(), &[0; 12]];
        [bytes, body.concat()].concat()
    }

    fn negotiated(&self) -> Vec<u8> {
        let mut body = vec![0; 64];
        body[0] = 65;
        body[2] = 1;
        body[4..6].copy_from_slice(&self.dialect.to_le_bytes());
        // Large requests.
        body[24] = 4 | self.capabilities;
        for size in [28, 32, 36] {
            body[size..size + 4].copy_from_slice(&(1_u32 << 20).to_le_bytes());
        }
        body
    }
}

/// The body of a refusal.
pub(super) const ERROR: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];

/// An answer with a buffer, offset and length u16.
fn buffer(size: u8, flags: u8, bytes: &[u8]) -> Vec<u8> {
    [&[size, 0, flags, 0, 72, 0][..], &(bytes.len() as u16).to_le_bytes(), bytes].concat()
}

/// An answer with information, offset u16 and length u32.
fn info(size: u8, bytes: &[u8]) -> Vec<u8> {
    [&[size, 0, 72, 0][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// A FileIdBothDirectoryInformation with one entry.
fn entry(name: &str) -> Vec<u8> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bytes = vec![0; 104];
    bytes[60] = name.len() as u8;
    bytes.extend(name);
    bytes
}

/// The beginning of NTLM's third message.
const AUTHENTICATE: &[u8; 12] = b"NTLMSSP\0\x03\0\0\0";

/// NTLM's second message inside SPNEGO, only with Unicode and extended session security.
pub(super) fn challenge() -> Vec<u8> {
    let mut ntlm = b"NTLMSSP\0\x02\0\0\0\0\0\0\0\x38\0\0\0".to_vec();
    ntlm.extend(0x0008_0001_u32.to_le_bytes());
    ntlm.extend([8; 8]);
    ntlm.extend([0; 8]);
    // An empty TargetInfo but for its end, at 56.
    ntlm.extend([4, 0, 4, 0, 56, 0, 0, 0]);
    ntlm.extend([0; 12]);
    let wrap = |tag: u8, content: &[u8]| [&[tag, content.len() as u8][..], content].concat();
    let state = wrap(0xA0, &wrap(0x0A, &[1]));
    let token = wrap(0xA2, &wrap(0x04, &ntlm));
    wrap(0xA1, &wrap(0x30, &[state, token].concat()))
}

/// Grants the lease that an open asks for, if it does (MS-SMB2 2.2.13.2.10, 2.2.14.2.11), and a durable handle with these flags.
fn grant(request: &[u8], durable: Option<u8>, body: &mut Vec<u8>) {
    let asked = |name: &[u8; 4]| request.windows(4).position(|part| part == name);
    let mut contexts = Vec::new();
    if let Some(flags) = durable
        && let Some(name) = [b"DH2Q", b"DHnQ"].into_iter().find(|name| asked(name).is_some())
    {
        contexts.push((name, vec![0, 0, 0, 0, flags, 0, 0, 0]));
    }
    if let Some(at) = asked(b"RqLs") {
        contexts.push((b"RqLs", request[at + 8..][..usize::from(request[at - 4])].to_vec()));
    }
    let mut bytes = Vec::new();
    for (place, (name, data)) in contexts.iter().enumerate() {
        let length = data.len().next_multiple_of(8) as u8;
        let next = if place + 1 == contexts.len() { 0 } else { 24 + length };
        bytes.extend([next, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, data.len() as u8, 0, 0, 0]);
        bytes.extend([&name[..], &[0; 4], data].concat());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    if bytes.is_empty() {
        return;
    }
    body[2] = if asked(b"RqLs").is_some() { 0xFF } else { request[header::LEN + 3] };
    body[80..84].copy_from_slice(&(header::LEN as u32 + 88).to_le_bytes());
    body[84..88].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    body.extend(bytes);
}
