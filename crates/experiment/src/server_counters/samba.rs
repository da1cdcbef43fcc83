//! Samba's own counters: `smbstatus --profile`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::counters::Counters;
use crate::child_command::child_command;

/// Interval at which smbd publishes its counters.
const MOMENT: Duration = Duration::from_secs(1);
/// Maximum number of intervals to wait until counters are stable: other clients may use the server, too.
const MOMENTS: u32 = 5;
/// Prefixes of the counters of requests, and of smbd's system calls.
const WANTED: [&str; 3] = ["smb2_", "syscall_", "asys_"];

/// smbd's final counters.
pub(super) fn settled(configuration: &Path) -> anyhow::Result<Counters> {
    let mut last = read(configuration)?;
    for _ in 0..MOMENTS {
        std::thread::sleep(MOMENT);
        let now = read(configuration)?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}

fn read(configuration: &Path) -> anyhow::Result<Counters> {
    let mut command = child_command("smbstatus");
    command.args(["--profile", "--configfile"]).arg(configuration).stdin(Stdio::null());
    let output = command.output().context("cannot run smbstatus")?;
    let counters = parse(&String::from_utf8_lossy(&output.stdout));
    if counters.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = configuration.display();
        // On one line: output of several lines is shown with escapes.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(
            output.status.success(),
            "--samba-conf: smbstatus --profile --configfile {shown}: {said}; give the configuration of the running smbd"
        );
        bail!("{shown}: smbd has no counters; set `smbd profiling level = on` (or `count`) and restart smbd");
    }
    Ok(counters)
}

/// Lines `smb2_read_count: 12`, `smb2_read_time: 345` and `smb2_read_idle: 67`, µs. The time includes the idle time, in which smbd waited
/// for something else, such as a thread or another client.
fn parse(text: &str) -> Counters {
    let mut all = Counters::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let Ok(value) = value.trim().parse::<u64>() else { continue };
        if !WANTED.iter().any(|beginning| name.starts_with(beginning)) {
            continue;
        }
        if let Some(name) = name.strip_suffix("_count") {
            all.count(name, value);
        } else if let Some(name) = name.strip_suffix("_time") {
            all.time(name, value as f64 / 1e6);
        } else if let Some(name) = name.strip_suffix("_idle") {
            all.waiting(name, value as f64 / 1e6);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::calls::ServerCounter;

    use super::*;

    #[test]
    fn what_smbstatus_prints_is_read() {
        let before = "smb2_read_count: 10\nsmb2_read_time: 100\nconnect_count: 7\n";
        let after = "****  SMB2 Calls\nsmb2_read_count:      110\nsmb2_read_time:      2100\nsmb2_close_count: 3\n\
                     smb2_close_time: 0\nsmb2_read_idle: 500\nconnect_count: 9\nsyscall_fstat_count: 0\n";
        let counted = parse(after).since(&parse(before));
        let close = ServerCounter { name: "smb2_close".into(), count: 3, ..ServerCounter::default() };
        let [first, read] = &counted[..] else { panic!("{counted:?}") };
        assert_eq!((first, read.name.as_str(), read.count), (&close, "smb2_read", 100));
        assert!(read.mean_s.is_some_and(|mean| (mean / 20e-6 - 1.0).abs() < 1e-9), "{read:?}");
        assert!(read.waiting_mean_s.is_some_and(|mean| (mean / 5e-6 - 1.0).abs() < 1e-9), "{read:?}");
        assert_eq!(parse(before).since(&parse(after)), [], "smbd was restarted");
    }

    #[test]
    fn who_counts_nothing_is_told_how() {
        assert!(settled(Path::new("/nowhere/smb.conf")).is_err());
    }
}
