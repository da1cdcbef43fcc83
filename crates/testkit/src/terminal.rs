//! Programs in a terminal: a pseudo-terminal of a given size, and what they write to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::command::LIMIT;

/// Rows of a terminal, where no test says otherwise.
const ROWS: u16 = 40;

/// What a program in a terminal wrote, and how it ended.
#[derive(Debug)]
pub struct Session {
    /// How it ended.
    pub status: ExitStatus,
    /// All bytes, escape sequences among them; a line ends with CR LF.
    pub bytes: Vec<u8>,
}

impl Session {
    /// What was written, as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Runs a program to its end with all its streams on a terminal of so many columns. `keys` are typed before it starts.
///
/// # Panics
/// It cannot be started, or takes longer than [`LIMIT`].
pub fn session(command: &mut Command, columns: u16, keys: &str) -> Session {
    let (mut master, slave) = terminal(columns).unwrap_or_else(|error| panic!("no pseudo-terminal: {error}"));
    let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    // Once nobody has the other end open, reading fails: that is the end.
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

/// Both ends of a new terminal.
fn terminal(columns: u16) -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.to_str().map_err(io::Error::other)?;
    let slave = OpenOptions::new().read(true).write(true).open(name)?;
    tcsetwinsize(&slave, Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
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
