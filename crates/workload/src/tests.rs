//! Workloads behave as described, for any number of clients and slots.

mod copies;
mod independence;
mod parsing;

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_client::operation::{Cause, Operation, Reply};

use super::fileset::{Create, Found, Look, Remove, Verify};
use super::testing::{Directory, Model, Output, Ran, Server, run, slots, sound, with_files, workers};
use super::*;
use crate::hexadecimal::hexadecimal;

fn parse(iterations: &str) -> Result<Workload, WorkloadError> {
    let head = "name = \"w\"\ndescription = \"\"\n[files]\ncount = 40\ndirectories = 4\ndepth = 2\nsize = \"10KiB\"\n";
    Workload::parse("w.toml", &format!("{head}{iterations}"))
}

fn iterations(iterations: &str) -> Workload {
    parse(iterations).unwrap_or_else(|error| panic!("{error}"))
}

/// Replays of load files have separate tests.
fn with_iterations() -> impl Iterator<Item = &'static Builtin> {
    BUILTINS.iter().filter(|builtin| !builtin.text.contains("[replay]"))
}

/// Runs clients and slots on a new server, and checks that they leave it unchanged.
fn ran(workload: &Workload, clients: u32, depth: u32, iterations: u64) -> Ran {
    let (mut server, files) = with_files(workload, clients);
    let before = server.nodes.clone();
    let ran = run(&mut server, &mut slots(workload, &files, clients, depth), iterations, sound);
    assert!(server.nodes == before, "the files are as they were");
    assert_eq!((ran.wrong, &ran.errors), (0, &Vec::new()), "{}", workload.name());
    assert_eq!(ran.iterations, u64::from(clients * depth) * iterations);
    ran
}

/// Whether an iteration of it is many requests.
fn long(builtin: &Builtin) -> bool {
    ["stream", "blocks", "sequential"].iter().any(|kind| builtin.name.starts_with(kind))
}

#[test]
fn every_builtin_runs_without_errors_for_any_number_of_clients() {
    for builtin in with_iterations() {
        let workload = builtin.workload().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload.name(), builtin.name);
        let iterations = if long(builtin) { 2 } else { 200 };
        for (clients, depth) in [(1, 1), (3, 1), (2, 4)] {
            let ran = ran(&workload, clients, depth, iterations);
            assert!(ran.operations.len() as u64 >= ran.iterations);
        }
    }
}

