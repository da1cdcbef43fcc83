//! Histogram cells: `2^BITS` cells of width one for the smallest values, then half as many per octave.
//!
//! With 11 bits they are those of HdrHistogram with three significant digits ([`crate::Times`] and [`crate::FineHistogram`]), with 8
//! those of [`crate::SparseHistogram`].

/// The cell of a value.
#[inline]
pub(crate) fn cell_of<const BITS: u32>(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    // With 11 bits at most 53 * 1024 + 2047.
    ((u64::from(shift) << (BITS - 1)) + (value >> shift)) as u16
}

/// The lowest value of a cell; `u64::MAX` beyond the last.
pub(crate) fn lowest<const BITS: u32>(cell: u32) -> u64 {
    let shift = shift_of::<BITS>(cell);
    let mantissa = u64::from(cell - (shift << (BITS - 1)));
    mantissa.checked_mul(1u64.checked_shl(shift).unwrap_or(0)).filter(|&v| v > 0 || cell == 0).unwrap_or(u64::MAX)
}

/// The highest value of a cell.
pub(crate) fn highest<const BITS: u32>(cell: u32) -> u64 {
    let width = 1u64.checked_shl(shift_of::<BITS>(cell)).unwrap_or(0);
    lowest::<BITS>(cell).saturating_add(width.saturating_sub(1))
}

const fn shift_of<const BITS: u32>(cell: u32) -> u32 {
    (cell >> (BITS - 1)).saturating_sub(1)
}
