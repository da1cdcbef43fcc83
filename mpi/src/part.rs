//! Starts `plimsoll` for one part, and for the merge.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use rustix::io::Errno;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::options::Options;

/// Between two looks at the process of a part.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Drives a part, to its end; the exit code. While it runs, `look` is called again and again.
///
/// # Errors
/// It cannot be started, or was killed.
pub(crate) fn drive(
    options: &Options,
    (number, parts): (i32, i32),
    start_ns: i64,
    origin_ns: i64,
    look: impl FnMut(),
) -> anyhow::Result<u8> {
    let start = UNIX_EPOCH + Duration::from_nanos(u64::try_from(start_ns).context("the clock is before 1970")?);
    let mut plimsoll = Command::new(&options.plimsoll);
    plimsoll
        .args(&options.run)
        .args(["--part", &format!("{number}/{parts}")])
        .args(["--start-at", &humantime::format_rfc3339_nanos(start).to_string()])
        .args(["--clock-bound", &humantime::format_duration(options.clock_bound).to_string()])
        .args(["--clock-origin", &origin_ns.to_string()])
        .arg("--progress-file")
        .arg(options.progress_file(number))
        .arg("--record")
        .arg(options.part_folder(number))
        .arg("--quiet")
        // If a rank dies, MPI ends all ranks. In a separate process group, the other parts still complete their recordings.
        .process_group(0);
    if options.is_search() {
        stop_with_this_process(&mut plimsoll);
    }
    end_with(&mut plimsoll, &options.plimsoll, look)
}

/// Stops the program, as Ctrl-C does, when this process ends: a search has no end that is known beforehand, and would go on for long.
fn stop_with_this_process(plimsoll: &mut Command) {
    let this = std::process::id();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::INT))?;
        // It may have ended before that.
        let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
        if parent == Some(this) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls, and allocates nothing.
    unsafe { plimsoll.pre_exec(ask) };
}

/// Merges the recordings; returns the exit code.
///
/// # Errors
/// It cannot be started, or was killed.
pub(crate) fn merge(options: &Options, folders: &[PathBuf], difference: Duration) -> anyhow::Result<u8> {
    let mut plimsoll = Command::new(&options.plimsoll);
    let difference = Duration::from_micros(u64::try_from(difference.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX));
    plimsoll
        .arg("merge")
        .args(folders)
        .args(["--clock-difference", &humantime::format_duration(difference).to_string()])
        .arg("--record")
        .arg(options.merged_folder())
        .args(options.overwrite.then_some("--overwrite"))
        .args(&options.report);
    end(&mut plimsoll, &options.plimsoll)
}

/// A single rank is a run in one process, without parts.
///
/// # Errors
/// It cannot be started, or was killed.
pub(crate) fn alone(options: &Options) -> anyhow::Result<u8> {
    let mut plimsoll = Command::new(&options.plimsoll);
    plimsoll.args(&options.run).arg("--record").arg(options.merged_folder()).args(&options.report);
    end(&mut plimsoll, &options.plimsoll)
}

fn end(command: &mut Command, program: &Path) -> anyhow::Result<u8> {
    // With the launcher's variables, a child that uses MPI would join this MPI job.
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    exit_code(status).with_context(|| format!("{}", program.display()))
}

/// The same; while the process runs, `look` is called again and again.
fn end_with(command: &mut Command, program: &Path, mut look: impl FnMut()) -> anyhow::Result<u8> {
    let mut running = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let status = loop {
        if let Some(status) = running.try_wait().with_context(|| format!("{}", program.display()))? {
            break status;
        }
        look();
        sleep(CHECK_INTERVAL);
    };
    exit_code(status).with_context(|| format!("{}", program.display()))
}

fn exit_code(status: ExitStatus) -> anyhow::Result<u8> {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => anyhow::bail!("killed by signal {signal}"),
        (None, None) => anyhow::bail!("ended in an unknown way"),
    }
}
