//! `--record DIR` and `plimsoll report DIR`: the same report again, whatever happened in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::{begin_in, json};

/// A password that no file may hold.
const SECRET: &str = "pa55-w0rd-of-n0b0dy";

/// Runs to its end; its exit code.
fn plimsoll(folder: &Path, arguments: &[&str]) -> Option<i32> {
    begin_in(folder, arguments).end().status.code()
}

fn said(folder: &Path) -> String {
    fs::read_to_string(folder.join("err")).unwrap()
}

/// What a schema is made of.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let schema = json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(name));
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The manifest of a folder, held to its schema.
pub(crate) fn manifest(recording: &Path) -> Value {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| schema("plimsoll.recording.1.schema.json"));
    let manifest = json(&recording.join("manifest.json"));
    let problems: Vec<String> = SCHEMA.iter_errors(&manifest).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let mut unknown = manifest.clone();
    unknown["password"] = "x".into();
    assert!(!SCHEMA.is_valid(&unknown), "the schema names every field");
    manifest
}

const LEVELS: [&str; 9] =
    ["run", "--levels", "1,2,3", "--duration", "300ms", "--warmup", "50ms", "--record", "recording"];

/// The report of a run and that of its recording, byte for byte.
#[test]
fn a_run_is_reported_again_from_its_recording() {
    let scratch = Scratch::new("recorded-run");
    let folder = scratch.path();
    let code = plimsoll(folder, &[&LEVELS[..], &["--json", "run.json", "--html", "run.html"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    let text = fs::read(folder.join("out")).unwrap();
    let again = plimsoll(folder, &["report", "recording", "--json", "again.json", "--html", "again.html"]);
    assert_eq!(again, code, "{}", said(folder));
    for (one, other) in [("run.json", "again.json"), ("run.html", "again.html")] {
        assert!(fs::read(folder.join(one)).unwrap() == fs::read(folder.join(other)).unwrap(), "{one} is not {other}");
    }
    assert!(fs::read(folder.join("out")).unwrap() == text, "the terminal's report");
    let manifest = manifest(&folder.join("recording"));
    assert_eq!((&manifest["state"], &manifest["levels"].as_array().unwrap().len()), (&Value::from("finished"), &3));
    assert_eq!(manifest["measured"]["kind"], "run");
    assert_eq!(manifest["levels"][2]["interval_ns"], 100_000_000);
}

/// The plan of a recording is what is run again, and nothing else decides it.
#[test]
fn a_run_is_repeated_from_its_recording() {
    let scratch = Scratch::new("repeated-run");
    let folder = scratch.path();
    let workload = folder.join("own.toml");
    let text =
        include_str!("../../../workload/builtin/blocks-read.toml").replace("name = \"blocks-read\"", "name = \"own\"");
    fs::write(&workload, text).unwrap();
    let load =
        ["--target", "embedded:nfs", "--clients", "2", "--depth", "3", "--think", "exponential:1ms", "--seed", "9"];
    let brief =
        ["--duration", "300ms", "--warmup", "50ms", "--set", "block=1KiB", "--timeout", "7s", "--record", "first"];
    let code = plimsoll(folder, &[&["run", "own.toml"][..], &load, &brief].concat());
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    // The recording has the workload.
    fs::remove_file(&workload).unwrap();
    let code = plimsoll(folder, &["run", "--from", "first", "--record", "second"]);
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    let [first, second] = ["first", "second"].map(|name| manifest(&folder.join(name)));
    assert_eq!(first["measured"]["spec"], second["measured"]["spec"]);
    let plan = &second["measured"]["spec"]["variants"][0]["levels"][0]["plan"];
    assert_eq!((&plan["seed"], &plan["depth"], &plan["timeout_ns"]), (&9.into(), &3.into(), &7_000_000_000_u64.into()));
    assert_eq!(second["measured"]["run"]["workload_sha256"], first["measured"]["run"]["workload_sha256"]);
    assert_eq!(plimsoll(folder, &["sweep", "--from", "first"]), Some(2));
    let curve = "would have a single level; ";
    assert!(said(folder).contains(curve) && said(folder).contains("a recording with one, use plimsoll run"));
    // It does not replace what it repeats.
    let code = plimsoll(folder, &["run", "--from", "first", "--record", "./first", "--overwrite"]);
    assert!(code == Some(2) && said(folder).contains("would replace the input"), "{code:?} {}", said(folder));
    assert_eq!(manifest(&folder.join("first")), first);
    for flag in [&["--clients", "3"][..], &["--target", "embedded:smb"], &["mixed"], &["--seed", "9"]] {
        assert_eq!(plimsoll(folder, &[&["run", "--from", "first"], flag].concat()), Some(2), "{flag:?}");
    }
    for (from, problem) in
        [("none", "no recording in this folder"), ("first/level-0000", "no recording in this folder")]
    {
        assert_eq!(plimsoll(folder, &["run", "--from", from]), Some(2));
        assert!(said(folder).contains(problem), "{}", said(folder));
    }
}

/// Earlier versions recorded options that the target does not use, which are refused now.
#[test]
fn a_repeated_run_leaves_out_options_without_effect_and_names_them() {
    let scratch = Scratch::new("repeated-unused");
    let folder = scratch.path();
    let run =
        ["run", "getattr", "--target", "embedded:nfs", "--clients", "1", "--duration", "100ms", "--warmup", "0ms"];
    let code = plimsoll(folder, &[&run[..], &["-q", "--record", "first"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    let path = folder.join("first/manifest.json");
    let mut old = manifest(&folder.join("first"));
    let server = &mut old["measured"]["spec"]["server"];
    (server["dialect"], server["signing"]) = ("3.0".into(), true.into());
    fs::write(&path, serde_json::to_vec_pretty(&old).unwrap()).unwrap();
    let code = plimsoll(folder, &["run", "--from", "first", "-q", "--record", "second"]);
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    let said = said(folder);
    assert!(said.contains("--from first: left out --dialect 3.0, --signing: this target does not use"), "{said}");
    let server = &manifest(&folder.join("second"))["measured"]["spec"]["server"];
    assert_eq!((&server["dialect"], &server["signing"]), (&Value::Null, &Value::from(false)), "{server}");
}

#[test]
fn an_analysis_is_reported_again_from_its_recording() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    for name in ["netbench-samba", "nfs-ganesha", "smb2-samba"] {
        let scratch = Scratch::new("recorded-analysis");
        let (folder, capture) = (scratch.path(), captures.join(name).join("capture.pcap.zst"));
        let capture = capture.to_str().unwrap();
        for by in ["path", "client", "user"] {
            let how = ["--by", by, "--slowest", "7", "--json", "one.json", "--record", "recording", "--overwrite"];
            let code = plimsoll(folder, &[&["analyze", capture, "--record-transactions", "all"], &how[..]].concat());
            assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
            assert_eq!(plimsoll(folder, &["report", "recording", "--json", "two.json"]), code, "{}", said(folder));
            let [one, two] = ["one.json", "two.json"].map(|file| fs::read_to_string(folder.join(file)).unwrap());
            assert!(one == two, "{name} by {by}");
        }
        assert!(folder.join("recording/level-0000/transactions-0000.parquet").exists());
        assert_eq!(manifest(&folder.join("recording"))["measured"]["kind"], "analyze");
    }
}

/// A recording that cannot be written ends the run; what was measured is reported, and what was recorded is whole.
#[test]
fn what_was_measured_is_reported_where_the_recording_fails() {
    let scratch = Scratch::new("recorded-in-vain");
    let folder = scratch.path();
    // While the second level is measured, the test has to come to what it does.
    let how =
        ["--levels", "1,2,3", "--duration", "4s", "--warmup", "0s", "--record", "recording", "--json", "run.json"];
    let mut child = begin_in(folder, &[&["run", "--think", "5ms"], &how[..]].concat());
    assert_eq!(child.wait_until(|_| folder.join("recording/level-0000").exists()), None, "{}", said(folder));
    // Another folder is at the place of the second level.
    fs::create_dir(folder.join("recording/level-0001")).unwrap();
    fs::write(folder.join("recording/level-0001/mine"), "").unwrap();
    assert_eq!(child.end().status.code(), Some(3), "{}", said(folder));
    assert!(said(folder).contains("level-0001"), "{}", said(folder));
    assert_eq!(json(&folder.join("run.json"))["sides"][0]["levels"].as_array().unwrap().len(), 2);
    let manifest = manifest(&folder.join("recording"));
    assert_eq!((&manifest["state"], manifest["levels"].as_array().unwrap().len()), (&Value::from("interrupted"), 1));
}

#[test]
fn what_is_there_is_not_overwritten_unless_told() {
    let scratch = Scratch::new("recorded-twice");
    let folder = scratch.path();
    let once = [&LEVELS[..], &["--record-transactions", "none"]].concat();
    assert!(matches!(plimsoll(folder, &once), Some(0 | 4)), "{}", said(folder));
    let before = json(&folder.join("recording/manifest.json"));
    assert_eq!(plimsoll(folder, &once), Some(2));
    assert!(said(folder).contains("--overwrite"), "{}", said(folder));
    assert_eq!(json(&folder.join("recording/manifest.json")), before);
    assert!(matches!(plimsoll(folder, &[&once[..], &["--overwrite"]].concat()), Some(0 | 4)));
    let again = json(&folder.join("recording/manifest.json"));
    assert_ne!(again["started_ns"], before["started_ns"]);
    fs::write(folder.join("recording/notes.txt"), "what I saw").unwrap();
    assert_eq!(plimsoll(folder, &[&once[..], &["--overwrite"]].concat()), Some(2), "somebody's file is among them");
    assert_eq!(json(&folder.join("recording/manifest.json")), again, "and the recording stays as well");
    assert_eq!(fs::read_to_string(folder.join("recording/notes.txt")).unwrap(), "what I saw");
    fs::create_dir(folder.join("web")).unwrap();
    fs::write(folder.join("web/manifest.json"), r#"{"name": "a page"}"#).unwrap();
    assert_eq!(plimsoll(folder, &["run", "--record", "web", "--overwrite"]), Some(2));
    assert_eq!(fs::read_to_string(folder.join("web/manifest.json")).unwrap(), r#"{"name": "a page"}"#);
    fs::create_dir(folder.join("photos")).unwrap();
    fs::write(folder.join("photos/cat.jpg"), "a cat").unwrap();
    assert_eq!(plimsoll(folder, &["run", "--record", "photos", "--overwrite"]), Some(2));
    assert!(said(folder).contains("files that do not belong to a recording") && folder.join("photos/cat.jpg").exists());
    assert_eq!(plimsoll(folder, &["report", "photos"]), Some(3));
    assert!(said(folder).contains("no recording"), "{}", said(folder));
}

/// A run is killed at ten moments, with `PLIMSOLL_EXACT=1` at 20: its recording opens every time, with all levels that were finished.
#[test]
fn a_killed_run_leaves_its_finished_levels() {
    let scratch = Scratch::new("recorded-killed");
    let folder = scratch.path();
    let run = ["run", "getattr", "--clients", "1", "--repeat", "40", "-q", "--overwrite", "--record", "killed"];
    let load = ["--think", "5ms", "--duration", "60ms", "--warmup", "10ms", "--record-transactions", "all"];
    let mut random = 0x2545_F491_4F6C_DD1D_u64 ^ u64::from(std::process::id());
    let mut held = Vec::new();
    let moments = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 20 } else { 10 };
    for moment in 1..=moments {
        let mut child = begin_in(folder, &[&run[..], &load].concat());
        let level = folder.join("killed/level-0000");
        // From when the first level is under way: before it nothing can be lost.
        let ended = child.wait_until(|_| level.with_extension("partial").exists() || level.exists());
        assert_eq!(ended, None, "{}", said(folder));
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((random >> 33) % 2_000_000));
        if moment == moments {
            // On a slow machine, too, one recording has a few levels.
            let fourth = folder.join("killed/level-0003");
            child.wait_until(|_| fourth.with_extension("partial").exists() || fourth.exists());
        }
        let finished = json(&folder.join("killed/manifest.json"))["levels"].as_array().unwrap().len();
        child.kill();
        held.push(held_by(folder, "killed", finished));
        fs::remove_dir_all(folder.join("killed")).unwrap();
    }
    assert!(held.iter().any(|&levels| levels > 2), "{held:?}");
}

/// A duel that is killed has two recordings, and both hold the runs that were over.
#[test]
fn a_killed_duel_leaves_its_finished_runs() {
    let scratch = Scratch::new("recorded-duel-killed");
    let folder = scratch.path();
    let duel = ["duel", "embedded:nfs", "embedded:nfs", "getattr", "--rounds", "1000", "--duration", "60ms", "-q"];
    let mut child =
        begin_in(folder, &[&duel[..], &["--warmup", "10ms", "--clients", "1", "--record", "killed"]].concat());
    let ended = child.wait_until(|_| folder.join("killed/B/level-0001").exists());
    assert_eq!(ended, None, "{}", said(folder));
    let sides = ["killed/A", "killed/B"];
    let finished = sides.map(|side| manifest(&folder.join(side))["levels"].as_array().unwrap().len());
    child.kill();
    for (side, finished) in sides.into_iter().zip(finished) {
        assert!(held_by(folder, side, finished) >= 1, "{side}");
    }
}

/// The levels of a killed recording, of which `finished` were there before.
fn held_by(folder: &Path, recording: &str, finished: usize) -> usize {
    let code = plimsoll(folder, &["report", recording, "-q", "--json", "killed.json"]);
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    let report = json(&folder.join("killed.json"))["sides"][0].take();
    let levels = report["levels"].as_array().unwrap();
    assert!(levels.len() >= finished, "{} of {finished}", levels.len());
    let warnings = report["warnings"].as_array().unwrap();
    let whole = json(&folder.join(recording).join("manifest.json"))["state"] == "finished";
    assert!(whole || warnings.iter().any(|warning| warning.as_str().unwrap().contains("killed")), "{warnings:?}");
    levels.len()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Whether a URL's password is accepted depends on the server: here there is none, and the recording names the target without the
/// password.
#[test]
fn no_file_of_a_recording_holds_the_password() {
    let scratch = Scratch::new("recorded-secret");
    let folder = scratch.path();
    let target = format!("smb://user:{SECRET}@127.0.0.1:1/share");
    let code = plimsoll(folder, &["run", "--target", &target, "--duration", "1s", "--record", "recording"]);
    assert_eq!(code, Some(3), "{}", said(folder));
    let mut all = Vec::new();
    files(&folder.join("recording"), &mut all);
    assert!(!all.is_empty());
    for file in all {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{}", file.display());
    }
    let manifest = manifest(&folder.join("recording"));
    assert_eq!(manifest["state"], "interrupted");
    assert!(manifest["command"].as_array().unwrap().iter().any(|word| word == "smb://user:***@127.0.0.1:1/share"));
}

/// Whether a time is outside the capture is known only after the last packet. Then the old recording is put back.
#[test]
fn a_refused_analysis_leaves_what_was_there() {
    let scratch = Scratch::new("recorded-refused");
    let folder = scratch.path();
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let capture = captures.join("nfs-ganesha/capture.pcap.zst");
    let analyze = ["analyze", capture.to_str().unwrap(), "-q", "--record"];
    let outside = ["--utc", "--from", "2020-01-01 10:00", "--to", "2020-01-01 09:00"];
    for threads in ["1", "3"] {
        let refused = [&analyze[..], &["new", "--threads", threads], &outside].concat();
        assert_eq!(plimsoll(folder, &refused), Some(2), "{}", said(folder));
        assert!(said(folder).contains("--to ") && !folder.join("new").exists(), "{}", said(folder));
    }
    assert_eq!(plimsoll(folder, &[&analyze[..], &["R", "--overwrite"]].concat()), Some(0), "{}", said(folder));
    let before = manifest(&folder.join("R"));
    assert_eq!(
        plimsoll(folder, &[&analyze[..], &["R", "--overwrite"], &outside].concat()),
        Some(2),
        "{}",
        said(folder)
    );
    assert_eq!(manifest(&folder.join("R")), before);
    assert_eq!(plimsoll(folder, &["report", "R", "-q", "--json", "R.json"]), Some(0), "{}", said(folder));
    assert!(!folder.join("R/replaced").exists());
}

/// Any damage is an error that names the file.
#[test]
fn damage_is_said() {
    let scratch = Scratch::new("recorded-damaged");
    let folder = scratch.path();
    let run = ["run", "getattr", "--clients", "1", "--duration", "100ms", "--warmup", "0ms", "-q"];
    let code = plimsoll(folder, &[&run[..], &["--record", "recording"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder));
    for (file, what) in [("level-0000/statistics.zst", "statistics.zst"), ("manifest.json", "manifest.json")] {
        let path = folder.join("recording").join(file);
        let whole = fs::read(&path).unwrap();
        for length in [0, 1, 25, whole.len() / 2, whole.len() - 2] {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(plimsoll(folder, &["report", "recording"]), Some(3), "{file} of {length} bytes");
            assert!(said(folder).contains(what) && said(folder).contains("damaged"), "{}", said(folder));
        }
        for place in (0..whole.len()).step_by(whole.len() / 10) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x55;
            fs::write(&path, &bytes).unwrap();
            let code = plimsoll(folder, &["report", "recording"]);
            // 4: whole, and the run was INVALID because the machine was busy.
            assert!(matches!(code, Some(0 | 1 | 3 | 4)), "{file}, byte {place}: {code:?}, {}", said(folder));
        }
        fs::write(&path, &whole).unwrap();
    }
    let manifest = folder.join("recording/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("level-0000", "../level-0000")).unwrap();
    assert_eq!(plimsoll(folder, &["report", "recording"]), Some(3), "a folder elsewhere");
}
