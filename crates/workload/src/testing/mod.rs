//! For tests: a loop that runs slots on a file server, which is a map or a directory of this machine.

mod directory;
mod model;

use std::sync::Arc;

use plimsoll_client::operation::{Cause, Done, Failure, Operation, Reply, Tag};
use plimsoll_model::{Names, Outcome, Procedure, Protocol};
use rand::Rng as _;

use super::fileset::{Create, FileSet, Job};
use crate::scenario::{Scenario, ScenarioStep, Verdict};
use crate::{Rng, Workload, seed_of};

pub(super) use directory::Directory;
use model::LACKING;
pub(super) use model::Model;

/// What slots are run on.
pub(super) trait Server {
    /// Performs an operation.
    fn act(&mut self, operation: &Operation<'_>, output: &mut Output) -> Result<Reply, String>;
}

/// The output of an operation in addition to its reply: the data read, with its offset, and names.
#[derive(Default)]
pub(super) struct Output {
    data: Vec<(u64, Vec<u8>)>,
    names: Vec<String>,
}

/// A server's refusal, as SMB would say it.
fn refused(problem: &str) -> Failure {
    let status = match problem {
        "no such file" | "no such directory" => 0xC000_0034,
        "is a directory" => 0xC000_00BA,
        LACKING => 0xC000_0010,
        _ => 0xC000_0001,
    };
    let procedure = Some(Procedure::of(Protocol::Smb2, 5));
    Failure { procedure, status: Some(status), outcome: Outcome::Refused, cause: Cause::Status }
}

/// Results of running the slots.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) iterations: u64,
    pub(super) errors: Vec<String>,
    pub(super) wrong: u64,
    /// Every operation, with its path where it has one.
    pub(super) operations: Vec<String>,
    pub(super) verified: u64,
}

/// A failure that a test injects.
fn failed(cause: Cause) -> Failure {
    Failure { procedure: None, status: None, outcome: Outcome::Failed, cause }
}

/// Runs slots, interleaved at random, until each has done `iterations` iterations or has finished. `fault` may fail an operation, given
/// the number of earlier ones.
pub(super) fn run(
    server: &mut impl Server,
    slots: &mut [Box<dyn Scenario>],
    iterations: u64,
    mut fault: impl FnMut(u64) -> Option<Cause>,
) -> Ran {
    let (mut ran, mut rng) = (Ran::default(), Rng::new(99));
    let mut left: Vec<(usize, u64)> = (0..slots.len()).map(|slot| (slot, iterations)).collect();
    while !left.is_empty() {
        let chosen = rng.random_range(0..left.len());
        let slot = &mut slots[left[chosen].0];
        let mut output = Output::default();
        let (result, shown) = match slot.next() {
            ScenarioStep::Think(_) => continue,
            ScenarioStep::IterationOver => {
                ran.iterations += 1;
                left[chosen].1 -= 1;
                left.retain(|(_, iterations)| *iterations > 0);
                continue;
            }
            ScenarioStep::Finished => {
                left.remove(chosen);
                continue;
            }
            ScenarioStep::Act(operation, _) => {
                let shown = format!("{operation:?}");
                match fault(ran.operations.len() as u64) {
                    Some(cause) => (Err((failed(cause), None)), shown),
                    None => {
                        let answer = server.act(&operation, &mut output);
                        (answer.map_err(|problem| (refused(&problem), Some(format!("{problem}: {shown}")))), shown)
                    }
                }
            }
        };
        ran.operations.push(shown);
        ran.verified += output.data.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>();
        output.data.iter().for_each(|(offset, piece)| slot.data(*offset, piece));
        output.names.iter().for_each(|name| slot.entry(name));
        let problem = result.as_ref().err().and_then(|(_, problem)| problem.clone());
        let result = result.map_err(|(failure, _)| failure);
        let lost = matches!(&result, Err(Failure { cause: Cause::ConnectionReset, .. }));
        let verdict = slot.done(&Done { tag: Tag(0), at: 0, result });
        ran.wrong += u64::from(verdict == Verdict::Failed(Cause::WrongData));
        ran.errors.extend(problem.filter(|_| verdict != Verdict::Expected));
        if lost {
            slot.reconnected();
        }
    }
    ran
}

/// No operation fails.
pub(super) fn sound(_: u64) -> Option<Cause> {
    None
}

/// The slots of `clients` clients.
pub(super) fn slots(workload: &Workload, files: &Arc<FileSet>, clients: u32, depth: u32) -> Vec<Box<dyn Scenario>> {
    let all = (0..clients).flat_map(|client_index| (0..depth).map(move |slot| (client_index, slot)));
    all.map(|(client_index, slot)| workload.scenario(files, client_index, slot, seed_of(7, client_index, slot)))
        .collect()
}

/// Slots of a job.
pub(super) fn workers(job: &Arc<impl Job + 'static>, count: usize) -> Vec<Box<dyn Scenario>> {
    (0..count).map(|_| job.clone().scenario()).collect()
}

/// A server with the files of a workload below the directory `base`.
pub(super) fn with_files(workload: &Workload, clients: u32) -> (Model, Arc<FileSet>) {
    let files = Arc::new(FileSet::new(workload, "base", clients, &mut Names::default()).unwrap());
    let mut server = Model::default();
    server.nodes.insert("base".to_owned(), None);
    let job = Create::new(files.clone());
    let ran = run(&mut server, &mut workers(&job, 3), u64::MAX, sound);
    assert_eq!(ran.errors, [""; 0]);
    job.outcome().unwrap();
    (server, files)
}
