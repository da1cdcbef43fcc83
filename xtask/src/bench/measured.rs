//! Runs programs on one core or on all, and measures their times.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::process;

/// The times of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Taken {
    /// From start to end, seconds.
    pub(crate) wall_s: f64,
    /// Of the processor, in the program and for it in the kernel, seconds.
    pub(crate) cpu_s: f64,
    /// The most memory it had, KiB; none without GNU time.
    pub(crate) peak_kib: Option<u64>,
}

/// Runs programs, in a folder where they may leave files.
pub(crate) struct Bench {
    folder: PathBuf,
    taskset: Option<PathBuf>,
    time: Option<PathBuf>,
    core: usize,
}

impl Bench {
    /// A bench in a new folder under `target`.
    pub(crate) fn new() -> Result<Self, String> {
        let folder = crate::workspace::root().join("target/bench/run");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (taskset, time) = (process::find("taskset"), process::find("time"));
        // Not the first one, where there is another: interrupts tend to go there.
        Ok(Self { folder, taskset, time, core: cores.min(2) - 1 })
    }

    /// Where programs run and may leave files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How programs are run, for the reader of the figures.
    pub(crate) fn describe(&self) -> String {
        let pinned = match self.taskset {
            Some(_) => format!("each on core {}", self.core),
            None => "not held to one core: taskset is missing (util-linux)".to_owned(),
        };
        let missing = if self.time.is_none() { "; peak memory unknown: GNU time is missing" } else { "" };
        format!("{pinned}{missing}")
    }

    /// Runs a program to its end on one core; returns its times and its output.
    pub(crate) fn run(&self, program: &Path, arguments: &[&OsStr]) -> Result<(Taken, String), String> {
        self.run_with(self.taskset.as_deref(), program, arguments)
    }

    /// The same, where the program may use all cores.
    pub(crate) fn run_on_all_cores(&self, program: &Path, arguments: &[&OsStr]) -> Result<(Taken, String), String> {
        self.run_with(None, program, arguments)
    }

    fn run_with(
        &self,
        taskset: Option<&Path>,
        program: &Path,
        arguments: &[&OsStr],
    ) -> Result<(Taken, String), String> {
        let said = self.folder.join("said");
        let figures = self.folder.join("figures");
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let mut command = self.command(taskset, program, &figures);
        let out = fs::File::create(&said).map_err(failed)?;
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        let (start, before) = (Instant::now(), cpu_of_children());
        let status = command.status().map_err(failed)?;
        let (wall_s, cpu_s) = (start.elapsed().as_secs_f64(), cpu_of_children() - before);
        if !status.success() {
            return Err(format!("{name}: {status}"));
        }
        let figures = fs::read_to_string(&figures).unwrap_or_default();
        let peak_kib = peak(&figures);
        let said = fs::read(&said).map_err(failed)?;
        Ok((Taken { wall_s, cpu_s, peak_kib }, String::from_utf8_lossy(&said).into_owned()))
    }

    /// The program's command with `taskset`, if it is to stay on one core, and `time`, if it is installed.
    fn command(&self, taskset: Option<&Path>, program: &Path, figures: &Path) -> Command {
        let mut words: Vec<std::ffi::OsString> = Vec::new();
        if let Some(taskset) = taskset {
            words.extend([taskset.into(), "-c".into(), self.core.to_string().into()]);
        }
        if let Some(time) = &self.time {
            words.extend([time.into(), "-f".into(), "%M".into(), "-o".into(), figures.into()]);
        }
        words.push(program.into());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // nfstrace leaves a file for each connection.
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("{}: {error}", self.folder.display());
        }
    }
}

/// CPU time of all ended child processes, seconds.
fn cpu_of_children() -> f64 {
    // SAFETY: all zeroes is a value of this structure of numbers, and the call fills it where it does anything.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Peak memory from what GNU time wrote, KiB.
fn peak(figures: &str) -> Option<u64> {
    // A line about the exit status may come before.
    figures.lines().last()?.trim().parse().ok()
}

/// The value in the middle; the mean of the two where there are two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// The values below and above which a quarter of all are.
pub(crate) fn quartiles(values: &[f64]) -> Option<[f64; 2]> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([*values.get(last / 4)?, *values.get(last - last / 4)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_gnu_time_are_read() {
        assert_eq!(peak("10324\n"), Some(10_324));
        assert_eq!(peak("Command exited with non-zero status 1\n7\n"), Some(7));
        assert_eq!(peak(""), None);
    }

    #[test]
    fn work_of_children_is_counted() {
        let before = cpu_of_children();
        let mut work = Command::new("sh");
        work.args(["-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"]);
        assert!(work.status().unwrap().success());
        assert!(cpu_of_children() > before);
    }

    #[test]
    fn a_median_needs_no_order() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
        assert_eq!(quartiles(&[5.0, 1.0, 3.0, 2.0, 4.0]), Some([2.0, 4.0]));
        assert_eq!(quartiles(&[]), None);
    }
}
