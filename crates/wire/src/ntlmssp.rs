//! Names in NTLMSSP messages inside a security buffer: the domain and user of an AUTHENTICATE message, and the server's name in a
//! CHALLENGE message.
//!
//! Spec: MS-NLMP 2.2.1.2, 2.2.1.3, 2.2.2.1

use crate::marks::{Mark, Marks};
use crate::text::{Latin, Text, Utf16Le};

/// Signature and message type (3, AUTHENTICATE) together, so that one search finds the right message.
pub const AUTHENTICATE_START: [u8; 12] = *b"NTLMSSP\0\x03\0\0\0";
/// LmChallengeResponseFields: length u16, maximum u16, offset u32 from the signature.
pub const LM_RESPONSE: usize = 12;
/// NtChallengeResponseFields.
pub const NT_RESPONSE: usize = 20;
/// DomainNameFields.
pub const DOMAIN: usize = 28;
/// UserNameFields.
pub const USER: usize = 36;
/// WorkstationFields.
pub const WORKSTATION: usize = 44;
/// EncryptedRandomSessionKeyFields.
pub const SESSION_KEY: usize = 52;
/// NegotiateFlags, u32.
pub const FLAGS: usize = 60;
/// Length of a payload field: length, maximum, offset.
const FIELD_LEN: usize = 8;
/// End of the fields that every client since Windows 2000 sends.
pub const FLAGS_END: usize = 64;
/// NTLMSSP_NEGOTIATE_UNICODE: names are UTF-16LE.
pub const FLAG_UNICODE: u32 = 0x0000_0001;
/// NTLM_NEGOTIATE_OEM: names are in the client's OEM code page.
pub const FLAG_OEM: u32 = 0x0000_0002;

/// Signature and message type 2, CHALLENGE.
pub const CHALLENGE_START: [u8; 12] = *b"NTLMSSP\0\x02\0\0\0";
/// TargetInfoFields of a CHALLENGE.
pub const TARGET_INFO: usize = 40;
/// AvId of MsvAvNbComputerName.
const AV_COMPUTER: u16 = 1;
/// AvId of MsvAvEOL.
const AV_END: u16 = 0;

/// The NetBIOS name of the server that a CHALLENGE in a security buffer is from. None when the buffer holds none, or it was
/// not captured so far.
#[must_use]
pub fn server_name(security_buffer: &[u8]) -> Option<Text<'_>> {
    let at = security_buffer.windows(CHALLENGE_START.len()).position(|window| window == CHALLENGE_START)?;
    let message = Authenticate { bytes: security_buffer.get(at..)? };
    let (len, offset) = message.payload_field(TARGET_INFO)?;
    let mut pairs = message.bytes.get(offset..offset.checked_add(len)?)?;
    loop {
        let [id0, id1, len0, len1, rest @ ..] = pairs else { return None };
        let (value, next) = rest.split_at_checked(usize::from(u16::from_le_bytes([*len0, *len1])))?;
        match u16::from_le_bytes([*id0, *id1]) {
            // Always Unicode, whatever was negotiated.
            AV_COMPUTER => return Some(Text::Utf16(Utf16Le(value))),
            AV_END => return None,
            _ => pairs = next,
        }
    }
}

/// ServerChallenge of a CHALLENGE, and what follows it up to the target's information.
const CHALLENGE: core::ops::Range<usize> = 24..40;
/// TargetNameFields of a CHALLENGE.
const TARGET_NAME: usize = 12;
/// AvIds of names: computer, domain, their DNS names, the forest; and the server that is meant.
const AV_NAMES: [u16; 6] = [1, 2, 3, 4, 5, 9];

/// Marks the names in a security buffer of a message, and where they stand; proofs and keys have no mark.
pub(crate) fn mark(security_buffer: &[u8], marks: &mut Marks<'_>) {
    if let Some(message) = Authenticate::find(security_buffer) {
        marks.part(message.bytes.get(..message.fixed_end()).unwrap_or(message.bytes), Mark::Number);
        for text in [message.domain(), message.user(), message.workstation()].into_iter().flatten() {
            mark_text(text, marks);
        }
    }
    // Any of the messages may be missing.
    let _ = mark_challenge(security_buffer, marks);
}

