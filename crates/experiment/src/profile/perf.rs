//! The program `perf` of Linux: takes samples while a process of ours holds its input open, and prints them later.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Bytes of a stack that are copied with each sample; functions are found by their unwinding tables, because most packaged programs have
/// no frame pointers.
const STACK_BYTES: u32 = 8192;
/// Maximum size of the samples on disk: more than 15 minutes of two busy cores.
const LARGEST: &str = "8G";
/// Memory for samples, pages per processor, if the system's limit for ordinary users does not apply.
const PAGES: &str = "2048";
/// Maximum number of bytes of perf's messages that are shown.
const LONGEST_MESSAGE: u64 = 2000;
/// What the program below perf prints when perf has begun. Perf ends with that program.
const READY: &str = "ready";

/// A running or finished `perf record`.
pub(super) struct Recording {
    perf: PathBuf,
    folder: PathBuf,
    child: Option<(Child, ChildStdin)>,
}

impl Recording {
    /// Begins to take samples of processes; returns when perf has begun.
    pub(super) fn start(processes: &BTreeSet<u32>, hz: u32) -> anyhow::Result<Self> {
        let perf = find()?;
        let folder = std::env::temp_dir().join(format!("plimsoll-profile-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).with_context(|| folder.display().to_string())?;
        let mut recording = Self { perf, folder, child: None };
        let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
        let mut command = recording.perf(&["record", "--no-buildid-cache", "--quiet", "--event", "cpu-clock"]);
        command.args(["--freq", &hz.to_string(), "--clockid", "CLOCK_REALTIME", "--max-size", LARGEST]);
        command.args(["--call-graph", &format!("dwarf,{STACK_BYTES}"), "--pid", &pids.join(",")]);
        if rustix::process::geteuid().is_root() {
            command.args(["--mmap-pages", PAGES]);
        }
        command.arg("--output").arg(recording.samples());
        command.args(["--", "sh", "-c", &format!("echo {READY}; exec cat >/dev/null")]);
        // Ctrl-C does not reach it: its samples so far count.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(recording.messages()?);
        let mut child = command.spawn().with_context(|| recording.perf.display().to_string())?;
        let (input, output) = (child.stdin.take().context("no pipe")?, child.stdout.take().context("no pipe")?);
        recording.child = Some((child, input));
        let mut line = String::new();
        BufReader::new(output.take(LONGEST_MESSAGE)).read_line(&mut line)?;
        if line.trim_end() != READY {
            let ended = recording.stop();
            bail!(
                "perf takes no samples of the processes {}: {:#}",
                pids.join(", "),
                ended.err().context("no reason")?
            );
        }
        Ok(recording)
    }

    /// Takes no more samples.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        let Some((mut child, input)) = self.child.take() else { return Ok(()) };
        if let Some(status) = child.try_wait()? {
            bail!("perf record has ended too early: {status}: {}", self.said());
        }
        drop(input);
        let status = child.wait()?;
        ensure!(status.success(), "perf record: {status}: {}", self.said());
        Ok(())
    }

    /// Gives the samples as text to `read`. Returns perf's message about lost samples, if there is one, and the result of `read`.
    pub(super) fn script<T>(
        &self,
        read: impl FnOnce(&mut dyn BufRead) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Option<String>, T)> {
        let mut command = self.perf(&["script", "--ns", "--no-inline", "--fields", "pid,tid,time,ip,sym,dso"]);
        command.arg("--input").arg(self.samples());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.messages()?);
        let mut child = command.spawn().with_context(|| self.perf.display().to_string())?;
        let read = read(&mut BufReader::new(child.stdout.take().context("no pipe")?));
        let status = child.wait()?;
        let said = self.said();
        ensure!(status.success(), "perf script: {status}: {said}");
        Ok((Some(said).filter(|said| said.contains("lost")), read?))
    }

    fn perf(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.perf);
        // Neither settings of the user, nor symbols from the network.
        command.args(arguments).env("LC_ALL", "C").env("PERF_CONFIG", "/dev/null").env_remove("DEBUGINFOD_URLS");
        command
    }

    fn samples(&self) -> PathBuf {
        self.folder.join("perf.data")
    }

    /// Perf's messages, a file: nothing has to read them while perf runs.
    fn messages(&self) -> anyhow::Result<std::fs::File> {
        Ok(std::fs::File::create(self.folder.join("messages"))?)
    }

    /// What perf wrote last, in one line.
    fn said(&self) -> String {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(self.folder.join("messages"));
        let read = file.and_then(|file| file.take(LONGEST_MESSAGE).read_to_end(&mut bytes));
        if let Err(why) = read {
            return why.to_string();
        }
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Remaining files are in the system's folder for temporary files.
        let _ = self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A perf that runs: `perf`, or one of those that Debian and Ubuntu keep beside their wrapper, which refuses unknown kernels.
fn find() -> anyhow::Result<PathBuf> {
    let runs = |perf: &Path| {
        let mut command = Command::new(perf);
        command.arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let mut others: Vec<PathBuf> =
        std::fs::read_dir("/usr/bin").map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    others.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("perf_")));
    others.sort();
    let all = std::iter::once(PathBuf::from("perf")).chain(others.into_iter().rev());
    all.into_iter().find(|perf| runs(perf)).context("there is no perf on this machine; install it (Debian: linux-perf)")
}
