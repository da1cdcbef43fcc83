//! The command, as users run it: all tests that start `plimsoll`, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod breakdown;
mod capacity;
mod captures;
mod claims;
mod closure;
mod compared_recordings;
mod compared_sweeps;
mod comparing;
mod counted;
mod embedded;
mod exports;
mod faults;
mod ganesha;
mod golden;
mod home_folders;
mod kerberos;
mod laddis;
mod netbench;
mod recorded;
mod recorded_sql;
mod replay;
mod reserved_ports;
mod run;
mod serve;
mod server_side;
mod stories;
mod sweep;
mod verdicts;
mod workloads;

/// One test at a time drives a server of its own under a limit of time: two cores are few for two servers and two clients.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
