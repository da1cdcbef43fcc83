//! Comparisons, 16 bytes at a time.

use core::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8};

/// A vector register, bytes.
const VECTOR: usize = size_of::<__m128i>();
/// The mask of two vectors without a difference.
const EQUAL: u32 = 0xFFFF;

/// Below, at or above 0 if the first `count` bytes of `a` are less than, equal to or greater than those of `b`.
///
/// # Safety
///
/// Both are valid for reads of `count` bytes.
#[inline]
pub(crate) unsafe fn order(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise; no access ends behind `count`.
    unsafe {
        if count < VECTOR {
            return short(a, b, count);
        }
        let mut at = 0;
        while at + VECTOR <= count {
            let mask = equal_bytes(a.add(at), b.add(at));
            if mask != EQUAL {
                return byte(a, b, at + mask.trailing_ones() as usize);
            }
            at += VECTOR;
        }
        // The last vector repeats bytes that are equal.
        let end = count - VECTOR;
        match equal_bytes(a.add(end), b.add(end)) {
            EQUAL => 0,
            mask => byte(a, b, end + mask.trailing_ones() as usize),
        }
    }
}

/// Fewer bytes than a vector has.
///
/// # Safety
///
/// As [`order`].
#[inline]
unsafe fn short(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise; both words of a size are inside the `count` bytes.
    unsafe {
        if count >= 8 {
            let end = count - 8;
            let words =
                |at: usize| (a.add(at).cast::<u64>().read_unaligned(), b.add(at).cast::<u64>().read_unaligned());
            let (x, y) = words(0);
            let (x, y) = if x == y { words(end) } else { (x, y) };
            return sign(x.swap_bytes(), y.swap_bytes());
        }
        if count >= 4 {
            let end = count - 4;
            let words =
                |at: usize| (a.add(at).cast::<u32>().read_unaligned(), b.add(at).cast::<u32>().read_unaligned());
            let (x, y) = words(0);
            let (x, y) = if x == y { words(end) } else { (x, y) };
            return sign(x.swap_bytes().into(), y.swap_bytes().into());
        }
        let mut at = 0;
        while at < count {
            match byte(a, b, at) {
                0 => at += 1,
                difference => return difference,
            }
        }
        0
    }
}

fn sign(x: u64, y: u64) -> i32 {
    i32::from(x > y) - i32::from(x < y)
}

/// The difference of one byte.
///
/// # Safety
///
/// It can be read in both.
#[inline]
unsafe fn byte(a: *const u8, b: *const u8, at: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { i32::from(a.add(at).read()) - i32::from(b.add(at).read()) }
}

/// A bit per byte that is equal.
///
/// # Safety
///
/// 16 bytes of both can be read.
#[inline]
unsafe fn equal_bytes(a: *const u8, b: *const u8) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(a.cast()), _mm_loadu_si128(b.cast()))) as u32 }
}
