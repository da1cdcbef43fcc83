//! Three system calls that rustix does not offer: SO_TIMESTAMPNS, a `recvmsg` that reads its stamp, and the same without a buffer.
//!
//! Spec: Linux Documentation/networking/timestamping.rst 1.2 (SO_TIMESTAMPNS); tcp(7), MSG_TRUNC

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// Asks the kernel to say when bytes arrived. One that cannot (QEMU's user mode) says nothing of it with the bytes either, and lateness is
/// judged without stamps.
pub(super) fn ask_for(socket: &OwnedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length are those of `on`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENOPROTOOPT) { Ok(()) } else { Err(error) }
}

/// Room for control messages, aligned as the kernel writes them. A stamp takes 32 bytes.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Receives bytes, and the kernel timestamp of the last one (ns since the Unix epoch), if available. `flags` are those of recv(2).
pub(super) fn receive(socket: &OwnedFd, buffer: &mut [u8], flags: i32) -> io::Result<(usize, Option<i64>)> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `part` is `buffer`, which outlives the call.
    unsafe { receive_into(socket, part, flags) }
}

/// As [`receive`].
///
/// # Safety
/// The kernel writes to `part`: it must be memory of ours, or nothing with flags that have it write nothing.
unsafe fn receive_into(socket: &OwnedFd, mut part: libc::iovec, flags: i32) -> io::Result<(usize, Option<i64>)> {
    let mut control = Control([0; 64]);
    // SAFETY: all zeros is a valid `msghdr` (null pointers with lengths of zero).
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: `header` points to `part` and `control`, and `part` to the memory that the caller guarantees; all outlive the call, and the
    // kernel writes no more than the lengths beside the pointers.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has set `msg_controllen` to the length of its data in `control`, which is still alive.
    Ok((count, unsafe { stamp(&header) }))
}

/// The stamp among the control messages.
///
/// # Safety
/// `header` must be as `recvmsg` left it, and its control buffer alive.
unsafe fn stamp(header: &libc::msghdr) -> Option<i64> {
    // SAFETY: as the caller promises; the macros stay within `msg_controllen`.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = message.as_ref() {
            if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(message).cast());
                return Some(time.tv_sec.saturating_mul(1_000_000_000) + time.tv_nsec);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
        None
    }
}

/// Drops up to `count` received bytes without copying them: returns their number, and the kernel timestamp of the last one, if available.
pub(super) fn discard(socket: &OwnedFd, count: usize) -> io::Result<(usize, Option<i64>)> {
    let nowhere = libc::iovec { iov_base: ptr::null_mut(), iov_len: count };
    // SAFETY: with MSG_TRUNC, TCP writes nothing to the buffer, so none is given.
    let dropped = unsafe { receive_into(socket, nowhere, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    match dropped {
        // QEMU's user mode requires a buffer here.
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => read_unwanted(socket, count),
        dropped => dropped,
    }
}

/// Drops up to `count` received bytes by reading them. A separate function, because the buffer would be in the stack frame of each receive.
#[cold]
#[inline(never)]
fn read_unwanted(socket: &OwnedFd, count: usize) -> io::Result<(usize, Option<i64>)> {
    let mut unread = [0; 16_384];
    let room = count.min(unread.len());
    receive(socket, unread.get_mut(..room).unwrap_or_default(), libc::MSG_DONTWAIT)
}
