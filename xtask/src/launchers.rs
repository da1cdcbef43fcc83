//! `cargo xtask launchers`: the parts of a run, started by launchers that exist, as docs/parts.md shows.
//!
//! Each drives one load of 8 clients in 4 parts against a server of ours on loopback, and merges the recordings. Slurm also gets a run of
//! which one task is killed.

mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::record::running::Running;
use crate::{Outcome, process, workspace};
use slurm::Slurm;

/// The command of each part; `$PART` is its number.
const PART: &str = "$PLIMSOLL run random-read --set size=64KiB --target \"$TARGET\" --clients 8 --threads 1 --rate 40 --warmup 500ms \
    --duration 3s --quiet --part $PART/4 --start-at $START --clock-bound 10ms --record $DIR/part-$PART";
/// From now to the common start: four processes begin on a busy machine.
const AHEAD: &str = "+15 seconds";

/// No run of these takes as long.
const LIMIT: Duration = Duration::from_secs(100);

/// A launcher, and the line of a shell by which it starts the parts.
struct Launcher {
    name: &'static str,
    program: &'static str,
    packages: &'static str,
    line: &'static str,
}

const LAUNCHERS: [Launcher; 2] = [
    Launcher {
        name: "slurm",
        program: "srun",
        packages: "slurmctld slurmd slurm-client munge",
        line: "srun -n 4 --mpi=none sh -c \"PART=\\$((SLURM_PROCID + 1)); $RUN\"",
    },
    Launcher {
        name: "parallel",
        program: "parallel",
        packages: "parallel",
        line: "parallel -j 4 \"PART={}; $RUN\" ::: 1 2 3 4",
    },
];

/// Runs under all launchers, or those named.
pub(crate) fn run(wanted: &[String]) -> Outcome {
    let chosen: Vec<&Launcher> =
        LAUNCHERS.iter().filter(|one| wanted.is_empty() || wanted.iter().any(|name| name == one.name)).collect();
    if chosen.is_empty() {
        return Err(format!("expected one of {}", LAUNCHERS.map(|one| one.name).join(", ")));
    }
    process::run(&mut process::cargo(&["build", "--workspace", "--bin", "plimsoll"]))?;
    for launcher in chosen {
        if process::find(launcher.program).is_none() {
            return Err(format!("{}: needs {} (Debian: {})", launcher.name, launcher.program, launcher.packages));
        }
        let bench = Bench::new(launcher.name)?;
        // Its daemons end with it.
        let slurm = (launcher.name == "slurm").then(|| Slurm::start(&bench.folder)).transpose()?;
        let environment = slurm.as_ref().map(Slurm::environment);
        let requests = bench.whole(launcher, environment.as_ref())?;
        println!("launcher {}: 4 parts of 8 clients merged, {requests} requests, none missing", launcher.name);
        if slurm.is_some() {
            bench.killed(launcher, environment.as_ref())?;
            println!("launcher {}: of a killed task the merge says so by name; the others are whole", launcher.name);
        }
    }
    Ok(())
}

