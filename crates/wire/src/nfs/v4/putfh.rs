//! PUTFH: the file handle that the operations behind it are about.
//!
//! Spec: RFC 8881 18.19

use super::{Call, FileHandle};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct PutHandle<'a>(
    /// The handle.
    pub &'a FileHandle,
);

impl Call for PutHandle<'_> {
    const OPERATION: u32 = 22;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.0.emit(out);
    }
}
