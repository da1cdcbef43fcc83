//! A server that is a process of this program, so that its processor time is its own. It ends when it is dropped.

use std::error::Error;
use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};

/// A running server.
pub struct OwnServer {
    process: Child,
    address: String,
}

impl OwnServer {
    /// Starts this program with these arguments. Its first line of output is its address. Its standard input ends with this process.
    pub fn start(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut process = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let out = process.stdout.take();
        let mut server = Self { process, address: String::new() };
        std::io::BufReader::new(out.ok_or("no pipe")?).read_line(&mut server.address)?;
        server.address.truncate(server.address.trim_end().len());
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}
