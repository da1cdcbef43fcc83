//! Removes a directory with the objects that a load file created in it.

use std::sync::Arc;

use plimsoll_client::operation::{Done, Failure, Operation};
use plimsoll_model::Symbol;

use super::job::{FileSetError, again};
use crate::dbench::MadePaths;
use crate::scenario::{ScenarioStep, Verdict};

/// Maximum number of known objects in the tree: paths, and one more per level. The rest is listed when these are removed.
const MOST: usize = 1 << 20;
/// Listings of one directory: a server that shows the same names after they were removed would be asked for ever.
const MOST_LISTINGS: u32 = 64;

/// The tree of a player: its root, and the possible objects below it.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) root: String,
    pub(crate) made: Arc<MadePaths>,
}

impl Tree {
    fn can_hold(&self, path: &str) -> bool {
        path.strip_prefix(self.root.as_str())
            .and_then(|below| below.strip_prefix('/'))
            .is_some_and(|below| self.made.has(below))
    }
}

/// Removes a path, one operation at a time. That something is gone already is no failure.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The possible objects; `None` if nothing is listed or removed below the path.
    tree: Option<Tree>,
    /// Remaining tasks; the last one is next.
    tasks: Vec<Task>,
    names: Vec<String>,
    /// In the directory that is being listed, and not of the tree.
    foreign: Option<String>,
    overflowed: bool,
    /// Times in a row that the next task has failed with its connection.
    attempts: u32,
}

#[derive(Debug)]
enum Task {
    /// To be listed, after this number of earlier listings.
    List(String, u32),
    /// Perhaps a directory: then the server says so, and it is listed.
    File(String),
    /// Listed, after this number of listings.
    Directory(String),
    /// An object that the server does not treat as a directory: a link, which is removed itself. The server's next answer is final.
    Link(String),
}

/// How one operation of a sweep went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// Well.
    Well,
    /// It was refused, and that was to be expected.
    Expected,
    /// The connection failed: it is done once more.
    Again,
    /// It failed, and with it the sweep.
    Failed(FileSetError),
}

impl Swept {
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Swept::Expected => Verdict::Expected,
            Swept::Well | Swept::Again | Swept::Failed(_) => Verdict::AsAnswered,
        }
    }
}

impl Sweep {
    /// Removes the object with this name, if it exists: the root of the tree, or a path below it. A directory is removed with its
    /// contents if the tree can contain them; otherwise the sweep fails. A symbolic link is removed itself, its target stays.
    pub(crate) fn tree(path: String, tree: Tree) -> Self {
        Self::of(Task::File(path), Some(tree))
    }

    /// Removes this directory if it exists and is empty. Nothing is listed: if it is a link that the server follows, the target's
    /// contents stay.
    pub(crate) fn empty(path: String) -> Self {
        Self::of(Task::Directory(path), None)
    }

    fn of(task: Task, tree: Option<Tree>) -> Self {
        Self { tree, tasks: vec![task], names: Vec::new(), foreign: None, overflowed: false, attempts: 0 }
    }

