//! File data in a call.

use crate::content::Content;

/// File data that ends a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub(crate) content: &'a Content,
    pub(crate) key: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}
