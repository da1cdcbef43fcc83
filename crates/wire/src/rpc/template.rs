//! Calls to send: a record mark, a header whose xid and procedure are filled in, AUTH_SYS.
//!
//! Spec: RFC 5531 9, RFC 5531 11, RFC 5531 Appendix A

use super::{CALL, RPC_VERSION, RecordMark};
use crate::xdr::Emit;

/// Groups in an AUTH_SYS credential, at most (RFC 5531 Appendix A).
pub const MAX_GROUPS: usize = 16;
/// Bytes of the machine's name, at most (RFC 5531 Appendix A).
pub const MAX_MACHINE_NAME: usize = 255;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;
const AUTH_TLS: u32 = 7;
/// The bit of a record mark that says: last fragment.
const LAST: u32 = 0x8000_0000;
/// Where the xid stands, behind the record mark.
const XID: usize = RecordMark::SIZE;
/// Where the procedure stands.
const PROCEDURE: usize = RecordMark::SIZE + 20;

/// The caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller<'a> {
    /// AUTH_NONE.
    Nobody,
    /// AUTH_TLS: nobody, who asks for TLS (RFC 9289 4.1).
    Tls,
    /// AUTH_SYS.
    User {
        /// Any number; it distinguishes otherwise equal credentials.
        stamp: u32,
        /// The client machine's name: at most [`MAX_MACHINE_NAME`] bytes go.
        machine: &'a str,
        /// User id.
        uid: u32,
        /// Primary group id.
        gid: u32,
        /// More groups: at most [`MAX_GROUPS`].
        groups: &'a [u32],
    },
}

/// A limit of AUTH_SYS is exceeded: the credential cannot be said on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerError {
    /// The machine's name has this number of bytes, more than [`MAX_MACHINE_NAME`].
    MachineName(usize),
    /// The number of groups, more than [`MAX_GROUPS`].
    Groups(usize),
}

impl std::fmt::Display for CallerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MachineName(bytes) => {
                write!(f, "the machine name has {bytes} bytes; the limit of AUTH_SYS is {MAX_MACHINE_NAME} bytes")
            }
            Self::Groups(count) => {
                write!(f, "the user is in {count} groups; the limit of AUTH_SYS is {MAX_GROUPS} groups")
            }
        }
    }
}

impl std::error::Error for CallerError {}

impl Caller<'_> {
    fn check(&self) -> Result<(), CallerError> {
        match self {
            Self::User { machine, .. } if machine.len() > MAX_MACHINE_NAME => {
                Err(CallerError::MachineName(machine.len()))
            }
            Self::User { groups, .. } if groups.len() > MAX_GROUPS => Err(CallerError::Groups(groups.len())),
            _ => Ok(()),
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nobody | Self::Tls => {
                out.put_u32(if *self == Self::Tls { AUTH_TLS } else { AUTH_NONE });
                out.put_u32(0);
            }
            Self::User { stamp, machine, uid, gid, groups } => {
                let mut body = Vec::new();
                body.put_u32(*stamp);
                body.put_opaque(machine.as_bytes());
                body.put_u32(*uid);
                body.put_u32(*gid);
                body.put_u32(groups.len() as u32);
                groups.iter().for_each(|&group| body.put_u32(group));
                out.put_u32(AUTH_SYS);
                out.put_opaque(&body);
            }
        }
    }
}

/// Everything of a call up to its arguments, for one program and one caller.
#[derive(Debug, Clone)]
pub struct CallTemplate {
    bytes: Box<[u8]>,
}

impl CallTemplate {
    /// The template of a program's version and a caller.
    pub fn new(program: u32, version: u32, caller: &Caller<'_>) -> Result<Self, CallerError> {
        caller.check()?;
        let mut bytes = Vec::new();
        for word in [0, 0, CALL, RPC_VERSION, program, version, 0] {
            bytes.put_u32(word);
        }
        caller.emit(&mut bytes);
        bytes.put_u32(AUTH_NONE);
        bytes.put_u32(0);
        Ok(Self { bytes: bytes.into() })
    }

    /// Appends a call's head; its arguments follow. [`CallTemplate::finish`] then sets the record mark.
    #[inline]
    pub fn begin(&self, xid: u32, procedure: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        if let Some(head) = out.get_mut(start..) {
            set(head, XID, xid);
            set(head, PROCEDURE, procedure);
        }
    }

    /// Sets the record mark of `message`, which begins at its mark and is followed by `more` bytes. Returns the size of
    /// the message without its mark; `None` where it is too long for one fragment.
    #[inline]
    pub fn finish(message: &mut [u8], more: usize) -> Option<u32> {
        let length = message.len().checked_sub(RecordMark::SIZE)?.checked_add(more)?;
        let length = u32::try_from(length).ok().filter(|&length| length < LAST)?;
        set(message, 0, LAST | length);
        Some(length)
    }
}

#[inline]
fn set(bytes: &mut [u8], at: usize, word: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Call, Credential, Flavor};
    use crate::xdr::builder::{Xdr, call, record};

    const CALLER: Caller<'_> = Caller::User { stamp: 0x5EED, machine: "client", uid: 1000, gid: 100, groups: &[100] };

    #[test]
    fn a_call_is_what_the_specification_says() {
        let template = CallTemplate::new(100_003, 3, &CALLER).unwrap();
        let mut bytes = Vec::new();
        template.begin(0x0102_0304, 1, &mut bytes);
        bytes.put_opaque(b"handle");
        let length = CallTemplate::finish(&mut bytes, 0).unwrap();
        assert_eq!(bytes, record(call(0x0102_0304, 100_003, 3, 1, Xdr::new().opaque("handle"))).0);
        assert_eq!(length as usize, bytes.len() - 4);
        let view = Call::new(&bytes[4..]).unwrap();
        assert_eq!((view.xid(), view.program(), view.version(), view.procedure()), (0x0102_0304, 100_003, 3, 1));
        let Some(Credential::Sys(sys)) = view.credential() else { panic!("no AUTH_SYS") };
        assert_eq!((sys.uid, sys.gid), (1000, 100));
    }

    #[test]
    fn nobody_calls_without_a_credential() {
        let template = CallTemplate::new(100_000, 2, &Caller::Nobody).unwrap();
        let mut bytes = Vec::new();
        template.begin(7, 0, &mut bytes);
        assert_eq!(CallTemplate::finish(&mut bytes, 0), Some(40));
        // RFC 5531 9: xid 7, CALL, version 2, program 100000, version 2, procedure 0, two empty opaque_auth.
        let expected = [0x8000_0028, 7, 0, 2, 100_000, 2, 0, 0, 0, 0, 0];
        assert_eq!(bytes, Xdr::new().words(&expected).0);
        assert_eq!(Call::new(&bytes[4..]).unwrap().flavor(), Some(Flavor::None));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let long = "m".repeat(256);
        let caller = |machine, groups| Caller::User { stamp: 0, machine, uid: 0, gid: 0, groups };
        let made = |caller: Caller<'_>| CallTemplate::new(100_003, 3, &caller).map(|_| ());
        assert_eq!(made(caller(&long, &[])), Err(CallerError::MachineName(256)));
        assert_eq!(made(caller("m", &[0; 17])), Err(CallerError::Groups(17)));
        assert_eq!(made(caller(&long[1..], &[0; 16])), Ok(()));
        assert_eq!(CallTemplate::finish(&mut [0; 8], 0x7FFF_FFFC), None, "longer than a fragment can be");
    }
}
