//! What office programs ask for in vain: names that are not there.

use super::ScriptRunner;
use super::next_action::NextAction;

impl ScriptRunner {
    /// Asks for a name that shall not be there, in the subject's directory.
    pub(super) fn probe(&mut self, name: usize) -> NextAction {
        let Some(iteration) = &self.iteration else { return NextAction::IterationOver };
        self.new_path.clear();
        self.files.directory_path(iteration.directory, &mut self.new_path);
        self.new_path.push('/');
        let names = self.work.iterations.get(iteration.kind).map_or(&[][..], |kind| &kind.names);
        self.new_path.push_str(names.get(name).map_or("", String::as_str));
        NextAction::Probe
    }
}
