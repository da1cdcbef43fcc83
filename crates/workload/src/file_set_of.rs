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

    /// The files of one client if each client has its own (then the flag is true), otherwise those of the workload's own load.
    ///
    /// # Errors
    /// As [`FileSet::new`].
    pub fn per_client_or_whole(workload: &Workload) -> Result<(Self, bool), FileSetError> {
        let set = |clients| Self::new(workload, "", clients, &mut Names::with_limit(0));
        let (one, two) = (set(1)?, set(2)?);
        let is_per_client = one.files() > 0 && two.files() == 2 * one.files();
        let set = if is_per_client { one } else { set(workload.defaults().load.clients())? };
        Ok((set, is_per_client))
    }

    /// [`FileSet::new`] of one of several sets with different names: each can be used by a different run.
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
