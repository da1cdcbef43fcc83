//! Runs the packed program: the version, the first report of a golden capture, the demonstration.

mod same_reports;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::content::Content;
use super::files;
use crate::{Outcome, process, setup, workspace};

/// The analysed capture, and the expected report of `analyze --utc`.
const CAPTURE: &str = "captures/netbench-samba/capture.pcap.zst";
const REPORT: &str = "captures/netbench-samba/screen.txt";
/// The exit code of a demonstration on a machine too busy for valid numbers.
const NO_VERDICT: i32 = 4;

/// Version, first report, and the reports of all our captures and of recordings, on this machine.
pub(super) fn reports(content: &Content, program: &Path) -> Outcome {
    let folder = workspace::root().join(CAPTURE);
    let folder = folder.parent().unwrap_or(&folder);
    runs(|| {
        let mut command = content.platform.command(program, &content.scratch);
        command.current_dir(folder);
        Ok(command)
    })?;
    if content.platform.is_native() { Ok(()) } else { same_reports::check(content, program) }
}

/// Version and first report in a root that contains only the unpacked files: no library, no `/proc`, no `/tmp`. A program that needs
/// libraries runs from there in this machine's root.
pub(super) fn reports_in_an_empty_root(content: &Content, root: &Path, program: &str) -> Outcome {
    let begun = Instant::now();
    let capture = root.join("capture.pcap.zst");
    files::copy(&workspace::root().join(CAPTURE), &capture)?;
    runs(|| in_root(content, root, program))?;
    took("version and first report", begun);
    remove(&capture)?;
    remove_emulator(content, root)
}

fn remove(file: &Path) -> Outcome {
    fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn runs(command: impl Fn() -> Result<Command, String>) -> Outcome {
    let version = process::output(command()?.arg("--version"))?;
    if !version.starts_with("plimsoll ") {
        return Err(format!("--version: {version}"));
    }
    let report = process::output(command()?.args(["analyze", "capture.pcap.zst", "--utc"]))?;
    let expected = files::read(&workspace::root().join(REPORT))?;
    if report == expected { Ok(()) } else { Err(format!("not the report in {REPORT}:\n{report}")) }
}

/// A program without the half that drives servers: what needs that half says so in one line.
pub(super) fn drives_nothing(content: &Content, program: &Path) -> Outcome {
    let mut command = content.platform.command(program, &content.scratch);
    let run = command.args(["run", "mixed", "--target", "smb://user@server/share"]).output();
    let run = run.map_err(|error| format!("run: {error}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    match (run.status.code(), said.lines().count()) {
        (Some(2), 1) if said.contains("run: needs Linux") => Ok(()),
        _ => Err(format!("run: {}\n{said}", run.status)),
    }
}

/// The demonstration, which writes its page into a folder.
pub(super) fn demo(content: &Content, program: &Path, folder: &Path) -> Outcome {
    let mut command = content.platform.command(program, &content.scratch);
    command.current_dir(folder);
    demonstrates(command, folder)
}

/// The same in an empty root.
pub(super) fn demo_in_an_empty_root(content: &Content, root: &Path, program: &str) -> Outcome {
    demonstrates(in_root(content, root, program)?, root)
}

fn demonstrates(mut command: Command, folder: &Path) -> Outcome {
    let begun = Instant::now();
    let output = command.arg("demo").stdin(Stdio::null()).output().map_err(|error| format!("demo: {error}"))?;
    let report = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => {}
        Some(NO_VERDICT) => println!("demo: this machine was too busy for valid numbers"),
        _ => return Err(format!("demo: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
    if !report.contains("16 clients") || !folder.join("plimsoll-demo.html").is_file() {
        return Err(format!("demo: no report of 16 clients, or no page:\n{report}"));
    }
    took("demo", begun);
    Ok(())
}

/// Where it is in another root.
const EMULATOR: &str = "emulator";

fn remove_emulator(content: &Content, root: &Path) -> Outcome {
    content.platform.emulator().map_or(Ok(()), |_| remove(&root.join(EMULATOR)))
}

/// A program in another root. Without root's rights, in a separate user namespace.
fn in_root(content: &Content, root: &Path, program: &str) -> Result<Command, String> {
    if !content.platform.is_static {
        let mut command = Command::new(root.join(program.trim_start_matches('/')));
        command.current_dir(root).env_clear().stdin(Stdio::null());
        return Ok(command);
    }
    let needed = |name: &str, package: &str| {
        process::find(name).ok_or_else(|| format!("needs {name} (Debian package {package})"))
    };
    let (unshare, chroot) = (needed("unshare", "util-linux")?, needed("chroot", "coreutils")?);
    let mut command = Command::new(unshare);
    if !setup::is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--"]).arg(chroot).arg(root).env_clear().stdin(Stdio::null());
    if let Some(emulator) = content.platform.emulator() {
        files::copy(&emulator, &root.join(EMULATOR))?;
        command.arg(format!("/{EMULATOR}"));
    }
    command.arg(program);
    Ok(command)
}

/// A package manager lists exactly the files (and folders, which it may or may not list) of a tree.
pub(super) fn lists(listed: &str, tree: &Path, prefix: &str) -> Outcome {
    let expected: Vec<String> = files::list(tree)?.into_iter().map(|path| format!("{prefix}{path}")).collect();
    let mut listed: Vec<&str> = listed.lines().filter(|path| !is_folder(path, &expected)).collect();
    listed.sort_unstable();
    if listed != expected {
        return Err(format!("installed: {listed:#?}\nexpected: {expected:#?}"));
    }
    println!("{} files as expected", listed.len());
    Ok(())
}

fn is_folder(path: &str, files: &[String]) -> bool {
    path == "/." || files.iter().any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

/// The demonstration takes half a minute: it is run once for all packages with the same program.
pub(super) fn same_program(one: &Path, other: &Path) -> Outcome {
    let read = |file: &Path| fs::read(file).map_err(|error| format!("{}: {error}", file.display()));
    if read(one)? == read(other)? { Ok(()) } else { Err(format!("{}: another program", other.display())) }
}

/// After a package was removed, only the package manager's own files exist. (Folders of the distribution may stay: rpm leaves files that
/// it does not own.)
pub(super) fn is_gone(root: &Path) -> Outcome {
    let left: Vec<String> = files::list(root)?.into_iter().filter(|path| !path.starts_with("/var/lib/")).collect();
    if left.is_empty() && !root.join("usr/share/doc/plimsoll").exists() {
        println!("removed, nothing left");
        return Ok(());
    }
    Err(format!("left after removal: {left:?}"))
}

/// Says how long something took.
pub(super) fn took(what: &str, since: Instant) {
    println!("{:>6.1} s  {what}", since.elapsed().as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_a_list_are_known_by_the_files_in_them() {
        let files = ["/usr/bin/plimsoll".to_owned()];
        assert!(is_folder("/usr", &files) && is_folder("/.", &files));
        assert!(!is_folder("/usr/bin/plimsoll", &files) && !is_folder("/usr/b", &files));
    }
}
