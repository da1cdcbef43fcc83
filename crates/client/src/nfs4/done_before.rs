//! A request that was done although its answer was lost, and asked anew.

use plimsoll_wire::nfs::status::{
    NFS4ERR_BAD_STATEID, NFS4ERR_EXIST, NFS4ERR_EXPIRED, NFS4ERR_NOENT, NFS4ERR_OLD_STATEID, NFS4ERR_STALE_STATEID,
};

use super::client::Nfs4Client;
use super::job::{Goal, Job};
use crate::operation::{Disposition, Failure, Reply};

/// There is no such state.
const NO_STATE: [u32; 4] = [NFS4ERR_EXPIRED, NFS4ERR_STALE_STATEID, NFS4ERR_OLD_STATEID, NFS4ERR_BAD_STATEID];

impl Nfs4Client {
    /// Whether a refusal of a request that was asked anew says that the first one was done, whose answer was lost.
    pub(super) fn was_done(&mut self, job: &mut Job, failure: &Failure) -> bool {
        let Some(status) = failure.status.filter(|_| job.again && job.walking().is_none()) else { return false };
        match (&mut job.goal, status) {
            (Goal::MakeDirectory | Goal::SymbolicLink(_) | Goal::Link, NFS4ERR_EXIST)
            | (Goal::Remove, NFS4ERR_NOENT) => {}
            (Goal::Rename, NFS4ERR_NOENT) => self.names_changed(job),
            (Goal::Close { .. }, status) if NO_STATE.contains(&status) => {}
            // What is there was made, and is opened.
            (Goal::Open(opening), NFS4ERR_EXIST) if opening.disposition == Disposition::Create => {
                opening.disposition = Disposition::OpenOrCreate;
                self.recovering.counts.done_before += 1;
                return true;
            }
            (Goal::OpenDirectory { makes }, NFS4ERR_EXIST) if *makes => {
                *makes = false;
                job.walks.iter_mut().flatten().for_each(|walk| walk.whole = true);
                self.recovering.counts.done_before += 1;
                return true;
            }
            _ => return false,
        }
        if matches!(job.goal, Goal::Remove) {
            self.names_changed(job);
        }
        self.recovering.counts.done_before += u64::from(!matches!(job.goal, Goal::Close { .. }));
        job.reply = Some(Reply::Nothing);
        true
    }
}
