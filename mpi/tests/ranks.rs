//! Four ranks on this machine, under the system's `mpirun`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop where it stands, and says why it is skipped"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Seconds by which the monotonic clocks of the ranks are ahead.
const AHEAD_S: [i64; 4] = [0, 100, 5_000, -3];
/// Allowed error of a start, ns.
const START_NS: i64 = 200_000;

fn mpirun(ranks: &str) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    mpirun.args(["--oversubscribe", "-n", ranks]);
    mpirun
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_plimsoll-mpi")
}

/// `plimsoll`, as the workspace above builds it.
fn plimsoll() -> Option<PathBuf> {
    let given = std::env::var_os("PLIMSOLL").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/plimsoll");
    let found = given.or_else(|| built.exists().then_some(built));
    if found.is_none() {
        println!("SKIPPED: needs ../target/debug/plimsoll (cargo build)");
    }
    found
}

/// A rank in a separate time namespace, by a shell.
fn in_namespaces(command: &str) -> String {
    let cases: Vec<String> =
        AHEAD_S.iter().enumerate().map(|(rank, ahead)| format!("{rank}) ahead={ahead};;")).collect();
    format!(
        "case $OMPI_COMM_WORLD_RANK in {} esac; exec unshare --time --fork --monotonic=$ahead {command}",
        cases.join(" ")
    )
}

