//! `--title`, `--label` and `--describe`: the description of a measurement is in its report, recording, exports and comparisons.

use std::fs;
use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use serde_json::{Value, json};

use crate::output_in;

/// What acts in a terminal, in markup, in a script and in OpenMetrics.
const HOSTILE: &str = "</script><script>alert(1)//\u{202e}\u{1b}[2J\"} 1\n# EOF\r\\";

/// Standard output of a command that ends with one of these codes.
fn text(folder: &Path, arguments: &[&str], codes: &[i32]) -> String {
    let output = output_in(folder, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A page without its scripts and data.
fn markup(page: &str) -> String {
    page.split("<script").map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest)).collect()
}

fn capture() -> String {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    captures.join("smb2-samba/capture.pcap.zst").display().to_string()
}

#[test]
fn an_analysis_keeps_what_is_said_of_it() {
    let scratch = Scratch::new("labels-analyze");
    let folder = scratch.path();
    fs::write(folder.join("old.toml"), "server = \"oak\"\ncpu = [\"2 × A\", \"8 cores\"]\nmemory = \"64 GiB\"\n")
        .unwrap();
    let about = ["--title", "Before <b>", "--label", "build=41", "--label", "site=x", "--describe", "old.toml"];
    let capture = capture();
    let analyze =
        [&["analyze", &capture, "--record", "R", "--json", "a.json", "--html", "a.html"], &about[..]].concat();
    let screen = text(folder, &analyze, &[0]);
    for line in ["Title: Before <b>\n", "Labels: build=41, site=x\n", "System: oak; 2 × A; 8 cores; 64 GiB\n"] {
        assert!(screen.contains(line), "{line} is missing from\n{screen}");
    }
    let system = json!({"server": ["oak"], "version": [], "cpu": ["2 × A", "8 cores"], "memory": ["64 GiB"],
        "disks": [], "network": [], "notes": []});
    let expected = json!({"title": "Before <b>", "labels": {"build": "41", "site": "x"}, "system": system});
    let report = crate::json(&folder.join("a.json"));
    crate::held_to_schema(&report);
    assert_eq!(report["sides"][0]["source"]["about"], expected);
    let page = markup(&fs::read_to_string(folder.join("a.html")).unwrap());
    for part in ["Before &lt;b&gt;", "Label build", "<bdi>41</bdi>", "2 × A; 8 cores"] {
        assert!(page.contains(part), "{part}");
    }
    // The recording says it again, in every form.
    let full = text(folder, &["report", "R", "--full", "--json", "b.json", "--export", "R.om"], &[0]);
    for part in ["Described as:", "Title        Before <b>", "Label build  41", "CPU          2 × A; 8 cores"] {
        assert!(full.contains(part), "{part} is missing from\n{full}");
    }
    assert_eq!(crate::json(&folder.join("b.json"))["sides"][0]["source"]["about"], expected);
    let metrics = fs::read_to_string(folder.join("R.om")).unwrap();
    let labels =
        "title=\"Before <b>\",label_build=\"41\",label_site=\"x\",system_server=\"oak\",system_cpu=\"2 × A; 8 cores\"";
    assert!(metrics.contains(labels), "{metrics}");
    // Beside another: what differs stands first.
    fs::write(folder.join("new.toml"), "server = \"oak\"\ncpu = \"2 × B\"\n").unwrap();
    let other = ["--title", "After", "--label", "build=42", "--label", "site=x", "--describe", "new.toml", "-q"];
    text(folder, &[&["analyze", &capture, "--record", "S"], &other[..]].concat(), &[0]);
    let compared = text(folder, &["compare", "R", "S", "--full", "--html", "c.html", "--json", "c.json"], &[0, 4]);
    let (_, described) = compared.split_once("Described as (differences first):\n").unwrap();
    let lines: Vec<&str> = described.lines().take(11).collect();
    assert_eq!(
        lines,
        [
            "  Title        A: Before <b>",
            "               B: After",
            "  Label build  A: 41",
            "               B: 42",
            "  CPU          A: 2 × A; 8 cores",
            "               B: 2 × B",
            "  Memory       A: 64 GiB",
            "               B: (not given)",
            "  Label site   x",
            "  Server       oak",
            "",
        ]
    );
    let screen = text(folder, &["compare", "R", "S"], &[0, 4]);
    assert!(
        screen.contains("Described differently:\n  Title        A: Before <b>\n") && !screen.contains("Label site"),
        "{screen}"
    );
    let page = markup(&fs::read_to_string(folder.join("c.html")).unwrap());
    assert!(page.find("<bdi>2 × B</bdi>").unwrap() < page.find("Label site").unwrap());
    let compared = crate::json(&folder.join("c.json"));
    crate::held_to_schema(&compared);
    assert_eq!(compared["sides"][1]["source"]["about"]["labels"]["build"], "42");
}

