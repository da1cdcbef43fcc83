//! Load files are read as they are written, and played as they say.

use std::path::Path;
use std::sync::Arc;

use plimsoll_client::calls::Identity;
use plimsoll_client::content::Content;
use plimsoll_client::local::{PathClient, Root};
use plimsoll_client::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::{Client, Events};
use plimsoll_model::{Endpoint, Symbol, Transaction};
use proptest::prelude::*;

use super::*;
use crate::scenario::{Scenario, ScenarioStep, Verdict};

const OWN: [(&str, &str); 3] = [
    ("netbench", include_str!("../../tests/loadfiles/netbench.load")),
    ("nfs", include_str!("../../tests/loadfiles/nfs.load")),
    ("smb", include_str!("../../tests/loadfiles/smb.load")),
];

fn script(text: &str) -> Script {
    Script::parse(text).unwrap_or_else(|error| panic!("line {}: {error}", error.line))
}

/// The number of the invalid line, and the error.
fn wrong(text: &str) -> (usize, String) {
    let error = Script::parse(text).unwrap_err();
    (error.line, error.problem)
}

/// The results of a replay.
#[derive(Debug, Default)]
struct Played {
    operations: Vec<String>,
    succeeded: u64,
    expected: u64,
    excused: u64,
    failed: Vec<Cause>,
    iterations: u64,
}

#[derive(Default)]
struct Collected {
    done: Option<Done>,
    names: Vec<String>,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, _: &mut Transaction) {}

    fn done(&mut self, done: Done) {
        self.done = Some(done);
    }

    fn data(&mut self, _: Tag, _: u64, _: &[u8]) {}

    fn entry(&mut self, _: Tag, name: &str) {
        self.names.push(name.to_owned());
    }
}

/// Plays on a directory of this machine until the player has finished. `fault` may fail an operation, by its number.
fn play(player: &mut Player, folder: &Path, mut fault: impl FnMut(usize) -> Option<Cause>) -> Played {
    let (nowhere, none) = (Endpoint::NOWHERE, Symbol::NONE);
    let identity = Identity { client: nowhere, server: nowhere, connection: 0, share: none, user: none };
    let mut client = PathClient::new(Root::open(folder).unwrap(), identity);
    let mut played = Played::default();
    loop {
        let (mut collected, faulty) = (Collected::default(), fault(played.operations.len()));
        match player.next() {
            ScenarioStep::Think(_) => continue,
            ScenarioStep::IterationOver => {
                played.iterations += 1;
                continue;
            }
            ScenarioStep::Finished => return played,
            ScenarioStep::Act(operation, symbol) => {
                played.operations.push(format!("{operation:?}"));
                let ticket = Ticket { tag: Tag(1), intended: None, path: symbol };
                match faulty {
                    Some(cause) => collected.done = Some(failed(cause)),
                    None => client.begin(&operation, ticket, 0, &mut Outbox::new(), &mut collected),
                }
            }
        }
        collected.names.iter().for_each(|name| player.entry(name));
        let done = collected.done.unwrap();
        match player.done(&done) {
            Verdict::AsAnswered => match &done.result {
                Ok(_) => played.succeeded += 1,
                Err(failure) => played.failed.push(failure.cause),
            },
            Verdict::Expected => played.expected += 1,
            Verdict::Excused => played.excused += 1,
            Verdict::Failed(cause) => played.failed.push(cause),
        }
        if faulty == Some(Cause::ConnectionReset) {
            client.leave(0, &mut Outbox::new(), &mut Collected::default());
            player.reconnected();
        }
    }
}

fn failed(cause: Cause) -> Done {
    Done { tag: Tag(1), at: 0, result: Err(Failure::without_answer(cause)) }
}

fn player(text: &str, plays: u32) -> (Player, Arc<Account>, Arc<Script>) {
    let (script, account) = (Arc::new(script(text)), Arc::new(Account::default()));
    let stage = Stage {
        script: script.clone(),
        account: account.clone(),
        content: Arc::new(Content::new(1)),
        root: "own".to_owned(),
        client_index: 3,
        seed: 7,
        plays: Some(plays),
    };
    (Player::new(stage), account, script)
}

#[test]
fn our_own_load_files_play_to_their_end_on_a_directory_and_leave_nothing() {
    for (name, text) in OWN {
        let folder = tempfile::tempdir().unwrap();
        let (mut player, account, script) = player(text, 2);
        let played = play(&mut player, folder.path(), |_| None);
        drop(player);
        let facts = account.take(&script);
        assert_eq!(played.failed, [], "{name}: {facts:#?}");
        assert!(facts[0].contains("completed 2 times"), "{name}: {facts:#?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{name} leaves something");
        assert!(played.expected > 2, "{name}");
        // FSINFO and PATHCONF of NFS are sent by no client here.
        let exceptions = if name == "nfs" { 2 } else { 0 };
        assert_eq!(facts.len(), 1 + exceptions, "{name}: {facts:#?}");
        assert_eq!(account.take(&script), [""; 0], "told once");
    }
}

