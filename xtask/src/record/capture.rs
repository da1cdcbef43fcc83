//! tcpdump.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::folder::Folder;
use super::network::Network;
use super::running::Running;
use crate::Outcome;

/// tcpdump's buffer, in KiB: a second and more of a fast network.
const BUFFER_KIB: u32 = 262_144;
/// Time until the last packets are in the file.
const SETTLE: Duration = Duration::from_millis(1_500);

/// A capture that is being made.
#[derive(Debug)]
pub(crate) struct Capture {
    tcpdump: Running,
    file: PathBuf,
}

impl Capture {
    /// Starts to capture the packets that a filter selects; whole packets.
    pub(crate) fn start(network: Network, folder: &Folder, filter: &str, file: &Path) -> Result<Self, String> {
        let mut command = Command::new("tcpdump");
        command.args(["-i", network.interface(), "-n", "-s", "0", "-B", &BUFFER_KIB.to_string()]);
        if matches!(network, Network::Bridge) {
            // Otherwise tcpdump changes to a user who may not write the file.
            command.args(["-Z", "root"]);
        }
        command.arg("-w").arg(file).args(filter.split(' '));
        let mut tcpdump = Running::start("tcpdump", &mut command, &folder.path().join("tcpdump.log"))?;
        tcpdump.wait_until_said("listening on", Duration::from_secs(10))?;
        Ok(Self { tcpdump, file: file.to_owned() })
    }

    /// Ends the capture and prints tcpdump's own account; packets that it dropped are an error.
    pub(crate) fn finish(mut self) -> Outcome {
        std::thread::sleep(SETTLE);
        self.tcpdump.end("INT")?;
        let said = self.tcpdump.said();
        let counts: Vec<&str> = said.lines().filter(|line| line.contains("packet")).collect();
        let bytes = std::fs::metadata(&self.file).map_err(|error| error.to_string())?.len();
        println!("record: {}: {bytes} bytes; tcpdump: {}", self.file.display(), counts.join(", "));
        match counts.iter().find_map(|line| line.strip_suffix("packets dropped by kernel")) {
            Some(dropped) if dropped.trim() == "0" => Ok(()),
            Some(dropped) => Err(format!("tcpdump dropped {} packets: the capture has gaps", dropped.trim())),
            None => Err(format!("tcpdump did not say what it dropped:\n{said}")),
        }
    }
}