#[test]
fn a_run_keeps_what_is_said_of_it_and_a_repeat_of_it_has_its_own() {
    let scratch = Scratch::new("labels-run");
    let folder = scratch.path();
    let run = ["run", "--target", "embedded:nfs", "--levels", "1,2", "--duration", "200ms", "--warmup", "10ms", "-q"];
    let about =
        |name: &str| crate::json(&folder.join(name).join("manifest.json"))["measured"]["source"]["about"].clone();
    text(folder, &[&run[..], &["--record", "R", "--label", "build=41", "--title", "T"]].concat(), &[0, 4]);
    assert_eq!(about("R"), json!({"title": "T", "labels": {"build": "41"}, "system": null}));
    // Nothing is left to run: the earlier description stays, or the present one replaces it.
    text(folder, &[&run[..], &["--record", "R", "--continue"]].concat(), &[0, 4]);
    assert_eq!(about("R")["labels"]["build"], "41");
    text(folder, &[&run[..], &["--record", "R", "--continue", "--label", "build=42"]].concat(), &[0, 4]);
    assert_eq!(about("R"), json!({"title": null, "labels": {"build": "42"}, "system": null}));
    let again = ["run", "--from", "R", "--record", "S", "-q", "--label", "host=b"];
    text(folder, &again, &[0, 4]);
    assert_eq!(about("S"), json!({"title": null, "labels": {"host": "b"}, "system": null}));
    let duel = ["duel", "embedded:nfs --label build=1", "embedded:nfs --label build=2", "getattr", "--label", "lab=x"];
    let short = ["--rounds", "1", "--duration", "100ms", "--warmup", "0s", "-q", "--json", "-"];
    let report: Value = serde_json::from_str(&text(folder, &[&duel[..], &short].concat(), &[0, 4])).unwrap();
    let labels = |side: usize| report["sides"][side]["source"]["about"]["labels"].clone();
    assert_eq!((labels(0), labels(1)), (json!({"build": "1", "lab": "x"}), json!({"build": "2", "lab": "x"})));
}

#[test]
fn searches_and_breakdowns_have_titles_and_labels() {
    let scratch = Scratch::new("labels-others");
    let folder = scratch.path();
    let said = ["--title", "T", "--label", "build=41", "-q", "--json", "-"];
    let short = ["--duration", "100ms", "--warmup", "0s"];
    let capacity =
        ["capacity", "null", "--target", "embedded:nfs", "--hold", "errors < 100%", "--runs", "2", "--most", "2"];
    let breakdown = ["breakdown", "embedded:nfs", "--calls", "10", "--size", "1MiB"];
    for command in [&capacity[..], &breakdown] {
        let report: Value =
            serde_json::from_str(&text(folder, &[command, &short, &said].concat(), &[0, 1, 4])).unwrap();
        let about = &report["sides"][0]["source"]["about"];
        assert_eq!((&about["title"], &about["labels"]["build"]), (&json!("T"), &json!("41")), "{command:?}");
    }
}

