//! A server on this machine: a process and everything that it started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use procfs::DiskStat;
use procfs::process::{Process, all_processes};

use super::Source;
use super::counters::Counters;

/// A process and its descendants.
pub(super) struct Tree {
    root: i32,
    /// Clock ticks a second of processor times.
    ticks: f64,
}

/// Data of a process.
struct One {
    parent: i32,
    cpu_ticks: f64,
    /// CPU time of ended children that were waited for.
    waited_ticks: i64,
    /// Read from and written to disks, bytes.
    disk: Option<(f64, f64)>,
}

impl Tree {
    pub(super) fn new(pid: u32) -> anyhow::Result<Self> {
        let root = i32::try_from(pid).with_context(|| format!("process {pid}"))?;
        Process::new(root).with_context(|| format!("process {pid}"))?;
        Ok(Self { root, ticks: procfs::ticks_per_second() as f64 })
    }

    /// Those that are the root's, however far down.
    fn descendants(&self, all: &BTreeMap<i32, One>) -> BTreeSet<i32> {
        let mut tree = BTreeSet::from([self.root]);
        loop {
            let before = tree.len();
            tree.extend(
                all.iter().filter(|(_, one)| tree.contains(&one.parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
            );
            if tree.len() == before {
                return tree;
            }
        }
    }
}

/// A process and its descendants, as they are now.
pub(crate) fn tree(pid: u32) -> anyhow::Result<BTreeSet<u32>> {
    let tree = Tree::new(pid)?.descendants(&all()?);
    Ok(tree.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect())
}

/// Attempts to read a tree that does not change meanwhile.
const ATTEMPTS: u32 = 8;

impl Source for Tree {
    fn read(&mut self) -> anyhow::Result<Counters> {
        for _ in 0..ATTEMPTS {
            let all = all()?;
            anyhow::ensure!(all.contains_key(&self.root), "process {} has ended", self.root);
            let tree = self.descendants(&all);
            let ours = || tree.iter().filter_map(|pid| all.get(pid));
            // A child that ended in between is missing in both counts, or counted twice.
            let waited = |all: &BTreeMap<i32, One>| tree.iter().map(|pid| Some(all.get(pid)?.waited_ticks)).collect();
            let (before, after): (Option<Vec<i64>>, Option<Vec<i64>>) = (waited(&all), waited(&self::all()?));
            if before != after {
                continue;
            }
            let machine = disks().unwrap_or_default();
            let disk = |pick: fn((f64, f64)) -> f64| ours().map(|one| one.disk.map(pick)).sum::<Option<f64>>();
            return Ok(Counters {
                cpu_s: Some(ours().map(|one| one.cpu_ticks).sum::<f64>() / self.ticks),
                disk_read_bytes: disk(|(read, _)| read),
                disk_write_bytes: disk(|(_, written)| written),
                ..machine
            });
        }
        anyhow::bail!("processes start and exit too quickly to be counted")
    }
}

/// The disks of this machine, whoever uses them.
pub(super) struct Disks;

impl Source for Disks {
    fn read(&mut self) -> anyhow::Result<Counters> {
        let machine = disks().context("/proc/diskstats and /sys/block show no disk")?;
        let (disk_read_bytes, disk_write_bytes) = (machine.machine_read_bytes, machine.machine_write_bytes);
        Ok(Counters { disk_read_bytes, disk_write_bytes, ..machine })
    }
}

/// Bytes of a sector in /proc/diskstats, whatever the disk's own are.
const SECTOR: f64 = 512.0;

/// Bytes read and written by this machine's disks; `None` if the system does not report them. Stacked devices (partitions, dm, md, loop)
/// have no hardware device.
fn disks() -> Option<Counters> {
    let all = procfs::diskstats().ok()?;
    let whole: Vec<&DiskStat> =
        all.iter().filter(|disk| Path::new("/sys/block").join(&disk.name).join("device").exists()).collect();
    let sum = |of: fn(&DiskStat) -> f64| Some(whole.iter().map(|disk| of(disk)).sum::<f64>());
    (!whole.is_empty()).then(|| Counters {
        machine_read_bytes: sum(|disk| disk.sectors_read as f64 * SECTOR),
        machine_read_s: sum(|disk| disk.time_reading as f64 / 1e3),
        machine_reads: sum(|disk| disk.reads as f64),
        machine_write_bytes: sum(|disk| disk.sectors_written as f64 * SECTOR),
        machine_writes: sum(|disk| disk.writes as f64),
        ..Counters::default()
    })
}

/// Every process that can be read. One that ends meanwhile is no error: its time is in its parent's when that has waited.
fn all() -> anyhow::Result<BTreeMap<i32, One>> {
    let processes = all_processes().context("/proc")?.filter_map(Result::ok);
    Ok(processes.filter_map(|process| Some((process.pid(), One::of(&process)?))).collect())
}

impl One {
    fn of(process: &Process) -> Option<Self> {
        let stat = process.stat().ok()?;
        // Includes ended children, so that a server that forks per connection is counted completely.
        let waited = stat.cutime.max(0) + stat.cstime.max(0);
        let cpu_ticks = (stat.utime + stat.stime) as f64 + waited as f64;
        let disk = process.io().ok().map(|io| (io.read_bytes as f64, io.write_bytes as f64));
        Some(Self { parent: stat.ppid, cpu_ticks, waited_ticks: waited, disk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_child_are_seen() {
        let mut tree = Tree::new(std::process::id()).unwrap();
        let before = tree.read().unwrap();
        // Ends by itself after two seconds of CPU time, even if the test fails.
        let busy = ["-c", "ulimit -t 2; while :; do :; done"];
        let mut child = std::process::Command::new("sh").args(busy).spawn().unwrap();
        let all = all().unwrap();
        assert!(tree.descendants(&all).contains(&i32::try_from(child.id()).unwrap()));
        for _ in 0..3_000 {
            if tree.read().unwrap().cpu_s >= before.cpu_s.map(|cpu| cpu + 0.1) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(tree.read().unwrap().cpu_s >= before.cpu_s.map(|cpu| cpu + 0.1), "waited for, it still counts");
    }

    #[test]
    fn who_is_not_there_is_said() {
        assert!(Tree::new(u32::MAX).is_err());
    }
}