fn mark_text(text: Text<'_>, marks: &mut Marks<'_>) {
    match text {
        Text::Utf16(text) => marks.part(text.0, Mark::Wide),
        Text::Oem(text) => marks.part(text.0, Mark::Narrow),
    }
}

fn mark_challenge(security_buffer: &[u8], marks: &mut Marks<'_>) -> Option<()> {
    let at = security_buffer.windows(CHALLENGE_START.len()).position(|window| window == CHALLENGE_START)?;
    let message = Authenticate { bytes: security_buffer.get(at..)? };
    marks.part(message.bytes.get(..CHALLENGE.start)?, Mark::Number);
    let fixed = message.bytes.get(CHALLENGE.end..TARGET_INFO + 8)?;
    // Old servers send no TARGET_INFO: the name stands in its place.
    let name = message.payload_field(TARGET_NAME).filter(|(len, _)| *len != 0);
    let name_at = name.map_or(fixed.len(), |(_, offset)| offset.saturating_sub(CHALLENGE.end));
    marks.part(fixed.get(..name_at).unwrap_or(fixed), Mark::Number);
    if let Some((len, offset)) = message.payload_field(TARGET_NAME)
        && let Some(name) = message.bytes.get(offset..offset.saturating_add(len))
    {
        marks.part(name, Mark::Wide);
    }
    let (len, offset) = message.payload_field(TARGET_INFO)?;
    let mut pairs = message.bytes.get(offset..offset.checked_add(len)?)?;
    while let Some((head, rest)) = pairs.split_first_chunk::<4>() {
        let [id0, id1, len0, len1] = *head;
        let (value, next) = rest.split_at_checked(usize::from(u16::from_le_bytes([len0, len1])))?;
        marks.part(head, Mark::Number);
        if AV_NAMES.contains(&u16::from_le_bytes([id0, id1])) {
            marks.part(value, Mark::Wide);
        }
        pairs = next;
    }
    Some(())
}

/// A borrowed AUTHENTICATE message, perhaps cut short. Offsets inside it count from its signature.
#[derive(Clone, Copy, Debug)]
pub struct Authenticate<'a> {
    bytes: &'a [u8],
}

impl<'a> Authenticate<'a> {
    /// Finds the message in a security buffer: raw NTLMSSP, or wrapped in SPNEGO, whose ASN.1 is stepped over by
    /// searching the signature. None when the buffer holds another step or mechanism (Kerberos, say).
    #[must_use]
    pub fn find(security_buffer: &'a [u8]) -> Option<Self> {
        let at = security_buffer.windows(AUTHENTICATE_START.len()).position(|window| window == AUTHENTICATE_START)?;
        Some(Self { bytes: security_buffer.get(at..)? })
    }

