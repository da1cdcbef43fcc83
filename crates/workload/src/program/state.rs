//! Where a step is allowed: what the iteration has created, opened and connected so far.

use plimsoll_client::operation::OperationKind as Kind;

use super::ScriptStep;
use super::ScriptStep::Operation as Op;
use crate::text::Subject;

/// Objects that the iteration has created so far.
#[derive(Default)]
pub(super) struct State {
    pub(super) object: OwnObject,
    open: bool,
    pub(super) connected: bool,
    pub(super) logged_on: bool,
}

/// What the iteration has created for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OwnObject {
    #[default]
    Nothing,
    File,
    Directory,
}

/// A step needs the iteration's own file, open or closed.
const NO_OWN_FILE: &str = "the iteration has not created a file before this step: add \"create\" before this step";

impl State {
    /// Takes a step, or says why it cannot be taken here.
    pub(super) fn after(&mut self, op: &ScriptStep, on: Subject) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match (on, op) {
            (_, Op(Kind::ConnectShare | Kind::DisconnectShare | Kind::LogOn | Kind::LogOff)) => self.after_share(op),
            (_, ScriptStep::Probe(_)) => Ok(()),
            (Subject::File | Subject::Directory | Subject::Own, ScriptStep::OnFile(step))
                if !step.changes_the_file() =>
            {
                needs(
                    self.open,
                    "nothing is open at this step: add \"open\" before this step, or \"create\" with on = \"own\"",
                )
            }
            (Subject::Directory, Op(Kind::Open | Kind::Close)) => {
                self.open = matches!(op, Op(Kind::Open));
                Ok(())
            }
            (Subject::File, Op(Kind::Find)) => Ok(()),
            (_, Op(Kind::List | Kind::ListNames | Kind::Fsinfo | Kind::Null) | ScriptStep::Think(_)) => Ok(()),
            (Subject::File | Subject::Directory, Op(Kind::Lookup | Kind::Getattr | Kind::Access)) => Ok(()),
            (Subject::Link, Op(Kind::Lookup | Kind::Readlink)) => Ok(()),
            (Subject::Link, _) => Err("on = \"link\" allows only \"lookup\" and \"readlink\""),
            (Subject::File, Op(Kind::Setattr)) => Ok(()),
            (
                Subject::File,
                Op(Kind::Open | Kind::Close | Kind::Copy | Kind::Clone) | ScriptStep::Read(_) | ScriptStep::Write(_),
            ) => {
                self.open = !matches!(op, Op(Kind::Close));
                Ok(())
            }
            (Subject::File, Op(Kind::Flush | Kind::GetattrOpen)) => {
                needs(self.open, "the file is not open at this step: add \"open\" before this step")
            }
            (Subject::File, Op(Kind::Readlink)) => Err("this step needs on = \"link\""),
            (Subject::File, _) => Err("this step would change files of the file set: use on = \"own\""),
            (Subject::Directory, _) => {
                Err("on = \"directory\" does not allow this step: use \"file\", \"link\" or \"own\"")
            }
            (Subject::Own, op) => self.after_own(op),
        }
    }

    /// Files belong to the share and the session that they were opened in.
    fn after_share(&mut self, op: &ScriptStep) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        needs(!self.open, "a file is still open: add \"close\" before this step")?;
        match op {
            Op(Kind::ConnectShare) => {
                needs(!self.connected, "the iteration is already connected to the share: remove this step")?
            }
            Op(Kind::DisconnectShare) => needs(
                self.connected,
                "the iteration is not connected to the share: add \"connect-share\" before this step",
            )?,
            Op(Kind::LogOn) => {
                needs(!self.logged_on && !self.connected, "expected a single \"log-on\", before \"connect-share\"")?
            }
            _ => {
                needs(
                    self.logged_on,
                    "the iteration has not opened a session before this step: add \"log-on\" before this step",
                )?;
                needs(!self.connected, "expected \"disconnect-share\" before \"log-off\"")?
            }
        }
        self.connected = matches!(op, Op(Kind::ConnectShare));
        self.logged_on = matches!(op, Op(Kind::LogOn)) || self.logged_on && !matches!(op, Op(Kind::LogOff));
        Ok(())
    }

    fn after_own(&mut self, op: &ScriptStep) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match op {
            ScriptStep::Create | Op(Kind::Mkdir) => {
                needs(
                    self.object == OwnObject::Nothing,
                    "the iteration already has its own file or directory: add \"remove\" or \"rmdir\" before this step",
                )?;
                self.open = matches!(op, ScriptStep::Create);
                self.object = if self.open { OwnObject::File } else { OwnObject::Directory };
            }
            Op(Kind::Open) | ScriptStep::Recreate => {
                needs(
                    self.object == OwnObject::File,
                    "the iteration has not created a file before this step: add \"create\" and \"close\" before this step",
                )?;
                needs(!self.open, "the iteration's own file is still open: add \"close\" before this step")?;
                self.open = true;
            }
            Op(Kind::Close) => {
                needs(self.open, "the iteration's own file is not open at this step: remove this step")?;
                self.open = false;
            }
            ScriptStep::Read(_)
            | ScriptStep::Write(_)
            | ScriptStep::OnFile(_)
            | Op(Kind::Flush | Kind::GetattrOpen | Kind::Copy | Kind::Clone) => {
                needs(
                    self.open,
                    "the iteration's own file is not open at this step: add \"create\" or \"open\" before this step",
                )?;
            }
            Op(Kind::Find) => needs(self.object == OwnObject::File, NO_OWN_FILE)?,
            Op(Kind::Readlink) => return Err("this step needs on = \"link\""),
            Op(Kind::Remove | Kind::Rename) if self.open => {
                return Err("the iteration's own file is still open: add \"close\" before this step");
            }
            Op(Kind::Remove) => {
                needs(self.object == OwnObject::File, NO_OWN_FILE)?;
                self.object = OwnObject::Nothing;
            }
            Op(Kind::Rmdir) => {
                needs(
                    self.object == OwnObject::Directory,
                    "the iteration has not created a directory before this step: add \"mkdir\" before this step",
                )?;
                self.object = OwnObject::Nothing;
            }
            _ => needs(
                self.object != OwnObject::Nothing,
                "the iteration has not created a file or directory before this step: add \"create\" or \"mkdir\" before this step",
            )?,
        }
        Ok(())
    }
}