#[test]
fn each_line_is_a_iteration() {
    let folder = tempfile::tempdir().unwrap();
    let (mut player, _, script) = player(OWN[0].1, 3);
    let played = play(&mut player, folder.path(), |_| None);
    assert_eq!(played.iterations, 3 * script.operations());
    assert_eq!((script.operations(), script.refusals()), (60, 13));
}

#[test]
fn what_comes_otherwise_is_counted_by_kind_with_its_first_lines() {
    let text = "Mkdir \"\\a\" NT_STATUS_OK\n\
                NTCreateX \"\\a\\b\" 0x40 0x1 7 NT_STATUS_OK\n\
                ReadX 7 0 10 10 NT_STATUS_OK\n\
                Mkdir \"\\a\\c\" NT_STATUS_ACCESS_DENIED\n\
                NTCreateX \"\\a\\f\" 0x40 0x2 8 NT_STATUS_OK\n\
                ReadX 8 0 10 10 NT_STATUS_OK\n\
                NTCreateX \"\\a\\f\" 0x1040 0x1 9 NT_STATUS_OK\n\
                NTCreateX \"\\a\\f\" 0x40 0x1 10 NT_STATUS_OBJECT_NAME_NOT_FOUND\n\
                FIND_FIRST \"\\a\\none*\" 260 1 0 NT_STATUS_OBJECT_PATH_NOT_FOUND\n";
    let folder = tempfile::tempdir().unwrap();
    let (mut player, account, script) = player(text, 1);
    let played = play(&mut player, folder.path(), |_| None);
    drop(player);
    let facts = account.take(&script);
    assert_eq!(played.failed, [Cause::Unexpected; 5], "{facts:#?}");
    assert_eq!(played.excused, 1, "deleting on close is SMB's");
    let collected = |fact: &str| assert!(facts.iter().any(|collected| collected.contains(fact)), "{fact}: {facts:#?}");
    collected("NTCreateX expected success, got ENOENT: 1 times, first in line 2");
    collected("skipped: ReadX (its file is not open): 1 times, first in line 3");
    collected("Mkdir expected STATUS_ACCESS_DENIED, got success: 1 times, first in line 4");
    collected("ReadX transferred a different number of bytes than expected: 1 times, first in line 6");
    collected("not possible: NTCreateX (the protocol has no equivalent): 1 times, first in line 7");
    collected("NTCreateX expected STATUS_OBJECT_NAME_NOT_FOUND, got success: 1 times, first in line 8");
    collected("FIND_FIRST expected STATUS_OBJECT_PATH_NOT_FOUND, got success");
    // A file that should not have existed is closed again, and so are files still open at the end.
    let closed = played.operations.iter().filter(|operation| operation.starts_with("Close")).count();
    assert_eq!(closed, 2, "{:#?}", played.operations);
}

/// A client that has nothing to unlock does not lack the operation.
#[test]
fn only_what_the_protocol_lacks_is_excused() {
    let text = "NTCreateX \"\\f\" 0x40 0x2 8 NT_STATUS_OK\nUnlockX 8 0 1 NT_STATUS_OK\n";
    let folder = tempfile::tempdir().unwrap();
    let played = play(&mut player(text, 1).0, folder.path(), |_| None);
    let unlock = played.operations.iter().position(|operation| operation.starts_with("Unlock")).unwrap();
    for cause in [Cause::Unsupported, Cause::NoLock, Cause::LocksUnknown, Cause::SessionLost] {
        let excused = u64::from(cause == Cause::Unsupported);
        let folder = tempfile::tempdir().unwrap();
        let (mut player, account, script) = player(text, 1);
        let played = play(&mut player, folder.path(), |operation| (operation == unlock).then_some(cause));
        drop(player);
        assert_eq!((played.excused, played.failed.len() as u64), (excused, 1 - excused), "{cause:?}");
        let facts = account.take(&script);
        let lacking = facts.iter().any(|fact| fact.contains("the protocol has no equivalent"));
        assert_eq!(lacking, excused == 1, "{cause:?}: {facts:#?}");
    }
    for expected in ["NT_STATUS_RANGE_NOT_LOCKED", "*"] {
        let text = text.replace("1 NT_STATUS_OK", &format!("1 {expected}"));
        let folder = tempfile::tempdir().unwrap();
        let (mut player, ..) = player(&text, 1);
        let played = play(&mut player, folder.path(), |operation| (operation == unlock).then_some(Cause::NoLock));
        assert_eq!((played.failed, played.excused), (vec![], 0), "{expected}");
    }
}

