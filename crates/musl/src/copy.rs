//! Copies, by unaligned loads and stores of up to 16 bytes.

use core::arch::asm;
use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

/// A vector register, bytes.
const VECTOR: usize = size_of::<__m128i>();
/// Four vectors: what one pass of a loop copies.
const BLOCK: usize = 4 * VECTOR;
/// From here on `rep movsb` is faster than a loop: processors since 2013 copy whole cache lines with it.
const LONG: usize = 2048;

/// Copies `count` bytes between places that do not overlap.
///
/// # Safety
///
/// `from` is valid for reads of `count` bytes and `to` for writes, and they do not overlap.
#[inline]
pub(crate) unsafe fn disjoint(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if count <= 2 * BLOCK {
            short(to, from, count);
        } else if count < LONG {
            forward(to, from, count);
        } else {
            asm!(
                "rep movsb",
                inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// Copies `count` bytes between places that may overlap.
///
/// # Safety
///
/// `from` is valid for reads of `count` bytes and `to` for writes.
#[inline]
pub(crate) unsafe fn overlapping(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        // Counted round the end of the address space, a target below the source is far above it.
        let ahead = to.addr().wrapping_sub(from.addr());
        if count <= 2 * BLOCK {
            short(to, from, count);
        } else if ahead < count {
            backward(to, from, count);
        } else if from.addr().wrapping_sub(to.addr()) < count {
            forward(to, from, count);
        } else {
            disjoint(to, from, count);
        }
    }
}

/// At most two blocks. All is loaded before anything is stored, so the places may overlap.
///
/// # Safety
///
/// As [`overlapping`].
#[inline]
unsafe fn short(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: no access is outside the `count` bytes: each pair begins at the start and ends at the end.
    unsafe {
        match count {
            0 => {}
            1 => to.write(from.read()),
            2..4 => both_ends::<u16>(to, from, count),
            4..8 => both_ends::<u32>(to, from, count),
            8..16 => both_ends::<u64>(to, from, count),
            16..=32 => {
                let (first, last) = (load(from), load(from.add(count - VECTOR)));
                store(to, first);
                store(to.add(count - VECTOR), last);
            }
            33..=64 => {
                let first = [load(from), load(from.add(VECTOR))];
                let last = [load(from.add(count - 2 * VECTOR)), load(from.add(count - VECTOR))];
                store(to, first[0]);
                store(to.add(VECTOR), first[1]);
                store(to.add(count - 2 * VECTOR), last[0]);
                store(to.add(count - VECTOR), last[1]);
            }
            _ => {
                let (first, last) = (load_block(from), load_block(from.add(count - BLOCK)));
                store_block(to, first);
                store_block(to.add(count - BLOCK), last);
            }
        }
    }
}

/// More than a block, from the start. Right for a target below the source too.
///
/// # Safety
///
/// As [`overlapping`], and the target does not begin inside the source.
#[inline]
unsafe fn forward(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the last block ends where the bytes end. It is loaded before the loop can overwrite it.
    unsafe {
        let last = load_block(from.add(count - BLOCK));
        let mut at = 0;
        while at < count - BLOCK {
            store_block(to.add(at), load_block(from.add(at)));
            at += BLOCK;
        }
        store_block(to.add(count - BLOCK), last);
    }
}

/// More than a block, from the end: the target begins inside the source.
///
/// # Safety
///
/// As [`overlapping`].
#[inline]
unsafe fn backward(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the first block begins where the bytes begin. It is loaded before the loop can overwrite it.
    unsafe {
        let first = load_block(from);
        let mut end = count;
        while end > BLOCK {
            end -= BLOCK;
            store_block(to.add(end), load_block(from.add(end)));
        }
        store_block(to, first);
    }
}

/// The first and the last bytes, which may be the same.
///
/// # Safety
///
/// As [`overlapping`], with at least as many bytes as `T` has.
#[inline]
unsafe fn both_ends<T>(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's promise; both accesses are inside.
    unsafe {
        let end = count - size_of::<T>();
        let (first, last) = (from.cast::<T>().read_unaligned(), from.add(end).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(first);
        to.add(end).cast::<T>().write_unaligned(last);
    }
}

/// # Safety
///
/// 16 bytes can be read.
#[inline]
unsafe fn load(from: *const u8) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// # Safety
///
/// 16 bytes can be written.
#[inline]
unsafe fn store(to: *mut u8, vector: __m128i) {
    // SAFETY: the caller's promise.
    unsafe { _mm_storeu_si128(to.cast(), vector) }
}

/// # Safety
///
/// A block can be read.
#[inline]
unsafe fn load_block(from: *const u8) -> [__m128i; 4] {
    // SAFETY: the caller's promise.
    unsafe { [load(from), load(from.add(VECTOR)), load(from.add(2 * VECTOR)), load(from.add(3 * VECTOR))] }
}

/// # Safety
///
/// A block can be written.
#[inline]
unsafe fn store_block(to: *mut u8, block: [__m128i; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        store(to, block[0]);
        store(to.add(VECTOR), block[1]);
        store(to.add(2 * VECTOR), block[2]);
        store(to.add(3 * VECTOR), block[3]);
    }
}
