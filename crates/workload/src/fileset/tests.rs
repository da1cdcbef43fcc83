//! Sets are created, found, verified and removed, despite failures.

use plimsoll_client::operation::{Cause, Done, FileKey, Operation, Reply, Tag};
use proptest::prelude::*;

use super::*;
use crate::Workload;
use crate::scenario::{Scenario, ScenarioStep};
use crate::testing::{Model, run, sound, with_files, workers};

fn workload(files: &str) -> Workload {
    let text = format!(
        "name = \"w\"\ndescription = \"\"\n[files]\n{files}\n[[iterations]]\nname = \"t\"\non = \"directory\"\nsteps = [\"list\"]\n"
    );
    Workload::parse("w.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn small() -> Workload {
    workload("count = 23\ndirectories = 7\ndepth = 3\nsize = { uniform = [\"0B\", \"3KiB\"] }")
}

fn look(server: &mut Model, files: &Arc<FileSet>) -> Result<Found, FileSetError> {
    let job = Look::new(files.clone());
    run(server, &mut workers(&job, 2), u64::MAX, sound);
    job.outcome()
}

fn verify(server: &mut Model, files: &Arc<FileSet>) -> Result<(), FileSetError> {
    let job = Verify::new(files.clone());
    run(server, &mut workers(&job, 4), u64::MAX, sound);
    job.outcome()
}

fn remove(server: &mut Model, files: &Arc<FileSet>) -> Result<(), FileSetError> {
    let job = Remove::new(files);
    run(server, &mut workers(&job, 4), u64::MAX, sound);
    job.outcome()
}

#[test]
fn a_set_is_made_found_verified_and_removed() {
    for (workload, clients) in [
        (small(), 1),
        (small(), 5),
        (workload("count = 3\ndirectories = 0\ndepth = 1\nsize = \"5B\""), 2),
        (workload("count = 9\ndirectories = 4\ndepth = 2\nsize = \"2MiB\"\nshared = \"by-none\""), 3),
        (workload("count = 9\ndirectories = 4\ndepth = 2\nlinks = 7\nsize = \"9B\"\nshared = \"by-none\""), 3),
        (workload("count = 0\ndirectories = 0\ndepth = 1\nsize = \"0B\""), 1),
    ] {
        let (mut server, files) = with_files(&workload, clients);
        assert_eq!(look(&mut server, &files), Ok(Found::Set));
        verify(&mut server, &files).unwrap();
        let written: usize = server.nodes.values().flatten().map(Vec::len).sum();
        let links: usize = (0..files.links()).map(|link| files.layout.text_of_link(link).len()).sum();
        assert_eq!(written as u64, files.bytes() + files.manifest.len() as u64 + links as u64);
        for file in 0..files.files() {
            let mut path = String::new();
            files.file_path(file, &mut path);
            let bytes = server.nodes[&path].as_ref().unwrap();
            assert!(bytes.len() as u64 == files.size(file) && files.content().matches(file, 0, bytes), "{path}");
        }
        let directories = server.nodes.values().filter(|node| node.is_none()).count() as u64;
        assert_eq!(directories, files.directories() + 1);
        remove(&mut server, &files).unwrap();
        assert_eq!(server.nodes.keys().collect::<Vec<_>>(), ["base"]);
        assert_eq!(look(&mut server, &files), Ok(Found::Nothing));
        assert_eq!(server.open_files(), 0);
    }
}

#[test]
fn what_is_made_half_is_no_set_and_can_be_removed() {
    let (whole, files) = with_files(&small(), 1);
    let all = whole.nodes.len() as u64;
    for cut in [1, 5, 9, 30] {
        let mut server = Model::default();
        server.nodes.insert("base".to_owned(), None);
        let job = Create::new(files.clone());
        // From some operation on the server says no to everything: the first refusal ends the job.
        let ran = run(&mut server, &mut workers(&job, 3), u64::MAX, |n| (n >= cut).then_some(Cause::Status));
        assert!(matches!(job.outcome(), Err(FileSetError::Failed { .. })), "{:?}", job.outcome());
        assert!(ran.operations.len() < 100 && (server.nodes.len() as u64) < all);
        server.disconnect();
        assert_eq!(look(&mut server, &files), Ok(Found::Incomplete));
        remove(&mut server, &files).unwrap();
        assert_eq!(server.nodes.len(), 1);
    }
}

#[test]
fn lost_connections_cost_nothing_but_time() {
    let files = Arc::new(FileSet::new(&small(), "", 1, &mut Names::default()).unwrap());
    let mut server = Model::default();
    let job = Create::new(files.clone());
    // Directories are created without a retry: after a lost answer it is unknown whether they exist. So only files.
    let lost = |n: u64| (n > 20 && n.is_multiple_of(7)).then_some(Cause::ConnectionReset);
    run(&mut server, &mut workers(&job, 3), u64::MAX, lost);
    job.outcome().unwrap();
    verify(&mut server, &files).unwrap();
    let job = Verify::new(files.clone());
    run(&mut server, &mut workers(&job, 3), u64::MAX, |n| n.is_multiple_of(5).then_some(Cause::ConnectionReset));
    job.outcome().unwrap();
}

/// A slot takes a step, and its operation succeeds; false if it has none.
fn answered(slot: &mut dyn Scenario) -> bool {
    let reply = match slot.next() {
        ScenarioStep::Act(Operation::Open { .. }, _) => Reply::Opened { file: FileKey(0), size: Some(0) },
        ScenarioStep::Act(Operation::Write { length, .. }, _) => Reply::Written { bytes: length },
        ScenarioStep::Act(..) => Reply::Nothing,
        ScenarioStep::Think(_) | ScenarioStep::IterationOver | ScenarioStep::Finished => return false,
    };
    slot.done(&Done { tag: Tag(0), at: 0, result: Ok(reply) });
    true
}

/// One slot writes the file, in a hundred requests. The other one waits for it, and then writes the manifest.
#[test]
fn slots_wait_for_a_large_file_as_long_as_its_writes_are_answered() {
    // A slot looks once per millisecond.
    let minute = 60_000;
    let large = workload("count = 1\ndirectories = 0\ndepth = 1\nsize = \"100MiB\"");
    let files = Arc::new(FileSet::new(&large, "", 1, &mut Names::default()).unwrap());
    let written = |writes: usize, looks: usize| {
        let job = Create::new(files.clone());
        let mut slots = workers(&job, 2);
        let [writing, waiting] = &mut slots[..] else { panic!("two slots") };
        assert!(
            answered(writing.as_mut()) && !answered(writing.as_mut()),
            "the directory, and the end of its iteration"
        );
        assert!(answered(writing.as_mut()), "the file is open");
        let waits = |slot: &mut dyn Scenario| matches!(slot.next(), ScenarioStep::Think(_));
        for _ in 0..writes {
            if !(0..looks).all(|_| waits(waiting.as_mut())) {
                break;
            }
            answered(writing.as_mut());
        }
        for slot in [writing, waiting] {
            while answered(slot.as_mut()) {}
        }
        job.outcome()
    };
    assert_eq!(written(100, minute / 50), Ok(()), "two minutes");
    assert_eq!(written(2, minute + 1), Err(FileSetError::Ended { done: 1, total: 3, cause: None }), "no response");
}

#[test]
fn damage_is_told() {
    let (server, files) = with_files(&small(), 1);
    let mut path = String::new();
    files.file_path(4, &mut path);
    let damages: [fn(&mut Model, &str); 3] = [
        |server, path| drop(server.nodes.remove(path)),
        |server, path| drop(server.nodes.insert(path.to_owned(), Some(vec![0; 9999]))),
        |server, path| drop(server.nodes.insert(path.to_owned(), None)),
    ];
    for damage in damages {
        let mut server = server.clone();
        damage(&mut server, &path);
        let error = verify(&mut server, &files).unwrap_err().to_string();
        assert!(error.contains(files.root()), "{error}");
    }
}

#[test]
fn another_manifest_is_told() {
    let (mut server, files) = with_files(&small(), 1);
    let manifest = server.nodes[&files.manifest_path()].clone().unwrap();
    let first_line = manifest.split(|byte| *byte == b'\n').next().unwrap();
    for other in [b"something else".to_vec(), [first_line, b"\nother facts\n"].concat()] {
        server.nodes.insert(files.manifest_path(), Some(other));
        assert!(matches!(look(&mut server, &files), Err(FileSetError::OtherSet { .. })));
    }
}

#[test]
fn the_words_of_a_manifest_may_differ() {
    let (mut server, files) = with_files(&small(), 1);
    let path = files.manifest_path();
    let manifest = server.nodes[&path].clone().unwrap();
    let facts = manifest.split_at(manifest.iter().position(|byte| *byte == b'\n').unwrap()).1;
    server.nodes.insert(path, Some([b"Other words.", facts].concat()));
    assert!(matches!(look(&mut server, &files), Ok(Found::Set)));
}

#[test]
fn leftovers_of_a_run_are_removed_and_nothing_of_others() {
    let (mut server, files) = with_files(&small(), 1);
    let before = server.nodes.len();
    server.nodes.insert(format!("{}/d1/own-f-0-1-2-3-0", files.root()), Some(vec![1]));
    server.nodes.insert(format!("{}/d1/own-f-0-1-2-3-0-c", files.root()), Some(vec![1]));
    server.nodes.insert(format!("{}/d1/own-d-0-1-2-3-0", files.root()), None);
    verify(&mut server, &files).unwrap();
    assert_eq!(server.nodes.len(), before);
    server.nodes.insert(format!("{}/d1/thesis.tex", files.root()), Some(vec![1]));
    verify(&mut server, &files).unwrap();
    let error = remove(&mut server, &files).unwrap_err();
    assert!(matches!(&error, FileSetError::Foreign(path) if path.ends_with("/d1/thesis.tex")), "{error}");
    assert!(server.nodes.contains_key(&format!("{}/d1/thesis.tex", files.root())));
}

#[test]
fn only_what_the_manifest_names_is_removed() {
    // Directories that became links to elsewhere, which the server follows: they hold what looks like files of a set.
    let (server, files) = with_files(&small(), 1);
    let (mut file, mut elsewhere) = (String::new(), String::new());
    files.file_path(0, &mut file);
    files.directory_path(Directory { part: 0, number: 1 }, &mut elsewhere);
    let of_set = ["f12345", "f007", "d99", "l0", "s0", "manifest.txt", "d2x"];
    for victim in of_set.into_iter().chain(["own-f-thesis", "own-d-letters", "own-f-face", "own-d-2024-11-30"]) {
        let mut server = server.clone();
        let path = format!("{elsewhere}/{victim}");
        server.nodes.insert(path.clone(), Some(b"not ours".to_vec()));
        let error = remove(&mut server, &files).unwrap_err();
        assert!(matches!(&error, FileSetError::Foreign(foreign) if *foreign == path), "{victim}: {error}");
        assert!(server.nodes.contains_key(&path), "{victim}");
    }
    // A directory with the name of a slot's private one is empty, or it is not a directory.
    let mut server = server.clone();
    let tree = format!("{elsewhere}/own-d-0-1-2-3-0");
    server.nodes.insert(tree.clone(), None);
    server.nodes.insert(format!("{tree}/letter"), Some(b"not ours".to_vec()));
    assert!(remove(&mut server.clone(), &files).is_err() && verify(&mut server, &files).is_err());
    assert!(server.nodes.contains_key(&format!("{tree}/letter")));
}

#[test]
fn a_share_that_stores_names_in_upper_case_has_the_set_all_the_same() {
    let (mut server, files) = with_files(&small(), 1);
    let before = server.nodes.len();
    server.lists_upper_case = true;
    server.nodes.insert(format!("{}/d1/own-f-0-1-2-3-0", files.root()), Some(vec![1]));
    server.nodes.insert(format!("{}/d1/own-d-0-1-2-3-0", files.root()), None);
    assert_eq!(look(&mut server, &files), Ok(Found::Set));
    verify(&mut server, &files).unwrap();
    assert_eq!(server.nodes.len(), before, "leftovers");
    remove(&mut server, &files).unwrap();
    assert_eq!(server.nodes.keys().collect::<Vec<_>>(), ["base"]);
}

#[test]
fn a_name_in_upper_case_beside_those_of_the_set_is_not_its_own() {
    let (server, files) = with_files(&small(), 1);
    for other in ["D1", "MANIFEST.TXT", "OWN-F-0-1-2-3-0"] {
        let (mut server, path) = (server.clone(), format!("{}/{other}", files.root()));
        server.nodes.insert(path.clone(), Some(b"not ours".to_vec()));
        verify(&mut server, &files).unwrap();
        let error = remove(&mut server, &files).unwrap_err();
        assert!(matches!(&error, FileSetError::Foreign(foreign) if *foreign == path), "{other}: {error}");
        assert!(server.nodes.contains_key(&path), "{other}");
    }
    // Not even in a directory with none of the set's names.
    let (mut server, job) = (server, Verify::leftovers(files.clone()));
    let directories = || server.nodes.iter().filter(|(_, node)| node.is_none()).map(|(path, _)| format!("{path}/"));
    let is_leaf = |leaf: &String| directories().all(|other| other == *leaf || !other.starts_with(leaf));
    let leaf = directories().find(is_leaf).unwrap();
    server.nodes.retain(|path, _| !path.starts_with(&leaf));
    let other = format!("{leaf}OWN-F-0-1-2-3-0");
    server.nodes.insert(other.clone(), Some(b"not ours".to_vec()));
    run(&mut server, &mut workers(&job, 4), u64::MAX, sound);
    job.outcome().unwrap();
    assert!(server.nodes.contains_key(&other));
    // Where the server distinguishes case, a directory in upper case is another one.
    let (mut server, name) = (Model::default(), files.name.to_ascii_uppercase());
    server.nodes.insert("base".to_owned(), None);
    server.nodes.insert(format!("base/{name}"), None);
    assert_eq!(look(&mut server, &files), Ok(Found::Nothing));
}

/// A directory of the set holds none of its names, but one in upper case. The server distinguishes case.
#[test]
fn a_foreign_name_in_upper_case_is_named_as_it_was_listed() {
    let (server, files) = with_files(&small(), 1);
    let is_directory = |path: &&String| server.nodes[*path].is_none();
    let nested = server.nodes.keys().filter(is_directory).find(|path| path.matches('/').count() > 2).unwrap();
    let (directory, name) = nested.rsplit_once('/').unwrap();
    let own_file = ("OWN-F-0-1-2-3-0".to_owned(), Some(b"not ours".to_vec()));
    for (other, node) in [(name.to_ascii_uppercase(), None), own_file] {
        let (mut server, foreign) = (server.clone(), format!("{directory}/{other}"));
        server.nodes.retain(|path, _| !path.starts_with(&format!("{directory}/")));
        server.nodes.insert(foreign.clone(), node);
        let error = remove(&mut server, &files).unwrap_err();
        assert!(matches!(&error, FileSetError::Foreign(path) if *path == foreign), "{error}");
        assert!(server.nodes.contains_key(&foreign), "{other}");
    }
}

#[test]
fn what_slots_leave_behind_is_removed_after_a_run() {
    let (mut server, files) = with_files(&small(), 1);
    let before = server.nodes.clone();
    for name in ["own-f-0000a0b1-1-2-3-0", "own-d-00000000-1-2-3-0"] {
        let node = name.starts_with("own-f").then(Vec::new);
        server.nodes.insert(format!("{}/d1/{name}", files.root()), node);
    }
    // It says nothing of the set: a file that is missing is not its business.
    server.nodes.remove(&format!("{}/manifest.txt", files.root()));
    let job = Verify::leftovers(files.clone());
    run(&mut server, &mut workers(&job, 4), u64::MAX, sound);
    job.outcome().unwrap();
    assert_eq!(server.nodes.len() + 1, before.len());
}

#[test]
fn a_set_that_was_never_begun_can_be_removed() {
    let files = Arc::new(FileSet::new(&small(), "", 1, &mut Names::default()).unwrap());
    remove(&mut Model::default(), &files).unwrap();
}

#[test]
fn sets_of_one_workload_can_have_names() {
    let set = |called| FileSet::called(called, &small(), "base", 1, &mut Names::default()).unwrap();
    assert_eq!(set(Some("b")).root(), format!("{}-b", set(None).root()));
    assert_eq!(set(Some("b")).lease_path(), format!("{}-b.lease", set(None).root()));
}

#[test]
fn the_directory_is_named_by_what_is_in_it() {
    let root = |text: &str, clients| {
        FileSet::new(&workload(text), "", clients, &mut Names::default()).unwrap().root().to_owned()
    };
    let shared = "count = 3\ndirectories = 1\ndepth = 1\nsize = \"5B\"";
    let own = "count = 3\ndirectories = 1\ndepth = 1\nsize = \"5B\"\nshared = \"by-none\"";
    assert_eq!(root(shared, 1), root(shared, 9));
    assert_ne!(root(own, 1), root(own, 9));
    assert_ne!(root(shared, 1), root(own, 1));
    assert_ne!(root(shared, 1), root(&shared.replace("5B", "6B"), 1));
    assert!(root(shared, 1).starts_with("plimsoll-w-"));
    let many = "count = 4000000\ndirectories = 1\ndepth = 1\nsize = \"5B\"\nshared = \"by-none\"";
    assert!(FileSet::new(&workload(many), "", 2, &mut Names::default()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn layouts_hold_together(
        count in 0_u32..200, directories in 0_u32..60, depth in 1_u32..5, clients in 1_u32..4, own: bool,
    ) {
        let depth = depth.min(directories.max(1));
        let shared = if own { "by-none" } else { "by-all" };
        let text = format!(
            "count = {count}\ndirectories = {directories}\ndepth = {depth}\nsize = \"1B\"\nshared = \"{shared}\""
        );
        let files = FileSet::new(&workload(&text), "x", clients, &mut Names::default()).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for place in 0..files.directories() {
            let mut path = String::new();
            files.directory_path_in_order(place, &mut path);
            if let Some((parent, _)) = path.rsplit_once('/').filter(|_| place > 0) {
                let at = *seen.get(parent).unwrap();
                prop_assert!(at < files.layout.needed_before(place), "{} before {}", parent, path);
                prop_assert!(path.matches('/').count() as u32 <= 1 + depth + u32::from(own));
            }
            if place > 0 || !own {
                let directory = files.layout.directory_in_order(place);
                prop_assert_eq!(files.layout.place_in_order(directory), place);
            }
            prop_assert!(files.layout.needed_before(place) <= place);
            prop_assert!(seen.insert(path, place).is_none());
        }
        let mut held = vec![0; files.directories() as usize];
        for file in 0..files.files() {
            let (mut path, mut directory) = (String::new(), String::new());
            files.file_path(file, &mut path);
            files.directory_path(files.layout.directory_of(file), &mut directory);
            prop_assert_eq!(path.rsplit_once('/').unwrap().0, &directory);
            held[seen[&directory] as usize] += 1;
            prop_assert!(seen.insert(path, u64::MAX).is_none());
        }
        for place in 1..files.directories() {
            let mut path = String::new();
            files.directory_path_in_order(place, &mut path);
            let inside = seen.keys().filter(|other| other.rsplit_once('/').is_some_and(|(parent, _)| parent == path));
            prop_assert_eq!(inside.count() as u64, files.layout.entries(files.layout.directory_in_order(place)));
        }
    }
}
