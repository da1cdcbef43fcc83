//! The call.
//!
//! Spec: MS-SMB2 2.2.3, 2.2.3.1, 3.2.4.2.2.2

use super::context::{self, ALIGNMENT, HASH_SHA512, HEADER_LEN};
use super::{
    CLIENT_GUID, DIALECT_311, DIALECT_COUNT, DIALECTS, REQUEST_CAPABILITIES, REQUEST_CONTEXTS, REQUEST_SECURITY_MODE,
    REQUEST_SIZE,
};
use crate::smb2::command::Command;
use crate::smb2::draft::{Call, Draft, TooLong, fit16, fit32};

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiate<'a> {
    /// The dialects spoken, lowest first.
    pub dialects: &'a [u16],
    /// `SIGNING_` bits.
    pub security_mode: u8,
    /// `CAP_` bits.
    pub capabilities: u32,
    /// Names the client machine for as long as it runs.
    pub client_guid: [u8; 16],
    /// What goes with dialect 3.1.1; left out where that is not among the dialects.
    pub contexts: Offer<'a>,
}

/// A client's offer for dialect 3.1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer<'a> {
    /// Random bytes for the preauthentication hash, which is SHA-512; 32 by custom.
    pub salt: &'a [u8],
    /// Numbers of [`Cipher`](super::Cipher)s, best first; none leaves the context out.
    pub ciphers: &'a [u16],
    /// Numbers of signing algorithms (MS-SMB2 2.2.3.1.7), best first; none leaves the context out.
    pub signing: &'a [u16],
    /// The server's name as the client knows it; empty leaves the context out.
    pub server: &'a str,
}

impl Call for Negotiate<'_> {
    const COMMAND: Command = Command::Negotiate;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, DIALECTS);
        draft.u16(DIALECT_COUNT, fit16("DialectCount", self.dialects.len())?);
        draft.u16(REQUEST_SECURITY_MODE, self.security_mode.into());
        draft.u32(REQUEST_CAPABILITIES, self.capabilities);
        draft.array(CLIENT_GUID, self.client_guid);
        self.dialects.iter().for_each(|dialect| draft.put(&dialect.to_le_bytes()));
        if !self.dialects.contains(&DIALECT_311) {
            return Ok(());
        }
        draft.align(ALIGNMENT);
        draft.u32(REQUEST_CONTEXTS, fit32("NegotiateContextOffset", draft.end())?);
        let count = self.contexts.put(draft)?;
        draft.u16(REQUEST_CONTEXTS + 4, count);
        Ok(())
    }
}

impl Offer<'_> {
    /// Appends the contexts; returns how many there are.
    fn put(&self, draft: &mut Draft<'_>) -> Result<u16, TooLong> {
        put(draft, context::PREAUTH_INTEGRITY, |draft| {
            draft.put(&1_u16.to_le_bytes());
            draft.put(&fit16("SaltLength", self.salt.len())?.to_le_bytes());
            draft.put(&HASH_SHA512.to_le_bytes());
            draft.put(self.salt);
            Ok(())
        })?;
        let mut count = 1;
        for (kind, numbers) in [(context::ENCRYPTION, self.ciphers), (context::SIGNING, self.signing)] {
            if !numbers.is_empty() {
                put(draft, kind, |draft| {
                    draft.put(&fit16("Count", numbers.len())?.to_le_bytes());
                    numbers.iter().for_each(|number| draft.put(&number.to_le_bytes()));
                    Ok(())
                })?;
                count += 1;
            }
        }
        if !self.server.is_empty() {
            put(draft, context::NETNAME, |draft| {
                draft.text(self.server);
                Ok(())
            })?;
            count += 1;
        }
        Ok(count)
    }
}

fn put(
    draft: &mut Draft<'_>,
    kind: u16,
    data: impl FnOnce(&mut Draft<'_>) -> Result<(), TooLong>,
) -> Result<(), TooLong> {
    draft.align(ALIGNMENT);
    let start = draft.end();
    draft.put(&[0; HEADER_LEN]);
    data(draft)?;
    draft.u16(start, kind);
    draft.u16(start + 2, fit16("DataLength", draft.end() - start - HEADER_LEN)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::negotiate::{self, CAP_LARGE_MTU, SIGNING_ENABLED};
    use crate::smb2::testing::{Message, emitted};

    const CALL: Negotiate<'_> = Negotiate {
        dialects: &[0x0202, 0x0210, 0x0300, 0x0302, 0x0311],
        security_mode: SIGNING_ENABLED,
        capabilities: CAP_LARGE_MTU,
        client_guid: [7; 16],
        contexts: Offer { salt: &[0xAB; 32], ciphers: &[2, 1], signing: &[2, 1, 0], server: "srv" },
    };

    #[test]
    fn a_call_reads_as_it_was_said() {
        let bytes = emitted(&CALL);
        let view = negotiate::Request::new(&bytes).unwrap();
        assert_eq!(view.dialects().collect::<Vec<_>>(), CALL.dialects);
        assert_eq!((view.client_guid(), view.capabilities()), (Some([7; 16]), Some(CAP_LARGE_MTU)));
        let old = emitted(&Negotiate { dialects: &[0x0202, 0x0302], ..CALL });
        assert_eq!((old.len(), &old[REQUEST_CONTEXTS..DIALECTS]), (DIALECTS + 4, &[0; 8][..]), "no contexts");
    }

    /// Hand-assembled from 2.2.3 and 2.2.3.1.
    #[test]
    fn the_layout_is_the_specifications() {
        let bytes = emitted(&CALL);
        let fixed = Message::request(0).u16(36).u16(5).u16(1).u16(0).u32(4).put(&[7; 16]).u32(0x70).u16(4).u16(0);
        let dialects = fixed.u16(0x0202).u16(0x0210).u16(0x0300).u16(0x0302).u16(0x0311).u16(0);
        let preauth = dialects.u16(1).u16(38).u32(0).u16(1).u16(32).u16(1).put(&[0xAB; 32]).u16(0);
        let ciphers = preauth.u16(2).u16(6).u32(0).u16(2).u16(2).u16(1).u16(0);
        let signing = ciphers.u16(8).u16(8).u32(0).u16(3).u16(2).u16(1).u16(0);
        let expected = signing.u16(5).u16(6).u32(0).utf16("srv").like(&bytes);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn what_is_not_offered_is_left_out() {
        let bytes = emitted(&Negotiate { contexts: Offer { salt: &[1; 32], ..Offer::default() }, ..CALL });
        assert_eq!(bytes[REQUEST_CONTEXTS + 4], 1);
        let long = "x".repeat(40_000);
        let call = Negotiate { contexts: Offer { server: &long, ..CALL.contexts }, ..CALL };
        assert_eq!(call.emit(&Default::default(), &mut Vec::new()).unwrap_err().field, "DataLength");
    }
}
