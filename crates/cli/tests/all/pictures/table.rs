//! `docs/screenshots/README.md`: the date, commit and verdict of each picture, and the commands.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use plimsoll_testkit::workspace;
use serde_json::Value;

use super::list::{Picture, RUNS, shown};
use super::{Made, folder};

/// Longest list of levels in a row, in characters.
const LEVELS_MAX: usize = 60;
const MACHINE: &str = "The latest run used ";

const BEGINNING: &str = "# Pictures of the documents

`cargo xtask pictures` makes these pictures and this page. It starts the servers and the load, and opens the pages in a browser. `cargo
xtask pictures NAME …` makes only some pictures, and `--program PATH` uses another program than a new release build.

Load generator and servers ran on one machine, on loopback. The pictures show what pages look like; they are not measurements of
Samba or NFS-Ganesha. *Other work* is the percentage of processor time that other processes used in the second before the run.
[MEASUREMENT.md](../../MEASUREMENT.md#validity) defines the verdicts.
";

/// A line of the table.
pub(super) struct Row {
    pub(super) name: &'static str,
    commit: String,
    at: String,
    busy: u64,
    pub(super) verdict: String,
}

impl Row {
    pub(super) fn new(name: &'static str, made: &Made, report: &Value) -> Self {
        let at = humantime::format_rfc3339_seconds(made.at).to_string();
        let at = at[..16].replace('T', " ");
        Self { name, commit: made.commit.clone(), at, busy: made.busy, verdict: verdict(report) }
    }

    fn line(&self) -> String {
        let Self { name, commit, at, busy, verdict } = self;
        format!("| [{name}]({name}.png) | {} | {at} | `{commit}` | {busy} % | {verdict} |\n", documents(name))
    }
}

/// Verdict of a report, and which of its load levels are not valid.
fn verdict(report: &Value) -> String {
    let sides = report["sides"].as_array().unwrap();
    let (mut worst, mut count, mut doubtful) = ("valid", 0, BTreeMap::<&str, Vec<String>>::new());
    for side in sides {
        let of_side = side["validity"]["verdict"].as_str().unwrap();
        worst = if [worst, of_side].contains(&"invalid") {
            "invalid"
        } else if worst == "valid" {
            of_side
        } else {
            worst
        };
        // A search repeats its levels, and drops those that say nothing.
        let levels = side["levels"].as_array().filter(|_| side["run"]["capacity"].is_null());
        for level in levels.into_iter().flatten() {
            count += 1;
            match level["validity"]["verdict"].as_str().unwrap() {
                "valid" => {}
                verdict => doubtful.entry(verdict).or_default().push(name_of(side, level, sides.len() > 1)),
            }
        }
    }
    let mut text = worst.to_uppercase();
    match (count, doubtful.is_empty()) {
        (0, _) => {}
        (_, true) => _ = write!(text, " (all {count} levels)"),
        (_, false) => {
            let of = |(verdict, names): (&&str, &Vec<String>)| {
                let list = names.join("; ");
                let list = if list.chars().count() <= LEVELS_MAX { format!(" ({list})") } else { String::new() };
                format!("{} of {count} levels {}{list}", names.len(), verdict.to_uppercase())
            };
            _ = write!(text, ": {}", doubtful.iter().map(of).collect::<Vec<_>>().join(", "));
        }
    }
    text
}

/// The name of a load level.
fn name_of(side: &Value, level: &Value, has_others: bool) -> String {
    let mut name = level["load_name"].as_str().unwrap().to_owned();
    if !level["varied"].is_null() {
        name = format!("{name}, {}", level["curve"].as_str().unwrap_or_default());
    }
    if has_others {
        name = format!("{}: {name}", side["letter"].as_str().unwrap());
    }
    name
}

/// Every document, and its text.
fn pages() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(workspace().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.push(workspace().join("README.md"));
    files.sort();
    let relative = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        (file.strip_prefix(workspace()).unwrap().display().to_string(), text)
    };
    files.into_iter().map(relative).collect()
}

/// Links to the documents that show a picture.
fn documents(name: &str) -> String {
    let shows = |text: &str| text.contains(&format!("screenshots/{name}.png)"));
    let link = |(path, _): (String, String)| match path.strip_prefix("docs/") {
        Some(name) => format!("[{name}](../{name})"),
        None => format!("[{path}](../../{path})"),
    };
    pages().into_iter().filter(|(_, text)| shows(text)).map(link).collect::<Vec<_>>().join(", ")
}

fn pictures() -> impl Iterator<Item = &'static Picture> {
    RUNS.iter().flat_map(|run| run.pictures)
}

