//! `git bisect run` with `plimsoll gate` in a real repository of a server, one of whose commits makes every call 10 % slower.

use std::process::{Command, Output};
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::output_within;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};

/// Commits of the repository.
const COMMITS: usize = 6;
/// Response time before and after the slow commit, in ms: 2 ms are far more than a busy machine adds on average.
const BEFORE_MS: u64 = 20;
const AFTER_MS: u64 = 22;
/// No bisection takes as long.
const LIMIT: Duration = Duration::from_secs(900);

/// The command for `git bisect run`: it builds nothing, because both servers exist; the tree determines which one. Git treats any code
/// but 0 and 125 as a bad commit.
const STEP: &str = "\
[ \"$(cat delay_ms)\" = \"$BEFORE_MS\" ] && new=$OLD || new=$SLOW
\"$PLIMSOLL\" gate \"$OLD\" \"$new\" look.toml -q \
    --fail-if 'mean > +5%' --most-rounds 20 --budget 60s --exit-undecided 125
code=$?
[ $code -le 1 ] || code=125
exit $code
";

/// A workload of which each answer takes that long: few files, so that a run has hardly begun when it measures.
const WORKLOAD: &str = "\
name = \"look\"
description = \"Attributes of files by path\"
files = { count = 4, directories = 1, depth = 1, size = \"1KiB\", shared = \"by-all\", seed = 1 }
load = { clients = 2, depth = 1, think = \"0s\", warmup = \"50ms\", duration = \"400ms\" }
[[iterations]]
name = \"look\"
on = \"file\"
pick = \"uniform\"
steps = [\"getattr\"]
";

/// How a bisection ended.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// It names this commit.
    Commit(usize),
    /// Only commits are left that could not be judged, because the machine was too busy.
    Undecided,
}

/// A server that delays its answers by this time, and its target.
fn server(delay_ms: u64) -> (Embedded, Faulty, String) {
    let embedded = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let late = Rule::answers(Which::From(0), Fault::Delayed(Duration::from_millis(delay_ms)));
    let proxy = Faulty::start(embedded.address(), Framing::Rpc, vec![late]).unwrap();
    let [port, proxied] = [embedded.address(), proxy.address()].map(|address| address.port().to_string());
    let target = embedded.target().replace(&port, &proxied);
    (embedded, proxy, target)
}

/// A repository of the server.
struct Repository {
    folder: Scratch,
    /// The server before the slow commit, and from it on.
    targets: [String; 2],
}

impl Repository {
    /// One whose `slow`th commit, counted from 0, is the slow one.
    fn new(slow: usize, targets: [String; 2]) -> Self {
        let repository = Self { folder: Scratch::new("bisect"), targets };
        repository.succeeds(&["init", "--quiet"]);
        std::fs::write(repository.folder.path().join("look.toml"), WORKLOAD).unwrap();
        for number in 0..COMMITS {
            let delay_ms = if number < slow { BEFORE_MS } else { AFTER_MS };
            let write = |name: &str, text: String| std::fs::write(repository.folder.path().join(name), text).unwrap();
            write("delay_ms", format!("{delay_ms}\n"));
            write("number", format!("{number}\n"));
            repository.succeeds(&["add", "--all"]);
            repository.succeeds(&["commit", "--quiet", "--message", &format!("Commit {number}")]);
        }
        repository
    }

    fn git(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"]);
        command.args(arguments).current_dir(self.folder.path());
        command.env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll")).env("BEFORE_MS", BEFORE_MS.to_string());
        command.env("OLD", &self.targets[0]).env("SLOW", &self.targets[1]);
        // Where the tests are run by a hook, git would find the repository of the hook.
        command.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env("GIT_CONFIG_GLOBAL", "/dev/null");
        output_within(&mut command, LIMIT)
    }

    fn succeeds(&self, arguments: &[&str]) {
        let ended = self.git(arguments);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    /// Bisects from the first commit to the last.
    fn bisect(&self) -> Found {
        self.succeeds(&["bisect", "start", "HEAD", &format!("HEAD~{}", COMMITS - 1)]);
        let ran = self.git(&["bisect", "run", "sh", "-c", STEP]);
        let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        if said.contains("There are only 'skip'ped commits left to test") {
            // A gate that never has a number would reach the limit of rounds, too.
            let numbers_vary = || said.contains("rounds is reached") && !said.contains("no interval");
            assert!(said.contains("is INVALID") || said.contains("time budget") || numbers_vary(), "{said}");
            return Found::Undecided;
        }
        let (_, named) = said.split_once(" is the first bad commit").unwrap_or_else(|| panic!("{said}"));
        let commit = named.lines().find_map(|line| line.trim().strip_prefix("Commit ")?.parse().ok());
        Found::Commit(commit.unwrap_or_else(|| panic!("{said}")))
    }
}

#[test]
fn a_bisection_finds_the_slow_commit_or_says_that_it_cannot_tell() {
    let _alone = crate::alone();
    let tries = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 10 } else { 1 };
    let [(_a, _old, old), (_b, _new, new)] = [BEFORE_MS, AFTER_MS].map(server);
    let mut found = 0;
    for number in 0..tries {
        let slow = 1 + (number * 7 + 2) % (COMMITS - 1);
        let came = Repository::new(slow, [old.clone(), new.clone()]).bisect();
        println!("bisect: slow commit {slow}: {came:?}");
        assert!(came == Found::Commit(slow) || came == Found::Undecided, "it blames another: {slow}, {came:?}");
        found += usize::from(came == Found::Commit(slow));
    }
    println!("bisect: found {found} of {tries}, blamed another 0 times");
}
