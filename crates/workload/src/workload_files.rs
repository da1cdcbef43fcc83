//! The files of a workload.

use plimsoll_model::Names;

use crate::Workload;
use crate::fileset::{FileSet, FileSetError};

impl FileSet {
    /// The files of a workload below `base` (a directory of the share or export, parts separated by `/`, or empty), for
    /// so many clients. Its paths are put into `names`, as far as there is room.
    ///
    /// # Errors
    /// So many clients would need too many files.
    pub fn new(workload: &Workload, base: &str, clients: u32, names: &mut Names) -> Result<Self, FileSetError> {
        Self::called(None, workload, base, clients, names)
    }

    /// The same, one of several that differ in what they are `called`: each can be in use by another run.
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
