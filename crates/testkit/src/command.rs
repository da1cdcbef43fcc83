//! Programs that a test starts.
//!
//! Their output goes to files, so they never block on a full pipe. Every wait has a time limit; exceeding it is a failure that shows the
//! output. No program outlives its test.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::servers::Scratch;

/// At least twice the longest wait of a test on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(240);
/// Interval between checks of a program's output and state.
const GLANCE: Duration = Duration::from_millis(10);

/// Runs a program, with nothing to read, to its end.
///
/// # Panics
/// It cannot be started, or takes longer than [`LIMIT`].
pub fn output(command: &mut Command) -> Output {
    output_within(command, LIMIT)
}

/// The same with this limit.
///
/// # Panics
/// It cannot be started, or takes longer.
pub fn output_within(command: &mut Command, limit: Duration) -> Output {
    started(Running::start(command), command).end_within(limit)
}

/// Runs a program that reads `input` through a pipe.
///
/// # Panics
/// It cannot be started, or takes longer than [`LIMIT`].
pub fn output_fed(command: &mut Command, input: Vec<u8>) -> Output {
    let scratch = Scratch::new("command");
    let mut running = started(Running::spawn(command.stdin(Stdio::piped()), scratch.path()), command);
    if let Some(mut pipe) = running.child.stdin.take() {
        // In a thread, because a program that does not read would block us. Unread input is not a failure.
        std::thread::spawn(move || pipe.write_all(&input));
    }
    running.end()
}

fn started(running: io::Result<Running>, command: &Command) -> Running {
    running.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
}

/// A program that runs; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Readable when it has ended.
    end: OwnedFd,
    command: String,
    /// Where the files `out` and `err` are.
    folder: PathBuf,
    /// That folder, if it is private.
    _own: Option<Scratch>,
}

impl Running {
    /// Starts a program without input. [`Running::said`] and [`Running::end`] return its output.
    ///
    /// # Errors
    /// It cannot be started, for example because it is missing.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let scratch = Scratch::new("command");
        let mut running = Self::start_in(command, scratch.path())?;
        running._own = Some(scratch);
        Ok(running)
    }

    /// The same; its output goes to the files `out` and `err` of a folder.
    ///
    /// # Errors
    /// It cannot be started, or there is no such folder.
    pub fn start_in(command: &mut Command, folder: &Path) -> io::Result<Self> {
        Self::spawn(command.stdin(Stdio::null()), folder)
    }

    /// Starts a program with a pipe as input. [`Running::said`] and [`Running::end`] return its output.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_fed(command: &mut Command) -> io::Result<(Self, ChildStdin)> {
        let scratch = Scratch::new("command");
        let mut running = Self::spawn(command.stdin(Stdio::piped()), scratch.path())?;
        running._own = Some(scratch);
        let pipe = running.child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
        Ok((running, pipe))
    }

    fn spawn(command: &mut Command, folder: &Path) -> io::Result<Self> {
        let said = |name: &str| File::create(folder.join(name));
        let mut child = command.stdout(said("out")?).stderr(said("err")?).spawn()?;
        let end =
            pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).inspect_err(|_| kill_and_wait(&mut child))?;
        Ok(Self { child, end, command: format!("{command:?}"), folder: folder.to_owned(), _own: None })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It was waited for already.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child of ours that nobody has waited for");
    }

    /// Ends it at once.
    pub fn kill(self) {}

    /// Its output so far: `out` and `err`.
    #[must_use]
    pub fn said(&self) -> [String; 2] {
        ["out", "err"].map(|name| String::from_utf8_lossy(&self.bytes(name)).into_owned())
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap_or_default()
    }

    /// Waits until it has written a line, and returns that, without its end.
    ///
    /// # Panics
    /// It ends, or takes longer than [`LIMIT`], without one.
    pub fn first_line(&mut self) -> String {
        let ended = self.wait_until(|running| running.said()[0].contains('\n'));
        let [out, err] = self.said();
        match out.split_once('\n') {
            Some((line, _)) => line.to_owned(),
            None => panic!("{} wrote no line ({ended:?}): {out}\n{err}", self.command),
        }
    }

    /// Waits until something is so. `None` when it is; where the program ended before, how.
    ///
    /// # Panics
    /// Neither happens within [`LIMIT`].
    pub fn wait_until(&mut self, so: impl Fn(&Self) -> bool) -> Option<ExitStatus> {
        self.wait_within(LIMIT, GLANCE, |running, ended| match ended {
            None => so(running).then_some(None),
            ended => Some(ended),
        })
    }

    /// Calls `ask` at this interval and at the program's end, with its exit status if it has ended.
    fn wait_within<T>(
        &mut self,
        limit: Duration,
        interval: Duration,
        ask: impl Fn(&Self, Option<ExitStatus>) -> Option<T>,
    ) -> T {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().unwrap_or_else(|error| panic!("{}: {error}", self.command));
            if let Some(answer) = ask(self, ended) {
                return answer;
            }
            let rest = limit.saturating_sub(begun.elapsed());
            if rest.is_zero() {
                let [out, err] = self.said();
                panic!("{}: not within {limit:?}; it said:\n{out}\n{err}", self.command);
            }
            let rest = Timespec::try_from(rest.min(interval)).expect("a time limit of a test");
            // The next round finds any error.
            let _ready = poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&rest));
        }
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It takes longer than [`LIMIT`].
    #[must_use]
    pub fn end(self) -> Output {
        self.end_within(LIMIT)
    }

    /// The same with this limit.
    ///
    /// # Panics
    /// It takes longer.
    #[must_use]
    pub fn end_within(mut self, limit: Duration) -> Output {
        let status = self.wait_within(limit, limit, |_, ended| ended);
        Output { status, stdout: self.bytes("out"), stderr: self.bytes("err") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill_and_wait(&mut self.child);
    }
}

fn kill_and_wait(child: &mut Child) {
    // A program that has ended cannot be killed.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_is_said_does_not_keep_anybody_waiting() {
        // More than a pipe holds, in both.
        let ended = output(&mut shell("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 7"));
        assert_eq!((ended.status.code(), ended.stdout.len(), ended.stderr.len()), (Some(7), 300_000, 200_000));
        let fed = output_fed(&mut Command::new("cat"), vec![b'x'; 300_000]);
        assert_eq!(fed.stdout.len(), 300_000);
        assert!(output_fed(&mut Command::new("true"), vec![b'x'; 300_000]).status.success());
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_and_shown() {
        let mut never = shell("echo so far; exec sleep 600");
        let mut running = Running::start(&mut never).unwrap();
        assert_eq!(running.first_line(), "so far");
        let id = running.id();
        let failed = std::panic::catch_unwind(move || running.end_within(Duration::from_millis(1))).unwrap_err();
        let words = failed.downcast_ref::<String>().unwrap();
        assert!(words.contains("so far") && words.contains("1ms"), "{words}");
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "nothing is left behind");
        assert!(Running::start(&mut Command::new("/nonexistent")).is_err());
    }

    #[test]
    fn signals_and_ends_are_told() {
        let mut running = Running::start(&mut shell("exec sleep 600")).unwrap();
        assert_eq!(running.wait_until(|_| true), None);
        running.signal(Signal::TERM);
        assert!(running.end().status.code().is_none());
        let mut over = Running::start(&mut shell("exit 3")).unwrap();
        assert_eq!(over.wait_until(|_| false).and_then(|status| status.code()), Some(3));
    }
}
