//! Encryption with a signature, for one usage of a key, whose derived keys are made once: a context encrypts each call and decrypts each
//! reply, and deriving the keys takes longer than that.
//!
//! Spec: RFC 3961 5.3 (keys Ke and Ki, confounder), RFC 3962 5 (ciphertext stealing, HMAC-SHA1-96)

use aes::cipher::{Array, BlockModeDecrypt as _, BlockModeEncrypt as _, InnerIvInit as _, KeyInit as _};
use aes::{Aes128, Aes256};
use aws_lc_rs::{constant_time, hmac};
use zeroize::Zeroizing;

/// Bytes of an AES block, and of the confounder.
pub(super) const BLOCK: usize = 16;
/// Bytes of HMAC-SHA1-96.
pub(super) const SUM: usize = 12;

type Block = [u8; BLOCK];

/// Keys of one usage.
pub(crate) struct SealingKey {
    aes: Aes,
    sums: hmac::Key,
}

enum Aes {
    Of128(Box<Aes128>),
    Of256(Box<Aes256>),
}

impl SealingKey {
    /// From Ke and Ki; `None` if AES has no keys of this length.
    pub(super) fn new(encryption: &[u8], integrity: &[u8]) -> Option<Self> {
        let aes = match encryption.len() {
            16 => Aes::Of128(Box::new(Aes128::new_from_slice(encryption).ok()?)),
            32 => Aes::Of256(Box::new(Aes256::new_from_slice(encryption).ok()?)),
            _ => return None,
        };
        Some(Self { aes, sums: hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, integrity) })
    }

    /// A text in pieces, encrypted behind `head`, which stays as it is. `confounder` is random.
    pub(crate) fn encrypt(&self, head: &[u8], confounder: &Block, text: &[&[u8]]) -> Vec<u8> {
        let length: usize = text.iter().map(|piece| piece.len()).sum();
        // The last block is filled for a moment.
        let mut message = Vec::with_capacity(head.len() + (BLOCK + length).next_multiple_of(BLOCK) + SUM);
        message.extend_from_slice(head);
        message.extend_from_slice(confounder);
        text.iter().for_each(|piece| message.extend_from_slice(piece));
        let (_, plain) = message.split_at_mut(head.len());
        let sum = self.sum(plain);
        let end = message.len();
        message.resize(head.len() + (BLOCK + length).next_multiple_of(BLOCK), 0);
        let (_, blocks) = message.split_at_mut(head.len());
        self.aes.encrypt(blocks);
        swap_last_two(blocks);
        message.truncate(end);
        message.extend_from_slice(&sum);
        message
    }

    /// `None` where it was not encrypted with this key, or changed since.
    pub(crate) fn decrypt(&self, mut sealed: Vec<u8>) -> Option<Zeroizing<Vec<u8>>> {
        let length = sealed.len().checked_sub(SUM).filter(|length| *length >= BLOCK)?;
        let (_, sum) = sealed.split_last_chunk::<SUM>()?;
        let sum = *sum;
        sealed.truncate(length);
        let mut plain = Zeroizing::new(sealed);
        self.fill_last(&mut plain)?;
        swap_last_two(&mut plain);
        self.aes.decrypt(&mut plain);
        plain.truncate(length);
        constant_time::verify_slices_are_equal(&sum, &self.sum(&plain)).ok()?;
        plain.drain(..BLOCK);
        Some(plain)
    }

    /// Gives the last block the bytes that encryption stole: those at the end of the block before it, decrypted.
    fn fill_last(&self, sealed: &mut Vec<u8>) -> Option<()> {
        let missing = sealed.len().next_multiple_of(BLOCK) - sealed.len();
        if missing > 0 {
            let whole = sealed.len() + missing - BLOCK;
            let mut stolen: Block = *sealed.get(..whole)?.last_chunk()?;
            self.aes.decrypt(&mut stolen);
            sealed.extend_from_slice(stolen.get(BLOCK - missing..)?);
        }
        Some(())
    }

    fn sum(&self, plain: &[u8]) -> [u8; SUM] {
        let tag = hmac::sign(&self.sums, plain);
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }
}

impl Aes {
    /// CBC over whole blocks, from an initial vector of zeros.
    fn encrypt(&self, blocks: &mut [u8]) {
        let (blocks, _) = Array::slice_as_chunks_mut(blocks);
        match self {
            Self::Of128(aes) => cbc::Encryptor::inner_iv_init(&**aes, &Array::default()).encrypt_blocks(blocks),
            Self::Of256(aes) => cbc::Encryptor::inner_iv_init(&**aes, &Array::default()).encrypt_blocks(blocks),
        }
    }

    /// The same backwards.
    fn decrypt(&self, blocks: &mut [u8]) {
        let (blocks, _) = Array::slice_as_chunks_mut(blocks);
        match self {
            Self::Of128(aes) => cbc::Decryptor::inner_iv_init(&**aes, &Array::default()).decrypt_blocks(blocks),
            Self::Of256(aes) => cbc::Decryptor::inner_iv_init(&**aes, &Array::default()).decrypt_blocks(blocks),
        }
    }
}

/// RFC 3962 5: the last two blocks change places.
fn swap_last_two(blocks: &mut [u8]) {
    let Some((rest, last)) = blocks.split_last_chunk_mut::<BLOCK>() else { return };
    if let Some(before) = rest.last_chunk_mut::<BLOCK>() {
        std::mem::swap(before, last);
    }
}

#[cfg(test)]
mod tests {
    use super::super::encryption::{Cipher, Usage};

    /// Each end of the texts in a block, and each key length, against another implementation.
    #[test]
    fn what_picky_krb_encrypts_is_read_and_the_other_way_round() {
        for key in [&[0x5A; 32][..], &[0x5A; 16]] {
            let cipher = Cipher::new(key).unwrap();
            let sealing = cipher.sealing_key(Usage::AcceptorSeal).unwrap();
            for length in (0..70).chain([4_095, 4_096, 8_300]) {
                let text: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let (first, second) = text.split_at(text.len() / 3);
                let sealed = sealing.encrypt(b"head", &[7; 16], &[first, second]);
                let body = sealed.strip_prefix(b"head").unwrap();
                assert_eq!(cipher.decrypt(Usage::AcceptorSeal, body).as_deref(), Some(&text), "{length} bytes");
                let theirs = cipher.encrypt(Usage::AcceptorSeal, &text).unwrap();
                assert_eq!(sealing.decrypt(theirs).as_deref(), Some(&text), "{length} bytes");
            }
        }
    }

    #[test]
    fn what_was_cut_or_changed_is_refused() {
        let sealing = Cipher::new(&[1; 32]).unwrap().sealing_key(Usage::InitiatorSeal).unwrap();
        let sealed = sealing.encrypt(b"", &[7; 16], &[b"a text of some length"]);
        assert!(sealing.decrypt(sealed.clone()).is_some());
        for at in 0..sealed.len() {
            assert!(sealing.decrypt(sealed[..at].to_vec()).is_none(), "{at} bytes");
            let mut wrong = sealed.clone();
            wrong[at] ^= 1;
            assert!(sealing.decrypt(wrong).is_none(), "byte {at}");
        }
        let other = Cipher::new(&[1; 32]).unwrap().sealing_key(Usage::AcceptorSeal).unwrap();
        assert!(other.decrypt(sealed).is_none(), "another usage");
    }
}
