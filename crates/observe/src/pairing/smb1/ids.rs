//! What ids of a connection stand for: UID → user, TID → share, FID → path.
//!
//! Ids come round again here too. A FID whose meaning was learnt before losses both ways may have been closed and
//! given to another file unseen, so it is not believed any more; a share or a user lasts longer than that.

use std::collections::HashMap;

use plimsoll_model::{FileIdentity, Symbol};
use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::{command, open};
use serde::{Deserialize, Serialize};

use super::ConnectionContext;

/// FIDs remembered on each connection, at most.
const FIDS_MAX: usize = 16_384;
/// TIDs and UIDs remembered on each connection, at most.
const TIDS_MAX: usize = 1_024;

type Map<V> = HashMap<u16, V, foldhash::fast::RandomState>;

/// The objects of a connection's ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ids {
    users: Map<Symbol>,
    shares: Map<Symbol>,
    files: Map<(Opened, Losses)>,
}

/// The object of a FID.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) path: Symbol,
    pub(super) file: Option<FileIdentity>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Losses {
    /// Holes in each direction when it was opened.
    holes: [u32; 2],
}

impl Ids {
    pub(super) fn user(&self, uid: u16) -> Symbol {
        self.users.get(&uid).copied().unwrap_or_default()
    }

    pub(super) fn share(&self, tid: u16) -> Symbol {
        self.shares.get(&tid).copied().unwrap_or_default()
    }

    pub(super) fn opened(&self, fid: u16, context: &ConnectionContext) -> Opened {
        match self.files.get(&fid) {
            Some((opened, Losses { holes })) if holes[0] == context.holes[0] || holes[1] == context.holes[1] => *opened,
            _ => Opened::default(),
        }
    }

    pub(super) fn learn_user(&mut self, uid: u16, user: Symbol) {
        insert(&mut self.users, uid, user, TIDS_MAX);
    }

    pub(super) fn learn_share(&mut self, tid: u16, share: Symbol) {
        insert(&mut self.shares, tid, share, TIDS_MAX);
    }

    pub(super) fn learn_opened(&mut self, fid: u16, opened: Opened, context: &ConnectionContext) {
        insert(&mut self.files, fid, (opened, Losses { holes: context.holes }), FIDS_MAX);
    }

    pub(super) fn forget_user(&mut self, uid: u16) {
        self.users.remove(&uid);
    }

    pub(super) fn forget_share(&mut self, tid: u16) {
        self.shares.remove(&tid);
    }

    pub(super) fn forget_opened(&mut self, fid: u16) {
        self.files.remove(&fid);
    }

    /// An answer gave an id a meaning, but its request was not captured.
    pub(super) fn forget_answered(&mut self, answer: &Command<'_>) {
        let header = answer.header();
        match answer.command {
            command::TREE_CONNECT => {
                if let Some(tid) = answer.u16(2) {
                    self.forget_share(tid);
                }
            }
            command::TREE_CONNECT_ANDX => {
                if let Some(tid) = header.tid() {
                    self.forget_share(tid);
                }
            }
            command::SESSION_SETUP_ANDX => {
                if let Some(uid) = header.uid() {
                    self.forget_user(uid);
                }
            }
            _ => {
                if let Some(fid) = open::opened_fid(answer) {
                    self.forget_opened(fid);
                }
            }
        }
    }
}

/// A known id takes its new meaning even when the map is full.
fn insert<V>(map: &mut Map<V>, id: u16, value: V, max: usize) {
    if map.len() < max || map.contains_key(&id) {
        map.insert(id, value);
    }
}
