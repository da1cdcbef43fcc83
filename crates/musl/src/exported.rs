//! The names of C. The linker takes these before it looks for musl's.

use crate::{compare, copy};

/// C's `memcpy`.
///
/// # Safety
///
/// As in C: the places do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { copy::disjoint(to, from, count) };
    to
}

/// C's `memmove`. With musl's own, musl's memcpy would be linked as well.
///
/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { copy::overlapping(to, from, count) };
    to
}

/// C's `memcmp`.
///
/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { compare::order(a, b, count) }
}

/// BSD's `bcmp`, which the compiler calls if only equality matters.
///
/// # Safety
///
/// As `memcmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { compare::order(a, b, count) }
}
