//! Names that a listing is about.

use plimsoll_wire::smb2::pattern;

/// Names that are wanted, and how many there were.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) pattern: Box<str>,
    pub(crate) found: u64,
}

impl Wanted {
    /// Whether a name is wanted; if so, counts it.
    pub(crate) fn takes(&mut self, name: &str) -> bool {
        let takes = pattern::matches(&self.pattern, name);
        self.found += u64::from(takes);
        takes
    }
}
