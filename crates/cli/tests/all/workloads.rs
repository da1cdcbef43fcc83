//! `plimsoll workloads`: usage and results.

use std::process::{Command, Output};

use plimsoll_testkit::command;
use plimsoll_testkit::servers::Scratch;

fn workloads(arguments: &[&str]) -> Output {
    command::output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg("workloads").args(arguments))
}

fn texts_of(output: &Output) -> (String, String) {
    (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn the_list_has_a_line_for_each() {
    let (list, errors) = texts_of(&workloads(&["list"]));
    let names = "mixed stream-read stream-write blocks-read blocks-write random-read sequential-read iops-read";
    assert_eq!((list.lines().count(), errors.as_str()), (16, ""));
    for (line, name) in list.lines().zip(names.split(' ')) {
        assert!(line.starts_with(name) && line.ends_with(')'), "{line}");
    }
    let line = |name: &str| list.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("null ").ends_with(" (no files)"), "{list}");
    assert!(line("blocks-read ").contains("(1 file per client, "), "{list}");
    assert!(line("stream-write ").ends_with("; the workload creates its own)"), "{list}");
    assert!(list.contains("\nhome-folders ") && list.contains("\nhome-folders-2008 "), "{list}");
    // With its load file or without.
    assert!(list.contains("\nnetbench"), "{list}");
}

#[test]
fn what_is_shown_is_a_workload_again() {
    let (shown, _) = texts_of(&workloads(&["show", "mixed"]));
    assert!(shown.contains("30.0 % of the iterations: read\n") && shown.contains("# SHA-256"), "{shown}");
    let scratch = Scratch::new("workloads");
    let again = workloads(&["show", scratch.file("shown.toml", &shown).to_str().unwrap()]);
    assert!(again.status.success());
    assert!(texts_of(&again).0.starts_with(&shown));
}

/// Every built-in workload keeps to the schema, as an editor sees it; files with typical mistakes do not.
#[test]
fn the_schema_holds_for_all_workloads_and_finds_mistakes() {
    let (text, errors) = texts_of(&workloads(&["schema"]));
    assert_eq!(errors, "");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap();
    let read = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    for builtin in plimsoll_workload::BUILTINS {
        let wrong: Vec<String> = schema.iter_errors(&read(builtin.text)).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", builtin.name);
    }
    let mixed = plimsoll_workload::Builtin::named("mixed").unwrap().text;
    for (right, wrong) in [
        ("count = 200 ", "count = -1 "),
        ("count = 200 ", "counts = 200 "),
        ("warmup = \"2s\"", "warmup = 2"),
        ("warmup = \"2s\"", "warmup = \"2\""),
        ("verify = \"1%\"", "verify = 0.01"),
        ("caching = \"none\"", "caching = \"some\""),
        ("\"by-all\"", "\"by-everybody\""),
        ("steps = [\"getattr\"]", "steps = [\"getatr\"]"),
        ("steps = [\"getattr\"]", "steps = [\"watch\"]"),
        ("size = \"64KiB\"", "size = \"64KB\""),
        ("sigma = 1.5", "sigma = 0"),
        ("on = \"directory\"", "on = \"folder\""),
    ] {
        assert!(mixed.contains(right), "{right}");
        let changed = mixed.replacen(right, wrong, 1);
        assert!(!schema.is_valid(&read(&changed)), "the schema allows {wrong}");
        // The program agrees.
        assert!(plimsoll_workload::Workload::parse("w.toml", &changed).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_none_is_refused_with_its_place() {
    let output = workloads(&["show", "mixd"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts_of(&output).1.contains("built-in workloads: mixed, stream-read"), "{:?}", texts_of(&output));
    let scratch = Scratch::new("wrong");
    let path = scratch.file("wrong.toml", "name = \"w\"\ndescription = \"\"\n[files]\ncount = -1\n");
    let output = workloads(&["show", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts_of(&output).1.contains("line 4:"), "{:?}", texts_of(&output));
}
