//! Looking up what iterations will be about, before the first of them: so that a connection knows the handles.

use super::ScriptRunner;
use super::next_action::NextAction;

impl ScriptRunner {
    /// The next name to look up; `None` when all are known. Parents come before what is in them.
    pub(super) fn preload_handles(&mut self) -> Option<NextAction> {
        let name = self.unknown.next()?;
        self.path.clear();
        self.files.name_of_a_part(self.client_index, name, &mut self.path);
        Some(NextAction::PreLookup)
    }
}