#[test]
fn a_lost_connection_begins_the_play_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (mut player, account, script) = player(OWN[0].1, 1);
    let played = play(&mut player, folder.path(), |operation| (operation == 30).then_some(Cause::ConnectionReset));
    assert_eq!(played.failed, [Cause::ConnectionReset]);
    let facts = account.take(&script);
    assert!(
        facts[0].contains("completed 1 times") && facts[1].contains("restarts by clients after lost connections: 1"),
        "{facts:#?}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn lines_with_times_wait_for_them() {
    let (mut player, ..) = player("1.5 Mkdir \"\\a\" *\n2.0 Mkdir \"\\b\" *\nMkdir \"\\c\" *\n", 1);
    let mut at = 1_000_000_000;
    let mut waits = Vec::new();
    for _ in 0..30 {
        match player.next() {
            ScenarioStep::Think(ns) => {
                waits.push(ns);
                at += ns as i64;
            }
            ScenarioStep::Act(Operation::List { .. }, _) => {
                let mut done = failed(Cause::Unsupported);
                done.at = at;
                player.done(&done);
            }
            ScenarioStep::Act(..) => {
                at += 100_000_000;
                player.done(&Done { tag: Tag(1), at, result: Ok(plimsoll_client::Reply::Nothing) });
            }
            ScenarioStep::IterationOver | ScenarioStep::Finished => {}
        }
    }
    // The first line begins the play's time.
    assert_eq!(waits, [1_500_000_000, 400_000_000]);
}

#[test]
fn drawn_strings_and_places_are_as_the_script_says() {
    let text = "RANDOMSTRING 1 \"/f[ab][01]\"\nLOOP 50\nCREATE3 $1 *\nWRITE3 $1 *%100/8+1 5 0 *\nENDLOOP\n";
    let folder = tempfile::tempdir().unwrap();
    let (mut player, ..) = player(text, 1);
    let played = play(&mut player, folder.path(), |_| None);
    let offsets: Vec<u64> = played
        .operations
        .iter()
        .filter_map(|operation| operation.split_once("offset: ")?.1.split(',').next()?.parse().ok())
        .collect();
    assert!(offsets.iter().all(|offset| offset % 8 == 1 && *offset <= 97) && offsets.len() == 50, "{offsets:?}");
    assert!(offsets.iter().any(|offset| *offset != offsets[0]));
    let name = played.operations.iter().find_map(|operation| Some(&operation.split_once("own/f")?.1[..2])).unwrap();
    assert!(["a0", "a1", "b0", "b1"].contains(&name), "{name}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, line, problem) in [
        ("# nothing\n\n", 2, "contains no operations"),
        (
            "Close 5 NT_STATUS_OK\nFrobnicate 5 NT_STATUS_OK\n",
            2,
            "Frobnicate: expected an operation of dbench 3, 4 or 5",
        ),
        ("Close 5\n", 1, "a status at the end"),
        ("Close 5 NT_STATUS_FINE\n", 1, "a status at the end"),
        ("Close NT_STATUS_OK\n", 1, "missing argument: a handle"),
        ("Close 5 6 NT_STATUS_OK\n", 1, "6: unexpected extra argument"),
        ("Close -1 NT_STATUS_OK\n", 1, "expected a number"),
        ("NTCreateX \"\\a\" 0x41 1 2 NT_STATUS_OK\n", 1, "both a directory and a file"),
        ("NTCreateX \"\\a\" 0x40 9 2 NT_STATUS_OK\n", 1, "from 0 to 5"),
        ("NTCreateX \"a\" 0x40 1 2 NT_STATUS_OK\n", 1, "a path that starts with"),
        ("Unlink \"\\a\\..\\..\\b\" NT_STATUS_OK\n", 1, "leaves the client"),
        ("Unlink \"\\a NT_STATUS_OK\n", 1, "missing closing quote"),
        ("QUERY_PATH_INFORMATION \"\\a\" 3 NT_STATUS_OK\n", 1, "level 3"),
        ("SET_FILE_INFORMATION 5 1020 NT_STATUS_OK\n", 1, "level 1020"),
        ("SMBcreate \"\\a\" 5 6\n", 1, "dbench 1"),
        ("LOOP 2\nLOOP 2\n", 2, "not allowed inside a loop"),
        ("LOOP 2\nENDLOOP\n", 2, "the loop is empty"),
        ("LOOP 2\nClose 5 *\n", 2, "without ENDLOOP"),
        ("ENDLOOP\n", 1, "ENDLOOP without LOOP"),
        ("REPEAT 0\n", 1, "above 0"),
        ("Close 5 *\nREPEAT 2\n", 2, "without a following"),
        ("WAITSP 1 1\n", 1, "is not supported"),
        ("RANDOMSTRING 1 \"[ab\"\n", 1, "non-empty"),
        ("-1.0 Close 5 *\n", 1, "expected an operation"),
        ("1e9 Close 5 *\n", 1, "from 0 to 1e7"),
    ] {
        let (at, said) = wrong(text);
        assert!(at == line && said.contains(problem), "{text:?}: line {at}: {said}");
    }
}

