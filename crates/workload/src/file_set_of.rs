//! The set of the files that a workload needs.

use plimsoll_model::Names;

use crate::Workload;
use crate::fileset::{FileSet, FileSetError};

impl FileSet {
    /// The files of a workload below `base` (a directory of the share or export, parts separated by `/`, or empty), for a number of
    /// clients. Adds its paths to `names`, as far as there is room.
    ///
    /// # Errors
    /// This number of clients would need too many files.
    pub fn new(workload: &Workload, base: &str, clients: u32, names: &mut Names) -> Result<Self, FileSetError> {
        Self::called(None, workload, base, clients, names)
    }

    /// The same, one of several sets with different names: each can be used by a different run.
    ///
    /// # Errors
    /// As [`FileSet::new`].
    pub fn called(
        called: Option<&str>,
        workload: &Workload,
        base: &str,
        clients: u32,
        names: &mut Names,
    ) -> Result<Self, FileSetError> {
        let replay = workload.work.replay.as_ref();
        let load_file = replay.map(|replay| (replay.loadfile.as_ref(), replay.made()));
        Self::of((workload.name(), called), &workload.work.files, load_file, base, clients, names)
    }
}
