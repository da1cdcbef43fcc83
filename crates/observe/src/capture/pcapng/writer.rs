//! Writes blocks, in little-endian byte order.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 3.1, 3.5, 4.1, 4.2, 4.6

use super::blocks::{
    BYTE_ORDER, IF_NAME, IF_TSRESOL, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, OPT_ENDOFOPT, SECTION_HEADER,
    SHB_USERAPPL,
};

/// A block. `write` appends its body, whose length must be a multiple of 4.
pub(crate) fn block(kind: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut block = kind.to_le_bytes().to_vec();
    // Place of the length.
    block.extend_from_slice(&[0; 4]);
    write(&mut block);
    let total = (block.len() as u32 + 4).to_le_bytes();
    if let Some(length) = block.get_mut(4..8) {
        length.copy_from_slice(&total);
    }
    block.extend_from_slice(&total);
    block
}

/// Begins a section.
pub(crate) fn section() -> Vec<u8> {
    block(SECTION_HEADER, |body| {
        body.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        // Version 1.0.
        body.extend_from_slice(&[1, 0, 0, 0]);
        // How long the section is: not known.
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        // Readers take the statements of other programs with less trust.
        option(body, SHB_USERAPPL, concat!("plimsoll ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(body, OPT_ENDOFOPT, &[]);
    })
}

/// Describes an interface, which may have no name. `digits`: ticks are 10^-digits s.
pub(crate) fn interface(link: u16, snap_length: u32, name: &[u8], digits: u8) -> Vec<u8> {
    block(INTERFACE_DESCRIPTION, |body| {
        body.extend_from_slice(&link.to_le_bytes());
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&snap_length.to_le_bytes());
        if !name.is_empty() {
            option(body, IF_NAME, name);
        }
        option(body, IF_TSRESOL, &[digits]);
        option(body, OPT_ENDOFOPT, &[]);
    })
}

/// Statistics of the first interface of the section, written at this time, with these options.
pub(crate) fn statistics(ticks: u64, options: &[(u16, &[u8])]) -> Vec<u8> {
    block(INTERFACE_STATISTICS, |body| {
        body.extend_from_slice(&0_u32.to_le_bytes());
        body.extend_from_slice(&timestamp(ticks));
        options.iter().for_each(|(code, value)| option(body, *code, value));
        option(body, OPT_ENDOFOPT, &[]);
    })
}

/// A time as the format has it: the upper half first.
pub(crate) fn timestamp(ticks: u64) -> [u8; 8] {
    ticks.rotate_left(32).to_le_bytes()
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::pcapng::blocks::OPT_COMMENT;

    #[test]
    fn a_block_has_its_length_at_both_ends_and_padded_options() {
        let block = statistics(0x1_0000_0002, &[(OPT_COMMENT, b"abc")]);
        let words: Vec<u32> = block.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [5, 36, 0, 1, 2, 3 << 16 | 1, u32::from_le_bytes(*b"abc\0"), 0, 36]);
    }
}
