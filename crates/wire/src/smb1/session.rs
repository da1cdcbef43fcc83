//! Negotiation, session setup, tree connects and echoes.
//! Spec: MS-CIFS 2.2.4.39, 2.2.4.50, 2.2.4.52, 2.2.4.53, 2.2.4.55, MS-SMB 2.2.4.6

use super::andx::Link;
use super::command;
use super::open::FORMAT_STRING;
use super::string::SmbString;

/// Buffer format of a dialect (MS-CIFS 2.2.1.1).
const FORMAT_DIALECT: u8 = 0x02;
/// DialectIndex that means none of them.
pub const NO_DIALECT: u16 = 0xffff;

/// NEGOTIATE response: DialectIndex; in the NT form (17 words) MaxMpxCount, MaxBufferSize, Capabilities too.
const DIALECT_INDEX: usize = 0;
const NT_MAX_MPX: usize = 3;
const NT_MAX_BUFFER: usize = 7;
const NT_CAPABILITIES: usize = 19;
/// LANMAN form (13 words).
const LANMAN_MAX_BUFFER: usize = 4;
const LANMAN_MAX_MPX: usize = 6;
const NT_WORDS: u8 = 17;
const LANMAN_WORDS: u8 = 13;

/// SESSION_SETUP_ANDX request: length of the blob or of the first password, then of the second one.
const FIRST_LENGTH: usize = 14;
const SECOND_LENGTH: usize = 16;
const SETUP_LANMAN_WORDS: u8 = 10;
const SETUP_EXTENDED_WORDS: u8 = 12;
const SETUP_NT_WORDS: u8 = 13;
/// SESSION_SETUP_ANDX response: blob length, with extended security only.
const ANSWER_EXTENDED_WORDS: u8 = 4;
const ANSWER_LENGTH: usize = 6;

/// TREE_CONNECT_ANDX request: PasswordLength.
const PASSWORD_LENGTH: usize = 6;
/// ECHO request: EchoCount; response: SequenceNumber.
const ECHO_NUMBER: usize = 0;

/// The dialects that a NEGOTIATE request offers, in order (a dialect's index is its place). Ends where one was cut.
pub fn dialects<'a>(link: &Link<'a>) -> impl Iterator<Item = SmbString<'a>> + use<'a> {
    let is_negotiate = link.command == command::NEGOTIATE && link.is_request();
    let mut reader = if is_negotiate { link.reader() } else { None };
    std::iter::from_fn(move || {
        let reader = reader.as_mut()?;
        (reader.byte()? == FORMAT_DIALECT).then(|| reader.oem())?.filter(|dialect| dialect.complete)
    })
}

/// A NEGOTIATE response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Place of the chosen dialect in the request; [`NO_DIALECT`] for none.
    pub dialect_index: u16,
    /// Requests that the client may have under way; `None` in the core form or if cut.
    pub max_mpx: Option<u16>,
    /// Largest message that the server takes, in bytes; likewise.
    pub max_buffer: Option<u32>,
    /// Capabilities, in the NT form.
    pub capabilities: Option<u32>,
}

impl Negotiated {
    /// The view of a NEGOTIATE response; `None` for anything else.
    pub fn new(link: &Link<'_>) -> Option<Self> {
        if link.command != command::NEGOTIATE || !link.is_response() {
            return None;
        }
        let (mut max_mpx, mut max_buffer, mut capabilities) = (None, None, None);
        match link.word_count? {
            NT_WORDS => {
                max_mpx = link.u16(NT_MAX_MPX);
                max_buffer = link.u32(NT_MAX_BUFFER);
                capabilities = link.u32(NT_CAPABILITIES);
            }
            LANMAN_WORDS => {
                max_mpx = link.u16(LANMAN_MAX_MPX);
                max_buffer = link.u16(LANMAN_MAX_BUFFER).map(u32::from);
            }
            _ => {}
        }
        Some(Self { dialect_index: link.u16(DIALECT_INDEX)?, max_mpx, max_buffer, capabilities })
    }
}

