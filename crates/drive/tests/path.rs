//! The path target under the engine: file sets are made, every workload runs, nothing is left.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::Path;
use std::sync::Arc;

use plimsoll_drive::engine::{self, Load, Pause, Phases, Plan, Ran, Watch};
use plimsoll_drive::reach::{Scenarios, Wishes, Work, open};
use plimsoll_drive::target::Target;
use plimsoll_drive::workload::fileset::{Create, Found, Job, Look, Remove, Verify};
use plimsoll_drive::workload::{BUILTINS, FileSet};
use plimsoll_model::{Names, Outcome, Protocol, Transaction};

/// Runs a load on a folder until its scenarios finish, or for so many ns.
fn run(folder: &Path, stations: u32, measured_ns: Option<u64>, scenarios: Scenarios<'_>) -> Ran<Vec<Transaction>> {
    let mut names = Names::default();
    let target = Target::Path(folder.to_owned());
    let server = open(&target, &Wishes::default(), &mut names).unwrap();
    let work = Work { server: server.as_ref(), scenarios, names: Arc::new(names) };
    let mut plan = Plan::new(Load::Closed { stations, think: Pause::None });
    plan.phases = Phases { warmup_ns: 0, measured_ns, ..Phases::default() };
    engine::run(&plan, &work, |_| Vec::new(), &Watch::new()).unwrap()
}

fn finish(folder: &Path, job: &Arc<impl Job + 'static>) -> u64 {
    let ran = run(folder, 3, None, Box::new(|_, _, _| job.clone().scenario()));
    let errors: u64 = ran.stations.iter().map(engine::StationTally::error_count).sum();
    assert_eq!(errors, 0);
    let progress = job.progress();
    assert_eq!(progress.done, progress.total);
    progress.total
}

#[test]
fn every_builtin_runs_on_a_directory_under_the_engine() {
    for builtin in BUILTINS {
        let folder = tempfile::tempdir().unwrap();
        let workload = builtin.workload().unwrap();
        let files = Arc::new(FileSet::new(&workload, "", 3, &mut Names::default()).unwrap());

        let create = Create::new(files.clone());
        assert_eq!(finish(folder.path(), &create), files.files() + files.directories() + 1);
        create.outcome().unwrap();
        let look = Look::new(files.clone());
        finish(folder.path(), &look);
        assert_eq!(look.outcome(), Ok(Found::Set));

        // However slow the machine is, a run has a first action.
        let scenarios: Scenarios<'_> = Box::new(|station, lane, seed| workload.scenario(&files, station, lane, seed));
        let ran = run(folder.path(), 3, Some(300_000_000), scenarios);
        for station in &ran.stations {
            assert_eq!((&station.errors, &station.errors_outside), (&Vec::new(), &Vec::new()), "{}", builtin.name);
        }
        let transactions: Vec<&Transaction> = ran.sinks.iter().flatten().collect();
        assert!(!transactions.is_empty());
        for transaction in transactions {
            assert_eq!(transaction.procedure.row().protocol, Protocol::File);
            assert_eq!(transaction.outcome, Outcome::Succeeded);
            assert!(transaction.timeline.response_time().unwrap() >= 0);
        }

        // The end came in the middle of turns: what they left is taken for what it is.
        let verify = Verify::new(files.clone());
        finish(folder.path(), &verify);
        verify.outcome().unwrap();
        let remove = Remove::new(&files);
        finish(folder.path(), &remove);
        remove.outcome().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