    /// The domain or, for a local account, the server or workstation; often empty. None when it was not captured.
    #[must_use]
    pub fn domain(&self) -> Option<Text<'a>> {
        self.text(DOMAIN)
    }

    /// The account name; empty for an anonymous logon. None when it was not captured.
    #[must_use]
    pub fn user(&self) -> Option<Text<'a>> {
        self.text(USER)
    }

    /// The name the client's machine gives itself. None when it was not captured.
    #[must_use]
    pub fn workstation(&self) -> Option<Text<'a>> {
        self.text(WORKSTATION)
    }

    /// True for a logon with neither name nor proof (a null session). None when the fields were not captured.
    #[must_use]
    pub fn is_anonymous(&self) -> Option<bool> {
        let (user, _) = self.payload_field(USER)?;
        let (proof, _) = self.payload_field(NT_RESPONSE)?;
        Some(user == 0 && proof == 0)
    }

    /// NegotiateFlags. None when not captured, and when the message has none: clients before Windows 2000 end the
    /// fixed part earlier, which shows in a payload that begins inside it.
    #[must_use]
    pub fn flags(&self) -> Option<u32> {
        for field in [LM_RESPONSE, NT_RESPONSE, DOMAIN, USER, WORKSTATION] {
            let (len, offset) = self.payload_field(field)?;
            if len != 0 && offset < FLAGS_END {
                return None;
            }
        }
        let bytes = self.bytes.get(FLAGS..FLAGS_END)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    }

    /// End of the fixed part, where the payload may begin: before the flags in messages without them.
    fn fixed_end(&self) -> usize {
        let mut end = FLAGS_END;
        for field in [LM_RESPONSE, NT_RESPONSE, DOMAIN, USER, WORKSTATION, SESSION_KEY] {
            match self.payload_field(field) {
                // Payload stands where this field would be.
                _ if field + FIELD_LEN > end => break,
                Some((len, offset)) if len != 0 => end = end.min(offset),
                _ => {}
            }
        }
        end
    }

    fn text(&self, field: usize) -> Option<Text<'a>> {
        let (len, offset) = self.payload_field(field)?;
        if len == 0 {
            return Some(Text::Utf16(Utf16Le(&[])));
        }
        // Without flags the encoding is unknown, and a wrong name is worse than none.
        let flags = self.flags()?;
        let bytes = self.bytes.get(offset..offset.checked_add(len)?)?;
        if flags & FLAG_UNICODE != 0 {
            Some(Text::Utf16(Utf16Le(bytes)))
        } else if flags & FLAG_OEM != 0 {
            Some(Text::Oem(Latin(bytes)))
        } else {
            None
        }
    }

    /// Length and offset of a payload field.
    fn payload_field(&self, at: usize) -> Option<(usize, usize)> {
        let [len0, len1, _, _, offset @ ..] = *self.bytes.get(at..)?.first_chunk::<8>()?;
        let offset = usize::try_from(u32::from_le_bytes(offset)).ok()?;
        Some((usize::from(u16::from_le_bytes([len0, len1])), offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hand-assembled from MS-NLMP 2.2.1.3: fixed part, then the payload in the order domain, user, workstation.
    fn authenticate(flags: u32, names: [&[u8]; 3], fixed: usize) -> Vec<u8> {
        let mut message = AUTHENTICATE_START.to_vec();
        message.resize(fixed, 0);
        let mut at = fixed;
        for (field, name) in [DOMAIN, USER, WORKSTATION].into_iter().zip(names) {
            let len = u16::try_from(name.len()).unwrap().to_le_bytes();
            message[field..field + 2].copy_from_slice(&len);
            message[field + 2..field + 4].copy_from_slice(&len);
            message[field + 4..field + 8].copy_from_slice(&u32::try_from(at).unwrap().to_le_bytes());
            message.extend_from_slice(name);
            at += name.len();
        }
        if fixed >= FLAGS_END {
            message[FLAGS..FLAGS_END].copy_from_slice(&flags.to_le_bytes());
        }
        message
    }

    /// The names of the examples in MS-NLMP 4.2.1: user "User", domain "Domain", workstation "COMPUTER".
    const SPEC_NAMES: [&[u8]; 3] = [b"D\0o\0m\0a\0i\0n\0", b"U\0s\0e\0r\0", b"C\0O\0M\0P\0U\0T\0E\0R\0"];

    #[test]
    fn names_are_found_inside_spnego() {
        // NegTokenResp, responseToken: a1 .. 30 .. a2 .. 04 .. then the NTLMSSP message.
        let mut buffer = vec![0xa1, 0x82, 0x01, 0x00, 0x30, 0x81, 0xff, 0xa2, 0x81, 0xfc, 0x04, 0x81, 0xf9];
        buffer.extend(authenticate(FLAG_UNICODE | FLAG_OEM, SPEC_NAMES, 88));
        let message = Authenticate::find(&buffer).unwrap();
        assert_eq!(message.domain().unwrap(), "Domain");
        assert_eq!(message.user().unwrap(), "User");
        assert_eq!(message.workstation().unwrap(), "COMPUTER");
        assert_eq!(message.is_anonymous(), Some(false));
    }

    #[test]
    fn a_challenge_names_the_server() {
        let domain = [&[2u8, 0, 2, 0][..], b"D\0"].concat();
        let computer = [&[1u8, 0, 6, 0][..], b"N\0A\0S\0"].concat();
        let info = [domain, computer, vec![0; 4]].concat();
        let mut message = [&CHALLENGE_START[..], &[0; 44]].concat();
        message[TARGET_INFO] = u8::try_from(info.len()).unwrap();
        message[TARGET_INFO + 4] = u8::try_from(message.len()).unwrap();
        message.extend(&info);
        let buffer = [&b"spnego"[..], &message].concat();
        assert_eq!(server_name(&buffer).unwrap(), "NAS");
        for cut in 0..buffer.len() {
            assert!(server_name(&buffer[..cut]).is_none(), "cut at {cut}");
        }
        let nameless = [&message[..56], &[2, 0, 2, 0, b'D', 0, 0, 0, 0, 0]].concat();
        assert!(server_name(&nameless).is_none());
    }

    #[test]
    fn oem_names_are_read_as_single_bytes() {
        let bytes = authenticate(FLAG_OEM, [b"DOMAIN", b"M\x81LLER", b"PC"], 64);
        let message = Authenticate::find(&bytes).unwrap();
        assert_eq!(message.user().unwrap(), "M\u{FFFD}LLER");
        assert_eq!(message.domain().unwrap(), "DOMAIN");
    }

    #[test]
    fn no_flags_no_names() {
        let bytes = authenticate(0, SPEC_NAMES, 52);
        let message = Authenticate::find(&bytes).unwrap();
        assert_eq!(message.flags(), None);
        assert_eq!(message.user(), None);
    }

    fn marked(message: &[u8]) -> Vec<(core::ops::Range<usize>, Mark)> {
        let mut marks = Marks::new(message);
        mark(message, &mut marks);
        marks.iter().collect()
    }

    #[test]
    fn payload_is_not_marked_as_fields_of_an_old_message() {
        let old = authenticate(0, SPEC_NAMES, 52);
        assert_eq!(marked(&old), [(0..52, Mark::Number)], "no name is read, so none is marked");
        let fields = marked(&authenticate(FLAG_UNICODE, SPEC_NAMES, 64));
        let names = [(64..76, Mark::Wide), (76..84, Mark::Wide), (84..100, Mark::Wide)];
        assert_eq!(fields, [&[(0..64, Mark::Number)][..], &names].concat());
    }

    #[test]
    fn a_cut_name_in_an_old_challenge_is_not_marked_as_fields() {
        let mut message = [&CHALLENGE_START[..], &[0; 28], b"S\0E\0C\0R\0"].concat();
        message[TARGET_NAME] = 12;
        message[TARGET_NAME + 4] = 40;
        assert_eq!(marked(&message), [(0..24, Mark::Number)]);
    }

    #[test]
    fn anonymous_has_an_empty_user() {
        let bytes = authenticate(FLAG_UNICODE, [b"", b"", b""], 64);
        let message = Authenticate::find(&bytes).unwrap();
        assert!(message.user().unwrap().is_empty());
        assert_eq!(message.is_anonymous(), Some(true));
    }

    #[test]
    fn other_steps_are_not_it() {
        assert!(Authenticate::find(b"NTLMSSP\0\x01\0\0\0\x97\x82\x08\xe2").is_none());
        assert!(Authenticate::find(b"NTLMSSP\0\x02\0\0\0").is_none());
        assert!(Authenticate::find(b"").is_none());
    }

    #[test]
    fn every_truncation_gives_a_whole_name_or_none() {
        let whole = authenticate(FLAG_UNICODE, SPEC_NAMES, 88);
        for cut in 0..whole.len() {
            let Some(message) = Authenticate::find(&whole[..cut]) else {
                assert!(cut < AUTHENTICATE_START.len());
                continue;
            };
            assert!(message.domain().is_none_or(|name| name == "Domain"));
            assert!(message.user().is_none_or(|name| name == "User"));
            assert!(message.workstation().is_none(), "the last name ends the message");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_after_the_signature_read(rest: Vec<u8>) {
            let bytes = [&AUTHENTICATE_START[..], &rest].concat();
            let message = Authenticate::find(&bytes).unwrap();
            if let Some(Text::Utf16(user)) = message.user() {
                prop_assert!(user.0.len() < bytes.len());
            }
            let _ = (message.domain(), message.workstation(), message.is_anonymous(), message.flags());
        }
    }
}