#[test]
fn everything_has_its_bound() {
    let long = format!("Unlink \"\\{}\" *\n", "a".repeat(5000));
    assert!(wrong(&long).1.contains("4096 bytes"));
    let open = |n: u32| format!("NTCreateX \"\\a\" 0x40 3 {n} *\n");
    let many: String = (0..4097).map(open).collect();
    assert_eq!(wrong(&many), (4097, "too many open files at this line: the limit is 4096".to_owned()));
    let closed: String = (0..5000).map(|n| open(n) + &format!("Close {n} *\n")).collect();
    assert_eq!(script(&closed).open_files(), 1);
}

#[test]
fn load_files_may_be_compressed() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.load.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(OWN[0].1.as_bytes()).unwrap();
    std::fs::write(&path, gzip.finish().unwrap()).unwrap();
    assert_eq!(LoadFile::read(&path).unwrap().text, OWN[0].1);
    std::fs::write(&path, b"Close 5 *\nClose \xFF *\n").unwrap();
    assert_eq!(LoadFile::read(&path).unwrap_err().line, 2);
    std::fs::write(&path, [0x1F, 0x8B, 0, 1, 2]).unwrap();
    assert_eq!(LoadFile::read(&path).unwrap_err().line, 0);
    assert!(LoadFile::read(folder.path()).unwrap_err().problem.contains("not a regular file"));
    let none = LoadFile::read(&folder.path().join("none")).unwrap_err();
    assert!(none.problem.contains("package dbench"), "{none}");
}

/// Lines that are often right.
fn any_line() -> impl Strategy<Value = String> {
    let names = "\
        NTCreateX Close ReadX WriteX Flush Rename Unlink Mkdir Rmdir Deltree FIND_FIRST QUERY_PATH_INFORMATION \
        QUERY_FILE_INFORMATION QUERY_FS_INFORMATION SET_FILE_INFORMATION LockX OPEN READ3 WRITE3 CREATE3 REMOVE3 \
        SYMLINK3 LOOP ENDLOOP REPEAT RANDOMSTRING SLEEP";
    let name = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    let words = r#""\a" "\a\b" "/a/c" "\a\*" $1 "x[01]" 1 2 0x40 0x1 0 64 260 1004 *%99/8 +5 +child ""#;
    let word = prop::sample::select(words.split(' ').collect::<Vec<_>>());
    let statuses = "NT_STATUS_OK NT_STATUS_OBJECT_NAME_NOT_FOUND 0x00000002 * ERROR SUCCESS 3".split(' ');
    let status = prop::sample::select(statuses.chain([""]).collect::<Vec<_>>());
    (name, prop::collection::vec(word, 0..6), status)
        .prop_map(|(name, words, status)| format!("{name} {} {status}", words.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_text_is_read_or_refused_with_its_line(text in "(?s).{0,200}") {
        if let Err(error) = Script::parse(&text) {
            prop_assert!(error.line <= text.lines().count());
        }
    }

    #[test]
    fn whatever_can_be_read_plays_to_its_end(lines in prop::collection::vec(any_line(), 1..40), reset in 0..50_usize) {
        let sound: Vec<String> = lines.into_iter().filter(|line| Script::parse(&format!("Mkdir \"\\a\" *\n{line}\n")).is_ok()).collect();
        let text = format!("Mkdir \"\\a\" *\n{}\n", sound.join("\n"));
        prop_assume!(Script::parse(&text).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let (mut player, account, script) = player(&text, 2);
        let played = play(&mut player, folder.path(), |operation| (operation == reset).then_some(Cause::ConnectionReset));
        drop(player);
        let facts = account.take(&script);
        prop_assert!(facts[0].contains("completed 2 times"), "{facts:#?}");
        prop_assert!(played.iterations >= 2 * script.operations());
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
