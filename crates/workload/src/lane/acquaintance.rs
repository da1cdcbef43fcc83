//! Looking up what turns will be about, before the first of them: so that a connection knows the handles.

use super::Lane;
use super::asked::Asked;

impl Lane {
    /// The next name to look up; `None` when all are known. Parents come before what is in them.
    pub(super) fn get_acquainted(&mut self) -> Option<Asked> {
        let name = self.unknown.next()?;
        self.path.clear();
        self.files.name_of_a_part(self.station, name, &mut self.path);
        Some(Asked::Acquaint)
    }
}
