//! The three messages of NTLM.
//!
//! Spec: MS-NLMP 2.2.1, 2.2.2.1, 2.2.2.5

use plimsoll_wire::ntlmssp;

use crate::smb2::auth::AuthError;

/// NegotiateFlags.
pub(super) mod flags {
    pub(in super::super) const UNICODE: u32 = 0x0000_0001;
    pub(in super::super) const REQUEST_TARGET: u32 = 0x0000_0004;
    pub(in super::super) const SIGN: u32 = 0x0000_0010;
    pub(in super::super) const SEAL: u32 = 0x0000_0020;
    pub(in super::super) const NTLM: u32 = 0x0000_0200;
    pub(in super::super) const ANONYMOUS: u32 = 0x0000_0800;
    pub(in super::super) const ALWAYS_SIGN: u32 = 0x0000_8000;
    pub(in super::super) const EXTENDED_SECURITY: u32 = 0x0008_0000;
    pub(in super::super) const TARGET_INFO: u32 = 0x0080_0000;
    pub(in super::super) const STRONG: u32 = 0x2000_0000;
    pub(in super::super) const KEY_EXCHANGE: u32 = 0x4000_0000;
    pub(in super::super) const MIDDLING: u32 = 0x8000_0000;
}

/// Flags that the client requests.
pub(super) const ASKED: u32 = flags::UNICODE
    | flags::REQUEST_TARGET
    | flags::SIGN
    | flags::SEAL
    | flags::NTLM
    | flags::ALWAYS_SIGN
    | flags::EXTENDED_SECURITY
    | flags::TARGET_INFO
    | flags::STRONG
    | flags::KEY_EXCHANGE
    | flags::MIDDLING;

const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";

/// NEGOTIATE: flags, without domain, workstation and version.
pub(super) fn negotiate() -> Vec<u8> {
    [&SIGNATURE[..], &1_u32.to_le_bytes(), &ASKED.to_le_bytes(), &[0; 24]].concat()
}

/// The server's CHALLENGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Challenge<'a> {
    pub(super) flags: u32,
    pub(super) challenge: [u8; 8],
    pub(super) target_info: &'a [u8],
}

impl<'a> Challenge<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, AuthError> {
        Self::parse(bytes).ok_or(AuthError::Malformed("no NTLM challenge"))
    }

    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let fixed: &[u8; 32] = bytes.first_chunk()?;
        let array = |at: usize| fixed.get(at..)?.first_chunk::<4>().copied();
        if !fixed.starts_with(&SIGNATURE) || array(8)? != 2_u32.to_le_bytes() {
            return None;
        }
        let flags = u32::from_le_bytes(array(20)?);
        let challenge = *fixed.get(24..)?.first_chunk()?;
        let target_info =
            if flags & flags::TARGET_INFO != 0 { payload(bytes, TARGET_INFO_FIELDS)? } else { Default::default() };
        Some(Self { flags, challenge, target_info })
    }
}

const TARGET_INFO_FIELDS: usize = 40;

fn payload(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let [l0, l1, _, _, offset @ ..] = *bytes.get(at..)?.first_chunk::<8>()?;
    let start = usize::try_from(u32::from_le_bytes(offset)).ok()?;
    bytes.get(start..start.checked_add(usize::from(u16::from_le_bytes([l0, l1])))?)
}

/// The server's target information, and the client's additions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TargetInfo {
    /// AV_PAIRs, with their end.
    pub(super) pairs: Vec<u8>,
    /// MsvAvTimestamp: then the client proves the whole exchange (MIC) and sends no LM response.
    pub(super) time: Option<u64>,
}

const END: u16 = 0;
const AV_FLAGS: u16 = 6;
const AV_TIME: u16 = 7;
const AV_TARGET: u16 = 9;
const AV_BINDINGS: u16 = 10;
/// In MsvAvFlags: the message has a MIC.
const HAS_MIC: u32 = 2;

