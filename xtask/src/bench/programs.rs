//! The programs that are compared: how each is called, and how many operations it says it found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::measured::{Bench, Taken};
use crate::process;

/// nfstrace's analyser of response times, where Debian puts it.
const BREAKDOWN: [&str; 2] = ["/usr/lib/nfstrace/libbreakdown.so", "/usr/local/lib/nfstrace/libbreakdown.so"];

/// A program that makes response times of a capture.
pub(crate) enum Program {
    /// Ours.
    Plimsoll(PathBuf),
    /// Wireshark's tables of service response times.
    Tshark(PathBuf),
    /// nfstrace and its analyser.
    Nfstrace(PathBuf, PathBuf),
}

impl Program {
    /// Plimsoll, and the other programs that are installed.
    pub(crate) fn all(plimsoll: &Path) -> Vec<Program> {
        let mut all = vec![Program::Plimsoll(plimsoll.to_owned())];
        match process::find("tshark") {
            Some(tshark) => all.push(Program::Tshark(tshark)),
            None => println!("not compared: tshark is missing"),
        }
        let breakdown = BREAKDOWN.iter().map(PathBuf::from).find(|path| path.is_file());
        match process::find("nfstrace").zip(breakdown) {
            Some((nfstrace, breakdown)) => all.push(Program::Nfstrace(nfstrace, breakdown)),
            None => println!("not compared: nfstrace is missing"),
        }
        all
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Program::Plimsoll(_) => "plimsoll",
            Program::Tshark(_) => "tshark",
            Program::Nfstrace(..) => "nfstrace",
        }
    }

    /// Analyses a capture once.
    pub(crate) fn run(&self, bench: &Bench, capture: &Path) -> Result<(Taken, String), String> {
        let capture = capture.as_os_str();
        let word = OsStr::new;
        match self {
            Program::Plimsoll(program) => bench.run(program, &[word("analyze"), word("--quiet"), capture]),
            Program::Tshark(program) => {
                let tables = ["-z", "smb,srt", "-z", "smb2,srt", "-z", "rpc,srt,100003,3"].map(word);
                bench.run(program, &[&["-n", "-q", "-r"].map(word), [capture].as_slice(), &tables].concat())
            }
            Program::Nfstrace(program, breakdown) => {
                let mut log = std::ffi::OsString::from("--log=");
                log.push(bench.folder().join("log"));
                let before = ["-m", "stat", "-v", "0", "-I"].map(word);
                let after = [capture, word("-a"), breakdown.as_os_str(), &log];
                bench.run(program, &[before.as_slice(), &after].concat())
            }
        }
    }

    /// How many operations it says it found.
    pub(crate) fn operations(&self, bench: &Bench, capture: &Path, said: &str) -> Result<u64, String> {
        match self {
            Program::Plimsoll(program) => {
                let arguments = ["analyze", "--quiet", "--json", "-"].map(OsStr::new);
                let (_, json) = bench.run(program, &[arguments.as_slice(), &[capture.as_os_str()]].concat())?;
                paired(&json)
            }
            Program::Tshark(_) => Ok(tshark_operations(said)),
            Program::Nfstrace(..) => Ok(nfstrace_operations(said)),
        }
    }
}

fn paired(json: &str) -> Result<u64, String> {
    let report: Value = serde_json::from_str(json).map_err(|error| format!("plimsoll's report: {error}"))?;
    let paired = report.pointer("/sides/0/unseen/paired").and_then(Value::as_u64);
    paired.ok_or_else(|| "plimsoll's report does not say how many operations it paired".to_owned())
}

/// The calls in tshark's tables; a command's count includes its subcommands.
fn tshark_operations(said: &str) -> u64 {
    let mut counts = true;
    let mut sum = 0;
    for line in said.lines() {
        if line.starts_with("Index") {
            counts = !line.contains("Trans");
        }
        // Index, name, calls, and four times.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [index, _, .., calls, _, _, _, _] = words.as_slice() else { continue };
        if counts && index.parse::<u32>().is_ok() {
            sum += calls.parse().unwrap_or(0);
        }
    }
    sum
}

/// The totals of nfstrace's protocols, which include sessions.
fn nfstrace_operations(said: &str) -> u64 {
    let pairs = said.lines().zip(said.lines().skip(1)).filter(|(line, _)| line.trim_end().ends_with("protocol"));
    let totals =
        pairs.filter_map(|(_, next)| next.strip_prefix("Total operations: ")?.split_once('.')?.0.parse::<u64>().ok());
    totals.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tshark_counts_commands_once() {
        let said = "\
SMB SRT Statistics:
Index  Commands               Calls    Min SRT    Max SRT    Avg SRT    Sum SRT
   50  Trans2                    10   0.000000   0.011107   0.000328   4.616000
   46  Read AndX                  5   0.000000   0.238988   0.000292   4.118250

Filter: smb.trans2.cmd
Index  Transaction2 Commands  Calls    Min SRT    Max SRT    Avg SRT    Sum SRT
    1  FIND_FIRST2               10   0.000000   0.238988   0.000292   4.118250
==================================================================
Index  Commands               Calls    Min SRT    Max SRT    Avg SRT    Sum SRT
    8  Read                       2   0.000000   0.238988   0.000292   4.118250
";
        assert_eq!(tshark_operations(said), 17);
    }

    #[test]
    fn nfstrace_counts_protocols_and_not_their_sessions() {
        let said = "\
CIFS v2 protocol: Data transmission has not been detected.
NFS v3 protocol
Total operations: 338148. Per operation:
Session: a --> b [TCP]
Total operations: 28179. Per operation:
NFS v4.0 protocol
Total operations: 2. Per operation:
";
        assert_eq!(nfstrace_operations(said), 338_150);
    }

    #[test]
    fn ours_says_it_in_json() {
        assert_eq!(paired(r#"{"sides": [{"unseen": {"paired": 7}}]}"#), Ok(7));
        assert!(paired("{}").is_err() && paired("").is_err());
    }
}
