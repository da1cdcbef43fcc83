//! Pieces of a listing.
//!
//! Spec: RFC 1813 3.3.16, RFC 1813 3.3.17

use plimsoll_wire::nfs::status::{NFS3ERR_NOENT, NFS3ERR_NOTSUPP};
use plimsoll_wire::nfs::v3::readdir::ReadDir;
use plimsoll_wire::nfs::v3::readdirplus::ReadDirPlus;
use plimsoll_wire::nfs::v3::{Answer, Call as _, readdir, readdirplus};
use plimsoll_wire::xdr::Malformed;

use super::client::RequestContext;
use super::job::{Goal, Job};
use crate::calls::Call;
use crate::client::Events;
use crate::listing::MOST_NAMES;
use crate::operation::Reply;

const NAMES: u32 = ReadDir::PROCEDURE;
const PLUS: u32 = ReadDirPlus::PROCEDURE;
/// Maximum number of retries of a listing after NFS3ERR_NOENT. READDIR identifies the directory by handle, so it exists or is stale: no
/// server may answer with this (RFC 1813 3.3.16). NFS-Ganesha does if an entry vanished between reading its name and its attributes; the
/// next attempt succeeds.
const MOST_REPEATS: u32 = 8;

impl Job {
    /// Whether a refused piece is asked for again: by READDIR where the server has no READDIRPLUS, or because an entry went meanwhile.
    pub(super) fn lists_again(&mut self, procedure: u32, status: Option<u32>) -> bool {
        let Goal::List { cookie, repeated, .. } = &mut self.goal else { return false };
        match (procedure, status) {
            (PLUS, Some(NFS3ERR_NOTSUPP)) => *cookie == 0,
            (NAMES | PLUS, Some(NFS3ERR_NOENT)) if *repeated < MOST_REPEATS => {
                *repeated += 1;
                true
            }
            _ => false,
        }
    }

    /// An answer to READDIR or READDIRPLUS.
    pub(super) fn listed(
        &mut self,
        call: &Call<RequestContext>,
        results: &[u8],
        events: &mut dyn Events,
    ) -> Result<u32, Malformed> {
        let tag = self.tag;
        let Goal::List { cookie, verifier, entries, plus, wanted, .. } = &mut self.goal else { return Err(Malformed) };
        let before = *entries;
        let entry = |entry: readdir::Entry<'_>| {
            if !matches!(entry.name, b"." | b"..") {
                *entries += 1;
                let name = String::from_utf8_lossy(entry.name);
                if wanted.as_mut().is_none_or(|wanted| wanted.takes(&name)) {
                    events.entry(tag, &name);
                }
            }
        };
        let with_attributes = call.context.procedure == PLUS;
        let answer = if with_attributes { readdirplus::parse(results, entry) } else { readdir::parse(results, entry) }?;
        let page = match answer {
            Answer::Done(page) => page,
            Answer::Refused(status) => {
                *plus &= status != NFS3ERR_NOTSUPP;
                return Ok(status);
            }
        };
        if page.eof {
            let entries = wanted.as_ref().map_or(*entries, |wanted| wanted.found);
            self.reply = Some(Reply::Listed { entries });
            return Ok(0);
        }
        // A piece without progress before the end would be requested forever. Only the first piece may consist of the directory itself
        // and its parent.
        let leads_on = *entries <= MOST_NAMES && (*entries > before || *cookie == 0);
        let last = page.cookie.filter(|last| last != cookie && leads_on).ok_or(Malformed)?;
        (*cookie, *verifier) = (last, page.verifier);
        Ok(0)
    }
}