/// Who a SESSION_SETUP_ANDX request is for.
#[derive(Clone, Copy, Debug)]
pub enum Credentials<'a> {
    /// Without extended security.
    Account {
        /// Account name; empty for an anonymous session.
        account: SmbString<'a>,
        /// Primary domain, if it was captured.
        domain: Option<SmbString<'a>>,
    },
    /// With extended security: SPNEGO, or NTLMSSP alone.
    Blob {
        /// The captured part of the token.
        token: &'a [u8],
        /// Its length as the message says.
        length: u16,
    },
}

/// Reads a SESSION_SETUP_ANDX request; passwords are stepped over. `None` for anything else, or if the name was cut off.
pub fn credentials<'a>(link: &Link<'a>) -> Option<Credentials<'a>> {
    if link.command != command::SESSION_SETUP_ANDX || !link.is_request() {
        return None;
    }
    let first = link.u16(FIRST_LENGTH)?;
    let mut reader = link.reader()?;
    let secrets = match link.word_count? {
        SETUP_EXTENDED_WORDS => {
            return Some(Credentials::Blob { token: reader.skip(usize::from(first)), length: first });
        }
        SETUP_NT_WORDS => usize::from(first) + usize::from(link.u16(SECOND_LENGTH)?),
        SETUP_LANMAN_WORDS => usize::from(first),
        _ => return None,
    };
    reader.skip(secrets);
    Some(Credentials::Account { account: reader.string()?, domain: reader.string() })
}

/// The security token in a SESSION_SETUP_ANDX response with extended security: what was captured, and its length.
pub fn answered_token<'a>(link: &Link<'a>) -> Option<(&'a [u8], u16)> {
    let extended = link.word_count == Some(ANSWER_EXTENDED_WORDS);
    if link.command != command::SESSION_SETUP_ANDX || !link.is_response() || !extended {
        return None;
    }
    let length = link.u16(ANSWER_LENGTH)?;
    Some((link.reader()?.skip(usize::from(length)), length))
}

/// A TREE_CONNECT or TREE_CONNECT_ANDX request.
#[derive(Clone, Copy, Debug)]
pub struct TreeConnect<'a> {
    /// `\\server\share`.
    pub path: SmbString<'a>,
    /// Kind of share that is wanted (`A:`, `IPC`, `LPT1:`, `?????`), if it was captured.
    pub service: Option<SmbString<'a>>,
}

impl<'a> TreeConnect<'a> {
    /// The view of a tree connect; `None` for anything else, or if the path was cut off. The password is stepped over.
    pub fn new(link: &Link<'a>) -> Option<Self> {
        if !link.is_request() {
            return None;
        }
        let mut reader = link.reader()?;
        match link.command {
            command::TREE_CONNECT_ANDX => {
                reader.skip(usize::from(link.u16(PASSWORD_LENGTH)?));
                Some(Self { path: reader.string()?, service: reader.oem() })
            }
            // The core command belongs to dialects without UTF-16: what stands there otherwise is not known.
            command::TREE_CONNECT if link.header().unicode() == Some(false) => {
                let path = reader.formatted(FORMAT_STRING)?;
                let password = reader.formatted(FORMAT_STRING);
                Some(Self { path, service: password.and_then(|_| reader.formatted(FORMAT_STRING)) })
            }
            _ => None,
        }
    }
}

/// Kind of the share that a TREE_CONNECT_ANDX response names: `IPC` is no file share.
pub fn connected_service<'a>(link: &Link<'a>) -> Option<SmbString<'a>> {
    if link.command == command::TREE_CONNECT_ANDX && link.is_response() { link.reader()?.oem() } else { None }
}

