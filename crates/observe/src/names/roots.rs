//! Exports of root handles: servers may use equal handles for different exports (Linux with `fsid=1`, for example).

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::Symbol;
use serde::{Deserialize, Serialize};

/// Root handles remembered, at most.
const ROOTS_MAX: usize = 4_096;
/// Servers of a root handle remembered, at most.
const SERVERS_MAX: usize = 64;

/// The exports of root handles on each server, by the handle's key.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Roots {
    exports: HashMap<u64, Vec<(IpAddr, Symbol)>, foldhash::fast::RandomState>,
    /// Servers use a handle for different exports. Until then, no lookup is needed.
    differ: bool,
}

impl Roots {
    /// A server stated that the handle is the root of this export.
    pub(super) fn learn(&mut self, key: u64, server: IpAddr, export: Symbol) {
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

    /// The export of a handle on a server, if servers use the handle for different exports; [`Symbol::NONE`] if this server's is unknown.
    /// Other handles need no server: several addresses of one server have the same handles.
    #[inline]
    pub(super) fn of(&self, key: u64, server: IpAddr) -> Option<Symbol> {
        if !self.differ {
            return None;
        }
        let exports = self.exports.get(&key).filter(|exports| differ(exports))?;
        let own = exports.iter().find(|(of, _)| *of == server);
        Some(own.map_or(Symbol::NONE, |(_, export)| *export))
    }
}

fn differ(exports: &[(IpAddr, Symbol)]) -> bool {
    exports.windows(2).any(|two| matches!(two, [(_, one), (_, other)] if one != other))
}
