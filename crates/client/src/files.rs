//! Files that are open, by the keys that their users have.

use crate::operation::FileKey;

/// The open files of a connection.
///
/// A key is a place, and above it how often the place was used before: the key of a closed file does not name the next
/// one that comes to its place.
#[derive(Debug)]
pub(super) struct Files<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

/// Bits of a key that name the place: a million files.
const PLACE: u32 = (1 << 20) - 1;

impl<T> Default for Files<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Files<T> {
    /// Keeps a file; `None` where there are too many.
    pub(super) fn add(&mut self, open: T) -> Option<FileKey> {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.places.len()).ok().filter(|place| *place <= PLACE)?;
                self.places.push((0, None));
                place
            }
        };
        let (generation, slot) = self.places.get_mut(place as usize)?;
        *slot = Some(open);
        Some(FileKey(*generation << PLACE.count_ones() | place))
    }

    /// The file of a key, if it is open.
    pub(super) fn get(&self, key: FileKey) -> Option<&T> {
        let (generation, open) = self.places.get((key.0 & PLACE) as usize)?;
        open.as_ref().filter(|_| *generation == key.0 >> PLACE.count_ones())
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, key: FileKey) -> Option<&mut T> {
        let (generation, open) = self.places.get_mut((key.0 & PLACE) as usize)?;
        open.as_mut().filter(|_| *generation == key.0 >> PLACE.count_ones())
    }

    /// Forgets a file.
    pub(super) fn remove(&mut self, key: FileKey) -> Option<T> {
        let place = key.0 & PLACE;
        let (generation, slot) = self.places.get_mut(place as usize)?;
        let open = slot.take_if(|_| *generation == key.0 >> PLACE.count_ones())?;
        *generation = (*generation + 1) & (u32::MAX >> PLACE.count_ones());
        self.free.push(place);
        Some(open)
    }

    /// The keys of all open files.
    pub(super) fn keys(&self) -> impl Iterator<Item = FileKey> {
        // There are at most PLACE + 1 places.
        let open = (0..).zip(&self.places).filter(|(_, (_, open))| open.is_some());
        open.map(|(place, (generation, _))| FileKey(generation << PLACE.count_ones() | place))
    }

    /// Every open file.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|(_, open)| open.as_mut())
    }

    /// Forgets all files.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_one_file_and_no_later_one() {
        let mut files = Files::default();
        let (one, two) = (files.add('a').unwrap(), files.add('b').unwrap());
        assert_eq!(files.get(two), Some(&'b'));
        assert_eq!((files.remove(one), files.remove(one)), (Some('a'), None));
        let three = files.add('c').unwrap();
        assert_eq!((three.0 & PLACE, files.get(one)), (one.0 & PLACE, None));
        assert!(files.get_mut(one).is_none() && files.get_mut(three).is_some());
        assert_eq!(files.iter_mut().count(), 2);
        assert_eq!(files.keys().map(|key| *files.get(key).unwrap()).collect::<String>(), "cb");
        assert!(files.get(FileKey(u32::MAX)).is_none());
    }
}
