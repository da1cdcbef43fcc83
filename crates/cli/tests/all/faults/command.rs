//! `plimsoll run` and `plimsoll serve`, started by a test.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::command;
use plimsoll_testkit::servers::{Samba, Scratch};
use rustix::process::Signal;
use serde_json::Value;

/// A run that was started.
pub(crate) struct Running {
    child: command::Running,
    pub(crate) folder: Scratch,
}

/// A run that is over.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) report: Value,
    pub(crate) folder: Scratch,
}

/// Starts `plimsoll run`, which leaves its report, its tap and its transactions in a folder. The password is Samba's.
pub(crate) fn start(arguments: &[&str]) -> Running {
    start_with(arguments, Some(Samba::PASSWORD))
}

/// The same with a password in the environment, or none.
pub(crate) fn start_with(arguments: &[&str], password: Option<&str>) -> Running {
    let folder = Scratch::new("faults");
    let file = |name: &str| folder.path().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("run").args(arguments).env_remove("PLIMSOLL_PASSWORD");
    if let Some(password) = password {
        command.env("PLIMSOLL_PASSWORD", password);
    }
    for (flag, name) in [("--json", "report.json"), ("--tap", "tap.pcapng"), ("--transactions", "rows.csv")] {
        // The operating system sends the requests of a directory.
        let has_data = flag != "--tap" || !arguments.iter().any(|argument| argument.starts_with("file://"));
        if !arguments.contains(&flag) && has_data {
            command.arg(flag).arg(file(name));
        }
    }
    Running { child: command::Running::start_in(&mut command, folder.path()).unwrap(), folder }
}

pub(crate) fn run(arguments: &[&str]) -> Ended {
    start(arguments).end()
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Waits until something is so; the run must not end before.
    pub(crate) fn wait_for(&mut self, what: &str, so: impl Fn(&Path) -> bool) {
        let ended = self.child.wait_until(|_| so(self.folder.path()));
        assert_eq!(ended, None, "{what}: not so when the run ended: {:?}", self.child.said());
    }

    /// Waits until it measures: before, nothing goes to the tap.
    pub(crate) fn wait_until_it_measures(&mut self) {
        self.wait_for_tap("measuring", 64 << 10);
    }

    /// Waits until the tap has more bytes than this.
    pub(crate) fn wait_for_tap(&mut self, what: &str, bytes: u64) {
        let tap = self.tap();
        self.wait_for(what, |_| tap.metadata().is_ok_and(|it| it.len() > bytes));
    }

    /// Bytes in the tap so far.
    pub(crate) fn tap_bytes(&self) -> u64 {
        self.tap().metadata().map_or(0, |it| it.len())
    }

    /// The tap, which gets its name at the end.
    fn tap(&self) -> PathBuf {
        self.folder.path().join(format!(".tap.pcapng.tmp-{}", self.child.id()))
    }

    /// Waits until it is gone, however it ended.
    pub(crate) fn wait_for_kill(self) {
        let _ = self.child.end();
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Ended {
        let output = self.child.end();
        let (status, said) = (output.status, String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(!said.contains("panicked"), "{said}");
        assert!(status.code().is_some(), "ended by a signal: {status}: {said}");
        let report = text(&self.folder.path().join("report.json"));
        let report = crate::only_side(report.as_bytes());
        Ended { code: status.code(), said, report, folder: self.folder }
    }
}

impl Ended {
    /// The load level that was run.
    pub(crate) fn level(&self) -> &Value {
        &self.report["levels"][0]
    }

    /// How often something failed, over all that failed in this way.
    pub(crate) fn failures(&self, cause: &str) -> u64 {
        let all =
            self.report["levels"].as_array().unwrap().iter().flat_map(|level| level["failures"].as_array().unwrap());
        // With or without the kind: an action, an attempt to connect, a connection.
        let of = |failure: &&Value| {
            let whole = failure["cause"].as_str().unwrap();
            let bare = whole.strip_prefix("connection attempt: ").or_else(|| whole.strip_prefix("lost connection: "));
            whole.starts_with(cause) || bare.is_some_and(|bare| bare.starts_with(cause))
        };
        all.filter(of).map(|failure| failure["count"].as_u64().unwrap()).sum()
    }

    /// Why the numbers may not be used.
    pub(crate) fn reasons(&self) -> String {
        self.report["validity"]["reasons"].to_string()
    }

    /// The transactions: the columns' names, and rows.
    pub(crate) fn rows(&self) -> Vec<std::collections::HashMap<String, String>> {
        self.rows_of("rows.csv")
    }

    /// The same of another table in the folder.
    pub(crate) fn rows_of(&self, table: &str) -> Vec<std::collections::HashMap<String, String>> {
        let text = text(&self.folder.path().join(table));
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        // No field of these servers holds a comma.
        let row =
            |line: &str| names.iter().zip(line.split(',')).map(|(a, b)| ((*a).to_owned(), b.to_owned())).collect();
        lines.map(row).collect()
    }

    /// It could not be run: the exit code says so, and the message says what and why.
    pub(crate) fn refused(&self, says: &[&str]) {
        assert_eq!(self.code, Some(3), "{}", self.said);
        for part in says {
            assert!(self.said.contains(part), "{part} is not in: {}", self.said);
        }
        assert_eq!(self.report, Value::Null, "there is nothing to report");
    }
}

/// The content of a file; empty if it does not exist.
pub(crate) fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

/// `plimsoll serve`, a server in a separate process.
pub(crate) struct Server {
    child: command::Running,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let mut child = command::Running::start(command.arg("serve").args(arguments)).unwrap();
        let url = child.first_line();
        assert!(url.contains("://"), "{url}");
        Self { child, url }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Copies a folder with its contents.
pub(crate) fn copy(from: &Path, to: PathBuf) {
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // Files of an interrupted iteration are not part of the set, and no run could remove them from a read-only share.
        if entry.file_name().to_string_lossy().starts_with("own-") {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Number of file sets in a target's folder. (The lease on a set exists before the set.)
pub(crate) fn made(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir()).count()
}
