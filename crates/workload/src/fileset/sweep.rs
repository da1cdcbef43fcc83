//! Removes a directory with whatever is in it.

use plimsoll_client::action::{Action, Done, Failure};
use plimsoll_model::Symbol;

use super::job::again;
use crate::scenario::{Step, Verdict};

/// What is known to stand in the tree, at most: paths, and one more a level. The rest is listed when this much is gone.
const MOST: usize = 1 << 20;

/// Removes a directory with whatever is in it, an action at a time. That something is gone already is no failure.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// What is left to do; the last is next.
    tasks: Vec<Task>,
    names: Vec<String>,
    overflowed: bool,
    /// Times in a row that the next task has failed with its connection.
    attempts: u32,
}

#[derive(Debug)]
enum Task {
    List(String),
    /// Perhaps a directory: then the server says so, and it is listed.
    File(String),
    /// One that was listed.
    Directory(String),
}

/// How one action of a sweep went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// Well.
    Well,
    /// It was refused, and that was to be expected.
    Expected,
    /// The connection failed: it is done once more.
    Again,
    /// It failed, and with it the sweep.
    Failed(String, Failure),
}

impl Swept {
    /// What that counts as.
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Swept::Expected => Verdict::Expected,
            Swept::Well | Swept::Again | Swept::Failed(..) => Verdict::AsAnswered,
        }
    }
}

impl Sweep {
    /// Removes this directory, if it is there.
    pub(crate) fn new(root: String) -> Self {
        Self { tasks: vec![Task::List(root)], names: Vec::new(), overflowed: false, attempts: 0 }
    }

    /// Removes what has this name, if it is there; a directory with whatever is in it. A symbolic link goes itself, and what it
    /// leads to stays: somebody else may have made it.
    pub(crate) fn whatever_is(path: String) -> Self {
        Self { tasks: vec![Task::File(path)], names: Vec::new(), overflowed: false, attempts: 0 }
    }

    /// Removes this directory if nothing is in it, and if it is there. Nothing is listed: where it is a link that the server follows,
    /// nothing behind it goes.
    pub(crate) fn empty(path: String) -> Self {
        Self { tasks: vec![Task::Directory(path)], names: Vec::new(), overflowed: false, attempts: 0 }
    }

    /// What to do next; [`Step::TurnOver`] when all is gone.
    pub(crate) fn step(&self) -> Step<'_> {
        let action = match self.tasks.last() {
            Some(Task::List(path)) => Action::List { path },
            Some(Task::File(path)) => Action::Remove { path },
            Some(Task::Directory(path)) => Action::RemoveDirectory { path },
            None => return Step::TurnOver,
        };
        Step::Act(action, Symbol::NONE)
    }

    /// Nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.tasks.is_empty()
    }

    /// A name in the directory that is being listed.
    pub(crate) fn entry(&mut self, name: &str) {
        // One at least, or nothing would ever go.
        if self.names.is_empty() || self.tasks.len() + self.names.len() < MOST {
            self.names.push(name.to_owned());
        } else {
            self.overflowed = true;
        }
    }

    /// How the last action went.
    pub(crate) fn done(&mut self, done: &Done) -> Swept {
        let Some(task) = self.tasks.pop() else { return Swept::Well };
        if let Err(failure) = &done.result
            && again(failure, self.attempts + 1)
        {
            self.attempts += 1;
            self.tasks.push(task);
            self.names.clear();
            return Swept::Again;
        }
        self.attempts = 0;
        match (task, &done.result) {
            (Task::List(path), Ok(_)) => {
                let names = std::mem::take(&mut self.names);
                // What there was no room for is listed when this much is gone.
                let again = std::mem::take(&mut self.overflowed);
                let files = names.iter().map(|name| Task::File(format!("{path}/{name}"))).collect::<Vec<_>>();
                self.tasks.push(if again { Task::List(path) } else { Task::Directory(path) });
                self.tasks.extend(files);
                Swept::Well
            }
            (_, Ok(_)) => Swept::Well,
            (_, Err(failure)) if failure.is_not_there() => {
                self.names.clear();
                Swept::Expected
            }
            (Task::File(path), Err(failure)) if failure.is_a_directory() => {
                self.tasks.push(Task::List(path));
                Swept::Expected
            }
            // A link in the place of a directory goes itself.
            (Task::Directory(path), Err(failure)) if failure.is_no_directory() => {
                self.tasks.push(Task::File(path));
                Swept::Expected
            }
            (Task::List(path) | Task::File(path) | Task::Directory(path), Err(failure)) => {
                self.tasks.clear();
                Swept::Failed(path, failure.clone())
            }
        }
    }

    /// The connection was lost and made again: what was under way is done once more.
    pub(crate) fn reconnected(&mut self) {
        self.names.clear();
        self.overflowed = false;
    }
}
