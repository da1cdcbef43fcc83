//! Portmap: on which port a program answers. GETPORT of version 2, as a client says it and reads its results; GETPORT and GETADDR of
//! versions 3 and 4, as an observer reads them.
//!
//! Spec: RFC 1833 2.1, RFC 1833 3.1, RFC 1833 3.2; RFC 5665 5.2.3 (universal addresses)

use crate::nfs::v3::Call;
use crate::xdr::{Cursor, Emit, Malformed, Strict, u32_at};

/// Number of TCP among the protocols (IPPROTO_TCP).
pub const TCP: u32 = 6;

/// PMAPPROC_GETPORT: on which port a program answers.
#[derive(Clone, Copy, Debug)]
pub struct GetPort {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// [`TCP`], or 17 for UDP.
    pub protocol: u32,
}

impl Call for GetPort {
    const PROCEDURE: u32 = 3;

    fn emit(&self, out: &mut Vec<u8>) {
        [self.program, self.version, self.protocol, 0].into_iter().for_each(|word| out.put_u32(word));
    }
}

/// Reads the results: the port; 0 means that the program is not there.
pub fn parse_port(bytes: &[u8]) -> Result<u16, Malformed> {
    let mut reader = Strict::new(bytes);
    let port = u16::try_from(reader.u32()?).map_err(|_| Malformed)?;
    reader.end()?;
    Ok(port)
}

/// PMAPPROC_GETPORT and RPCBPROC_GETADDR.
const GET: u32 = 3;

/// The program whose port a call asks for: GETPORT of version 2, GETADDR of versions 3 and 4. `None` for other calls.
pub fn asked_program(version: u32, procedure: u32, arguments: &[u8]) -> Option<u32> {
    if procedure == GET && matches!(version, 2..=4) { u32_at(arguments, 0) } else { None }
}

/// The port in the results of such a call. `None` if the program is not there, or has an address without a port.
pub fn named_port(version: u32, results: &[u8]) -> Option<u16> {
    let port = match version {
        2 => u16::try_from(u32_at(results, 0)?).ok()?,
        _ => port_of(std::str::from_utf8(Cursor::new(results).opaque()?).ok()?)?,
    };
    (port > 0).then_some(port)
}

/// The port of a universal address, whose last two numbers are its bytes: `10.0.0.5.8.1` is port 2049.
fn port_of(universal: &str) -> Option<u16> {
    let (rest, low) = universal.rsplit_once('.')?;
    let (_, high) = rest.rsplit_once('.')?;
    Some(u16::from_be_bytes([high.parse().ok()?, low.parse().ok()?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::builder::Xdr;

    /// RFC 1833 3.1, `mapping`: program, version, protocol, and a port that is not looked at.
    #[test]
    fn a_question_is_four_words() {
        let mut bytes = Vec::new();
        GetPort { program: 100_005, version: 3, protocol: TCP }.emit(&mut bytes);
        assert_eq!(bytes, [0, 1, 0x86, 0xA5, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0]);
    }

    #[test]
    fn a_port_is_read_strictly() {
        assert_eq!(parse_port(&[0, 0, 8, 1]), Ok(2049));
        assert_eq!(parse_port(&[0, 1, 0, 0]), Err(Malformed), "above 65535");
        assert_eq!(parse_port(&[0, 0, 8]), Err(Malformed));
        assert_eq!(parse_port(&[0, 0, 8, 1, 0]), Err(Malformed));
    }

    #[test]
    fn an_observer_reads_questions_and_answers_of_all_versions() {
        let question = [0, 1, 0x86, 0xA5, 0, 0, 0, 3];
        assert_eq!([2, 3, 4].map(|version| asked_program(version, 3, &question)), [Some(100_005); 3]);
        assert_eq!(
            (asked_program(2, 4, &question), asked_program(5, 3, &question)),
            (None, None),
            "DUMP; no version 5"
        );
        assert_eq!(asked_program(2, 3, &question[..3]), None, "cut");
        assert_eq!(named_port(2, &[0, 0, 8, 1]), Some(2_049));
        assert_eq!((named_port(2, &[0; 4]), named_port(2, &[0, 1, 0, 0]), named_port(2, &[0; 3])), (None, None, None));
        let address = |text: &str| Xdr::new().opaque(text.as_bytes()).bytes();
        for (text, port) in [
            ("10.0.0.5.8.1", Some(2_049)),
            ("0.0.0.0.78.80", Some(20_048)),
            ("fe80::5.8.1", Some(2_049)),
            ("::.0.111", Some(111)),
            ("", None),
            ("10.0.0.5.0.0", None),
            ("10.0.0.5.8.256", None),
            ("10.0.0.5.-8.1", None),
            ("/run/rpcbind.sock", None),
        ] {
            assert_eq!((named_port(3, address(text)), named_port(4, address(text))), (port, port), "{text}");
        }
        assert_eq!(named_port(4, &address("10.0.0.5.8.1")[..12]), None, "cut");
        assert_eq!(named_port(4, &[0, 0, 0, 2, 0xff, 0xfe, 0, 0]), None, "no text");
    }
}
