//! The tokens of an established context, of the side that initiates: MIC and Wrap.
//!
//! Spec: RFC 4121 2 (keys), 4.2 (tokens), 4.2.5 (rotation)

use aws_lc_rs::{constant_time, hmac};
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use zeroize::Zeroizing;

use super::TokenError;
use super::encryption::{Cipher, Usage};
use super::sealing::{BLOCK, SUM, SealingKey};

/// TOK_ID of a MIC token.
const MIC: [u8; 2] = [4, 4];
/// TOK_ID of a Wrap token.
const WRAP: [u8; 2] = [5, 4];
/// Bytes of a token's head.
const HEAD: usize = 16;
const SENT_BY_ACCEPTOR: u8 = 1;
const SEALED: u8 = 2;
const ACCEPTOR_SUBKEY: u8 = 4;

pub(crate) struct ContextKeys {
    cipher: Cipher,
    /// ACCEPTOR_SUBKEY if the server chose the key.
    subkey: u8,
    own: hmac::Key,
    servers: hmac::Key,
    own_seal: SealingKey,
    servers_seal: SealingKey,
    /// Of confounders: the operating system's would cost a system call per token.
    random: StdRng,
    /// SND_SEQ of the next token.
    next: u64,
}

impl ContextKeys {
    /// Bytes of a MIC token.
    pub(crate) const MIC_LENGTH: usize = HEAD + SUM;

    /// The keys of a context whose key the server (`of_acceptor`) or the client chose. `first` is the sequence number of its AP-REQ.
    pub(crate) fn new(key: &[u8], of_acceptor: bool, first: u32) -> Option<Self> {
        let cipher = Cipher::new(key)?;
        let own = cipher.signing_key(Usage::InitiatorSignature)?;
        let servers = cipher.signing_key(Usage::AcceptorSignature)?;
        let own_seal = cipher.sealing_key(Usage::InitiatorSeal)?;
        let servers_seal = cipher.sealing_key(Usage::AcceptorSeal)?;
        let mut seed = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut *seed).ok()?;
        let random = StdRng::from_seed(*seed);
        let subkey = if of_acceptor { ACCEPTOR_SUBKEY } else { 0 };
        Some(Self { cipher, subkey, own, servers, own_seal, servers_seal, random, next: u64::from(first) })
    }

    /// The name of the encryption, as in RFC 3962 6.
    pub(crate) fn encryption(&self) -> &'static str {
        self.cipher.name()
    }

    /// A MIC token over a text in pieces.
    pub(crate) fn sign<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> [u8; Self::MIC_LENGTH] {
        let head = self.head(MIC, 0xFFFF_FFFF);
        let mut context = hmac::Context::with_key(&self.own);
        pieces.into_iter().for_each(|piece| context.update(piece));
        context.update(&head);
        let mut token = [0; Self::MIC_LENGTH];
        token[..HEAD].copy_from_slice(&head);
        token[HEAD..].iter_mut().zip(context.sign().as_ref()).for_each(|(byte, sum)| *byte = *sum);
        token
    }

    /// Checks the server's MIC token over a text.
    pub(crate) fn verify(&self, text: &[u8], token: &[u8]) -> Result<(), TokenError> {
        let (head, sum) = token.split_at_checked(HEAD).ok_or(TokenError::BadProof)?;
        if !head.starts_with(&[MIC[0], MIC[1], SENT_BY_ACCEPTOR | self.subkey, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) {
            return Err(TokenError::BadProof);
        }
        let mut context = hmac::Context::with_key(&self.servers);
        [text, head].into_iter().for_each(|piece| context.update(piece));
        let expected = context.sign();
        let expected = expected.as_ref().get(..SUM).unwrap_or_default();
        constant_time::verify_slices_are_equal(sum, expected).map_err(|_| TokenError::BadProof)
    }

    /// A Wrap token with a text, encrypted.
    pub(crate) fn seal(&mut self, text: &[u8]) -> Vec<u8> {
        // EC and RRC are 0: AES with ciphertext stealing needs no filler.
        let head = self.head(WRAP, 0);
        let mut confounder = [0; BLOCK];
        self.random.fill_bytes(&mut confounder);
        self.own_seal.encrypt(&head, &confounder, &[text, &head])
    }

    /// The text of the server's Wrap token, which must be encrypted.
    pub(crate) fn open(&self, token: &[u8]) -> Result<Zeroizing<Vec<u8>>, TokenError> {
        let (head, body) = token.split_first_chunk::<HEAD>().ok_or(TokenError::BadProof)?;
        let [id0, id1, flags, filler, extra0, extra1, right0, right1, ..] = *head;
        let expected = SENT_BY_ACCEPTOR | SEALED | self.subkey;
        if ([id0, id1], flags, filler) != (WRAP, expected, 0xFF) || body.is_empty() {
            return Err(TokenError::BadProof);
        }
        let mut body = body.to_vec();
        let right = usize::from(u16::from_be_bytes([right0, right1])) % body.len();
        body.rotate_left(right);
        let mut plain = self.servers_seal.decrypt(body).ok_or(TokenError::BadProof)?;
        // Behind the text stand the filler and the head again, with RRC 0.
        let mut inside = *head;
        inside[6..8].fill(0);
        let extra = usize::from(u16::from_be_bytes([extra0, extra1]));
        let end = plain.len().checked_sub(HEAD + extra).filter(|_| plain.ends_with(&inside));
        plain.truncate(end.ok_or(TokenError::BadProof)?);
        Ok(plain)
    }

    /// The head of the next token. `counts` stands behind the filler: EC and RRC, or more filler.
    fn head(&mut self, id: [u8; 2], counts: u32) -> [u8; HEAD] {
        let mut head = [0xFF; HEAD];
        let sealed = if id == WRAP { SEALED } else { 0 };
        head[..2].copy_from_slice(&id);
        head[2] = self.subkey | sealed;
        head[4..8].copy_from_slice(&counts.to_be_bytes());
        head[8..].copy_from_slice(&self.next.to_be_bytes());
        self.next = self.next.wrapping_add(1);
        head
    }
}