#[test]
fn every_builtin_runs_without_errors_in_a_directory() {
    for builtin in with_iterations() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Directory::at(folder.path());
        let workload = builtin.workload().unwrap();
        if workload.smb_alone().is_some() {
            continue;
        }
        let files = Arc::new(FileSet::new(&workload, "", 8, &mut plimsoll_model::Names::default()).unwrap());
        let create = Create::new(files.clone());
        assert_eq!(run(&mut server, &mut workers(&create, 4), u64::MAX, sound).errors, [""; 0]);
        create.outcome().unwrap();
        let look = Look::new(files.clone());
        run(&mut server, &mut workers(&look, 1), u64::MAX, sound);
        assert_eq!(look.outcome(), Ok(Found::Set));
        let iterations = if long(builtin) { 4 } else { 300 };
        for clients in [1, 3, 8] {
            let ran = run(&mut server, &mut slots(&workload, &files, clients, 1), iterations, sound);
            assert_eq!((ran.wrong, ran.errors), (0, Vec::new()), "{}", builtin.name);
            assert_eq!(ran.iterations, u64::from(clients) * iterations);
        }
        let verify = Verify::new(files.clone());
        run(&mut server, &mut workers(&verify, 4), u64::MAX, sound);
        verify.outcome().unwrap();
        let remove = Remove::new(&files);
        run(&mut server, &mut workers(&remove, 4), u64::MAX, sound);
        remove.outcome().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn every_line_of_a_builtin_is_explained() {
    for builtin in BUILTINS {
        let mut before = "";
        for line in builtin.text.lines().filter(|line| !line.is_empty()) {
            let explained = line.contains('#') || before.trim_start().starts_with('#') || line == "]";
            // The first kind of iteration explains the keys that the others use again.
            let known = [
                "[[iterations]]",
                "name =",
                "weight =",
                "unmapped =",
                "with_logon =",
                "on =",
                "steps =",
                "  \"",
                "  { ",
                "description =",
            ];
            assert!(explained || known.iter().any(|key| line.starts_with(key)), "{}: {line}", builtin.name);
            before = line;
        }
    }
    assert!(with_iterations().all(|builtin| !builtin.workload().unwrap().description().is_empty()));
}

/// Each step at least once.
const EVERYTHING: &str = r#"
        [script]
        keep_open = 2
        verify = "100%"
        [[iterations]]
        name = "set"
        on = "file"
        pick = { zipf = 1.0 }
        steps = [
            "open", { read = { size = "3KiB", count = 2 } }, { read = { size = "1KiB", at = { zipf = 0.8 }, count = 3 } },
            { write = { size = "4KiB", whole = true } }, { write = { size = "700B", at = "random" } }, "flush",
            "getattr-open", "getattr", "setattr", "access", "list", "fsinfo", "null", { think = "1ms" }, "close",
            "lookup", "list-names", { write = { size = "700B", at = "random", stable = true } },
        ]
        [[iterations]]
        name = "own"
        on = "own"
        steps = [
            "list", "create", { write = { size = "1KiB", total = { uniform = ["0B", "9KiB"] } } },
            { write = { size = "1KiB", count = 3 } }, { read = { size = "2KiB", whole = true } }, { truncate = "100B" },
            { read = { size = "64B", at = "random", count = 3 } }, { truncate = "1KiB" }, { read = { size = "2KiB" } },
            "getattr-open", { copy-range = { from = "100B", to = "8KiB", length = "4KiB" } }, "getattr-open",
            { read = { size = "4KiB", whole = true } }, "flush", "close", "recreate", "getattr-open", { write = { size = "1KiB" } }, "close",
            "getattr", "setattr", "list", "rename", "open", "close", "rename", "remove",
            "list", "mkdir", "list", "getattr", "access", "rename", "setattr", "rmdir", "create", "close", "remove",
            { repeat = { times = 3, steps = ["mkdir", { repeat = { times = 2, steps = ["rename"] } }, "rmdir"] } },
        ]
        [[iterations]]
        name = "directory"
        on = "directory"
        steps = ["getattr", "access", "list", "lookup", "list-names"]
        [[iterations]]
        name = "link"
        on = "link"
        steps = ["lookup", "readlink", "list"]
"#;

#[test]
fn everything_a_iteration_can_do_is_done() {
    let files = "count = 40\ndirectories = 4\ndepth = 2\nsize = \"10KiB\"\nlinks = 6\n";
    let text = format!("name = \"w\"\ndescription = \"\"\n[files]\n{files}{EVERYTHING}");
    let ran = ran(&Workload::parse("w.toml", &text).unwrap(), 3, 2, 300);
    assert!(ran.verified > 1 << 20);
    let all = "\
        Open Close Read Write Flush Truncate Getattr GetattrOpen Setattr Access List Mkdir Rmdir Remove Rename Lookup \
        Readlink ListNames WriteThrough Fsinfo Null CopyRange";
    for wanted in all.split(' ') {
        let words = |operation: &String| operation.split([' ', '{']).next() == Some(wanted);
        assert!(ran.operations.iter().any(words), "{wanted}");
    }
}

/// Offsets of the reads (or writes) of one slot that does `iterations` iterations with these steps.
fn offsets(steps: &str, word: &str, iterations: u64) -> Vec<u64> {
    let kept = "[script]\nkeep_open = 1\nverify = \"100%\"\n";
    let text = format!("{kept}[[iterations]]\nname = \"t\"\non = \"file\"\nsteps = [{steps}]\n");
    let head = "name = \"w\"\ndescription = \"\"\n[files]\ncount = 1\ndirectories = 0\ndepth = 1\nsize = \"10KiB\"\n";
    let ran = ran(&Workload::parse("w.toml", &format!("{head}{text}")).unwrap(), 1, 1, iterations);
    let of =
        |operation: &String| operation.strip_prefix(word)?.split("offset: ").nth(1)?.split(',').next()?.parse().ok();
    ran.operations.iter().filter_map(of).collect()
}

#[test]
fn a_sequence_goes_on_from_iteration_to_iteration_and_round_the_file() {
    let read = "{ read = { size = \"4KiB\" } }";
    assert_eq!(offsets(read, "Read ", 5), [0, 4096, 8192, 0, 4096]);
    assert_eq!(offsets("{ write = { size = \"4KiB\" } }", "Write ", 4), [0, 4096, 8192, 0]);
    // Several requests per iteration, several steps per iteration, closing in between: the sequence stays the same.
    assert_eq!(offsets("{ read = { size = \"4KiB\", count = 2 } }", "Read ", 3), [0, 4096, 8192, 0, 4096, 8192]);
    assert_eq!(offsets(&format!("{read}, \"close\", {read}"), "Read ", 2), [0, 4096, 8192, 0]);
    // Reads and writes are separate sequences, and random reads are separate too.
    let both =
        format!("{read}, {{ write = {{ size = \"8KiB\" }} }}, {{ read = {{ size = \"1KiB\", at = \"random\" }} }}");
    assert_eq!(offsets(&both, "Write ", 3), [0, 8192, 0]);
    let reads: Vec<u64> = offsets(&both, "Read ", 3).into_iter().step_by(2).collect();
    assert_eq!(reads, [0, 4096, 8192]);
    // A slot that reads every other block stays on its blocks.
    let every = "{ read = { size = \"2KiB\", every = 2 } }";
    assert_eq!(offsets(every, "Read ", 4), [0, 4096, 8192, 0]);
}

#[test]
fn a_workload_may_begin_at_the_start_each_time() {
    let read = "{ read = { size = \"4KiB\", count = 2, from_start = true } }";
    assert_eq!(offsets(read, "Read ", 2), [0, 4096, 0, 4096]);
    assert_eq!(offsets(&read.replace("count = 2", "count = 9"), "Read ", 2), [0, 4096, 8192, 0, 4096, 8192]);
    let whole = "{ read = { size = \"4KiB\", whole = true } }";
    assert_eq!(offsets(whole, "Read ", 2), [0, 4096, 8192, 0, 4096, 8192]);
    for wrong in [whole.replace("true", "true, from_start = true"), read.replace("count = 2", "at = \"random\"")] {
        let iteration = format!("[[iterations]]\nname = \"t\"\non = \"file\"\nsteps = [{wrong}]\n");
        assert!(parse(&iteration).unwrap_err().problem.contains("\"from_start\" needs"), "{wrong}");
    }
}

/// After each round of the deck, whatever its start, the frequencies equal the weights.
#[test]
fn shuffled_iterations_have_exact_shares() {
    let (clients, rounds) = (3, 2);
    let ran = ran(&Workload::find("laddis").unwrap(), clients, 1, 98 * rounds);
    let count = |name: &str| {
        ran.operations.iter().filter(|operation| operation.split([' ', '{']).next() == Some(name)).count() as u64
    };
    let all = u64::from(clients) * rounds;
    let preloads = 120 * u64::from(clients);
    assert_eq!(count("Lookup"), 34 * all + preloads);
    let shares = ["Read", "WriteThrough", "Getattr", "Readlink", "ListNames", "Setattr", "Fsinfo"];
    assert_eq!(shares.map(count), [22, 15, 13, 8, 3, 1, 1].map(|share| share * all));
    // Made twice, removed once; files of the set are opened to read and to write.
    assert_eq!((count("Remove"), count("Open")), (all, (22 + 15 + 2) * all));
    let many = "[script]\norder = \"shuffled\"\n[[iterations]]\nname = \"a\"\nweight = 999\non = \"file\"\nsteps = [\"null\"]\n";
    let wrong = parse(&format!("{many}{}", many.split_once("\"shuffled\"\n").unwrap().1.replace("999", "1000")));
    assert!(wrong.unwrap_err().problem.contains(r#"is 1999; with order = "shuffled" the limit is 1000"#));
}

/// Connected shares are disconnected, whatever fails in between, and no file is open then.
#[test]
fn iterations_with_a_share_of_their_own_leave_it() {
    for fault in [0, 7, 13] {
        let workload = Workload::find("home-folders").unwrap();
        let (mut server, files) = with_files(&workload, 1);
        let sick = |n: u64| (fault > 0 && n.is_multiple_of(fault)).then_some(Cause::TimedOut);
        let ran = run(&mut server, &mut slots(&workload, &files, 1, 1), 400, sick);
        let (mut connected, mut logged_on, mut seen) = (false, false, 0);
        for operation in &ran.operations {
            match operation.as_str() {
                _ if fault > 0 => {}
                "LogOn" => assert!(!connected && !std::mem::replace(&mut logged_on, true)),
                "ConnectShare" => assert!(!std::mem::replace(&mut connected, true)),
                "DisconnectShare" => assert!(std::mem::replace(&mut connected, false)),
                "LogOff" => assert!(!connected && std::mem::replace(&mut logged_on, false)),
                _ => continue,
            }
            seen += 1;
        }
        let count = |wanted: &str| ran.operations.iter().filter(|operation| *operation == wanted).count();
        // One in seven cannot be connected, and need not be left.
        assert!(count("DisconnectShare") >= count("ConnectShare") * 3 / 4, "what is connected is given back");
        assert!(seen > 100 && ran.wrong == 0 && (fault > 0 || ran.errors.is_empty()), "{seen}: {:?}", ran.errors);
    }
    let iteration = |steps: &str| parse(&format!("[[iterations]]\nname = \"t\"\non = \"file\"\nsteps = [{steps}]\n"));
    for (steps, wanted) in [
        ("\"connect-share\"", "does not end its share"),
        ("\"connect-share\", \"open\", \"disconnect-share\"", "a file is still open"),
        ("\"log-off\"", "add \"log-on\" before"),
        ("{ probe = \"f7\" }", "are reserved"),
        ("{ volume = \"label\" }", "nothing is open"),
    ] {
        let error = iteration(steps).unwrap_err();
        assert!(error.problem.contains(wanted), "{steps}: {error}");
    }
    let alone = iteration("\"connect-share\", \"getattr\", \"disconnect-share\"").unwrap();
    assert!(alone.wants_its_connection_alone() && alone.smb_alone() == Some("connect-share"));
    let mixed = Workload::find("mixed").unwrap();
    assert!(!mixed.wants_its_connection_alone() && mixed.smb_alone().is_none());
}

#[test]
fn as_many_files_are_kept_open_as_asked() {
    for (kept, most) in [(0, 1), (1, 1), (5, 5)] {
        let workload = iterations(&format!(
            "[script]\nkeep_open = {kept}\n[[iterations]]\nname = \"r\"\non = \"file\"\nsteps = [{{ read = {{ size = \"1KiB\" }} }}]\n"
        ));
        let (mut server, files) = with_files(&workload, 1);
        let mut slots = slots(&workload, &files, 1, 1);
        for _ in 0..300 {
            run(&mut server, &mut slots, 1, sound);
            assert!(server.open_files() <= most);
        }
        assert_eq!(server.open_files(), kept);
    }
}

#[test]
fn a_failing_server_leaves_no_debris_but_what_it_refuses_to_remove() {
    let workload = Workload::find("mixed").unwrap();
    for cause in [Cause::Status, Cause::ConnectionReset, Cause::TimedOut] {
        let (mut server, files) = with_files(&workload, 3);
        let before = server.nodes.len();
        let mut slots = slots(&workload, &files, 3, 2);
        let ran = run(&mut server, &mut slots, 300, |n| n.is_multiple_of(11).then_some(cause));
        assert_eq!((ran.wrong, ran.iterations), (0, 1800));
        // Files whose removal was refused too.
        let debris = server.nodes.len() - before;
        assert!(debris < 60, "{debris}");
        let more = run(&mut server, &mut slots, 50, sound);
        assert_eq!((more.wrong, more.errors), (0, Vec::new()), "the slots go on as before");
        assert_eq!(server.nodes.len() - before, debris);
    }
}

#[test]
fn wrong_data_are_found() {
    let workload = iterations(
        "[script]\nverify = \"100%\"\n[[iterations]]\nname = \"r\"\non = \"file\"\nsteps = [{ read = { size = \"4KiB\", whole = true } }]\n",
    );
    let damages: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes[5000] ^= 1, |bytes| bytes.truncate(10_239), |bytes| bytes.swap(4095, 4096)];
    for damage in damages {
        let (mut server, files) = with_files(&workload, 1);
        let mut path = String::new();
        files.file_path(3, &mut path);
        damage(server.nodes.get_mut(&path).unwrap().as_mut().unwrap());
        let ran = run(&mut server, &mut slots(&workload, &files, 1, 1), 400, sound);
        let hits = ran
            .operations
            .iter()
            .filter(|operation| operation.starts_with("Open") && operation.contains(&format!("{path}\"")))
            .count();
        assert!(hits > 0);
        assert_eq!(ran.wrong, hits as u64);
    }
}

#[test]
fn a_load_file_is_played_over_and_over_or_so_many_times() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    std::fs::write(folder.path().join("x.load"), "Mkdir \"/a\" *\n").unwrap();
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == "netbench").unwrap();
    let text = builtin.text.replace("/usr/share/dbench/client.txt", "x.load");
    let parse = |plays: &str| {
        let setting = Parameter { name: "plays".to_owned(), value: plays.to_owned() };
        Workload::parse_with(file.to_str().unwrap(), &text, &[setting]).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(parse("0").defaults().phases.measured_ns.is_some());
    let once = parse("1");
    assert_eq!((once.defaults().phases.measured_ns, once.defaults().phases.warmup_ns), (None, 0));
    // The load file is in the digest.
    std::fs::write(folder.path().join("x.load"), "Mkdir \"/b\" *\n").unwrap();
    assert_ne!(parse("1").digest(), once.digest());
    for more in ["[files]\ncount = 1\ndirectories = 0\ndepth = 1\nsize = \"1B\"\n", "[script]\nkeep_open = 1\n"] {
        assert!(Workload::parse(file.to_str().unwrap(), &format!("{text}\n{more}")).is_err(), "{more}");
    }
}

#[test]
fn slots_read_one_file_together() {
    let ahead = |value: &str| Parameter { name: "ahead".to_owned(), value: value.to_owned() };
    let size = Parameter { name: "size".to_owned(), value: "42KiB".to_owned() };
    let workload = Workload::find_with("sequential-read", &[ahead("4"), size.clone()]).unwrap();
    let mut places: Vec<u64> =
        ran(&workload, 1, 4, 1).operations.iter().filter_map(|operation| place(operation)).collect();
    places.sort_unstable();
    // Ten whole blocks and half a one, each read once.
    assert_eq!(places, (0..11).map(|block| block * 4096).collect::<Vec<_>>());
    for wrong in ["0", "1025"] {
        let error = Workload::find_with("sequential-read", &[ahead(wrong), size.clone()]).unwrap_err();
        assert!(error.to_string().contains("\"every\" must be 1 to 1024"), "{error}");
    }
}

/// Where a read begins.
fn place(operation: &str) -> Option<u64> {
    let (_, rest) = operation.strip_prefix("Read ").and_then(|read| read.split_once("offset: "))?;
    rest.split(',').next()?.parse().ok()
}
