//! A program that runs beside us, ended by its own id and never left behind.

use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process;

/// How often we look whether something has happened.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Time for a program to end on request, before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program at work; ended when this goes out of scope.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Running {
    /// Starts a program whose output goes to a log.
    pub(crate) fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self, String> {
        Self::start_with_input(name, command, log, "")
    }

    /// Starts a program with a (short) input.
    pub(crate) fn start_with_input(name: &str, command: &mut Command, log: &Path, input: &str) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let file = File::create(log).map_err(failed)?;
        let errors = file.try_clone().map_err(failed)?;
        // smbd takes the end of a pipe for the order to end.
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = command.stdin(stdin).stdout(file).stderr(errors).spawn().map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not listen to its input is no failure.
            let _ = pipe.write_all(input.as_bytes());
        }
        Ok(Self { child, name: name.to_owned(), log: log.to_owned() })
    }

    /// All that it has said so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits until it has said something.
    pub(crate) fn wait_until_said(&mut self, text: &str, limit: Duration) -> Result<(), String> {
        self.wait_until(limit, &format!("did not say {text:?}"), |this| this.said().contains(text))
    }

    /// Waits until something answers at an address.
    pub(crate) fn wait_until_answers(&mut self, address: SocketAddr, limit: Duration) -> Result<(), String> {
        self.wait_until(limit, &format!("did not answer at {address}"), |_| TcpStream::connect(address).is_ok())
    }

    /// Waits until a condition holds; `what` names it in the error.
    pub(crate) fn wait_until(
        &mut self,
        limit: Duration,
        what: &str,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), String> {
        let start = Instant::now();
        while !done(self) {
            if let Some(status) = self.status()? {
                return Err(format!("{} ended ({status}):\n{}", self.name, self.said().trim_end()));
            }
            if start.elapsed() > limit {
                return Err(format!("{} {what} in {limit:?}:\n{}", self.name, self.said().trim_end()));
            }
            sleep(CHECK_INTERVAL);
        }
        Ok(())
    }

    /// Waits until it ends by itself; returns its status and output.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<(ExitStatus, String), String> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.status()? {
                return Ok((status, self.said()));
            }
            if start.elapsed() > limit {
                return Err(format!("{} did not end in {limit:?}:\n{}", self.name, self.said().trim_end()));
            }
            sleep(CHECK_INTERVAL);
        }
    }

    /// Asks it to end with a signal (`INT`, `TERM`) and waits; kills it when it does not.
    pub(crate) fn end(&mut self, signal: &str) -> Result<(), String> {
        if self.status()?.is_some() {
            return Ok(());
        }
        process::output(Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()))?;
        if self.wait(PATIENCE).is_err() {
            self.child.kill().map_err(|error| format!("{}: {error}", self.name))?;
            self.child.wait().map_err(|error| format!("{}: {error}", self.name))?;
        }
        Ok(())
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, String> {
        self.child.try_wait().map_err(|error| format!("{}: {error}", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end("TERM") {
            eprintln!("{error}");
        }
    }
}
