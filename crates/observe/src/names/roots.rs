//! Exports of root handles: servers may use equal handles for different exports (Linux with `fsid=1`, for example).

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::Symbol;
use serde::{Deserialize, Serialize};

/// Root handles remembered, at most.
const ROOTS_MAX: usize = 4_096;
/// Servers of a root handle remembered, at most.
const SERVERS_MAX: usize = 64;

/// The root of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Root {
    pub(super) share: Symbol,
    pub(super) path: Symbol,
}

/// The exports of root handles on each server, by the handle's key.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Roots {
    exports: HashMap<u64, Vec<(IpAddr, Root)>, foldhash::fast::RandomState>,
    /// Servers use a handle for different exports. Until then, no lookup is needed.
    differ: bool,
}

impl Roots {
    /// A server stated that the handle is the root of this export.
    pub(super) fn learn(&mut self, key: u64, server: IpAddr, export: Root) {
        if self.exports.len() >= ROOTS_MAX && !self.exports.contains_key(&key) {
            return;
        }
        let exports = self.exports.entry(key).or_default();
        let has_room = exports.len() < SERVERS_MAX;
        match exports.iter_mut().find(|(of, _)| *of == server) {
            Some((_, known)) => *known = export,
            None if has_room => exports.push((server, export)),
            None => {}
        }
        self.differ |= differ(exports);
    }

    /// The export of a handle on a server, if servers use the handle for different exports. If the server is unknown, the result has only
    /// a path that all exports of the handle have. Other handles need no server: several addresses of one server have the same handles.
    #[inline]
    pub(super) fn of(&self, key: u64, server: IpAddr) -> Option<Root> {
        if !self.differ {
            return None;
        }
        let exports = self.exports.get(&key).filter(|exports| differ(exports))?;
        let own = exports.iter().find(|(of, _)| *of == server);
        Some(own.map_or_else(|| common(exports), |(_, export)| *export))
    }
}

fn common(exports: &[(IpAddr, Root)]) -> Root {
    let path = exports.first().map(|(_, export)| export.path);
    let path = path.filter(|path| exports.iter().all(|(_, export)| export.path == *path));
    Root { share: Symbol::NONE, path: path.unwrap_or_default() }
}

fn differ(exports: &[(IpAddr, Root)]) -> bool {
    exports.windows(2).any(|two| matches!(two, [(_, one), (_, other)] if one != other))
}
