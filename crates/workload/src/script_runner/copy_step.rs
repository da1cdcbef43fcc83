//! Steps that copy or clone a file on the server: to a new file, which is then removed.

use plimsoll_client::operation::Reply;

use super::ScriptRunner;
use super::copy_of_file::CopyOfFile;
use super::next_action::NextAction;
use crate::fileset::{COPY, OWN_FILE};
use crate::scenario::WrongData;

/// The longest copy, bytes: the length of a copy has 32 bits, and servers may share only whole blocks.
const LONGEST: u64 = (4 << 30) - (64 << 10);

impl ScriptRunner {
    /// The next action of a step that copies the subject; `None` if there is nothing to copy.
    pub(super) fn next_copy(&mut self, clones: bool) -> Option<NextAction> {
        let from = match self.opened() {
            Ok(key) => key,
            Err(first) => return Some(first),
        };
        let size = self.expected_size().unwrap_or(0);
        let iteration = self.iteration.as_ref()?;
        match iteration.copy {
            // A copy of nothing would be a copy of everything that follows.
            CopyOfFile::None if size == 0 => None,
            CopyOfFile::None => {
                let mut path = self.own_path(OWN_FILE, iteration.own.renames())?;
                path.push_str(COPY);
                self.new_path = path;
                Some(NextAction::CreateCopy)
            }
            CopyOfFile::Created(to) => {
                let length = if clones { size } else { size.min(LONGEST) };
                Some(NextAction::Copy { from, to, length, clones })
            }
            CopyOfFile::Copied(_) | CopyOfFile::Closed => self.iteration.as_mut()?.copy.clean_up(),
        }
    }

    /// An action of such a step succeeded.
    pub(super) fn on_copy(&mut self, asked: NextAction, reply: &Reply) -> Result<(), WrongData> {
        let Some(iteration) = &mut self.iteration else { return Ok(()) };
        iteration.copy = match (asked, reply) {
            (NextAction::CreateCopy, Reply::Opened { file, .. }) => CopyOfFile::Created(*file),
            (NextAction::Copy { to, clones: true, .. }, Reply::Nothing) => CopyOfFile::Copied(to),
            (NextAction::Copy { to, length, clones: false, .. }, Reply::Written { bytes })
                if u64::from(*bytes) == length =>
            {
                CopyOfFile::Copied(to)
            }
            (NextAction::RemoveCopy, _) => CopyOfFile::None,
            // Less was copied, or it is an answer to a different request.
            _ => return Err(WrongData),
        };
        if iteration.copy == CopyOfFile::None {
            self.advance();
        }
        Ok(())
    }
}
