//! SIGHUP, as nohup leaves it. One test in its own process: signals concern all of it, and their handlers are installed once.
#![cfg(unix)]

use plimsoll_console::interrupt;

/// What this process does at a signal.
fn action(signal: libc::c_int) -> libc::sighandler_t {
    // SAFETY: the structure contains numbers and pointers that may be null, for which 0 is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action, the call only writes the present one to `action`.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    assert_eq!(asked, 0);
    action.sa_sigaction
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    // SAFETY: to ignore a signal needs no function that would have to be safe in a handler.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    interrupt::on_signal(|| {}).unwrap();
    assert_eq!(action(libc::SIGHUP), libc::SIG_IGN);
    assert!([libc::SIGINT, libc::SIGTERM].map(action).iter().all(|at| ![libc::SIG_IGN, libc::SIG_DFL].contains(at)));
}