#[test]
fn hostile_text_acts_nowhere() {
    let scratch = Scratch::new("labels-hostile");
    let folder = scratch.path();
    fs::write(folder.join("d.toml"), format!("notes = {}\n", toml_text(HOSTILE))).unwrap();
    let label = format!("key={HOSTILE}");
    // A title has one line.
    let title = HOSTILE.replace(['\n', '\r'], " ");
    let said = ["--title", &title, "--label", &label, "--describe", "d.toml"];
    let capture = capture();
    let full = ["analyze", &capture, "--full", "--record", "R", "--json", "a.json", "--html", "a.html"];
    let printed = text(folder, &[&full[..], &said].concat(), &[0]);
    text(folder, &["report", "R", "-q", "--export", "R.om"], &[0]);
    let screen = text(folder, &["report", "R"], &[0]);
    let compared = text(folder, &["compare", "R", &capture, "--html", "c.html"], &[0, 4]);
    for text in [&printed, &screen, &compared] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']) && text.contains("\\u{202e}"), "{text}");
    }
    // The JSON has all labels.
    let about = crate::json(&folder.join("a.json"))["sides"][0]["source"]["about"].clone();
    assert_eq!((&about["title"], &about["labels"]["key"]), (&json!(title), &json!(HOSTILE)));
    for page in ["a.html", "c.html"] {
        let page = fs::read_to_string(folder.join(page)).unwrap();
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}') && !page.contains("<script>alert"), "acts");
        assert!(markup(&page).contains("&lt;script&gt;alert(1)"), "and is shown");
    }
    let metrics = fs::read_to_string(folder.join("R.om")).unwrap();
    let info: Vec<&str> = metrics.lines().filter(|line| line.starts_with("plimsoll_recording_info")).collect();
    assert!(matches!(info[..], [only] if only.ends_with("\"} 1")), "{info:?}");
    assert!(metrics.lines().filter(|line| line.starts_with("# EOF")).count() == 1 && !metrics.contains('\r'));
    // A recording with a label key that the command line refuses is refused, too.
    let manifest = folder.join("R/manifest.json");
    let changed = fs::read_to_string(&manifest).unwrap().replace("\"key\":", "\"k\\\"} 1\":");
    fs::write(&manifest, changed).unwrap();
    let refused = output_in(folder, &["report", "R", "--export", "S.om"]);
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stdout));
}

fn toml_text(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

#[test]
fn wrong_labels_are_usage_errors_and_wrong_descriptions_unusable_inputs() {
    let scratch = Scratch::new("labels-wrong");
    let folder = scratch.path();
    fs::write(folder.join("d.toml"), "cpu = \"x\"\nram = \"64 GiB\"\n").unwrap();
    let capture = capture();
    for (flags, expected) in [
        (&["--describe", "d.toml"][..], "--describe d.toml, line 2: unknown field `ram`, expected one of `server`"),
        (&["--describe", "none.toml"], "--describe none.toml: No such file"),
        (&["--label", "a-b=1"], "expected a letter, then letters, digits and underscores"),
        (&["--label", "a=1", "--label", "a=2"], "--label: a has two values, \"1\" and \"2\"; give one value"),
        (&["--title", ""], "expected a title, got an empty text"),
    ] {
        let output = output_in(folder, &[&["analyze", &capture], flags].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        let code = if flags.contains(&"--describe") { 3 } else { 2 };
        assert!(output.status.code() == Some(code) && said.contains(expected), "{flags:?}: {said}");
    }
    fs::write(folder.join("d.toml"), "cpu = \"x\"\n").unwrap();
    let same = output_in(folder, &["analyze", &capture, "--describe", "d.toml", "--json", "d.toml"]);
    assert_eq!(
        (same.status.code(), fs::read_to_string(folder.join("d.toml")).unwrap().as_str()),
        (Some(2), "cpu = \"x\"\n")
    );
}
