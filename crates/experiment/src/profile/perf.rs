//! The program `perf` of Linux: takes samples while a process of ours holds its input open, and prints them later.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};

use crate::child_command::child_command;

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
/// Beginnings of messages that every perf writes.
const USUAL: [&str; 2] = ["[ perf record: Woken up", "[ perf record: Captured and wrote"];
/// Attempts to find a name for a folder.
const ATTEMPTS: u32 = 100;

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
        let mut recording = Self { perf, folder: private_folder(&std::env::temp_dir())?, child: None };
        let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
        let mut command = recording.perf(&["record", "--no-buildid-cache", "--strict-freq", "--event", "cpu-clock"]);
        command.args(["--freq", &hz.to_string(), "--clockid", "CLOCK_REALTIME", "--max-size", LARGEST]);
        command.args(["--call-graph", &format!("dwarf,{STACK_BYTES}"), "--pid", &pids.join(",")]);
        if rustix::process::geteuid().is_root() {
            command.args(["--mmap-pages", PAGES]);
        }
        command.arg("--output").arg(recording.samples());
        command.args(["--", "sh", "-c", &format!("echo {READY}; exec cat >/dev/null")]);
        // Ctrl-C does not reach it: its samples so far count.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(recording.messages("record")?);
        let mut child = command.spawn().with_context(|| recording.perf.display().to_string())?;
        let (input, output) = (child.stdin.take().context("no pipe")?, child.stdout.take().context("no pipe")?);
        recording.child = Some((child, input));
        let mut line = String::new();
        BufReader::new(output.take(LONGEST_MESSAGE)).read_line(&mut line)?;
        if line.trim_end() != READY {
            let why = recording.refusal()?;
            bail!("perf cannot sample the processes {}: {why}", pids.join(", "));
        }
        Ok(recording)
    }

    /// Why perf did not begin.
    fn refusal(&mut self) -> anyhow::Result<String> {
        let (mut child, input) = self.child.take().context("perf record was not started")?;
        drop(input);
        let status = child.wait()?;
        Ok(format!("{status}: {}", self.messages_of("record")?.join(" ")))
    }

    /// Takes no more samples. Returns sentences about samples that are missing, and perf's warnings.
    pub(super) fn stop(&mut self) -> anyhow::Result<Vec<String>> {
        let Some((mut child, input)) = self.child.take() else { return Ok(Vec::new()) };
        if let Some(status) = child.try_wait()? {
            // For example if its file is full. The samples so far are whole, or else perf script refuses them.
            let why = self.messages_of("record")?.join(" ");
            return Ok(vec![format!("perf record ended too early ({status}), so later phases have no samples: {why}")]);
        }
        drop(input);
        let status = child.wait()?;
        let messages = self.messages_of("record")?;
        ensure!(status.success(), "perf record: {status}: {}", messages.join(" "));
        Ok(messages.into_iter().map(|message| format!("perf record: {message}")).collect())
    }

    /// Gives these fields of the samples as text to `read`. Returns perf's message about lost samples, if there is one, and the result of
    /// `read`.
    pub(super) fn script<T>(
        &self,
        fields: &str,
        read: impl FnOnce(&mut dyn BufRead) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Option<String>, T)> {
        let mut command = self.perf(&["script", "--ns", "--no-inline", "--fields", fields]);
        command.arg("--input").arg(self.samples());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.messages("script")?);
        let mut child = command.spawn().with_context(|| self.perf.display().to_string())?;
        let read = read(&mut BufReader::new(child.stdout.take().context("no pipe")?));
        let status = child.wait()?;
        // If it fails, perf could not write the rest.
        let read = read.context("the output of perf script")?;
        let messages = self.messages_of("script")?;
        ensure!(status.success(), "perf script: {status}: {}", messages.join(" "));
        let lost: Vec<String> = messages.into_iter().filter(|message| message.contains("lost")).collect();
        Ok(((!lost.is_empty()).then(|| lost.join(" ")), read))
    }

    fn perf(&self, arguments: &[&str]) -> Command {
        let mut command = child_command(&self.perf);
        // Neither settings of the user, nor symbols from the network.
        command.args(arguments).env("LC_ALL", "C").env("PERF_CONFIG", "/dev/null").env_remove("DEBUGINFOD_URLS");
        command
    }

    fn samples(&self) -> PathBuf {
        self.folder.join("perf.data")
    }

    /// A file for the messages of a command of perf: nothing has to read them while perf runs.
    fn messages(&self, command: &str) -> anyhow::Result<std::fs::File> {
        Ok(std::fs::File::create(self.folder.join(command))?)
    }

    /// The messages of a command of perf, without those of every perf. Of many messages the last ones.
    fn messages_of(&self, command: &str) -> anyhow::Result<Vec<String>> {
        last_lines(&self.folder.join(command)).context("perf's messages")
    }
}

fn last_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_MESSAGE)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_MESSAGE).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let usual = |line: &String| USUAL.iter().any(|start| line.starts_with(start)) && !line.contains("lost");
    Ok(lines.filter(|line| !line.is_empty() && !usual(line)).collect())
}

/// A new folder, which only this user can read. A run that was killed leaves its own, and a later one may have its process number.
fn private_folder(parent: &Path) -> anyhow::Result<PathBuf> {
    for _ in 0..ATTEMPTS {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let folder = parent.join(format!("plimsoll-profile-{}-{:x}", std::process::id(), now.as_nanos()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder.clone()).with_context(|| folder.display().to_string()),
        }
    }
    bail!("{}: cannot create a temporary folder, because all names that were tried exist; try again", parent.display())
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
        let mut command = child_command(perf);
        command.arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let mut others: Vec<PathBuf> =
        std::fs::read_dir("/usr/bin").map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    others.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("perf_")));
    others.sort();
    let all = std::iter::once(PathBuf::from("perf")).chain(others.into_iter().rev());
    all.into_iter()
        .find(|perf| runs(perf))
        .context("no working perf on this machine; install perf (Debian: linux-perf)")
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::servers::Scratch;

    use super::*;

    #[test]
    fn folders_are_private_and_new() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new("profile-folder");
        let [one, other] = [(); 2].map(|()| private_folder(scratch.path()).unwrap());
        assert_ne!(one, other);
        assert_eq!(one.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(private_folder(&scratch.path().join("nowhere")).unwrap_err().to_string().contains("nowhere"));
    }

    #[test]
    fn the_last_messages_are_shown() {
        let scratch = Scratch::new("profile-messages");
        let path = scratch.path().join("record");
        let usual = "[ perf record: Woken up 12 times to write data ]\n[ perf record: Captured and wrote 2.8 MB x ]\n";
        std::fs::write(&path, format!("{}\n  size  limit \n\n{usual}", "x".repeat(5_000))).unwrap();
        let lines = last_lines(&path).unwrap();
        let [first, last] = &lines[..] else { panic!("{lines:?}") };
        assert!(first.len() < 2_000 && last == "size limit", "{lines:?}");
        std::fs::write(&path, "[ perf record: Captured and wrote 2.8 MB x, lost 7 samples ]").unwrap();
        assert_eq!(last_lines(&path).unwrap().len(), 1);
        assert!(last_lines(&scratch.path().join("nowhere")).is_err());
    }
}
