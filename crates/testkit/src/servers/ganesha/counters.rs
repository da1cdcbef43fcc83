//! The counters that Ganesha publishes on a private D-Bus.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use crate::servers::{Scratch, answers};

/// A D-Bus for one server. Ended when dropped.
#[derive(Debug)]
pub(super) struct Bus {
    pub(super) address: String,
    process: Child,
}

/// Any user who can open the socket has all rights.
const POLICY: &str = "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>";

impl Bus {
    pub(super) fn start(scratch: &Scratch) -> Self {
        let folder = scratch.folder("bus");
        let (configuration, socket) = (folder.join("bus.conf"), folder.join("socket"));
        let address = format!("unix:path={}", socket.display());
        let text = format!(
            "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" \
             \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n\
             <busconfig><type>system</type><listen>{address}</listen><auth>EXTERNAL</auth>{POLICY}</busconfig>\n"
        );
        std::fs::write(&configuration, text).expect("a scratch folder can be written to");
        let mut command = Command::new("dbus-daemon");
        command.arg("--config-file").arg(&configuration).args(["--nofork", "--nopidfile"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().expect("dbus-daemon starts");
        assert!(answers(&mut process, || socket.exists()), "dbus-daemon does not listen");
        Self { address, process }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The counts in an answer: `string "GETATTR"`, and the first number behind it.
pub(super) fn counted(answer: &str) -> BTreeMap<String, i64> {
    let mut words = answer.lines().map(str::trim);
    let mut counts = BTreeMap::new();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("string \"").and_then(|rest| rest.strip_suffix('"'));
        let count = |word: &str| word.strip_prefix("uint64 ")?.parse().ok();
        if let Some((name, count)) = name.and_then(|name| Some((name, count(words.next()?)?))) {
            counts.insert(name.trim().to_owned(), count);
        }
    }
    counts
}
