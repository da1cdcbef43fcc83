//! `cargo xtask loss`: what captures that lost packets, or cut them short, still show.
//!
//! Each capture is analysed whole and as `../shared/tools/drop-packets` leaves it. No pair of a damaged copy may be one
//! that the full capture does not have, and nearly every pair must be found of which both first packets survive.

mod packets;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use table::{Frames, Pair};

use crate::{Outcome, bench::binary, process, workspace};

/// Losses in percent, and the minimum percentage of pairs to find.
const LOSSES: [(u32, f64); 2] = [(1, 97.0), (5, 90.0)];
const SEEDS: [u32; 2] = [42, 7];
/// Maximum difference between the found pairs and the possible ones, percentage points.
const WITHIN: f64 = 1.0;
/// Packet lengths at which every SMB2 pair must still be found, bytes.
const SNAPLENS: [u32; 2] = [96, 128];
/// Captures for the test of losses, besides one with very many SMB2 operations.
const LOSSY: [&str; 2] = ["nfs3-two-sessions.pcap", "nfs3-ipv6-op-dense.pcap"];
/// SMB2 captures that are cut short, besides it.
const CUT: [&str; 4] = ["smb2-clean.pcap", "smb2-one-packet-lost.pcap", "smb2-async-read.pcap", "smb2-mixed.pcap"];
/// What `cargo xtask record smb2-ops` is asked to write.
const SMB2: &str = "target/bench/smb2-ops.pcap";

/// Loses packets, counts and prints; fails where a promise is broken.
pub(crate) fn run(capture: Option<&Path>) -> Outcome {
    let smb2 = match capture {
        None => workspace::root().join(SMB2),
        Some(path) => std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let drop_packets = workspace::root().join("../shared/tools/drop-packets");
    if !drop_packets.is_file() {
        println!("SKIPPED: needs ../shared/tools/drop-packets");
        return Ok(());
    }
    let smb2 = smb2.is_file().then_some(smb2);
    if smb2.is_none() {
        println!("no {SMB2}: make it with `cargo xtask record smb2-ops {SMB2}`, or name another SMB2 capture");
    }
    let trial = Trial { plimsoll: binary::plimsoll()?, drop_packets, folder: workspace::root().join("target/loss") };
    fs::create_dir_all(&trial.folder).map_err(|error| format!("{}: {error}", trial.folder.display()))?;
    let shared = |names: &'static [&'static str]| {
        let folder = workspace::root().join("../shared/captures");
        names.iter().map(move |name| folder.join(name)).filter(|path| path.is_file())
    };
    let mut broken = Vec::new();
    println!(
        "\n{:<24} {:>12} {:>8} {:>8} {:>7} {:>9} {:>9} {:>7} {:>6}",
        "capture", "damage", "pairs", "found", "%", "(1-p)², %", "possible", "missed", "wrong"
    );
    for capture in shared(&LOSSY).chain(smb2.clone()) {
        trial.losses(&capture, &mut broken)?;
    }
    for capture in shared(&CUT).chain(smb2) {
        trial.cuts(&capture, &mut broken)?;
    }
    estimates()?;
    if broken.is_empty() { Ok(()) } else { Err(format!("promises broken:\n  {}", broken.join("\n  "))) }
}

/// Seeds of each kind of damage on each capture: 200 bursts, and 1,000 damaged copies.
const SEEDS_OF_ESTIMATES: &str = "40";

/// The share missing after bursts of losses, against the truth, and wrong pairs after any damage: the tests of `observe`, with more seeds.
fn estimates() -> Outcome {
    let mut command = Command::new("cargo");
    command.args(["test", "--profile", "quick", "--workspace", "--test", "all", "loss::", "--", "--nocapture"]);
    process::run(command.env("PLIMSOLL_LOSS_SEEDS", SEEDS_OF_ESTIMATES).current_dir(workspace::root()))
}

/// The programs, and where their files go.
struct Trial {
    plimsoll: PathBuf,
    drop_packets: PathBuf,
    folder: PathBuf,
}

/// The pairs in a damaged copy, as percentages of the full capture's pairs.
struct Shown {
    pairs: usize,
    found: usize,
    /// Pairs that the full capture does not have.
    wrong: usize,
    /// Pairs of which both first packets survive.
    possible: usize,
}

impl Shown {
    fn percent(&self, count: usize) -> f64 {
        if self.pairs == 0 { 0.0 } else { 100.0 * count as f64 / self.pairs as f64 }
    }
}

impl Trial {
    fn losses(&self, capture: &Path, broken: &mut Vec<String>) -> Outcome {
        let name = name(capture);
        let full = self.pairs(capture, |_| true)?;
        for (loss, promised) in LOSSES {
            for seed in SEEDS {
                let fraction = f64::from(loss) / 100.0;
                let options = [format!("--loss={fraction}"), format!("--seed={seed}")];
                let copy = self.damage(capture, &format!("{name}-{loss}-{seed}.pcap"), &options)?;
                let survives = packets::survivors(capture, &copy)?;
                let shown =
                    compare(&full, &self.pairs(&copy, |_| true)?, |frame| survives.get(frame - 1) == Some(&true));
                let damage = format!("{loss} %, seed {seed}");
                let ceiling = format!("{:.2}", 100.0 * (1.0 - fraction).powi(2));
                print(&name, &damage, &shown, &ceiling);
                broken.extend(judge(&shown, promised).map(|what| format!("{name}, {damage}: {what}")));
            }
        }
        Ok(())
    }

