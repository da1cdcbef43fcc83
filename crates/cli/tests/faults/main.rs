//! Bad input and faults, end to end through `plimsoll run`: each has a clear outcome, counted, and none is a hang, a panic
//! or a lost result.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod command;
mod interrupted;
mod killed;
mod leases;
mod outputs;
mod refusals;
mod scale;
mod secrecy;
mod signals;
mod spoilt;

/// One test at a time drives a real server: two cores are few for it and its client.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[expect(clippy::print_stdout, reason = "the reason for skipping")]
fn skip(reason: impl std::fmt::Display) {
    println!("SKIPPED: {reason}");
}
