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

call!(PutHandle<'_>, OPERATION = 22: 0);