/// A variable and its value.
type Variable = (&'static str, PathBuf);

/// A server and a folder.
struct Bench {
    folder: PathBuf,
    target: String,
    _server: Running,
}

impl Bench {
    fn new(name: &str) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut serve = Command::new(plimsoll());
        serve.args(["serve", "nfs", "--listen", "127.0.0.1:0"]);
        let mut server = Running::start("plimsoll serve", &mut serve, &folder.join("serve.log"))?;
        server.wait_until_said("\n", Duration::from_secs(30))?;
        let target = server.said().lines().next().unwrap_or_default().to_owned();
        Ok(Self { folder, target, _server: server })
    }

    /// Starts the parts; their recordings lie in this folder.
    fn parts(&self, launcher: &Launcher, to: &str, environment: Option<&Variable>) -> Result<Command, String> {
        let start = process::output(Command::new("date").args(["-u", "-d", AHEAD, "+%FT%TZ"]))?;
        let mut shell = Command::new("sh");
        shell.args(["-c", launcher.line]).envs(environment.cloned());
        let values = [("PLIMSOLL", plimsoll().display().to_string()), ("TARGET", self.target.clone())];
        let values = values.into_iter().chain([
            ("START", start.trim().to_owned()),
            ("DIR", self.folder.join(to).display().to_string()),
            ("RUN", PART.to_owned()),
        ]);
        fs::create_dir_all(self.folder.join(to)).map_err(|error| error.to_string())?;
        shell.envs(values).current_dir(&self.folder);
        Ok(shell)
    }

    fn merged(&self, to: &str, parts: &[u32]) -> Result<Value, String> {
        let mut merge = Command::new(plimsoll());
        merge.arg("merge").args(parts.iter().map(|part| self.folder.join(to).join(format!("part-{part}"))));
        // A busy machine makes numbers invalid, which is not the question here.
        let said = merge.args(["--quiet", "--json", "-"]).output().map_err(|error| error.to_string())?;
        let report: Value = serde_json::from_slice(&said.stdout)
            .map_err(|error| format!("merge: {error}: {}", String::from_utf8_lossy(&said.stderr)))?;
        Ok(report["sides"][0].clone())
    }

    /// All parts end. How many requests there are.
    fn whole(&self, launcher: &Launcher, environment: Option<&Variable>) -> Result<u64, String> {
        let mut parts = self.parts(launcher, "whole", environment)?;
        process::show(&parts);
        // An invalid part is exit code 4, which a launcher passes on.
        let said = parts.output().map_err(|error| error.to_string())?;
        let report = self.merged("whole", &[1, 2, 3, 4])?;
        let reasons = report["validity"]["reasons"].to_string();
        for wrong in ["is missing", "are missing", "did not finish", "not merged", "its clock"] {
            if reasons.contains(wrong) {
                return Err(format!("{reasons}\n{}", String::from_utf8_lossy(&said.stderr)));
            }
        }
        let (clients, requests) = (&report["levels"][0]["clients"], &report["levels"][0]["count"]);
        match (clients.as_u64(), requests.as_u64()) {
            (Some(8), Some(requests)) if requests > 60 => Ok(requests),
            _ => Err(format!("{clients} clients, {requests} requests")),
        }
    }

    /// The process of a part is killed.
    fn killed(&self, launcher: &Launcher, environment: Option<&Variable>) -> Outcome {
        let mut parts = self.parts(launcher, "killed", environment)?;
        let mut running = Running::start(launcher.name, &mut parts, &self.folder.join("killed.log"))?;
        let folder = self.folder.join("killed/part-2");
        let begun = folder.join("level-0000.partial/progress.zst");
        running.wait_until(LIMIT, "did not begin", |_| begun.exists())?;
        let id = process_that_records_to(&folder).ok_or("the process of part 2 is not found")?;
        process::run(Command::new("kill").args(["-KILL", &id]))?;
        running.wait(LIMIT)?;
        let report = self.merged("killed", &[1, 2, 3, 4])?;
        let reasons = report["validity"]["reasons"].to_string();
        let others = self.merged("killed", &[1, 3, 4])?;
        let said = reasons.contains("part 2/4 (") && reasons.contains("its process was killed");
        let whole = report["levels"][0]["count"] == others["levels"][0]["count"];
        if said && whole { Ok(()) } else { Err(reasons) }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn plimsoll() -> PathBuf {
    workspace::root().join("target/debug/plimsoll")
}

/// The process with this argument behind `--record`.
fn process_that_records_to(folder: &Path) -> Option<String> {
    let wanted = folder.to_string_lossy();
    let records = |id: &String| {
        let given = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let given: Vec<&[u8]> = given.split(|&byte| byte == 0).collect();
        given.windows(2).any(|pair| pair[0] == b"--record" && pair[1] == wanted.as_bytes())
    };
    let names = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find(records)
}
