//! A request that was done although its answer was lost, and asked anew.

use super::client::Nfs4Client;
use super::job::{Goal, Job};
use crate::operation::{Disposition, Failure, Reply};

/// NFS4ERR_EXPIRED, STALE_STATEID, OLD_STATEID, BAD_STATEID: there is no such state.
const NO_STATE: [u32; 4] = [10_011, 10_023, 10_024, 10_025];
/// NFS4ERR_EXIST.
const EXIST: u32 = 17;
/// NFS4ERR_NOENT.
const NOENT: u32 = 2;

impl Nfs4Client {
    /// Whether a refusal of a request that was asked anew says that the first one was done, whose answer was lost.
    pub(super) fn was_done(&mut self, job: &mut Job, failure: &Failure) -> bool {
        let Some(status) = failure.status.filter(|_| job.again && job.walking().is_none()) else { return false };
        match (&mut job.goal, status) {
            (Goal::MakeDirectory | Goal::SymbolicLink(_) | Goal::Link, EXIST) | (Goal::Remove, NOENT) => {}
            (Goal::Rename, NOENT) => self.names_changed(job),
            (Goal::Close { .. }, status) if NO_STATE.contains(&status) => {}
            // What is there was made, and is opened.
            (Goal::Open(opening), EXIST) if opening.disposition == Disposition::Create => {
                opening.disposition = Disposition::OpenOrCreate;
                self.recovering.counts.done_before += 1;
                return true;
            }
            (Goal::OpenDirectory { makes }, EXIST) if *makes => {
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
