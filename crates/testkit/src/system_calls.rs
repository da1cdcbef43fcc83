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

/// From now on this thread, and all that it starts, gets `error` from all system calls from number `first` on.
///
/// # Errors
/// The kernel has no filters.
pub fn fail_from(first: u32, error: i32) -> io::Result<()> {
    install(&mut [load(NUMBER), unless(libc::BPF_JGE, first, 1), refuse(error), allow()])
}

/// From now on this thread gets `error` from a system call if its argument at this place (from 0) is `value`.
///
/// # Errors
/// The kernel has no filters.
pub fn fail_with(call: u32, (place, value): (u32, u32), error: i32) -> io::Result<()> {
    let mut filter = [
        load(NUMBER),
        unless(libc::BPF_JEQ, call, 3),
        load(ARGUMENTS + 8 * place),
        unless(libc::BPF_JEQ, value, 1),
        refuse(error),
        allow(),
    ];
    install(&mut filter)
}

/// Places in `seccomp_data`, bytes. Of an argument, the lower half comes first on our processors.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

fn load(place: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place)
}

/// Skips this number of instructions unless the loaded value compares with `value` in this way.
fn unless(comparison: u32, value: u32, skipped: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | comparison | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: 0, jf: skipped, k: value }
}

fn refuse(error: i32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | u32::try_from(error).unwrap_or(0))
}

fn allow() -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW)
}

fn statement(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn install(filter: &mut [libc::sock_filter]) -> io::Result<()> {
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