impl TargetInfo {
    /// `target` is the service principal name of the server; empty for none.
    pub(super) fn complete(server: &[u8], target: &[u8]) -> Result<Self, AuthError> {
        let (mut pairs, mut time, mut av_flags) = (Vec::with_capacity(server.len() + 64), None, 0);
        let mut rest = server;
        while let Some((id, value)) = pair(&mut rest)? {
            match id {
                AV_FLAGS => av_flags = value.try_into().map(u32::from_le_bytes).map_err(|_| malformed())?,
                // The client sets these itself.
                AV_TARGET | AV_BINDINGS => {}
                _ => push(&mut pairs, id, value)?,
            }
            if id == AV_TIME {
                time = Some(value.try_into().map(u64::from_le_bytes).map_err(|_| malformed())?);
            }
        }
        if time.is_some() {
            push(&mut pairs, AV_FLAGS, &(av_flags | HAS_MIC).to_le_bytes())?;
            push(&mut pairs, AV_BINDINGS, &[0; 16])?;
            push(&mut pairs, AV_TARGET, target)?;
        }
        push(&mut pairs, END, &[])?;
        Ok(Self { pairs, time })
    }
}

fn malformed() -> AuthError {
    AuthError::Malformed("target information of the NTLM challenge")
}

/// The next pair; none at the end, which no information at all has reached.
fn pair<'a>(rest: &mut &'a [u8]) -> Result<Option<(u16, &'a [u8])>, AuthError> {
    if rest.is_empty() {
        return Ok(None);
    }
    let ([i0, i1, l0, l1], after) = rest.split_first_chunk().ok_or_else(malformed)?;
    let id = u16::from_le_bytes([*i0, *i1]);
    let length = usize::from(u16::from_le_bytes([*l0, *l1]));
    let (value, after) = after.split_at_checked(length).ok_or_else(malformed)?;
    *rest = after;
    Ok((id != END).then_some((id, value)))
}

fn push(pairs: &mut Vec<u8>, id: u16, value: &[u8]) -> Result<(), AuthError> {
    let length = u16::try_from(value.len()).map_err(|_| AuthError::TooLong("the server's name"))?;
    pairs.extend_from_slice(&id.to_le_bytes());
    pairs.extend_from_slice(&length.to_le_bytes());
    pairs.extend_from_slice(value);
    Ok(())
}

/// The parts of an AUTHENTICATE message, in UTF-16LE where they are text.
#[derive(Default)]
pub(super) struct Authenticate<'a> {
    pub(super) flags: u32,
    pub(super) domain: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) workstation: &'a [u8],
    pub(super) lm_response: &'a [u8],
    pub(super) nt_response: &'a [u8],
    pub(super) session_key: &'a [u8],
}

/// Offset of the MIC, which has 16 bytes.
pub(super) const MIC: usize = 72;
/// Bytes before the payload.
const FIXED: usize = MIC + 16;

impl Authenticate<'_> {
    /// The message, its MIC zero.
    pub(super) fn write(&self) -> Result<Vec<u8>, AuthError> {
        let fields = [
            (ntlmssp::DOMAIN, self.domain, "the domain's name"),
            (ntlmssp::USER, self.user, "the user's name"),
            (ntlmssp::WORKSTATION, self.workstation, "the workstation's name"),
            (ntlmssp::LM_RESPONSE, self.lm_response, "the LM response"),
            (ntlmssp::NT_RESPONSE, self.nt_response, "the server's target information"),
            (ntlmssp::SESSION_KEY, self.session_key, "the session's key"),
        ];
        let mut bytes = ntlmssp::AUTHENTICATE_START.to_vec();
        bytes.resize(FIXED, 0);
        put(&mut bytes, ntlmssp::FLAGS, &self.flags.to_le_bytes());
        for (at, value, what) in fields {
            let length = u16::try_from(value.len()).map_err(|_| AuthError::TooLong(what))?.to_le_bytes();
            let offset = u32::try_from(bytes.len()).map_err(|_| AuthError::TooLong(what))?.to_le_bytes();
            put(&mut bytes, at, &[&length[..], &length, &offset].concat());
            bytes.extend_from_slice(value);
        }
        Ok(bytes)
    }
}

/// Overwrites the bytes at `at`.
pub(super) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = *from);
}
