//! What Samba counts of itself: `smbstatus --profile`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use plimsoll_report::findings::calls::ServerCounter;

/// smbd tells what it has counted a moment later.
const MOMENT: Duration = Duration::from_secs(1);
/// Moments to wait until it tells nothing new any more: others may use the server, too.
const MOMENTS: u32 = 5;
/// Counters that are about requests, and about what smbd asks its own system for.
const WANTED: [&str; 3] = ["smb2_", "syscall_", "asys_"];

/// How often each counter has counted, and how long that took, µs, where it is timed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(BTreeMap<String, (u64, Option<u64>)>);

impl Counters {
    /// What smbd has counted, when it has told it all.
    pub(super) fn settled(configuration: &Path) -> anyhow::Result<Self> {
        let mut last = Self::read(configuration)?;
        for _ in 0..MOMENTS {
            std::thread::sleep(MOMENT);
            let now = Self::read(configuration)?;
            if now == last {
                break;
            }
            last = now;
        }
        Ok(last)
    }

    fn read(configuration: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new("smbstatus");
        command.args(["--profile", "--configfile"]).arg(configuration).stdin(Stdio::null());
        let output = command.output().context("smbstatus")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let counters = Self::parse(&text);
        if counters.0.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr);
            let shown = configuration.display();
            ensure!(output.status.success(), "smbstatus --profile --configfile {shown}: {}", said.trim());
            bail!("{shown}: smbd counts nothing; it must have been started with smbd profiling level = on, or count");
        }
        Ok(counters)
    }

    /// Lines `smb2_read_count: 12` and `smb2_read_time: 345`.
    fn parse(text: &str) -> Self {
        let mut all = BTreeMap::new();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let Some(value) = value.trim().parse::<u64>().ok() else { continue };
            if !WANTED.iter().any(|beginning| name.starts_with(beginning)) {
                continue;
            }
            if let Some(name) = name.strip_suffix("_count") {
                all.entry(name.to_owned()).or_insert((0, None)).0 = value;
            } else if let Some(name) = name.strip_suffix("_time") {
                all.entry(name.to_owned()).or_insert((0, None)).1 = Some(value);
            }
        }
        Self(all)
    }

    /// What was counted since `before`; of counters that went back, nothing is known.
    pub(super) fn since(&self, before: &Self) -> Vec<ServerCounter> {
        let grown = |(name, (count, time)): (&String, &(u64, Option<u64>))| {
            let (count_before, time_before) = before.0.get(name).copied().unwrap_or((0, None));
            let count = count.checked_sub(count_before).filter(|&count| count > 0)?;
            let time = time.and_then(|time| time.checked_sub(time_before.unwrap_or(0)));
            // With `smbd profiling level = count` nothing is timed, and times stay 0.
            let mean_s = time.filter(|&time| time > 0).map(|time| time as f64 / count as f64 / 1e6);
            Some(ServerCounter { name: name.clone(), count, mean_s })
        };
        self.0.iter().filter_map(grown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_smbstatus_prints_is_read() {
        let before = "smb2_read_count: 10\nsmb2_read_time: 100\nconnect_count: 7\n";
        let after = "****  SMB2 Calls\nsmb2_read_count:      110\nsmb2_read_time:      2100\nsmb2_close_count: 3\n\
                     smb2_close_time: 0\nsmb2_read_idle: 5\nconnect_count: 9\nsyscall_fstat_count: 0\n";
        let counted = Counters::parse(after).since(&Counters::parse(before));
        let close = ServerCounter { name: "smb2_close".into(), count: 3, mean_s: None };
        assert_eq!(counted, [close, ServerCounter { name: "smb2_read".into(), count: 100, mean_s: Some(20e-6) }]);
        assert_eq!(Counters::parse(before).since(&Counters::parse(after)), [], "smbd was restarted");
    }

    #[test]
    fn who_counts_nothing_is_told_how() {
        assert!(Counters::settled(Path::new("/nowhere/smb.conf")).is_err());
    }
}
