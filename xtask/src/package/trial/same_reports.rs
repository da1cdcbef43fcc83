//! Compares the JSON of every capture in this repository, of a comparison, of a recording and of a history between a program for another
//! platform and this machine's: they must be byte-identical. Files are named relative to the current folder, so that no path differs.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::package::content::Content;
use crate::package::files;
use crate::{Outcome, workspace};

/// Folders with captures.
const FOLDERS: [&str; 4] = ["netbench-samba", "nfs-ganesha", "smb2-samba", "planted"];
/// The capture to record and compare.
const BEFORE: &str = "healthy-samba.pcap.zst";
const AFTER: &str = "slow-server.pcap.zst";

/// Compares all outputs.
pub(super) fn check(content: &Content, program: &Path) -> Outcome {
    let begun = Instant::now();
    let captures = workspace::root().join("captures");
    let same = |folder: &Path, arguments: &[&str]| {
        let other = printed(content.platform.command(program, &content.scratch), folder, arguments)?;
        let own = printed(Command::new(&content.reference), folder, arguments)?;
        let named = || format!("plimsoll {} in {}", arguments.join(" "), folder.display());
        if other == own { Ok(()) } else { Err(format!("{}: not the same JSON as on Linux", named())) }
    };
    let mut count = 0;
    for folder in FOLDERS.map(|name| captures.join(name)) {
        for capture in files::names(&folder)?.iter().filter(|name| name.ends_with(".pcap.zst")) {
            same(&folder, &["analyze", capture, "--json", "-", "--utc"])?;
            count += 1;
        }
    }
    let planted = captures.join("planted");
    same(&planted, &["compare", BEFORE, AFTER, "--json", "-", "--utc"])?;
    let recordings = content.scratch.join("trial/recordings");
    files::empty(&recordings)?;
    for (name, capture) in [("before", BEFORE), ("after", AFTER)] {
        let capture = planted.join(capture).display().to_string();
        let arguments = ["analyze", &capture, "--record", name, "--record-transactions", "all", "-q"];
        printed(Command::new(&content.reference), &recordings, &arguments)?;
        same(&recordings, &["report", name, "--json", "-", "--utc"])?;
    }
    same(&recordings, &["compare", "before", "after", "--json", "-", "--utc"])?;
    same(&recordings, &["history", "before", "after", "--json", "-", "--utc"])?;
    super::took(&format!("the same JSON of {count} captures, comparisons and recordings"), begun);
    Ok(())
}

/// The output of a command. Exit codes 1 and 4 are verdicts: they must be the same, too.
fn printed(mut command: Command, folder: &Path, arguments: &[&str]) -> Result<(Option<i32>, String), String> {
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("plimsoll {}: {error}", arguments.join(" ")))?;
    match output.status.code() {
        Some(0 | 1 | 4) => Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())),
        _ => Err(format!("plimsoll {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
    }
}
