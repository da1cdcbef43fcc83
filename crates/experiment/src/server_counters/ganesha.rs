//! NFS-Ganesha's own counters, over D-Bus: with `Enable_NFS_Stats` and `Enable_FULLV3_Stats` in its NFS_CORE_PARAM.

use std::process::Stdio;

use anyhow::{Context, bail, ensure};

use super::counters::Counters;
use crate::child_command::child_command;

/// The bus that a system has anyway.
const SYSTEM: &str = "system";

/// Ganesha's counters for NFS 3, by procedure. `bus`: `system`, or a bus's address.
pub(super) fn read(bus: &str) -> anyhow::Result<Counters> {
    let mut command = child_command("dbus-send");
    match bus {
        SYSTEM => command.arg("--system"),
        address => command.arg(format!("--bus={address}")),
    };
    command.args(["--print-reply=literal", "--dest=org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr"]);
    command.arg("org.ganesha.nfsd.exportstats.GetFULLV3Stats").stdin(Stdio::null());
    let output = command.output().context("cannot run dbus-send (Debian package: dbus)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "Ganesha on the bus {bus}: {}", said.trim());
    let text = String::from_utf8_lossy(&output.stdout);
    let counters = parse(&text);
    if counters.is_empty() && !text.contains("boolean true") {
        bail!("Ganesha has no counters: set Enable_NFS_Stats and Enable_FULLV3_Stats to true in its NFS_CORE_PARAM");
    }
    Ok(counters)
}

/// Of each procedure `GETATTR uint64 2153 uint64 0 uint64 0 double 0.0057 double 0.0022 double 0.16`: how often, errors,
/// repeats; mean, least and greatest time, ms.
fn parse(text: &str) -> Counters {
    let mut all = Counters::default();
    let words: Vec<&str> = text.split_whitespace().collect();
    for row in words.windows(13) {
        let [name, "uint64", count, "uint64", _, "uint64", _, "double", mean, "double", _, "double", _] = row else {
            continue;
        };
        let (Ok(count), Ok(mean_ms)) = (count.parse::<u64>(), mean.parse::<f64>()) else { continue };
        all.count(name, count);
        all.time(name, mean_ms * count as f64 / 1e3);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As dbus-send prints it.
    const PRINTED: &str = "   boolean true   OK   struct {\n      uint64 1795299953      uint64 62520003   }\n   array [\n      \
        struct {\n         GETATTR         uint64 300         uint64 0         uint64 0         double 0.02         double 0.01         \
        double 0.5      }\n      struct {\n         READ         uint64 7         uint64 1         uint64 0         double 1.5         \
        double 0.1         double 4.2      }\n   ]\n";

    #[test]
    fn what_dbus_send_prints_is_read() {
        let before = PRINTED.replace("uint64 300", "uint64 100").replace("double 0.02 ", "double 0.03 ");
        let counted = parse(PRINTED).since(&parse(&before));
        let [getattr] = &counted[..] else { panic!("READ has not grown: {counted:?}") };
        assert_eq!((getattr.name.as_str(), getattr.count), ("GETATTR", 200));
        // 300 of 20 µs, of which 100 took 30 µs each.
        assert!(getattr.mean_s.is_some_and(|mean| (mean / 15e-6 - 1.0).abs() < 1e-6), "{getattr:?}");
    }

    #[test]
    fn who_is_not_there_is_said() {
        assert!(read("unix:path=/nowhere/bus").is_err());
    }
}
