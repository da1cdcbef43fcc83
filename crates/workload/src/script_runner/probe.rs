//! What office programs do besides reading and writing: names that are not there, folders, controls, shares for a while.

use plimsoll_client::operation::{Failure, OperationKind};

use super::ScriptRunner;
use super::next_action::NextAction;

impl NextAction {
    /// Whether a failure is what the script counts on.
    pub(super) fn expects(&self, failure: &Failure) -> bool {
        match self {
            NextAction::Probe => failure.is_not_there(),
            NextAction::OnFile(_, step) => step.expects(failure),
            _ => false,
        }
    }

    pub(super) fn is_about_no_subject(&self) -> bool {
        use OperationKind::{ConnectShare, DisconnectShare, Fsinfo, LogOff, LogOn, Null};
        matches!(
            self,
            NextAction::Probe
                | NextAction::Operation(Fsinfo | Null | ConnectShare | DisconnectShare | LogOn | LogOff, _)
        )
    }
}

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
