//! `plimsoll`, started by a test. What it says goes to files: nobody has to read a pipe for it to go on. It has a time limit.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_testkit::servers::{Samba, Scratch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No run of these tests takes half as long, on a busy machine either.
const LIMIT: Duration = Duration::from_secs(90);
/// Between looks at what a process is doing.
const GLANCE: Duration = Duration::from_millis(5);

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run that was started.
pub(crate) struct Running {
    child: Process,
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
        if !arguments.contains(&flag) {
            command.arg(flag).arg(file(name));
        }
    }
    command.stdin(Stdio::null());
    command.stdout(File::create(file("stdout")).unwrap()).stderr(File::create(file("stderr")).unwrap());
    Running { child: Process(command.spawn().unwrap()), folder }
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    start(arguments).end()
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.0.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits until something is so; the run must not end before.
    pub(crate) fn wait_for(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LIMIT;
        while !so(self) {
            let ended = self.child.0.try_wait().unwrap();
            if ended.is_some() || Instant::now() > until {
                let _ = self.child.0.kill();
                panic!("{what}: not so when the run ended ({ended:?}): {}", self.said());
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Waits until it measures: before, nothing goes to the tap.
    pub(crate) fn wait_until_it_measures(&mut self) {
        self.wait_for("measuring", |run| {
            run.folder.path().join("tap.pcapng").metadata().is_ok_and(|it| it.len() > 64 << 10)
        });
    }

    fn said(&self) -> String {
        text(&self.folder.path().join("stderr"))
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let until = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = self.child.0.kill();
                panic!("no end after {LIMIT:?}: {}", self.said());
            }
            std::thread::sleep(GLANCE);
        };
        let said = self.said();
        assert!(!said.contains("panicked"), "{said}");
        assert!(status.code().is_some(), "ended by a signal: {status}: {said}");
        let report = text(&self.folder.path().join("report.json"));
        let report = serde_json::from_str(&report).unwrap_or(Value::Null);
        Ended { code: status.code(), said, report, folder: self.folder }
    }
}

impl Ended {
    /// The load level that was run.
    pub(crate) fn stage(&self) -> &Value {
        &self.report["stages"][0]
    }

    /// How often something failed, over all that failed in this way.
    pub(crate) fn failures(&self, cause: &str) -> u64 {
        let all =
            self.report["stages"].as_array().unwrap().iter().flat_map(|stage| stage["failures"].as_array().unwrap());
        let of = |failure: &&Value| failure["cause"].as_str().unwrap().starts_with(cause);
        all.filter(of).map(|failure| failure["count"].as_u64().unwrap()).sum()
    }

    /// Why the numbers may not be used.
    pub(crate) fn reasons(&self) -> String {
        self.report["validity"]["reasons"].to_string()
    }

    /// The transactions: the columns' names, and rows.
    pub(crate) fn rows(&self) -> Vec<std::collections::HashMap<String, String>> {
        let text = text(&self.folder.path().join("rows.csv"));
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

/// What a file says; nothing where there is none.
pub(crate) fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

/// `plimsoll serve`, a server in a process of its own.
pub(crate) struct Server {
    child: Process,
    pub(crate) url: String,
    /// Kept open: it may say more.
    _pipe: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.arg("serve").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut pipe = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        pipe.read_line(&mut url).unwrap();
        assert!(url.contains("://"), "{url}");
        Self { child: Process(child), url: url.trim().to_owned(), _pipe: pipe }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }
}

/// Copies a folder and what is in it.
pub(crate) fn copy(from: &Path, to: PathBuf) {
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // What a turn had made when the phase ended is no part of the set, and no run could remove it from a read-only share.
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