/// The page with new rows in place of old ones.
fn page(old: &str, rows: &[Row], machine: Option<&str>) -> String {
    let old_line = |begin: &str| old.lines().find(|line| line.starts_with(begin));
    let machine = machine.or_else(|| old_line(MACHINE)?.strip_prefix(MACHINE)).unwrap_or("an unknown machine.");
    let mut page = format!("{BEGINNING}\n{MACHINE}{machine}\n\n");
    page += "| Picture | Document | Made (UTC) | Commit of Plimsoll | Other work | Verdict |\n| --- | --- | --- | --- | --- | --- |\n";
    for picture in pictures() {
        let new = rows.iter().find(|row| row.name == picture.name).map(Row::line);
        let kept = || old_line(&format!("| [{}](", picture.name)).map(|line| format!("{line}\n"));
        page += &new.or_else(kept).unwrap_or_default();
    }
    page += "\n## Commands\n\n```sh\n";
    for run in &RUNS {
        let names: Vec<&str> = run.pictures.iter().map(|picture| picture.name).collect();
        let commands: Vec<String> = run.commands.iter().map(|command| shown(command)).collect();
        let _ = writeln!(page, "# {}\n{}\n", names.join(", "), commands.join("\n"));
    }
    page.trim_end().to_owned() + "\n```\n"
}

fn file() -> PathBuf {
    folder().join("README.md")
}

fn written() -> String {
    std::fs::read_to_string(file()).unwrap_or_default()
}

pub(super) fn write(rows: &[Row]) {
    std::fs::write(file(), page(&written(), rows, Some(&machine()))).unwrap();
}

/// Processors and versions.
pub(super) fn machine() -> String {
    let line = |program: &str, flag: &str| {
        let said = Command::new(program).arg(flag).output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&said).lines().next().unwrap_or("unknown").replace("Version ", "").trim().to_owned()
    };
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let models: Vec<&str> =
        processors.lines().filter_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).collect();
    let ganesha = line("ganesha.nfsd", "-v").replace("NFS-Ganesha Release = V", "");
    let kernel = line("uname", "-r");
    let model = models.first().copied().unwrap_or("unknown model");
    format!(
        "{} processors ({model}), Linux {kernel}, Samba {} and NFS-Ganesha {ganesha}.",
        models.len(),
        line("smbd", "--version")
    )
}

/// Documents show exactly the pictures that are made, and the page names them all. `PLIMSOLL_BLESS=1` writes the page anew.
#[test]
fn every_picture_of_a_document_is_made() {
    for picture in pictures() {
        assert_ne!(documents(picture.name), "", "{}: no document shows it", picture.name);
        assert!(folder().join(picture.name).with_extension("png").is_file(), "{}.png is missing", picture.name);
    }
    let is_made = |name: &str| pictures().any(|picture| picture.name == name);
    for (path, text) in pages() {
        for (shown, _) in text.split("screenshots/").skip(1).filter_map(|rest| rest.split_once(')')) {
            let name = shown.strip_suffix(".png");
            assert!(name.is_none_or(is_made), "{path}: `cargo xtask pictures` does not make {shown}");
        }
    }
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || name.strip_suffix(".png").is_some_and(is_made), "no document shows {name}");
    }
    let now = page(&written(), &[], None);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(file(), &now).unwrap();
    }
    assert!(written() == now, "docs/screenshots/README.md: PLIMSOLL_BLESS=1 writes it anew");
    for picture in pictures() {
        assert!(now.contains(&format!("| [{0}]({0}.png) |", picture.name)), "{}: no row", picture.name);
    }
}

#[test]
fn new_rows_replace_old_ones() {
    let row = |name, verdict: &str| Row {
        name,
        commit: "0123abcd".to_owned(),
        at: "2026-11-28 14:35".to_owned(),
        busy: 3,
        verdict: verdict.to_owned(),
    };
    let first = page("", &[row("laddis", "VALID"), row("flame", "VALID")], Some("2 processors."));
    let second = page(&first, &[row("flame", "INVALID")], None);
    assert!(second.contains("| 3 % | VALID |") && second.contains("| 3 % | INVALID |"), "{second}");
    assert_eq!(second.matches("0123abcd").count(), 2, "{second}");
    assert!(second.contains("The latest run used 2 processors.\n"), "{second}");
}

#[test]
fn verdicts_name_the_levels_that_are_not_valid() {
    let level = |load: &str, verdict: &str| serde_json::json!({ "load_name": load, "varied": null, "validity": { "verdict": verdict } });
    let side = |verdict: &str, levels: &[Value]| serde_json::json!({ "letter": "A", "run": {}, "validity": { "verdict": verdict }, "levels": levels });
    let of = |sides: &[Value]| verdict(&serde_json::json!({ "sides": sides }));
    let good = side("valid", &[level("1 client", "valid"), level("2 clients", "valid")]);
    let bad = side("invalid", &[level("1 client", "partial"), level("2 clients", "invalid")]);
    assert_eq!(of(&[side("valid", &[])]), "VALID");
    assert_eq!(of(std::slice::from_ref(&good)), "VALID (all 2 levels)");
    assert_eq!(
        of(std::slice::from_ref(&bad)),
        "INVALID: 1 of 2 levels INVALID (2 clients), 1 of 2 levels PARTIAL (1 client)"
    );
    assert_eq!(of(&[side("partial", &[]), good]), "PARTIAL (all 2 levels)");
}
