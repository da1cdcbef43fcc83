//! Ctrl-C (SIGINT), SIGTERM and SIGHUP: their effects, and removal of temporary files.
//!
//! A SIGHUP that is ignored at the start stays ignored: nohup has a program go on after the logout. An ignored SIGINT does not: a shell
//! script has its background jobs ignore it, and `kill -INT $!` must end a watch all the same.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

/// Exit code after SIGINT, the same as in a shell.
const KILLED: i32 = 130;

/// Handler of a signal.
type Action = Box<dyn FnMut() + Send>;

#[derive(Default)]
struct State {
    installed: bool,
    action: Option<Action>,
    /// Outputs that are not whole yet.
    temporaries: Vec<PathBuf>,
    /// Leaves the terminal as it was.
    restore: Option<fn()>,
}

static STATE: Mutex<State> =
    Mutex::new(State { installed: false, action: None, temporaries: Vec::new(), restore: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a signal does this, instead of ending the process.
pub fn on_signal(action: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    // First the action: a signal between the two would end the process.
    state().action = Some(Box::new(action));
    install()
}

/// Creates a file that a signal removes before it ends the process.
///
/// # Errors
/// That of `create`, or the system does not allow a handler.
pub fn create_until_end<T>(temporary: &Path, create: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    install().map_err(io::Error::other)?;
    // Held while it is created: a signal never finds a file that it does not know.
    let mut state = state();
    let created = create()?;
    state.temporaries.push(temporary.to_owned());
    Ok(created)
}

/// Sets the function that a signal calls before it ends the process.
pub fn restore_on_end(restore: fn()) -> anyhow::Result<()> {
    install()?;
    state().restore = Some(restore);
    Ok(())
}

/// A file that has got its name, or is gone.
pub fn keep(temporary: &Path) {
    state().temporaries.retain(|other| other != temporary);
}

/// Ends the process at once, without half-written files. To be called from another thread than an action's.
fn end() -> ! {
    let restore = state().restore;
    restore.iter().for_each(|restore| restore());
    // Held to the end, so that no more files are created.
    let state = state();
    for temporary in &state.temporaries {
        // The process ends: an error could not be reported.
        let _ = std::fs::remove_file(temporary);
    }
    std::process::exit(KILLED)
}

fn install() -> anyhow::Result<()> {
    let mut state = state();
    if !state.installed {
        #[cfg(unix)]
        let ignores_hangup = hangup::is_ignored();
        // The handler runs in a separate thread, so it may take the lock.
        ctrlc::set_handler(handle).context("cannot install the Ctrl-C handler")?;
        #[cfg(unix)]
        if ignores_hangup {
            hangup::ignore();
        }
        state.installed = true;
    }
    Ok(())
}

fn handle() {
    // Not held while the action runs.
    let action = state().action.take();
    let Some(mut action) = action else { end() };
    action();
    state().action.get_or_insert(action);
}

/// The first signal calls `stop`, the second one ends the process. Returns whether there has been one.
pub fn stop_and_note(stop: impl Fn() + Send + 'static) -> anyhow::Result<Arc<AtomicBool>> {
    let noted = Arc::new(AtomicBool::new(false));
    stop_then_end({
        let noted = Arc::clone(&noted);
        move || {
            noted.store(true, SeqCst);
            stop();
        }
    })?;
    Ok(noted)
}

/// The first signal calls `stop`, the second one ends the process.
pub fn stop_then_end(stop: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    let mut first = true;
    on_signal(move || {
        if !std::mem::take(&mut first) {
            end();
        }
        stop();
    })
}

/// SIGHUP, which the end of a terminal sends.
#[cfg(unix)]
mod hangup {
    /// Whether this process ignores it.
    pub(super) fn is_ignored() -> bool {
        // SAFETY: the structure contains numbers and pointers that may be null, for which 0 is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: without a new action, the call only writes the present one to `action`.
        let asked = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) };
        asked == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    pub(super) fn ignore() {
        // SAFETY: to ignore a signal needs no function that would have to be safe in a handler.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}
