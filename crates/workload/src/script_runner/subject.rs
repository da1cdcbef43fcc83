//! The subject of an iteration: opening, closing, and its state.

use plimsoll_client::operation::FileKey;

use super::ScriptRunner;
use super::next_action::NextAction;
use crate::text::Subject;

impl ScriptRunner {
    /// The subject's key if it is open, otherwise the action that is needed first.
    pub(super) fn opened(&mut self) -> Result<FileKey, NextAction> {
        let Some(iteration) = &self.iteration else { return Err(NextAction::IterationOver) };
        if iteration.on == Subject::Own {
            return iteration.own.key().ok_or(NextAction::OpenOwn);
        }
        if iteration.on == Subject::Directory {
            return iteration.folder.ok_or(NextAction::OpenFolder);
        }
        if let Some(key) = self.open.get(iteration.file) {
            return Ok(key);
        }
        if let Some((file, key)) = self.open.in_the_way() {
            self.open.forget(file);
            return Err(NextAction::CloseFile(file, key));
        }
        Err(NextAction::OpenFile(iteration.file))
    }

    pub(super) fn next_close(&mut self) -> Option<NextAction> {
        let iteration = self.iteration.as_mut()?;
        match iteration.on {
            Subject::Own => iteration.own.close(),
            Subject::Directory => iteration.folder.take().map(NextAction::Close),
            _ => self.open.forget(iteration.file).map(|key| NextAction::CloseFile(iteration.file, key)),
        }
    }

    /// Size of the subject, where it is a file.
    pub(super) fn expected_size(&self) -> Option<u64> {
        let iteration = self.iteration.as_ref()?;
        match iteration.on {
            Subject::File => Some(self.files.size(iteration.file)),
            Subject::Own => Some(iteration.own.size()).filter(|_| iteration.own.is_file()),
            Subject::Directory | Subject::Link => None,
        }
    }

    /// The least that a listing must bring: what belongs to the set.
    pub(super) fn least_entries(&self) -> u64 {
        let listed = self.iteration.as_ref().filter(|iteration| !iteration.own.is_directory());
        listed.map_or(0, |iteration| self.files.layout().entries(iteration.directory))
    }

    /// Whether a link of the set says this.
    pub(super) fn is_text_of_link(&self, text: &str) -> bool {
        let on_a_link = self.iteration.as_ref().filter(|iteration| iteration.on == Subject::Link);
        on_a_link.is_some_and(|iteration| text == self.files.layout().text_of_link(iteration.file))
    }
}
