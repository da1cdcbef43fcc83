//! Commands in `sh` blocks, run page by page in the reader's order. `plimsoll` is the script beside this file, which replaces the
//! reader's servers and minutes by in-process servers and short times; other programs are stand-ins with the output that the page needs.

use std::cmp::Reverse;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use plimsoll_testkit::command::{output, output_within};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::workspace;
use plimsoll_workload::Builtin;

use super::pages;

const PLIMSOLL: &str = include_str!("plimsoll.sh");

/// Programs that pages name beside `plimsoll`.
const STAND_INS: [(&str, &str); 9] = [
    // To a file after `-w`, and to standard output.
    (
        "tcpdump",
        "while [ $# -gt 0 ]; do [ \"$1\" = -w ] && file=$2; shift; done; cat mine.pcap | if [ \"$file\" = - ]; then cat; else cat >\"$file\"; fi",
    ),
    ("cargo", "case $1 in plimsoll) shift; exec plimsoll \"$@\" ;; xtask | run | install) ;; *) exit 1 ;; esac"),
    ("git", "[ \"$1 $2\" = 'bisect run' ] && shift 2 && exec \"$@\""),
    ("ssh", "shift; exec \"$@\""),
    ("make", ":"),
    ("apt", ":"),
    ("pgrep", "echo $PPID"),
    ("taplo", "[ \"$1\" = lint ] && grep -q . \"$4\""),
    ("ulimit", ":"),
];

/// Captures that a reader has: copies of a small one. It is compressed, which its name need not say.
const CAPTURES: [&str; 8] = [
    "capture.pcap.zst",
    "mine.pcap",
    "mine.pcapng",
    "before.pcap",
    "after.pcap",
    "ring1.pcap",
    "run.pcapng",
    "netbench.pcap",
];

/// The load file of `netbench`, and one of a few lines in its place.
const LOAD_FILES: [&str; 2] = ["/usr/share/dbench/client.txt", "crates/workload/tests/loadfiles/netbench.load"];

/// Twice the maximum duration of a page on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);
/// Pages at a time: their commands wait for clocks most of the time.
const THREADS: usize = 3;

/// Makes a recording that a reader has.
const SAMPLE: &str = "plimsoll run random-read --target embedded:smb --repeat 2 --record sample -q";

fn program(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with all that a page takes as given, but for the recording.
fn desk() -> Scratch {
    let scratch = Scratch::new("page");
    let folder = scratch.path();
    std::fs::create_dir(folder.join("bin")).unwrap();
    program(&folder.join("bin/plimsoll"), PLIMSOLL);
    for (name, script) in STAND_INS {
        program(&folder.join("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
    }
    std::fs::create_dir(folder.join("cgroup")).unwrap();
    symlink(workspace().join("captures"), folder.join("captures")).unwrap();
    for name in CAPTURES {
        std::fs::copy(workspace().join("captures/smb2-samba/capture.pcap.zst"), folder.join(name)).unwrap();
    }
    let (netbench, [long, short]) = (Builtin::named("netbench").unwrap().text, LOAD_FILES);
    assert!(netbench.contains(long), "{netbench}");
    let short = netbench.replace(long, workspace().join(short).to_str().unwrap());
    std::fs::write(folder.join("short-netbench.toml"), short).unwrap();
    scratch
}

/// A shell for the commands of a page.
fn shell(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-ec", script]);
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap()))
        .env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll"))
        .env("PLIMSOLL_PASSWORD", "secret");
    for variable in ["SMBD", "GANESHA"] {
        command.env(variable, std::process::id().to_string());
    }
    command.env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
    command.env("OLD", "smb://user@old/share").env("NEW", "smb://user@new/share").env("EC", "true");
    command
}

/// The text of each `sh` block.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0))
}

/// Shell lines of the jobs in each `yaml` block: below `run: |` (GitHub Actions), and the items of `script:` (GitLab).
fn jobs(page: &str) -> impl Iterator<Item = String> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0));
    blocks.map(|block| {
        let (mut script, mut key) = (String::new(), None);
        for line in block.lines() {
            let (indent, text) = (line.len() - line.trim_start().len(), line.trim_start());
            key = key.filter(|&(deep, _)| indent > deep);
            match key {
                Some((_, "script:")) => script += text.strip_prefix("- ").unwrap(),
                Some(_) => script += text,
                None => {
                    let of = |name: &'static str| text.ends_with(name).then_some((indent, name));
                    key = of("script:").or_else(|| of("run: |"));
                    continue;
                }
            }
            script.push('\n');
        }
        script
    })
}

/// The commands of a page, block by block. A folder of the page stands for the control groups of this machine.
fn script(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let commands = blocks(&text).map(str::to_owned).chain(jobs(&text));
    commands.map(|block| block.replace("/sys/fs/cgroup", "cgroup")).collect()
}

/// Runs the commands of a page, beside a copy of the recording; how many blocks it has, or what went wrong.
fn run(path: &Path, sample: &Path) -> Result<usize, String> {
    let script = script(path);
    if script.is_empty() {
        return Ok(0);
    }
    let scratch = desk();
    assert!(output(Command::new("cp").arg("-r").args([sample, scratch.path()])).status.success());
    let said = output_within(&mut shell(scratch.path(), &script.join("\n")), LIMIT);
    if said.status.success() {
        Ok(script.len())
    } else {
        Err(format!("{}: {}", path.display(), String::from_utf8_lossy(&said.stderr)))
    }
}

#[test]
fn the_shell_of_jobs_is_found() {
    let page = "```yaml\njobs:\n  - name: gate\n    run: |\n      a --b \\\n        c\n      d\n    if: x\n```\n```yaml\ngate:\n  script:\n    - e\n    - f\n  artifacts: g\n```\n";
    assert_eq!(jobs(page).collect::<Vec<_>>(), ["a --b \\\nc\nd\n", "e\nf\n"]);
}

#[test]
fn commands_shown_succeed() {
    let first = desk();
    let said = output(&mut shell(first.path(), SAMPLE));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let sample = first.path().join("sample");
    let mut pages = pages();
    // Long pages first: at the end no thread waits for one of them alone.
    pages.sort_by_cached_key(|path| Reverse(script(path).concat().matches("plimsoll ").count()));
    let pages = Mutex::new(pages.into_iter());
    let next = || pages.lock().unwrap().next();
    let pages_of_thread = || std::iter::from_fn(next).map(|path| run(&path, &sample)).collect::<Vec<_>>();
    let ran: Vec<Result<usize, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(pages_of_thread)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let failed: Vec<&String> = ran.iter().filter_map(|page| page.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let blocks: usize = ran.iter().flatten().sum();
    assert!(blocks >= 35, "{blocks} blocks were run");
}
