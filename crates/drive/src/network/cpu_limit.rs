//! How long the CPU limit of a control group stopped the threads of this process.
//!
//! Spec: Linux Documentation/admin-guide/cgroup-v2.rst (`cpu.stat`), Documentation/scheduler/sched-bwc.rst (version 1)

use std::path::{Path, PathBuf};

/// Where control groups are, by convention.
const ROOT: &str = "/sys/fs/cgroup";

/// How long CPU limits stopped the threads of this process's control group, or of the group around it that a limit stopped longest, ns,
/// summed over all processors; `None` without a limit.
pub(super) fn throttled_ns() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let folder = folder_of(&groups)?;
    let root = Path::new(ROOT);
    let around = folder.ancestors().take_while(|folder| folder.starts_with(root));
    around.filter_map(|folder| throttled(&std::fs::read_to_string(folder.join("cpu.stat")).ok()?)).max()
}

/// The folder of the group that limits CPU time.
fn folder_of(groups: &str) -> Option<PathBuf> {
    let mut found = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        if controllers.split(',').any(|controller| controller == "cpu") {
            return Some(Path::new(ROOT).join(controllers).join(path));
        }
        if controllers.is_empty() {
            found = Some(Path::new(ROOT).join(path));
        }
    }
    found
}

/// The time in `cpu.stat`: version 2 counts µs, version 1 ns.
fn throttled(stat: &str) -> Option<u64> {
    let value = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    value("throttled_usec ").map(|us| us.saturating_mul(1_000)).or_else(|| value("throttled_time "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_and_its_time_are_read_in_both_versions() {
        let folder = |groups| folder_of(groups).map(|folder| folder.display().to_string());
        assert_eq!(folder("0::/system.slice/run.scope\n").as_deref(), Some("/sys/fs/cgroup/system.slice/run.scope"));
        let old = "4:memory:/a\n3:cpu,cpuacct:/docker/1f\n1:name=systemd:/x\n0::/x\n";
        assert_eq!(folder(old).as_deref(), Some("/sys/fs/cgroup/cpu,cpuacct/docker/1f"));
        assert_eq!(folder("0::/\n").as_deref(), Some("/sys/fs/cgroup/"));
        assert_eq!(folder("nonsense"), None);
        assert_eq!(throttled("usage_usec 9\nnr_throttled 32\nthrottled_usec 1700000\n"), Some(1_700_000_000));
        assert_eq!(throttled("nr_periods 40\nnr_throttled 32\nthrottled_time 1700000000\n"), Some(1_700_000_000));
        assert_eq!(throttled("usage_usec 9\n"), None);
    }
}
