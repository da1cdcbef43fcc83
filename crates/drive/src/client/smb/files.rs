//! Files that are open.

use plimsoll_wire::smb2::{FileId, create};

use crate::action::FileKey;

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The server's name for it.
    pub(super) id: FileId,
    /// The oplock that it has.
    pub(super) oplock: u8,
    /// The lease that it was opened with, and what may still be cached.
    pub(super) lease: Option<create::Lease>,
    /// It was opened for reading.
    pub(super) readable: bool,
}

/// The open files of a connection, by key.
///
/// A key is a place, and above it how often the place was used before: the key of a closed file does not name the next
/// one that comes to its place.
#[derive(Debug, Default)]
pub(super) struct Files {
    places: Vec<(u32, Option<Open>)>,
    free: Vec<u32>,
}

/// Bits of a key that name the place: a million files.
const PLACE: u32 = (1 << 20) - 1;

impl Files {
    /// Keeps a file; `None` where there are too many.
    pub(super) fn add(&mut self, open: Open) -> Option<FileKey> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.places.len()).ok().filter(|place| *place <= PLACE)?;
                self.places.push((0, None));
                place
            }
        };
        let (turn, slot) = self.places.get_mut(place as usize)?;
        *slot = Some(open);
        Some(FileKey(*turn << PLACE.count_ones() | place))
    }

    fn slot(&mut self, key: FileKey) -> Option<(u32, &mut (u32, Option<Open>))> {
        let place = key.0 & PLACE;
        let slot = self.places.get_mut(place as usize)?;
        (slot.0 == key.0 >> PLACE.count_ones()).then_some((place, slot))
    }

    /// The file of a key, if it is open.
    pub(super) fn get(&mut self, key: FileKey) -> Option<Open> {
        self.slot(key).and_then(|(_, (_, open))| *open)
    }

    /// Forgets a file.
    pub(super) fn remove(&mut self, key: FileKey) -> Option<Open> {
        let (place, (turn, slot)) = self.slot(key)?;
        let open = slot.take()?;
        *turn = (*turn + 1) & (u32::MAX >> PLACE.count_ones());
        self.free.push(place);
        Some(open)
    }

    /// Every open file.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.places.iter_mut().filter_map(|(_, open)| open.as_mut())
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(byte: u8) -> Open {
        Open { id: FileId([byte; 16]), oplock: 0, lease: None, readable: true }
    }

    #[test]
    fn a_key_names_one_file_and_no_later_one() {
        let mut files = Files::default();
        let (one, two) = (files.add(open(1)).unwrap(), files.add(open(2)).unwrap());
        assert_eq!(files.get(two).unwrap().id, FileId([2; 16]));
        assert!(files.remove(one).is_some() && files.remove(one).is_none());
        let three = files.add(open(3)).unwrap();
        assert_eq!((three.0 & PLACE, files.get(one).is_none()), (one.0 & PLACE, true));
        assert_eq!(files.iter_mut().count(), 2);
        assert!(files.get(FileKey(u32::MAX)).is_none());
    }
}
