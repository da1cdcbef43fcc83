//! Portmap: on which port a program answers. GETPORT of version 2, as a client says it and reads its results.
//!
//! Spec: RFC 1833 3.1, RFC 1833 3.2

use crate::nfs::v3::Call;
use crate::xdr::{Emit, Malformed, Strict};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