    /// What to do next; [`ScenarioStep::IterationOver`] when all is gone.
    pub(crate) fn step(&self) -> ScenarioStep<'_> {
        let operation = match self.tasks.last() {
            Some(Task::List(path, _)) => Operation::List { path },
            Some(Task::File(path) | Task::Link(path)) => Operation::Remove { path },
            Some(Task::Directory(path)) => Operation::Rmdir { path },
            None => return ScenarioStep::IterationOver,
        };
        ScenarioStep::Act(operation, Symbol::NONE)
    }

    /// Nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.tasks.is_empty()
    }

    /// A name in the directory that is being listed.
    pub(crate) fn entry(&mut self, name: &str) {
        let Some(Task::List(directory, _)) = self.tasks.last() else { return };
        let path = format!("{directory}/{name}");
        if !self.tree.as_ref().is_some_and(|tree| tree.can_hold(&path)) {
            self.foreign.get_or_insert(path);
        } else if self.names.is_empty() || self.tasks.len() + self.names.len() < MOST {
            // One at least, or nothing would ever go.
            self.names.push(path);
        } else {
            self.overflowed = true;
        }
    }

    /// How the last operation went.
    pub(crate) fn done(&mut self, done: &Done) -> Swept {
        let Some(task) = self.tasks.pop() else { return Swept::Well };
        if let Err(failure) = &done.result
            && again(failure, self.attempts + 1)
        {
            self.attempts += 1;
            self.tasks.push(task);
            self.reconnected();
            return Swept::Again;
        }
        self.attempts = 0;
        match (task, &done.result) {
            (Task::List(path, listings), Ok(_)) => self.listed(path, listings),
            (_, Ok(_)) => Swept::Well,
            (_, Err(failure)) if failure.is_not_there() => {
                self.reconnected();
                Swept::Expected
            }
            (Task::File(path), Err(failure)) if failure.is_a_directory() => {
                self.tasks.push(Task::List(path, 0));
                Swept::Expected
            }
            // A link in the place of a directory goes itself.
            (Task::Directory(path), Err(failure)) if failure.is_no_directory() => {
                self.tasks.push(Task::Link(path));
                Swept::Expected
            }
            (Task::Link(path), Err(failure)) if failure.is_a_directory() => {
                self.failed(FileSetError::Contradictory { path, said: "first not a directory, then a directory" })
            }
            (Task::List(path, _) | Task::File(path) | Task::Directory(path) | Task::Link(path), Err(failure)) => {
                self.failed(FileSetError::Failed { doing: "removing", path, failure: Failure::clone(failure) })
            }
        }
    }

    fn listed(&mut self, path: String, listings: u32) -> Swept {
        if let Some(foreign) = self.foreign.take() {
            return self.failed(FileSetError::Foreign(foreign));
        }
        let names = std::mem::take(&mut self.names);
        if !std::mem::take(&mut self.overflowed) {
            self.tasks.push(Task::Directory(path));
        } else if listings < MOST_LISTINGS {
            // What there was no room for is listed when this much is gone.
            self.tasks.push(Task::List(path, listings + 1));
        } else {
            return self.failed(FileSetError::Contradictory {
                path,
                said: "a directory listing still has the names of removed files",
            });
        }
        self.tasks.extend(names.into_iter().map(Task::File));
        Swept::Well
    }

    fn failed(&mut self, error: FileSetError) -> Swept {
        self.tasks.clear();
        self.reconnected();
        Swept::Failed(error)
    }

    /// The connection was lost and made again: repeats the outstanding operation.
    pub(crate) fn reconnected(&mut self) {
        self.names.clear();
        self.foreign = None;
        self.overflowed = false;
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure, Protocol};

    use super::*;
    use crate::dbench::Script;
    use plimsoll_client::operation::{Cause, Reply, Tag};

    /// NFS3ERR_NOTDIR and NFS3ERR_ISDIR.
    const NO_DIRECTORY: u32 = 20;
    const A_DIRECTORY: u32 = 21;

    fn tree() -> Tree {
        let script = Script::parse("Mkdir \"\\a\" *\nMkdir \"\\a\\b\" *\n").unwrap_or_else(|error| panic!("{error:?}"));
        Tree { root: "own".to_owned(), made: Arc::clone(script.made()) }
    }

    /// The end of a sweep when `says` answers every operation; `None` if it does not end.
    fn end(mut sweep: Sweep, mut says: impl FnMut(&Operation<'_>) -> (u32, Vec<&'static str>)) -> Option<Swept> {
        for _ in 0..10_000 {
            let ScenarioStep::Act(operation, _) = sweep.step() else { return Some(Swept::Well) };
            let (status, names) = says(&operation);
            names.iter().for_each(|name| sweep.entry(name));
            let refused = Failure {
                procedure: Some(Procedure::of(Protocol::Nfs3, 12)),
                status: Some(status),
                outcome: Outcome::Refused,
                cause: Cause::Status,
            };
            let result = if status == 0 { Ok(Reply::Nothing) } else { Err(refused) };
            let swept = sweep.done(&Done { tag: Tag(0), at: 0, result });
            if sweep.is_over() {
                return Some(swept);
            }
        }
        None
    }

    #[test]
    fn a_server_that_contradicts_itself_is_told_so() {
        let says = |operation: &Operation<'_>| match operation {
            Operation::Remove { .. } => (A_DIRECTORY, vec![]),
            Operation::Rmdir { .. } => (NO_DIRECTORY, vec![]),
            _ => (0, vec![]),
        };
        for sweep in [Sweep::tree("own".to_owned(), tree()), Sweep::empty("own".to_owned())] {
            let Some(Swept::Failed(error)) = end(sweep, says) else { panic!("it goes on") };
            assert!(
                error
                    .to_string()
                    .starts_with("own: the server reports contradictory states (first not a directory, then"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_the_load_file_does_not_make_stays() {
        let mut removed = Vec::new();
        let says = |operation: &Operation<'_>| match operation {
            Operation::List { path: "own" } => (0, vec!["A"]),
            Operation::List { path: "own/A" } => (0, vec!["b", "letter", "../x"]),
            Operation::Remove { path } if ["own", "own/A"].contains(path) => (A_DIRECTORY, vec![]),
            _ => {
                removed.push(format!("{operation:?}"));
                (0, vec![])
            }
        };
        let end = end(Sweep::tree("own".to_owned(), tree()), says);
        assert_eq!(end, Some(Swept::Failed(FileSetError::Foreign("own/A/letter".to_owned()))));
        assert_eq!(removed, [""; 0]);
    }
}
