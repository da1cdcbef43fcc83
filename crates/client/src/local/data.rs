//! File data in and out: a program's usual loop around calls that may do less than they are asked for.

use std::cell::RefCell;
use std::io::IoSlice;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise, fdatasync};
use rustix::io::{Errno, pread, pwritev, retry_on_intr};

use super::Reading;
use crate::content::Content;

/// Bytes read at once, at most: a larger read takes several calls.
const CHUNK: usize = 4 << 20;

thread_local! {
    /// Read buffer. One per thread, however many clients it runs, because it reads one file at a time.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads `length` bytes or up to the end of the file. Calls `over` after each system call, then `take` with the piece and its offset.
pub(super) fn read(
    file: BorrowedFd<'_>,
    offset: u64,
    length: u32,
    over: &mut dyn FnMut(),
    mut take: impl FnMut(u64, &[u8]),
) -> Result<u32, Errno> {
    BUFFER.with_borrow_mut(|buffer| {
        let most = CHUNK.min(length as usize);
        if buffer.len() < most {
            buffer.resize(most, 0);
        }
        let mut done = 0;
        while done < length {
            let wanted = most.min((length - done) as usize);
            let room = buffer.get_mut(..wanted).unwrap_or_default();
            let at = offset + u64::from(done);
            let read = retry_on_intr(|| pread(file, &mut *room, at));
            over();
            let count = read?;
            if count == 0 {
                break;
            }
            take(at, room.get(..count).unwrap_or_default());
            done += u32::try_from(count).unwrap_or(length - done);
        }
        Ok(done)
    })
}

/// Advises the kernel how a newly opened file will be read, and drops its cached pages.
pub(super) fn advise(file: BorrowedFd<'_>, reading: Reading) -> Result<(), Errno> {
    let advice = match reading {
        Reading::Unadvised => return Ok(()),
        Reading::UncachedAtRandom => Advice::Random,
        Reading::UncachedInOrder => Advice::Sequential,
    };
    retry_on_intr(|| fdatasync(file))?;
    fadvise(file, 0, None, Advice::DontNeed)?;
    fadvise(file, 0, None, advice)
}

/// Drops the pages just read from the cache, if nothing should be cached.
pub(super) fn forget(file: BorrowedFd<'_>, reading: Reading, (offset, bytes): (u64, u32)) -> Result<(), Errno> {
    // Of no bytes it would mean: to the end of the file.
    match NonZeroU64::new(bytes.into()) {
        Some(length) if reading != Reading::Unadvised => fadvise(file, offset, Some(length), Advice::DontNeed),
        _ => Ok(()),
    }
}

/// Writes until `length` bytes are written, from where the content stands.
pub(super) fn write(
    file: BorrowedFd<'_>,
    offset: u64,
    length: u32,
    content: &Arc<Content>,
    key: u64,
) -> Result<u32, Errno> {
    let mut done = 0;
    let mut slices: Vec<IoSlice<'_>> = Vec::new();
    while done < length {
        let at = offset + u64::from(done);
        slices.clear();
        let pieces = content.pieces(key, at, (length - done) as usize).take(MOST_SLICES);
        slices.extend(pieces.filter_map(|piece| content.block().get(piece)).map(IoSlice::new));
        let count = retry_on_intr(|| pwritev(file, &slices, at))?;
        if count == 0 {
            // No error, and nothing written: a program that went on would never end.
            return Err(Errno::IO);
        }
        done += u32::try_from(count).unwrap_or(length - done);
    }
    Ok(done)
}

/// Slices handed to one `pwritev`: UIO_MAXIOV is 1,024.
const MOST_SLICES: usize = 64;
