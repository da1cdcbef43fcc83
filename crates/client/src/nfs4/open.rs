//! OPEN: the requests of an operation that opens a file, and the effect of the responses.

use plimsoll_wire::nfs::v4::close::ReturnDelegation;
use plimsoll_wire::nfs::v4::getattr::{ChangeAttributes, GetAttributes};
use plimsoll_wire::nfs::v4::open::{self, Claim, How, Opened};
use plimsoll_wire::nfs::v4::{GetHandle, Mask, SetAttributes};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::file::{File, Open};
use super::found::Found;
use super::job::{Goal, Job};
use super::open_state::OpenState;
use super::request_context::RequestContext;
use super::requests::Calling;
use super::shapes;
use crate::calls::Call;
use crate::nfs::Facts;
use crate::operation::{Cause, Disposition, Failure, Reply};

/// Permission bits of new files: umask 022.
const FILE_MODE: u32 = 0o644;

impl Calling<'_> {
    /// Opens a file. Returns an unwanted delegation, and truncates the file if OPEN cannot.
    pub(super) fn open(&mut self, job: &mut Job) -> bool {
        let (Goal::Open(opening), Some(walk)) = (&mut job.goal, &job.walks[0]) else { return false };
        if let (Some((handle, state, _)), true, Some(owner)) = (opening.opened, opening.unconfirmed, opening.owner) {
            return self.confirm_open(&handle, state, owner, job);
        }
        if let Some((handle, state, _)) = opening.opened {
            let delegation = opening.delegation;
            return match delegation {
                Some(state) => self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
                    compound.add(&ReturnDelegation { state });
                }),
                None => self.about(shapes::SET_ATTRIBUTES, &handle, job, |compound| {
                    compound.add(&ChangeAttributes { state, attributes: SetAttributes::size(0) });
                }),
            };
        }
        if opening.any && walk.attributes.is_none() {
            let handle = walk.handle;
            return self.about(shapes::GET_ATTRIBUTES, &handle, job, |compound| {
                compound.add(&GetAttributes(Mask::USUAL));
            });
        }
        if opening.any && self.client.options.is_sessionless() {
            opening.any = false;
            job.walks[0].iter_mut().for_each(|walk| self.client.back_to_directory(walk));
            return self.next(job);
        }
        let owner = *opening.owner.get_or_insert_with(|| self.client.opens.owners.take());
        let fresh = SetAttributes::mode(FILE_MODE);
        let how = match opening.disposition {
            Disposition::Open | Disposition::Overwrite => How::Existing,
            Disposition::Create => How::Guarded(fresh),
            Disposition::OpenOrCreate => How::Unchecked(fresh),
            Disposition::OverwriteOrCreate | Disposition::Supersede => {
                How::Unchecked(SetAttributes { size: Some(0), ..fresh })
            }
        };
        let claim = if opening.any { Claim::Current } else { Claim::Name(walk.name()) };
        let (access, client) = (self.share_access(opening.access), self.client.client_id.number());
        let (sequence, name) = (self.open_sequence(owner), self.client.opens.owners.name(owner));
        let shape = if opening.any { shapes::OPEN_HANDLE } else { shapes::OPEN_NAME };
        self.about(shape, &walk.handle, job, |compound| {
            compound.add(&open::Open { access, sequence, client, owner: &name, how, claim });
            if shape == shapes::OPEN_NAME {
                compound.add(&GetHandle);
            }
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }
}

impl Nfs4Client {
    /// Handles a step of an OPEN.
    pub(super) fn opened(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        found: &Found<'_>,
    ) -> Result<(), Malformed> {
        let Goal::Open(opening) = &mut job.goal else { return Err(Malformed) };
        let walk = job.walks.iter_mut().flatten().next().ok_or(Malformed)?;
        if opening.opened.is_none() && call.context.shape == shapes::GET_ATTRIBUTES {
            // The path may name a directory.
            let facts = found.facts().ok_or(Malformed)?;
            walk.attributes = Some(facts);
            if facts.directory {
                let file = File::new(walk.handle, None);
                self.opens.open(job, file, Some(facts.size));
            }
            return Ok(());
        }
        if let Some(Opened { state, unconfirmed, delegation }) = found.opened {
            let handle = found.handle.unwrap_or(walk.handle);
            let Facts { size, directory } = found.facts().ok_or(Malformed)?;
            let sorted = self.opens.sort_delegation(&handle, opening.access, delegation);
            opening.empties |= opening.disposition == Disposition::OverwriteOrCreate && size > 0;
            opening.opened = Some((handle, state, size));
            match sorted {
                Some(Ok(wanted)) => opening.granted = Some(wanted),
                Some(Err(unwanted)) => opening.delegation = Some(unwanted),
                None => {}
            }
            opening.unconfirmed = unconfirmed && self.options.is_sessionless();
            self.paths.handles.learn(&walk.path, handle, !directory);
        } else if call.context.shape == shapes::CONFIRM_OPEN {
            let state = found.state.ok_or(Malformed)?;
            opening.unconfirmed = false;
            opening.opened = opening.opened.map(|(handle, _, size)| (handle, state, size));
        } else if call.context.shape == shapes::RETURN_DELEGATION {
            opening.delegation = None;
        } else {
            opening.empties = false;
            opening.opened = opening.opened.map(|(handle, state, _)| (handle, state, 0));
        }
        let (Some((handle, state, size)), Some(owner)) = (opening.opened, opening.owner) else {
            // The response came during a recovery, which has dropped the open: the file is opened again.
            return Ok(());
        };
        if !opening.unconfirmed && opening.delegation.is_none() && !opening.empties {
            // A recovery asks for no delegation.
            let access = opening.access & !open::READ_DELEGATION | open::NO_DELEGATION;
            let (open, place, granted) = (Open { owner, state, access }, self.place_of(walk), opening.granted);
            let file = File { place, ..File::new(handle, Some(open)) };
            match granted {
                Some(delegation) => self.opens.open_delegated(job, file, delegation, size),
                None => self.opens.open(job, file, Some(size)),
            }
        }
        Ok(())
    }
}

impl OpenState {
    /// A file was opened.
    pub(super) fn open(&mut self, job: &mut Job, file: File, size: Option<u64>) {
        match self.files.add(file) {
            Some(file) => job.reply = Some(Reply::Opened { file, size }),
            None => job.fail(Failure::never_sent(Cause::OutOfResources)),
        }
    }
}
