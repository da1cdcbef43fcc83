//! Systems without leases on files: none is ever granted.

use std::fs::File;
use std::ops::Range;

use memmap2::Mmap;

pub(super) fn take(_file: &File) -> bool {
    false
}

pub(super) fn holds(_file: &File) -> bool {
    false
}

pub(super) fn give_back(_file: &File) {}

pub(super) fn map(_file: &File, _offset: u64, _len: usize) -> Option<Mmap> {
    None
}

pub(super) fn bring(_map: &Mmap, _part: Range<usize>) -> bool {
    false
}

pub(super) fn free(_map: &Mmap, _part: Range<usize>) {}

pub(super) fn in_small_pages(_map: &Mmap, _part: Range<usize>) {}

#[derive(Debug, Default)]
pub(super) struct PageTable;

impl PageTable {
    pub(super) fn has(&mut self, _map: &Mmap, _at: usize) -> bool {
        false
    }
}