fn has_time_namespaces() -> bool {
    let tried = Command::new("unshare").args(["--time", "--fork", "--monotonic=-3", "true"]).output();
    let has = tried.is_ok_and(|tried| tried.status.success());
    if !has {
        println!("SKIPPED: needs the right to make time namespaces");
    }
    has
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("plimsoll-mpi-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server on loopback, and its URL.
struct Server(Child, String);

impl Server {
    fn start(plimsoll: &Path) -> Self {
        let mut serve = Command::new(plimsoll);
        let mut server =
            serve.args(["serve", "nfs", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self(server, url.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Of `rank 2: clock ahead by 17 ns, within 900 ns` the numbers; and the bound of all, ns.
fn clocks(said: &str) -> (Vec<[i64; 3]>, i64) {
    let numbers = |line: &str| -> Vec<i64> {
        line.split(|letter: char| !letter.is_ascii_digit() && letter != '-')
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let of_rank = |line: &str| numbers(line.strip_prefix("plimsoll-mpi: rank ")?).try_into().ok();
    let ranks: Vec<[i64; 3]> = said.lines().filter_map(of_rank).collect();
    let bound = said.lines().find_map(|line| line.strip_prefix("plimsoll-mpi: clocks within "));
    (ranks, numbers(bound.unwrap_or_else(|| panic!("{said}")))[0] * 1_000)
}

/// The difference of clocks is known within the printed bound: it is that of the time namespaces.
#[test]
fn offsets_of_clocks_are_within_their_bounds() {
    if !has_time_namespaces() {
        return;
    }
    let exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    let (runs, mut worst, mut widest) = (if exact { 50 } else { 3 }, 0, 0);
    for _ in 0..runs {
        let measured =
            mpirun("4").args(["sh", "-c", &in_namespaces(&format!("{} --clocks", program()))]).output().unwrap();
        let (ranks, bound) = clocks(&said(&measured));
        assert_eq!(ranks.len(), 3, "{}", said(&measured));
        let mut errors = vec![0];
        for [rank, ahead, own_bound] in ranks {
            let error = ahead - AHEAD_S[rank as usize] * 1_000_000_000;
            assert!(error.abs() <= own_bound, "rank {rank}: {error} ns, within {own_bound} ns");
            errors.push(error);
        }
        let apart = errors.iter().max().unwrap() - errors.iter().min().unwrap();
        assert!(apart <= bound, "{apart} ns apart, within {bound} ns");
        (worst, widest) = (worst.max(apart), widest.max(bound));
        // How long messages take is the machine's.
        assert!(!exact || apart <= START_NS, "{apart} ns apart");
    }
    println!(
        "MPI clocks: {runs} runs of 4 ranks in time namespaces: starts at most {worst} ns apart, printed bound at most {widest} ns"
    );
}

fn run(plimsoll: &Path, server: &Server, folder: &Path) -> String {
    let [plimsoll, folder] = [plimsoll, folder].map(|path| path.display().to_string());
    format!(
        "{} --plimsoll {plimsoll} --start-in 8s --record {folder}/all --json {folder}/all.json run random-read --set size=64KiB \
         --target '{}' --clients 4 --threads 1 --rate 40 --warmup 500ms --duration 8s",
        program(),
        server.1
    )
}

/// Parts are started together, in whatever time each rank lives, and merged.
#[test]
fn ranks_drive_one_load() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("ranks");
    let server = Server::start(&plimsoll);
    let command = run(&plimsoll, &server, &scratch.0);
    let command = if has_time_namespaces() { in_namespaces(&command) } else { command };
    let ended = mpirun("4").args(["sh", "-c", &command]).output().unwrap();
    let text = said(&ended);
    let report = fs::read_to_string(scratch.0.join("all.json")).unwrap_or_else(|error| panic!("{error}: {text}"));
    // How busy the machine was is not asked here.
    for wrong in ["is missing", "are missing", "did not finish", "not merged", "its clock", "clocks of the parts"] {
        assert!(!report.contains(wrong), "{wrong}: {report}");
    }
    assert!(text.contains("clocks differed by up to"), "{text}");
    for number in 1..=4 {
        let manifest = fs::read_to_string(scratch.0.join(format!("all/part-{number}/manifest.json"))).unwrap();
        assert!(manifest.contains(&format!("\"part\": \"{number}/4\"")), "{manifest}");
    }
    assert!(scratch.0.join("all/all/level-0000/statistics.zst").exists(), "{text}");
}

/// The levels of a sweep are measured by all ranks; rank 0 says how far they are.
#[test]
fn ranks_drive_the_levels_of_a_sweep() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("sweep");
    let server = Server::start(&plimsoll);
    let [plimsoll, folder] = [&plimsoll, &scratch.0].map(|path| path.display().to_string());
    let mut mpirun = mpirun("2");
    mpirun.args([program(), "--plimsoll", &plimsoll, "--start-in", "8s", "--record", &format!("{folder}/all")]);
    mpirun.args(["--json", &format!("{folder}/all.json"), "sweep", "random-read", "--set", "size=64KiB"]);
    mpirun.args(["--target", &server.1, "--levels", "2,6", "--threads", "1", "--think", "50ms"]);
    let ended = mpirun.args(["--level-gap", "8s", "--warmup", "200ms", "--duration", "1s"]).output().unwrap();
    let text = said(&ended);
    let report = fs::read_to_string(scratch.0.join("all.json")).unwrap_or_else(|error| panic!("{error}: {text}"));
    for wrong in ["is missing", "are missing", "did not finish", "not merged", "too late"] {
        assert!(!report.contains(wrong), "{wrong}: {report}");
    }
    for level in ["\"2 clients\"", "\"6 clients\""] {
        assert!(report.contains(level), "{level}: {report}");
    }
    assert!(text.contains("6 clients: over (2 of 2 parts); "), "{text}");
    assert!(!scratch.0.join("all/part-1.progress").exists(), "{text}");
    for level in ["level-0000", "level-0001"] {
        assert!(scratch.0.join(format!("all/all/{level}/statistics.zst")).exists(), "{level}: {text}");
    }
}

/// The process of a part is killed: the others finish, and the merge names it.
#[test]
fn a_part_that_is_killed_is_named() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("killed");
    let server = Server::start(&plimsoll);
    let mut mpirun = mpirun("2");
    mpirun.args(["sh", "-c", &run(&plimsoll, &server, &scratch.0)]).stdout(Stdio::null()).stderr(Stdio::piped());
    let running = mpirun.spawn().unwrap();
    let progress = scratch.0.join("all/part-2/level-0000.partial/progress.zst");
    wait_for(&progress);
    let part = process_with(&["--part", "2/2", &scratch.0.join("all/part-2").display().to_string()]).unwrap();
    assert!(Command::new("kill").args(["-KILL", &part]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    let text = said(&ended);
    assert!(text.contains("part 2/2: ") && text.contains("killed by signal 9"), "{text}");
    let report = fs::read_to_string(scratch.0.join("all.json")).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(report.contains("did not finish: its process was killed, or is still running"), "{report}");
    let first = Command::new(&plimsoll).arg("report").arg(scratch.0.join("all/part-1")).output().unwrap();
    assert!(matches!(first.status.code(), Some(0 | 4)), "{}", said(&first));
}

/// A search in two ranks for the highest of 2 to 4 clients; any response time meets the objective, so the search does not depend on speed.
fn capacity(plimsoll: &Path, server: &Server, folder: &Path) -> Command {
    let [plimsoll, folder] = [plimsoll, folder].map(|path| path.display().to_string());
    let mut mpirun = mpirun("2");
    mpirun.args([program(), "--plimsoll", &plimsoll, "--start-in", "8s", "--record", &format!("{folder}/all")]);
    mpirun.args(["--json", &format!("{folder}/all.json"), "--html", &format!("{folder}/all.html")]);
    mpirun.args(["capacity", "random-read", "--set", "size=64KiB", "--target", &server.1, "--hold", "p50 < 1000s"]);
    mpirun.args(["--clients", "1", "--most", "4", "--think", "50ms", "--threads", "1", "--level-gap", "8s"]);
    mpirun.args(["--warmup", "200ms", "--duration", "1s"]);
    mpirun
}

/// Waits until a file or folder exists.
fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() && begun.elapsed() < Duration::from_secs(200) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(path.exists(), "{}", path.display());
}

/// All ranks drive each level of a search, and the merged report has its answer.
#[test]
fn ranks_search_for_a_capacity() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("capacity");
    let server = Server::start(&plimsoll);
    let ended = capacity(&plimsoll, &server, &scratch.0).output().unwrap();
    let (text, printed) = (said(&ended), String::from_utf8_lossy(&ended.stdout).into_owned());
    assert_eq!(ended.status.code(), Some(0), "{printed}{text}");
    let report = fs::read_to_string(scratch.0.join("all.json")).unwrap();
    for part in ["\"outcome\": \"at least\"", "\"low\": 4", "the search tried no load above its upper limit (--most)"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let answer = "4 clients meet the objective";
    assert!(printed.contains(answer), "{printed}{text}");
    assert!(fs::read_to_string(scratch.0.join("all.html")).unwrap().contains(answer));
    let again = Command::new(&plimsoll).arg("report").arg(scratch.0.join("all/all")).output().unwrap();
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout).contains(answer), "{}", said(&again));
    // One run of two clients, and seven of four: six of them confirm.
    for part in ["part-1", "part-2"] {
        let level = |number: u32| scratch.0.join(format!("all/{part}/level-{number:04}/part.zst"));
        assert!(level(7).exists() && !level(8).exists(), "{text}");
    }
}

/// The process of a part is killed: the search ends, and there is no capacity from the other part.
#[test]
fn a_search_ends_with_the_part_that_is_killed() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("capacity-killed");
    let server = Server::start(&plimsoll);
    let mut mpirun = capacity(&plimsoll, &server, &scratch.0);
    let running = mpirun.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&scratch.0.join("all/part-2/level-0001.partial"));
    let part = process_with(&["--part", "2/2", &scratch.0.join("all/part-2").display().to_string()]).unwrap();
    assert!(Command::new("kill").args(["-KILL", &part]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    let text = said(&ended);
    assert_eq!(ended.status.code(), Some(4), "{text}");
    assert!(text.contains("part 2/2: ") && text.contains("killed by signal 9"), "{text}");
    assert!(text.contains("the search ended: at 4 clients: part 2/2 ("), "{text}");
    let report = fs::read_to_string(scratch.0.join("all.json")).unwrap();
    for part in ["\"outcome\": \"unfinished\"", "\"low\": null", "did not finish: its process was killed"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(scratch.0.join("all/all/level-0000/statistics.zst").exists(), "the level of both is whole: {text}");
}

/// A rank is killed, and MPI ends the others: the parts of a search stop, too, and leave their recordings.
#[test]
fn a_search_stops_with_its_ranks() {
    let Some(plimsoll) = plimsoll() else { return };
    let scratch = Scratch::new("capacity-stopped");
    let server = Server::start(&plimsoll);
    let mut mpirun = capacity(&plimsoll, &server, &scratch.0);
    let mut running = mpirun.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&scratch.0.join("all/part-2/level-0001.partial"));
    let part = |number: u32| process_with(&["--part", &format!("{number}/2"), "--quiet", "capacity", &server.1]);
    let rank = parent_of(&part(2).unwrap());
    assert!(Command::new("kill").args(["-KILL", &rank]).status().unwrap().success());
    assert!(!running.wait().unwrap().success());
    let begun = Instant::now();
    while (part(1).is_some() || part(2).is_some()) && begun.elapsed() < Duration::from_secs(100) {
        std::thread::sleep(Duration::from_millis(20));
    }
    for number in [1, 2] {
        assert_eq!(part(number), None, "part {number} goes on");
        let manifest = fs::read_to_string(scratch.0.join(format!("all/part-{number}/manifest.json"))).unwrap();
        assert!(manifest.contains("\"state\": \"interrupted\""), "{manifest}");
    }
}

/// The process that started this one.
fn parent_of(id: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned()
}

/// The process that was started with all of these arguments.
fn process_with(arguments: &[&str]) -> Option<String> {
    let has_all = |id: &String| {
        let given = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let given: Vec<&[u8]> = given.split(|&byte| byte == 0).collect();
        arguments.iter().all(|wanted| given.contains(&wanted.as_bytes()))
    };
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    ids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find(has_all)
}

/// A program in place of `plimsoll` that writes down its command lines. `run` makes a recording, or fails if there is a file `broken`.
fn stand_in(folder: &Path) -> PathBuf {
    let (program, folder) = (folder.join("stand-in"), folder.display());
    let script = format!(
        "#!/bin/sh
         echo \"$@\" >> {folder}/log
         [ $1 = merge ] && exit 0
         [ -e {folder}/broken ] && exit 3
         while [ $# -gt 0 ]; do [ $1 = --record ] && mkdir -p $2 && echo $$ > $2/manifest.json; shift; done
         exit 0"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// The recordings of an earlier call are neither merged again nor in the way of the merge.
#[test]
fn a_second_call_does_not_report_the_first_one() {
    let scratch = Scratch::new("again");
    let (program_of_part, all, log) = (stand_in(&scratch.0), scratch.0.join("all"), scratch.0.join("log"));
    let call = |more: &[&str]| {
        let _ = fs::remove_file(&log);
        let mut mpirun = mpirun("2");
        mpirun.arg(program()).arg("--plimsoll").arg(&program_of_part).args(["--start-in", "1s", "--record"]).arg(&all);
        let ended = mpirun.args(["run", "mixed", "--clients", "8"]).args(more).output().unwrap();
        let started = fs::read_to_string(&log).unwrap_or_default();
        let merges: Vec<String> =
            started.lines().filter(|line| line.starts_with("merge ")).map(str::to_owned).collect();
        (ended.status.code(), merges, started.lines().count(), said(&ended))
    };
    let (code, merges, started, text) = call(&[]);
    assert_eq!((code, merges.len(), started), (Some(0), 1, 3), "{text}");
    assert!(!merges[0].contains("--overwrite"), "{merges:?}");
    let (code, _, started, text) = call(&[]);
    assert_eq!((code, started), (Some(2), 0), "{text}");
    assert_eq!(text.matches("part-1 already contains a recording").count(), 1, "{text}");
    let (code, merges, started, text) = call(&["--overwrite"]);
    assert_eq!((code, merges.len(), started), (Some(0), 1, 3), "{text}");
    assert!(merges[0].contains("--overwrite"), "{merges:?}");
    fs::write(scratch.0.join("broken"), "").unwrap();
    let (code, merges, started, text) = call(&["--overwrite"]);
    assert_eq!((code, merges.len(), started), (Some(2), 0, 2), "{text}");
    assert!(text.contains("not merged"), "{text}");
    // Without an earlier recording, the merge says which parts are missing.
    for part in ["part-1", "part-2"] {
        fs::remove_dir_all(all.join(part)).unwrap();
    }
    assert_eq!(call(&["--overwrite"]).1.len(), 1);
}

/// All ranks refuse what no rank can do, before anything is started.
#[test]
fn clocks_beyond_the_bound_are_refused() {
    let ended =
        mpirun("2").args([program(), "--clock-bound", "1ns", "run", "mixed", "--record", "none"]).output().unwrap();
    assert!(!ended.status.success());
    assert!(said(&ended).contains("more than --clock-bound"), "{}", said(&ended));
}
