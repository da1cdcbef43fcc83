//! `plimsoll compare` with recordings: usage and results.

use std::fs;
use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::faults::command::copy;
use crate::{begin_in, json};

/// Runs `plimsoll` in a folder; returns its exit code. Its output is in `out` and `err`.
fn plimsoll(folder: &Path, arguments: &[&str]) -> Option<i32> {
    begin_in(folder, arguments).end().status.code()
}

fn said(folder: &Path, where_to: &str) -> String {
    fs::read_to_string(folder.join(where_to)).unwrap()
}

/// A comparison with its exit code, held to its schema.
fn compare(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let ended = plimsoll(folder, &[&["compare"], arguments, &["--json", "compared.json"]].concat());
    assert!(matches!(ended, Some(0 | 1 | 4)), "{}", said(folder, "err"));
    let found = json(&folder.join("compared.json"));
    crate::held_to_schema(&found);
    (ended.unwrap_or_default(), found)
}

/// A comparison that is expected to end with `code`.
fn compared(folder: &Path, arguments: &[&str], code: i32) -> Value {
    let (ended, found) = compare(folder, arguments);
    assert_eq!(ended, code, "{}", said(folder, "out"));
    found
}

fn warnings(found: &Value) -> String {
    found["comparison"]["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Two captures of servers, and the recordings of their analyses beside them.
fn captures(scratch: &Scratch) -> [String; 2] {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    [("smb2-samba", "one"), ("netbench-samba", "other")].map(|(name, recording)| {
        let capture = captures.join(name).join("capture.pcap.zst").to_str().unwrap().to_owned();
        let code = plimsoll(scratch.path(), &["analyze", &capture, "-q", "--record", recording]);
        assert!(matches!(code, Some(0 | 4)), "{}", said(scratch.path(), "err"));
        capture
    })
}

/// The very numbers that come of the captures themselves, whichever side is a recording.
#[test]
fn recordings_of_captures_compare_as_the_captures_do() {
    let scratch = Scratch::new("compare-recorded-captures");
    let (folder, [one, other]) = (scratch.path(), captures(&scratch));
    let condition = ["--fail-if", "all.throughput < -1%", "--fail-if", "all.throughput > +1%"];
    let (code, plain) = compare(folder, &[&[&one[..], &other], &condition[..]].concat());
    assert!(plain["comparison"]["levels"][0]["rows"].as_array().unwrap().len() > 10, "{plain:#}");
    for sides in [["one", "other"], [&one, "other"], ["one", &other]] {
        let found = compared(folder, &[&sides[..], &condition, &["--html", "compared.html"]].concat(), code);
        for what in ["levels", "method", "conditions"] {
            assert!(found["comparison"][what] == plain["comparison"][what], "{what} of {sides:?}");
        }
        assert_eq!(found["comparison"]["warnings"], plain["comparison"]["warnings"], "{sides:?}");
        let page = said(folder, "compared.html");
        assert!(page.contains("Distributions") && page.contains("Over time"), "each side's own charts are there");
        assert!(page.contains("(capture)"));
    }
    // Three are two against the first.
    copy(&folder.join("one"), folder.join("again"));
    let three = compared(folder, &["one", "other", "again"], 0);
    let rows = three["comparison"]["levels"][0]["rows"].as_array().unwrap();
    let with_difference = rows.iter().flat_map(|row| row["metrics"].as_array().unwrap());
    let same = |metric: &Value| metric["differences"][1].is_null() || metric["differences"][1]["value"] == 0.0;
    assert!(with_difference.into_iter().all(same), "a recording does not differ from itself");
    // A condition that compares it with itself would pass.
    assert_eq!(plimsoll(folder, &["compare", "one", "./one", "--fail-if", "mean > +60%"]), Some(2));
    let refused = said(folder, "err");
    assert!(refused.contains("./one: ") && refused.contains("would be compared with itself"), "{refused}");
}

/// A filtered analysis has the time that its filters left, as a filtered comparison has.
#[test]
fn filters_are_of_the_recording_and_not_of_the_comparison() {
    let scratch = Scratch::new("compare-recorded-filters");
    let (folder, [one, other]) = (scratch.path(), captures(&scratch));
    let filter = ["--to", "20s", "--operation", "read"];
    for (capture, name) in [(&one, "short"), (&other, "short-other")] {
        let code = plimsoll(folder, &[&["analyze", capture, "-q", "--record", name], &filter[..]].concat());
        assert!(matches!(code, Some(0 | 4)), "{}", said(folder, "err"));
    }
    let plain = compared(folder, &[&[&one[..], &other], &filter[..]].concat(), 0);
    assert!(compared(folder, &["short", "short-other"], 0)["comparison"]["levels"] == plain["comparison"]["levels"]);
    assert_eq!(plimsoll(folder, &[&["compare", "short", "short-other"], &filter[..]].concat()), Some(2));
    assert!(said(folder, "err").contains("this command line needs all transactions"), "{}", said(folder, "err"));
    let key = "0011223344556677:00112233445566778899aabbccddeeff";
    assert_eq!(plimsoll(folder, &["compare", "short", "short-other", "--smb-session-key", key]), Some(2));
}

const RUN: [&str; 9] = ["run", "getattr", "-q", "--target", "embedded:nfs", "--warmup", "50ms", "--think", "5ms"];

fn run(folder: &Path, more: &[&str]) {
    let code = plimsoll(folder, &[&RUN[..], more].concat());
    // The machine may be too busy for a valid one.
    assert!(matches!(code, Some(0 | 4)), "{}", said(folder, "err"));
}

/// Exit code of a comparison without conditions: whether a side is invalid.
fn code(folder: &Path, sides: &[&str]) -> i32 {
    let invalid = |name: &&str| json(&folder.join(name).join("manifest.json"))["validity"]["valid"] == false;
    if sides.iter().any(invalid) { 4 } else { 0 }
}

#[test]
fn levels_are_compared_level_by_level_and_repeats_as_repeats() {
    let scratch = Scratch::new("compare-recorded-runs");
    let folder = scratch.path();
    for name in ["a", "b"] {
        run(folder, &["--levels", "1,2", "--duration", "300ms", "--repeat", "3", "--record", name]);
    }
    let found = compared(folder, &["a", "b"], code(folder, &["a", "b"]));
    let levels = found["comparison"]["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2);
    for (level, words) in levels.iter().zip(["1 client", "2 clients"]) {
        assert_eq!((&level["level_name"], &level["runs"]), (&words.into(), &serde_json::json!([3, 3])));
        assert_eq!(level["from"], "welch");
        let seconds = level["seconds"][0].as_f64().unwrap();
        assert!((0.85..1.2).contains(&seconds), "{seconds}");
    }
    let side = &found["sides"][0];
    assert_eq!((&side["kind"], &side["name"]), (&"run".into(), &"a".into()));
    assert_eq!((&side["run"]["target"], &side["run"]["workload"]), (&"embedded:nfs".into(), &"getattr".into()));
    compared(folder, &["a", "b", "--full"], code(folder, &["a", "b"]));
    let text = said(folder, "out");
    assert!(
        text.contains("B against A, 2 clients (3 runs")
            && text.contains("Welch")
            && text.contains("Ranking of the servers"),
        "{text}"
    );
    // The comparison's number is the report's: the mean of the repeats' means.
    assert!(matches!(plimsoll(folder, &["report", "a", "-q", "--json", "a.json"]), Some(0 | 4)));
    let own = json(&folder.join("a.json"))["sides"][0]["levels"].clone();
    let of_two: Vec<f64> = own
        .as_array()
        .unwrap()
        .iter()
        .filter(|level| level["load_name"] == "2 clients")
        .map(|level| level["response_time"]["mean_s"].as_f64().unwrap())
        .collect();
    let all = &levels[1]["rows"][0]["metrics"];
    let mean = all.as_array().unwrap().iter().find(|metric| metric["metric"] == "mean").unwrap();
    let (mean, expected) = (mean["estimates"][0]["value"].as_f64().unwrap(), of_two.iter().sum::<f64>() / 3.0);
    assert!((mean / expected - 1.0).abs() < 1e-9, "{mean} and {expected}");
}

/// The runs of a duel are recorded, one recording per side, with the duel's numbers.
#[test]
fn a_duel_is_kept_side_by_side() {
    let scratch = Scratch::new("compare-recorded-duel");
    let folder = scratch.path();
    let duel = ["duel", "embedded:nfs", "embedded:nfs --depth 2", "getattr", "-q", "--rounds", "2", "--clients", "1"];
    let short = ["--warmup", "50ms", "--think", "5ms", "--duration", "300ms"];
    let kept = [&duel[..], &short, &["--record", "kept", "--json", "duel.json"]].concat();
    assert!(matches!(plimsoll(folder, &kept), Some(0 | 4)), "{}", said(folder, "err"));
    let manifests = ["kept/A", "kept/B"].map(|side| json(&folder.join(side).join("manifest.json")));
    let mut begun = Vec::new();
    for (side, manifest) in manifests.iter().enumerate() {
        assert_eq!(manifest["state"], "finished");
        let levels = manifest["levels"].as_array().unwrap();
        let curves: Vec<&Value> = levels.iter().map(|level| &level["about"]["about"]["curve"]).collect();
        assert_eq!(curves, ["repeat 1", "repeat 2", "repeat 3", "repeat 4"]);
        begun.extend(levels.iter().map(|level| (level["first_ns"].as_i64().unwrap(), side)));
    }
    begun.sort_unstable();
    let turns: Vec<usize> = begun.iter().map(|(_, side)| *side).collect();
    assert_eq!(turns, [0, 1, 1, 0, 0, 1, 1, 0]);
    // The numbers of both sides are those of the duel; the differences ignore the order of the runs.
    let duel = json(&folder.join("duel.json"));
    let again = compared(folder, &["kept/A", "kept/B"], code(folder, &["kept/A", "kept/B"]));
    let (before, now) = (&duel["comparison"]["levels"][0], &again["comparison"]["levels"][0]);
    assert_eq!((&before["runs"], &before["from"]), (&serde_json::json!([4, 4]), &"paired".into()));
    assert_eq!((&now["runs"], &now["from"]), (&serde_json::json!([4, 4]), &"welch".into()));
    let numbers = |level: &Value| -> Vec<Value> {
        level["rows"][0]["metrics"].as_array().unwrap().iter().map(|metric| metric["estimates"].clone()).collect()
    };
    assert_eq!(numbers(now), numbers(before));
    assert!(matches!(plimsoll(folder, &["report", "kept/B", "-q", "--json", "b.json"]), Some(0 | 4)));
    assert_eq!(json(&folder.join("b.json"))["sides"][0]["repeats"][0]["levels"], serde_json::json!([0, 1, 2, 3]));
    // Existing recordings are not overwritten, and recordings are not nested.
    assert_eq!(plimsoll(folder, &kept), Some(2));
    assert!(said(folder, "err").contains("--overwrite"), "{}", said(folder, "err"));
    let within =
        [&["duel", "embedded:nfs", "embedded:nfs", "getattr", "-q"][..], &short, &["--record", "kept/A"]].concat();
    assert_eq!(plimsoll(folder, &within), Some(2));
    assert!(said(folder, "err").contains("name another folder") && !folder.join("kept/A/A").exists());
}

/// A recording with a changed manifest.
fn changed(folder: &Path, from: &str, to: &str, change: impl Fn(&mut Value)) {
    fs::create_dir_all(folder.join(to).join("level-0000")).unwrap();
    for file in fs::read_dir(folder.join(from).join("level-0000")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(to).join("level-0000").join(file.file_name())).unwrap();
    }
    let mut manifest = json(&folder.join(from).join("manifest.json"));
    change(&mut manifest);
    fs::write(folder.join(to).join("manifest.json"), manifest.to_string()).unwrap();
}

#[test]
fn what_cannot_be_compared_is_said() {
    let scratch = Scratch::new("compare-recorded-not");
    let folder = scratch.path();
    run(folder, &["--clients", "1", "--duration", "300ms", "--record", "measured"]);
    // On a busy machine, the load generator can be late; the verdicts below are to be the only ones.
    changed(folder, "measured", "a", |manifest| {
        let valid = serde_json::json!({"verdict": "valid", "valid": true, "reasons": [], "invalid_reasons": 0});
        manifest["levels"][0]["about"]["about"]["validity"] = valid.clone();
        manifest["validity"] = valid;
    });
    changed(folder, "a", "killed", |manifest| manifest["state"] = "running".into());
    let found = compared(folder, &["a", "killed"], 0);
    assert!(
        warnings(&found).contains("B is unfinished (its process was killed, or is still running)"),
        "{}",
        warnings(&found)
    );
    changed(folder, "a", "stopped", |manifest| manifest["levels"][0]["load_name"] = "1 client (stopped early)".into());
    let found = compared(folder, &["a", "stopped"], 0);
    assert!(warnings(&found).contains("B at 1 client (stopped early)"), "{}", warnings(&found));
    changed(folder, "a", "digest", |manifest| manifest["measured"]["run"]["workload_sha256"] = "other".into());
    let found = compared(folder, &["a", "digest"], 0);
    assert!(warnings(&found).contains("different texts of the workload"), "{}", warnings(&found));
    let late = |manifest: &mut Value| {
        let validity =
            serde_json::json!({"verdict": "invalid", "valid": false, "reasons": ["late"], "invalid_reasons": 1});
        manifest["levels"][0]["about"]["about"]["validity"] = validity;
    };
    changed(folder, "a", "invalid", late);
    let found = compared(folder, &["a", "invalid"], 4);
    assert_eq!(found["sides"][1]["validity"]["reasons"][0], "At 1 client: late");
    let words = said(folder, "out").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("! B is INVALID (its numbers must not be used): At 1 client: late"), "{words}");
    assert!(!warnings(&found).contains("INVALID"), "a verdict stands once: {}", warnings(&found));
    let partial = |manifest: &mut Value| {
        let validity = serde_json::json!({"verdict": "partial", "valid": true, "reasons": ["1 s is missing"], "invalid_reasons": 0});
        manifest["levels"][0]["about"]["about"]["validity"] = validity;
    };
    changed(folder, "a", "partial", partial);
    let found = compared(folder, &["a", "partial"], 0);
    assert_eq!(found["sides"][1]["validity"]["verdict"], "partial");
    let words = said(folder, "out").split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "! B is PARTIAL (some of its numbers are incomplete or not reliable): At 1 client: 1 s is missing";
    assert!(words.contains(expected), "{words}");
    let undecided = compared(folder, &["a", "invalid", "--fail-if", "mean > +1%"], 4);
    assert_eq!(undecided["comparison"]["conditions"][0]["outcome"], "undecided");
    changed(folder, "a", "empty", |manifest| manifest["levels"] = serde_json::json!([]));
    assert_eq!(plimsoll(folder, &["compare", "a", "empty"]), Some(3));
    assert!(said(folder, "err").contains("no finished load level or analysis to compare"), "{}", said(folder, "err"));
    fs::create_dir(folder.join("photos")).unwrap();
    assert_eq!(plimsoll(folder, &["compare", "a", "photos"]), Some(3));
    assert!(said(folder, "err").contains("no recording"), "{}", said(folder, "err"));
    fs::write(folder.join("killed/level-0000/intervals.zst"), "plimsoll intervals 1\n").unwrap();
    assert_eq!(plimsoll(folder, &["compare", "a", "killed"]), Some(3));
    assert!(said(folder, "err").contains("intervals.zst") && said(folder, "err").contains("damaged"));
}
