//! Attributes of a node.

use std::time::SystemTime;

/// Attributes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permission bits. They are kept and not enforced, but for SMB's read-only attribute.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) created: SystemTime,
    /// Set on request only: a read that writes would cost more than it tells.
    pub(crate) accessed: SystemTime,
    pub(crate) modified: SystemTime,
    pub(crate) changed: SystemTime,
}

/// What to change; the rest stays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) size: Option<u64>,
    pub(crate) created: Option<SystemTime>,
    pub(crate) accessed: Option<Set>,
    pub(crate) modified: Option<Set>,
}

/// A time to set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Set {
    Now,
    To(SystemTime),
}

impl Attributes {
    pub(crate) fn new(mode: u32) -> Self {
        let now = SystemTime::now();
        Self { mode, uid: 0, gid: 0, created: now, accessed: now, modified: now, changed: now }
    }

    /// The bytes changed.
    pub(crate) fn written(&mut self) {
        let now = SystemTime::now();
        (self.modified, self.changed) = (now, now);
    }

    /// Applies all of a change but the size.
    pub(crate) fn apply(&mut self, change: &Change) {
        let now = SystemTime::now();
        let time = |set: Set| match set {
            Set::Now => now,
            Set::To(time) => time,
        };
        self.mode = change.mode.map_or(self.mode, |mode| mode & 0o7777);
        self.uid = change.uid.unwrap_or(self.uid);
        self.gid = change.gid.unwrap_or(self.gid);
        self.created = change.created.unwrap_or(self.created);
        self.accessed = change.accessed.map_or(self.accessed, time);
        self.modified = change.modified.map_or(self.modified, time);
        self.changed = now;
    }
}
