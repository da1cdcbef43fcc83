//! Programs in a pseudo-terminal of a given size, and their output.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::command::LIMIT;

/// Written to a terminal after the end of its program, which writes no such bytes itself.
const END_MARK: &[u8] = b"\0the program has ended\0";
/// Rows of a terminal, where no test says otherwise.
const ROWS: u16 = 40;

/// The output of a program in a terminal, and its exit status.
#[derive(Debug)]
pub struct Session {
    /// How it ended.
    pub status: ExitStatus,
    /// All bytes, escape sequences among them; a line ends with CR LF.
    pub bytes: Vec<u8>,
}

impl Session {
    /// The output as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Runs a program to its end with all its streams on a terminal with this number of columns. `keys` are typed before it starts.
///
/// # Panics
/// It cannot be started, or takes longer than [`LIMIT`].
pub fn session(command: &mut Command, columns: u16, keys: &str) -> Session {
    let (mut master, slave) = terminal(columns, ROWS).unwrap_or_else(|error| panic!("no pseudo-terminal: {error}"));
    let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    // When the other end has no open descriptor any more, reading fails: that is the end.
    drop((slave, std::mem::replace(command, Command::new("true"))));
    let (done, read) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = master.read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    let Ok(bytes) = read.recv_timeout(LIMIT) else {
        let _ = child.kill();
        panic!("the program in the terminal did not end within {LIMIT:?}");
    };
    let status = child.wait().expect("a child of ours");
    Session { status, bytes }
}

/// A program that runs in a terminal; killed when dropped.
#[derive(Debug)]
pub struct InTerminal {
    child: Child,
    master: File,
    slave: OwnedFd,
    /// The settings of the terminal before it started.
    before: String,
    /// Its output so far.
    bytes: Arc<Mutex<Vec<u8>>>,
}

/// Starts a program with all its streams on a terminal with this number of columns and rows.
///
/// # Panics
/// It cannot be started.
#[must_use]
pub fn start(command: &mut Command, (columns, rows): (u16, u16)) -> InTerminal {
    let (master, slave) = terminal(columns, rows).unwrap_or_else(|error| panic!("no pseudo-terminal: {error}"));
    let before = settings(&slave);
    let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let bytes = Arc::<Mutex<Vec<u8>>>::default();
    let (mut read, written) = (master.try_clone().expect("a descriptor"), Arc::clone(&bytes));
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count) = read.read(&mut piece) {
            let piece = piece.get(..count).unwrap_or_default();
            written.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(piece);
        }
    });
    InTerminal { child, master, slave, before, bytes }
}

fn settings(terminal: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(terminal).expect("a terminal"))
}

impl InTerminal {
    /// Types keys.
    ///
    /// # Panics
    /// The terminal takes none.
    pub fn type_keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Sends the program a signal.
    ///
    /// # Panics
    /// It was waited for already.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child of ours that nobody has waited for");
    }

    /// How the terminal is set.
    ///
    /// # Panics
    /// It is none.
    #[must_use]
    pub fn settings(&self) -> String {
        settings(&self.slave)
    }

    /// How the terminal was set before the program started.
    #[must_use]
    pub fn settings_before(&self) -> String {
        self.before.clone()
    }

    /// All that it has written so far.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `so` accepts its output.
    ///
    /// # Panics
    /// It does not within [`LIMIT`].
    pub fn wait_until(&self, so: impl Fn(&[u8]) -> bool) {
        let begun = Instant::now();
        while !so(&self.bytes()) {
            let text = String::from_utf8_lossy(&self.bytes()).into_owned();
            assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {text}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the program's end, and for its last output.
    ///
    /// # Panics
    /// It takes longer than [`LIMIT`].
    pub fn end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(begun.elapsed() < LIMIT, "the program in the terminal did not end within {LIMIT:?}");
            thread::sleep(Duration::from_millis(5));
        };
        // All output of the program comes before the mark.
        let mut slave = File::from(self.slave.try_clone().expect("a descriptor"));
        slave.write_all(END_MARK).expect("the terminal takes output");
        self.wait_until(|bytes| bytes.ends_with(END_MARK));
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let length = bytes.len() - END_MARK.len();
        bytes.truncate(length);
        drop(bytes);
        status
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both ends of a new terminal.
fn terminal(columns: u16, rows: u16) -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.to_str().map_err(io::Error::other)?;
    let slave = OpenOptions::new().read(true).write(true).open(name)?;
    tcsetwinsize(&slave, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((File::from(master), OwnedFd::from(slave)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_a_terminal_of_that_width() {
        let mut shell = Command::new("sh");
        let session = session(shell.args(["-c", "test -t 0 && test -t 1 && test -t 2 && stty size; exit 3"]), 123, "");
        assert_eq!((session.text().trim(), session.status.code()), ("40 123", Some(3)));
    }
}