impl std::fmt::Debug for ContextKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextKeys").field("encryption", &self.encryption()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const KEY: [u8; 32] = [0x5A; 32];

    /// The server's tokens of a context whose key it chose.
    pub(crate) struct Acceptor {
        cipher: Cipher,
        next: u64,
    }

    impl Acceptor {
        pub(crate) fn new(key: &[u8]) -> Self {
            Self { cipher: Cipher::new(key).unwrap(), next: 7 }
        }

        pub(crate) fn sign(&mut self, text: &[u8]) -> Vec<u8> {
            let head = self.head([4, 4, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
            [&head[..], &self.cipher.sign(Usage::AcceptorSignature, &[text, &head].concat()).unwrap()].concat()
        }

        /// A token with filler and rotation, as MIT's (RRC 0) and Windows' (RRC 28) have.
        pub(crate) fn seal(&mut self, text: &[u8], extra: u8, right: u8) -> Vec<u8> {
            let mut head = self.head([5, 4, 7, 0xFF, 0, extra, 0, 0]);
            let plain = [text, &vec![0; extra.into()], &head].concat();
            let mut sealed = self.cipher.encrypt(Usage::AcceptorSeal, &plain).unwrap();
            let count = usize::from(right) % sealed.len();
            sealed.rotate_right(count);
            head[7] = right;
            [&head[..], &sealed].concat()
        }

        pub(crate) fn verify(&self, text: &[u8], token: &[u8]) -> bool {
            let (head, sum) = token.split_at(HEAD);
            let expected = self.cipher.sign(Usage::InitiatorSignature, &[text, head].concat()).unwrap();
            head[..8] == [4, 4, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] && sum == expected
        }

        pub(crate) fn open(&self, token: &[u8]) -> Vec<u8> {
            let (head, body) = token.split_at(HEAD);
            assert_eq!(head[..8], [5, 4, 6, 0xFF, 0, 0, 0, 0]);
            let plain = self.cipher.decrypt(Usage::InitiatorSeal, body).unwrap();
            plain.strip_suffix(head).unwrap().to_vec()
        }

        fn head(&mut self, begin: [u8; 8]) -> Vec<u8> {
            self.next += 1;
            [&begin[..], &self.next.to_be_bytes()].concat()
        }
    }

    fn both(key: &[u8]) -> (ContextKeys, Acceptor) {
        (ContextKeys::new(key, true, 9).unwrap(), Acceptor::new(key))
    }

    #[test]
    fn signatures_are_over_text_and_head_and_numbered() {
        for key in [&KEY[..], &KEY[..16]] {
            let (mut keys, acceptor) = both(key);
            let first = keys.sign([&b"in "[..], b"pieces"]);
            assert!(acceptor.verify(b"in pieces", &first) && !acceptor.verify(b"in Pieces", &first));
            assert_eq!((first[8..16].to_vec(), keys.sign([])[15]), (9_u64.to_be_bytes().to_vec(), 10));
        }
        assert!(ContextKeys::new(&KEY[..24], true, 0).is_none(), "no AES key");
    }

    #[test]
    fn a_server_that_signs_wrongly_is_found_out() {
        let (keys, mut acceptor) = both(&KEY);
        let token = acceptor.sign(b"text");
        assert_eq!(keys.verify(b"text", &token), Ok(()));
        assert_eq!(keys.verify(b"Text", &token), Err(TokenError::BadProof));
        for at in 0..token.len() {
            let mut wrong = token.clone();
            wrong[at] ^= 1;
            assert_eq!(keys.verify(b"text", &wrong), Err(TokenError::BadProof), "byte {at}");
            assert_eq!(keys.verify(b"text", &token[..at]), Err(TokenError::BadProof), "{at} bytes");
        }
        // Our own token comes back.
        let mut own = ContextKeys::new(&KEY, true, 9).unwrap();
        let mine = own.sign([&b"text"[..]]);
        assert_eq!(keys.verify(b"text", &mine), Err(TokenError::BadProof));
    }

    #[test]
    fn wrapped_texts_come_back_whatever_the_rotation() {
        for key in [&KEY[..], &KEY[..16]] {
            let (mut keys, mut acceptor) = both(key);
            for length in [0, 1, 15, 16, 17, 1000] {
                let text = vec![7; length];
                let sealed = keys.seal(&text);
                assert_eq!(acceptor.open(&sealed), text);
                for (extra, right) in [(0, 0), (0, 28), (0, 255), (3, 12)] {
                    let token = acceptor.seal(&text, extra, right);
                    assert_eq!(keys.open(&token).map(|text| text.to_vec()), Ok(text.clone()), "{extra} {right}");
                }
            }
        }
    }

    #[test]
    fn a_wrapped_text_that_was_changed_is_found_out() {
        let (keys, mut acceptor) = both(&KEY);
        let token = acceptor.seal(b"some text", 0, 0);
        for at in 0..token.len() {
            assert!(keys.open(&token[..at]).is_err(), "{at} bytes");
            let mut wrong = token.clone();
            wrong[at] ^= 1;
            assert!(keys.open(&wrong).is_err(), "byte {at}");
        }
        assert!(keys.open(&[token, vec![0]].concat()).is_err());
    }
}