/// Answers that an ECHO request wants (0 is allowed), or the number of an answer, from 1.
pub fn echo_number(link: &Link<'_>) -> Option<u16> {
    if link.command == command::ECHO { link.u16(ECHO_NUMBER) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::super::build::{Build, wide, words};
    use super::*;

    fn first(message: &[u8]) -> Link<'_> {
        Chain::new(message, message.len()).unwrap().next().unwrap()
    }

    #[test]
    fn dialects_and_the_chosen_one() {
        // MS-CIFS 2.2.4.52.1, 2.2.4.52.2: SecurityMode is one byte, so what follows is at odd offsets.
        let request =
            Build::request(command::NEGOTIATE).unicode().block(&[], b"\x02LANMAN1.0\0\x02NT LM 0.12\0").done();
        let names: Vec<_> = dialects(&first(&request)).map(|dialect| dialect.text().to_string()).collect();
        assert_eq!(names, ["LANMAN1.0", "NT LM 0.12"]);
        let mut block = vec![0; 34];
        block[..11].copy_from_slice(&[1, 0, 3, 50, 0, 1, 0, 0x04, 0x41, 0, 0]);
        block[19..23].copy_from_slice(&0x8000_f3fdu32.to_le_bytes());
        let answer = Build::response(command::NEGOTIATE).block(&block, &[]).done();
        let negotiated = Negotiated::new(&first(&answer)).unwrap();
        assert_eq!((negotiated.dialect_index, negotiated.max_mpx), (1, Some(50)));
        assert_eq!((negotiated.max_buffer, negotiated.capabilities), (Some(0x4104), Some(0x8000_f3fd)));
    }

    #[test]
    fn account_behind_two_passwords() {
        // MS-CIFS 2.2.4.53.1: bytes start at 32 + 1 + 26 + 2 = 61; 24 bytes of password later UTF-16 needs padding.
        let block = words(&[0xff, 0, 0x1104, 50, 0, 0, 0, 1, 23, 0, 0, 0xd4, 0]);
        let bytes = [&[9; 24][..], &[0], &wide("joe\0"), &wide("DOM\0"), &wide("Unix\0")].concat();
        let message = Build::request(command::SESSION_SETUP_ANDX).unicode().block(&block, &bytes).done();
        let Some(Credentials::Account { account, domain }) = credentials(&first(&message)) else { panic!() };
        assert_eq!((account.text(), domain.unwrap().text().to_string()), (wide_text(&wide("joe")), "DOM".to_string()));
    }

    fn wide_text(bytes: &[u8]) -> crate::text::Text<'_> {
        crate::text::Text::Utf16(crate::text::Utf16Le(bytes))
    }

    #[test]
    fn extended_security_gives_the_token() {
        // MS-SMB 2.2.4.6.1, 2.2.4.6.2.
        let block = words(&[0xff, 0, 0x1104, 50, 0, 0, 0, 5, 0, 0, 0, 0]);
        let message = Build::request(command::SESSION_SETUP_ANDX).block(&block, b"TOKENUnix\0").done();
        let Some(Credentials::Blob { token, length }) = credentials(&first(&message)) else { panic!() };
        assert_eq!((token, length), (&b"TOKEN"[..], 5));
        let answer = Build::response(command::SESSION_SETUP_ANDX).block(&words(&[0xff, 0, 0, 3]), b"ABCx\0").done();
        assert_eq!(answered_token(&first(&answer)), Some((&b"ABC"[..], 3)));
    }

    #[test]
    fn tree_connects_name_the_share() {
        // MS-CIFS 2.2.4.55.1: bytes start at 32 + 1 + 8 + 2 = 43; after one byte of password no padding is needed.
        let bytes = [&[0][..], &wide("\\\\srv\\pub\0"), b"?????\0"].concat();
        let message =
            Build::request(command::TREE_CONNECT_ANDX).unicode().block(&words(&[0xff, 0, 8, 1]), &bytes).done();
        let connect = TreeConnect::new(&first(&message)).unwrap();
        assert_eq!(connect.path.text(), "\\\\srv\\pub");
        assert_eq!(connect.service.unwrap().text(), "?????");
        let core = Build::request(command::TREE_CONNECT).block(&[], b"\x04\\\\S\\P\0\x04pw\0\x04A:\0").done();
        let connect = TreeConnect::new(&first(&core)).unwrap();
        assert_eq!((connect.path.raw, connect.service.unwrap().raw), (&b"\\\\S\\P"[..], &b"A:"[..]));
    }

    #[test]
    fn an_echo_says_how_many_answers() {
        let message = Build::request(command::ECHO).block(&words(&[3]), b"x").done();
        assert_eq!(echo_number(&first(&message)), Some(3));
    }
}