    fn cuts(&self, capture: &Path, broken: &mut Vec<String>) -> Outcome {
        let name = name(capture);
        // A packet of 96 bytes with TCP's timestamps does not hold the whole header of the SMB1 request with which clients of SMB2 may begin.
        let is_smb2 = |protocol: &str| protocol != "SMB1";
        let full = self.pairs(capture, is_smb2)?;
        for snaplen in SNAPLENS {
            let copy =
                self.damage(capture, &format!("{name}-cut-{snaplen}.pcap"), &[format!("--snaplen={snaplen}")])?;
            let shown = compare(&full, &self.pairs(&copy, is_smb2)?, |_| true);
            let damage = format!("{snaplen} bytes");
            print(&name, &damage, &shown, "");
            broken.extend(judge(&shown, 100.0).map(|what| format!("{name}, {damage}: {what}")));
        }
        Ok(())
    }

    fn damage(&self, capture: &Path, copy: &str, options: &[String]) -> Result<PathBuf, String> {
        let copy = self.folder.join(copy);
        process::output(Command::new(&self.drop_packets).arg(capture).arg(&copy).args(options))?;
        Ok(copy)
    }

    /// The pairs of a `wanted` protocol that plimsoll finds in a capture.
    fn pairs(&self, capture: &Path, wanted: impl Fn(&str) -> bool) -> Result<BTreeMap<Pair, Frames>, String> {
        let csv = self.folder.join(format!("{}.csv", name(capture)));
        let mut command = Command::new(&self.plimsoll);
        command.args(["analyze", "--quiet", "--transactions"]).arg(&csv).arg(capture);
        let output = command.stdin(Stdio::null()).output().map_err(|error| format!("plimsoll: {error}"))?;
        // 1 says that the figures are not to be trusted, as befits a capture that lost packets.
        if !matches!(output.status.code(), Some(0 | 1)) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("plimsoll analyze {}: {}\n{}", name(capture), output.status, said.trim_end()));
        }
        let text = fs::read_to_string(&csv).map_err(|error| format!("{}: {error}", csv.display()))?;
        table::pairs(&text, wanted).map_err(|error| format!("{}: {error}", csv.display()))
    }
}

fn compare(full: &BTreeMap<Pair, Frames>, found: &BTreeMap<Pair, Frames>, survives: impl Fn(usize) -> bool) -> Shown {
    let wrong = found.keys().filter(|pair| !full.contains_key(*pair)).count();
    let possible = full.values().filter(|frames| survives(frames.request) && survives(frames.response)).count();
    Shown { pairs: full.len(), found: found.len() - wrong, wrong, possible }
}

/// A missed target. If chance dropped so many packets that the target is impossible, the result must be near what is possible.
fn judge(shown: &Shown, promised: f64) -> Option<String> {
    let (found, possible) = (shown.percent(shown.found), shown.percent(shown.possible));
    if shown.pairs == 0 {
        Some("no pairs in the full capture".to_owned())
    } else if shown.wrong > 0 {
        Some(format!("{} pairs that the full capture does not have", shown.wrong))
    } else if found < promised && possible >= promised {
        Some(format!("{found:.2} % of the pairs found: expected at least {promised} %; {possible:.2} % were possible"))
    } else if found < possible - WITHIN {
        Some(format!("{found:.2} % found, which is not within a point of the possible {possible:.2} %"))
    } else {
        None
    }
}

fn print(name: &str, damage: &str, shown: &Shown, ceiling: &str) {
    println!(
        "{name:<24} {damage:>12} {:>8} {:>8} {:>7.2} {ceiling:>9} {:>9} {:>7} {:>6}",
        shown.pairs,
        shown.found,
        shown.percent(shown.found),
        shown.possible,
        shown.possible.saturating_sub(shown.found),
        shown.wrong
    );
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: usize, wrong: usize, possible: usize) -> Shown {
        Shown { pairs: 1_000, found, wrong, possible }
    }

    #[test]
    fn a_promise_holds_as_far_as_it_is_possible() {
        assert_eq!(judge(&shown(975, 0, 980), 97.0), None);
        assert_eq!(judge(&shown(890, 0, 895), 90.0), None, "chance took more than the promise allows for");
        assert!(judge(&shown(965, 0, 971), 97.0).is_some(), "it could have been kept");
        assert!(judge(&shown(975, 0, 990), 97.0).is_some(), "more than a point below what is possible");
        assert!(judge(&shown(999, 0, 1_000), 100.0).is_some());
    }

    #[test]
    fn a_wrong_pair_is_worse_than_any_number_of_missing_ones() {
        assert!(judge(&shown(1_000, 1, 1_000), 97.0).is_some());
    }

    #[test]
    fn nothing_to_find_proves_nothing() {
        assert!(judge(&Shown { pairs: 0, found: 0, wrong: 0, possible: 0 }, 97.0).is_some());
    }
}
