//! Parquet's hybrid of run lengths and packed bits, of small numbers.
//!
//! Spec: Apache Parquet, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid".

/// Numbers packed together; a run pays for its header from this length on.
const GROUP: usize = 8;

/// Bits that numbers up to `greatest` take; at least one, for readers differ about none.
pub(super) fn width_of(greatest: u32) -> u32 {
    (u32::BITS - greatest.leading_zeros()).max(1)
}

/// Appends numbers of at most `width` bits.
pub(super) fn encode(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut packed_from, mut at) = (0, 0);
    while let Some(rest) = numbers.get(at..).filter(|rest| !rest.is_empty()) {
        let run = run_length(rest);
        if run < GROUP {
            at = numbers.len().min(at + GROUP);
            continue;
        }
        pack(numbers.get(packed_from..at).unwrap_or_default(), width, out);
        rest.iter().take(1).for_each(|&number| self::run(run, number, width, out));
        at += run;
        packed_from = at;
    }
    pack(numbers.get(packed_from..).unwrap_or_default(), width, out);
}

/// Appends a number of `width` bits `length` times.
pub(super) fn run(length: usize, number: u32, width: u32, out: &mut Vec<u8>) {
    if length > 0 {
        header((length as u64) << 1, out);
        out.extend(number.to_le_bytes().into_iter().take(width.div_ceil(8) as usize));
    }
}

fn run_length(numbers: &[u32]) -> usize {
    let first = numbers.first();
    numbers.iter().take_while(|number| Some(*number) == first).count()
}

/// Whole groups; the last one of all may be filled up with zeros.
fn pack(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    header((numbers.len().div_ceil(GROUP) as u64) << 1 | 1, out);
    for group in numbers.chunks(GROUP) {
        // Eight numbers of n bits are n bytes.
        let (mut bits, mut held) = (0u64, 0);
        for place in 0..GROUP {
            bits |= u64::from(group.get(place).copied().unwrap_or(0)) << held;
            held += width;
            while held >= 8 {
                out.push(bits as u8);
                (bits, held) = (bits >> 8, held - 8);
            }
        }
    }
}

/// LEB128.
fn header(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's example: 0 to 7 in three bits.
    #[test]
    fn bits_are_packed_as_the_specification_shows() {
        let mut out = Vec::new();
        encode(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut out);
        assert_eq!(out, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn a_run_is_its_length_and_its_number() {
        let mut out = Vec::new();
        encode(&[300; 100], 9, &mut out);
        assert_eq!(out, [0xC8, 0x01, 0x2C, 0x01]);
    }

    #[test]
    fn widths() {
        assert_eq!([0, 1, 2, 255, 256, 65_535].map(width_of), [1, 1, 2, 8, 9, 16]);
    }
}
