//! Session setup, tree connects and echoes.
//! Spec: MS-CIFS 2.2.4.39, 2.2.4.50, 2.2.4.52, 2.2.4.53, 2.2.4.55, MS-SMB 2.2.4.6

use super::andx::Link;
use super::command;
use super::open::FORMAT_STRING;
use super::string::SmbString;

/// SESSION_SETUP_ANDX request: length of the blob or of the first password, then of the second one.
const FIRST_LENGTH: usize = 14;
const SECOND_LENGTH: usize = 16;
const SETUP_LANMAN_WORDS: u8 = 10;
const SETUP_EXTENDED_WORDS: u8 = 12;
const SETUP_NT_WORDS: u8 = 13;
/// TREE_CONNECT_ANDX request: PasswordLength.
const PASSWORD_LENGTH: usize = 6;
/// ECHO request: EchoCount; response: SequenceNumber.
const ECHO_NUMBER: usize = 0;

/// The user of a SESSION_SETUP_ANDX request.
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

/// Reads a SESSION_SETUP_ANDX request without its passwords. `None` for other messages, or if the name was cut off.
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

/// A TREE_CONNECT or TREE_CONNECT_ANDX request.
#[derive(Clone, Copy, Debug)]
pub struct TreeConnect<'a> {
    /// `\\server\share`.
    pub path: SmbString<'a>,
    /// Kind of share that is wanted (`A:`, `IPC`, `LPT1:`, `?????`), if it was captured.
    pub service: Option<SmbString<'a>>,
}

impl<'a> TreeConnect<'a> {
    /// The view of a tree connect without its password; `None` for other messages, or if the path was cut off.
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

/// Answers that an ECHO request wants (0 is allowed), or the number of an answer, from 1.
pub fn echo_number(link: &Link<'_>) -> Option<u16> {
    if link.command == command::ECHO { link.u16(ECHO_NUMBER) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, first, wide, words};
    use super::*;

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
        // MS-SMB 2.2.4.6.1.
        let block = words(&[0xff, 0, 0x1104, 50, 0, 0, 0, 5, 0, 0, 0, 0]);
        let message = Build::request(command::SESSION_SETUP_ANDX).block(&block, b"TOKENUnix\0").done();
        let Some(Credentials::Blob { token, length }) = credentials(&first(&message)) else { panic!() };
        assert_eq!((token, length), (&b"TOKEN"[..], 5));
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
