//! CANCEL: cancels a request, identified by the header's async id or message id. It has no response.
//!
//! Spec: MS-SMB2 2.2.30

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::header;

/// StructureSize of the request's body.
pub const STRUCTURE_SIZE: u16 = 4;
/// Length of header and fixed body, which has no further fields.
pub const LEN: usize = header::LEN + 4;

/// The call. Its head has the message id of the request to cancel; charge and credits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// The async id in the interim answer, if one came; it replaces the tree id.
    pub async_id: Option<u64>,
}

impl Call for Cancel {
    const COMMAND: Command = Command::Cancel;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(STRUCTURE_SIZE, LEN);
        if let Some(id) = self.async_id {
            draft.add_flags(header::FLAG_ASYNC);
            draft.u64(header::ASYNC_ID, id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::Header;
    use crate::smb2::testing::emitted;

    #[test]
    fn by_async_id_or_by_message_id() {
        let bytes = emitted(&Cancel { async_id: Some(0x1234_5678_9ABC) });
        let header = Header::new(&bytes).unwrap();
        assert_eq!((header.async_id(), header.tree_id()), (Some(0x1234_5678_9ABC), None));
        assert_eq!((header.command(), header.body()), (Command::Cancel, &[4, 0, 0, 0][..]));
        let bytes = emitted(&Cancel { async_id: None });
        let header = Header::new(&bytes).unwrap();
        assert_eq!((header.async_id(), header.tree_id(), header.message_id()), (None, Some(3), Some(7)));
    }
}
