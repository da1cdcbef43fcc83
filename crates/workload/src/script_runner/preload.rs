//! Looks up the subjects of iterations before the first one, so that a connection knows their handles.

use super::ScriptRunner;
use super::next_action::NextAction;

impl ScriptRunner {
    /// The next name to look up; `None` if all are known. Parents come before their contents.
    pub(super) fn preload_handles(&mut self) -> Option<NextAction> {
        let name = self.unknown.next()?;
        self.path.clear();
        self.files.name_of_a_part(self.client_index, name, &mut self.path);
        Some(NextAction::PreLookup)
    }
}
