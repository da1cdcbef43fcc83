//! Kernels older than this machine's: a filter makes newer system calls fail as if they did not exist.
//!
//! Spec: seccomp(2), SECCOMP_SET_MODE_FILTER; Linux Documentation/userspace-api/seccomp_filter.rst

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The first system call of Linux 5.1 (`pidfd_send_signal`). From it on, numbers are the same on all processors, and 4.18 to 5.0 have none
/// of these calls.
pub const FIRST_OF_LINUX_5_1: u32 = 424;
/// `epoll_pwait2`, of Linux 5.11.
pub const EPOLL_PWAIT2: u32 = 441;

/// From now on this thread, and what it starts, gets `error` from all system calls of this number and above.
///
/// # Errors
/// The kernel has no filters.
pub fn fail_from(first: u32, error: i32) -> io::Result<()> {
    let refuse = libc::SECCOMP_RET_ERRNO | u32::try_from(error).unwrap_or(0);
    // SAFETY: these only put numbers into a structure.
    let mut filter = unsafe {
        [
            // The number is the first field of `seccomp_data`.
            libc::BPF_STMT((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0),
            libc::BPF_JUMP((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, first, 0, 1),
            libc::BPF_STMT((libc::BPF_RET | libc::BPF_K) as u16, refuse),
            libc::BPF_STMT((libc::BPF_RET | libc::BPF_K) as u16, libc::SECCOMP_RET_ALLOW),
        ]
    };
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the first takes numbers only. The second reads `program` and `filter`, which outlive the call.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs a command without the system calls of this number and above.
pub fn without(command: &mut Command, first: u32) -> &mut Command {
    // SAFETY: between fork and exec, `fail_from` makes two system calls and allocates nothing.
    unsafe { command.pre_exec(move || fail_from(first, libc::ENOSYS)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::output;

    #[test]
    fn a_command_runs_under_the_filter() {
        let words = |command: &mut Command| String::from_utf8(output(command).stdout).unwrap();
        let mut grep = Command::new("grep");
        grep.args(["Seccomp:", "/proc/self/status"]);
        assert_eq!(words(without(&mut grep, FIRST_OF_LINUX_5_1)), "Seccomp:\t2\n");
    }
}
