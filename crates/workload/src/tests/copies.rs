//! Copies and ranges: steps that only NFS 4.2 has, and copies on the server.

use super::*;

/// The steps that only NFS 4.2 has, and copies on the server.
const OF_NFS_4_2: &str = r#"
        [script]
        verify = "100%"
        [[iterations]]
        name = "set"
        on = "file"
        steps = ["copy", { read = { size = "3KiB", whole = true, plus = true } }, { seek-data = "1KiB" }, "clone", "close", "copy"]
        [[iterations]]
        name = "own"
        on = "own"
        steps = [
            "create", "copy", { write = { size = "1KiB", count = 3 } }, { read = { size = "2KiB", whole = true, plus = true } },
            "copy", { allocate = { offset = "1KiB", length = "7KiB" } }, "getattr-open", "clone", "rename",
        ]
"#;

fn of_nfs_4_2() -> Workload {
    let steps = "{ deallocate = { offset = \"1KiB\", length = \"9KiB\" } }, \"getattr-open\", { seek-data = \"0B\" }, { seek-hole = \"5B\" },\n\
        { read = { size = \"2KiB\", whole = true, plus = true } }, \"close\", \"rename\", \"open\", \"copy\", \"close\", \"remove\"";
    iterations(&OF_NFS_4_2.replace("\"rename\"", steps))
}

#[test]
fn copies_are_removed_and_ranges_are_changed() {
    let workload = of_nfs_4_2();
    assert_eq!(
        (workload.nfs_4_2_alone(), workload.copies(), workload.smb_alone()),
        (Some("read with plus = true"), true, None)
    );
    assert!(workload.makes_its_own());
    assert_eq!(workload.open_files(), 3, "one of the set, one of its own, and a copy");
    let ran = ran(&workload, 3, 2, 100);
    assert!(ran.verified > 1 << 20);
    let count = |wanted: &str| {
        ran.operations.iter().filter(|operation| operation.split([' ', '{']).next() == Some(wanted)).count()
    };
    for wanted in ["Allocate", "Deallocate", "SeekData", "SeekHole", "ReadPlus", "Clone", "Copy"] {
        assert!(count(wanted) > 50, "{wanted}");
    }
    let copies = ran.operations.iter().filter(|operation| operation.contains("-c\""));
    assert_eq!(copies.count(), 2 * (count("Copy") + count("Clone")), "each is made and removed");
    let whole = |operation: &&String| operation.starts_with("Copy ") && operation.ends_with("length: 0 }");
    assert_eq!(ran.operations.iter().filter(whole).count(), 0, "an empty file is not copied");
}

/// A server that refuses to copy.
struct Refusing(Model);

impl Server for Refusing {
    fn act(&mut self, operation: &Operation<'_>, output: &mut Output) -> Result<Reply, String> {
        match operation {
            Operation::Copy { .. } | Operation::Clone { .. } => Err("no space".to_owned()),
            _ => self.0.act(operation, output),
        }
    }
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let workload = of_nfs_4_2();
    let (server, files) = with_files(&workload, 2);
    let (before, mut server) = (server.nodes.clone(), Refusing(server));
    let ran = run(&mut server, &mut slots(&workload, &files, 2, 1), 50, sound);
    assert!(
        ran.errors.len() == 100 && ran.errors.iter().all(|error| error.starts_with("no space")),
        "{:?}",
        ran.errors
    );
    assert!(server.0.nodes == before && server.0.open_files() == 0, "nothing is left");
}

#[test]
fn ranges_and_copies_are_checked() {
    let parsed =
        |on: &str, steps: &str| parse(&format!("[[iterations]]\nname = \"x\"\non = \"{on}\"\nsteps = [{steps}]\n"));
    let own = |step: &str| parsed("own", &format!("\"create\", {step}, \"close\", \"remove\"")).map(|_| ());
    assert!(own("{ allocate = { offset = \"0B\", length = \"1TiB\" } }").is_ok());
    for (result, problem) in [
        (own("{ allocate = { offset = \"0B\", length = \"0B\" } }"), "expected a \"length\" of at least 1B"),
        (own("{ deallocate = { offset = \"1TiB\", length = \"1B\" } }"), "the range within the first 1TiB"),
        (own("{ allocate = { offset = \"1B\", length = \"1TiB\" } }"), "the range within the first 1TiB"),
        (own("{ seek-hole = \"2TiB\" }"), "an offset of at most 1TiB"),
        (own("{ allocate = { offset = \"0B\" } }"), "missing field"),
        (own("\"allocate\""), "this step needs options"),
        (
            parsed("file", "{ deallocate = { offset = \"0B\", length = \"1B\" } }").map(|_| ()),
            "would change files of the file set",
        ),
        (parsed("directory", "\"copy\"").map(|_| ()), "does not allow this step"),
        (parsed("link", "\"clone\"").map(|_| ()), "allows only"),
        (parsed("own", "\"copy\"").map(|_| ()), "is not open at this step"),
    ] {
        let error = result.unwrap_err();
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn a_range_is_copied_within_the_slots_own_file_alone() {
    let parsed = |on: &str, step: &str| {
        let steps =
            if on == "own" { format!("[\"create\", {step}, \"close\", \"remove\"]") } else { format!("[{step}]") };
        let files = "[files]\ncount = 4\ndirectories = 1\ndepth = 1\nsize = \"1KiB\"\n";
        let iterations = format!("[[iterations]]\nname = \"x\"\non = \"{on}\"\nsteps = {steps}\n");
        let text = format!("name = \"w\"\ndescription = \"\"\n{files}{iterations}");
        Workload::parse("w.toml", &text).map(|_| ()).map_err(|error| error.to_string())
    };
    let step = |from: &str, to: &str, length: &str| {
        format!("{{ copy-range = {{ from = \"{from}\", to = \"{to}\", length = \"{length}\" }} }}")
    };
    assert_eq!(parsed("own", &step("0B", "1MiB", "1MiB")), Ok(()));
    for (on, step, problem) in [
        ("file", step("0B", "1MiB", "1MiB"), "would change files of the file set"),
        ("own", step("0B", "1KiB", "1025B"), "the ranges overlap"),
        ("own", step("0B", "1KiB", "0B"), "expected \"length\" from 1B to"),
        ("own", "\"copy-range\"".to_owned(), "this step needs options"),
        ("own", "{ copy-range = { from = \"0B\" } }".to_owned(), "missing field"),
    ] {
        let error = parsed(on, &step).unwrap_err();
        assert!(error.contains(problem), "{step}: {error}");
    }
}
