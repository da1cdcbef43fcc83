//! The bytes of a file: pages where something was written, nothing where nothing was.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Trouble;
use super::budget::{Budget, Share};

/// Bytes per page: a 1 MiB request touches 16 of them.
const PAGE: u64 = 64 << 10;
/// Minimum memory of a page, bytes: a file of one byte does not need a whole page.
const SMALLEST: usize = 64;
/// The longest file, bytes: offsets are signed on the wire of SMB.
const LONGEST: u64 = i64::MAX as u64;

/// Sparse bytes. A page's memory is a power of two; behind it the page reads as zeros.
#[derive(Debug)]
pub(crate) struct Content {
    size: u64,
    pages: BTreeMap<u64, Vec<u8>>,
    share: Share,
}

impl Content {
    pub(crate) fn new(budget: &Arc<Budget>) -> Result<Self, Trouble> {
        Ok(Self { size: 0, pages: BTreeMap::new(), share: budget.take(0)? })
    }

    /// Length in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of memory.
    pub(crate) fn used(&self) -> u64 {
        self.share.bytes()
    }

    /// Up to `length` bytes from `offset`, fewer at the end, and whether that is the end.
    pub(crate) fn read(&self, offset: u64, length: u32) -> (Vec<u8>, bool) {
        let end = offset.saturating_add(u64::from(length)).min(self.size);
        if offset >= end {
            return (Vec::new(), end >= self.size);
        }
        let mut bytes = Vec::with_capacity(within(end - offset));
        let mut at = offset;
        for (number, page) in self.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let start = number * PAGE;
            zeros(&mut bytes, start.saturating_sub(at));
            at = at.max(start);
            let until = end.min(start + PAGE);
            let stop = within(until - start).min(page.len());
            let kept = page.get(within(at - start)..stop).unwrap_or_default();
            bytes.extend_from_slice(kept);
            zeros(&mut bytes, until - at - kept.len() as u64);
            at = until;
        }
        zeros(&mut bytes, end - at);
        (bytes, end >= self.size)
    }

    /// Writes all bytes, or nothing.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Trouble> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= LONGEST).ok_or(Trouble::TooLarge)?;
        if data.is_empty() {
            return Ok(());
        }
        self.share.grow(self.missing(offset, end))?;
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let start = within(at % PAGE);
            let (piece, later) = rest.split_at(rest.len().min(within(PAGE) - start));
            let page = self.pages.entry(at / PAGE).or_default();
            if page.is_empty() && piece.len() as u64 == PAGE {
                *page = piece.to_vec();
            } else {
                let stop = start + piece.len();
                if page.len() < stop {
                    page.resize(room_for(stop), 0);
                }
                if let Some(old) = page.get_mut(start..stop) {
                    old.copy_from_slice(piece);
                }
            }
            at += piece.len() as u64;
            rest = later;
        }
        self.size = self.size.max(end);
        Ok(())
    }

    /// Cuts, or extends with a hole.
    pub(crate) fn set_size(&mut self, size: u64) -> Result<(), Trouble> {
        if size > LONGEST {
            return Err(Trouble::TooLarge);
        }
        if size < self.size {
            let gone = self.pages.split_off(&size.div_ceil(PAGE));
            let freed: usize = gone.values().map(Vec::len).sum();
            self.share.shrink(freed as u64);
            // Truncated data must not reappear when the file grows again.
            let rest = self.pages.get_mut(&(size / PAGE)).and_then(|page| page.get_mut(within(size % PAGE)..));
            rest.unwrap_or_default().fill(0);
        }
        self.size = size;
        Ok(())
    }

    /// Takes the memory that writes to the range will need, and extends a shorter file.
    pub(crate) fn allocate(&mut self, offset: u64, length: u64) -> Result<(), Trouble> {
        let end = offset.checked_add(length).filter(|end| *end <= LONGEST).ok_or(Trouble::TooLarge)?;
        // It does not fit, and counting so many pages would take long.
        if length > self.share.limit() {
            return Err(Trouble::NoSpace);
        }
        self.share.grow(self.missing(offset, end))?;
        for number in offset / PAGE..end.div_ceil(PAGE) {
            let page = self.pages.entry(number).or_default();
            let wanted = room_for(within((end - number * PAGE).min(PAGE)));
            page.resize(page.len().max(wanted), 0);
        }
        self.size = self.size.max(end);
        Ok(())
    }

    /// Makes a hole; the size stays.
    pub(crate) fn deallocate(&mut self, offset: u64, length: u64) {
        let end = match offset.saturating_add(length) {
            // The last page has nothing behind the end of the file.
            end if end >= self.size => self.size.next_multiple_of(PAGE),
            end => end,
        };
        // Pages that are within the hole as a whole.
        let whole = offset.div_ceil(PAGE)..end / PAGE;
        let gone: Vec<u64> = self.pages.range(whole.start..whole.end.max(whole.start)).map(|(at, _)| *at).collect();
        let freed: usize = gone.iter().filter_map(|at| self.pages.remove(at)).map(|page| page.len()).sum();
        self.share.shrink(freed as u64);
        // The first page, and the last one.
        for number in [offset / PAGE, end / PAGE] {
            let start = number * PAGE;
            let Some(page) = self.pages.get_mut(&number) else { continue };
            let stop = within(end.saturating_sub(start)).min(page.len());
            page.get_mut(within(offset.saturating_sub(start))..stop).unwrap_or_default().fill(0);
        }
    }

    /// Where the next data begins from an offset on, and where the hole after it; `None` if there is only a hole up to the end. Pages
    /// behind `until` are not looked at, and count as a hole.
    pub(crate) fn next_data(&self, offset: u64, until: u64) -> Option<(u64, u64)> {
        let mut found: Option<(u64, u64)> = None;
        let first = offset / PAGE;
        for (number, page) in self.pages.range(first..until.div_ceil(PAGE).max(first)) {
            let (start, stop) = (number * PAGE, (number * PAGE + page.len() as u64).min(self.size));
            match &mut found {
                _ if stop <= offset || start >= stop => {}
                None => found = Some((start.max(offset), stop)),
                Some((_, end)) if *end == start => *end = stop,
                Some(_) => break,
            }
        }
        found
    }

    /// Bytes of memory that a write from `offset` to `end` will add.
    fn missing(&self, offset: u64, end: u64) -> u64 {
        let mut have = self.pages.range(offset / PAGE..end.div_ceil(PAGE)).peekable();
        let of_page = |number: u64| {
            let wanted = room_for(within((end - number * PAGE).min(PAGE)));
            let kept = have.next_if(|(at, _)| **at == number).map_or(0, |(_, page)| page.len());
            wanted.saturating_sub(kept) as u64
        };
        (offset / PAGE..end.div_ceil(PAGE)).map(of_page).sum()
    }
}

/// An offset inside a page, or a page's length.
fn within(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Memory for a page that is written up to there.
fn room_for(length: usize) -> usize {
    length.next_power_of_two().max(SMALLEST)
}

fn zeros(bytes: &mut Vec<u8>, count: u64) {
    bytes.resize(bytes.len() + within(count), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(limit: u64) -> (Arc<Budget>, Content) {
        let budget = Budget::new(limit);
        let content = Content::new(&budget).unwrap();
        (budget, content)
    }

    /// Writes, cuts and reads at random beside a plain vector that does the same.
    #[test]
    fn it_does_what_a_plain_vector_does() {
        let (budget, mut content) = content(64 << 20);
        let mut plain: Vec<u8> = Vec::new();
        let mut state = 4_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..150_u64 {
            let (offset, length) = (random(5 * PAGE), random(2 * PAGE));
            if random(4) == 0 {
                content.set_size(offset).unwrap();
                plain.resize(within(offset), 0);
            } else {
                let data: Vec<u8> = (0..length).map(|at| (at ^ round) as u8).collect();
                content.write(offset, &data).unwrap();
                let end = within(offset) + data.len();
                if !data.is_empty() {
                    plain.resize(plain.len().max(end), 0);
                    plain[within(offset)..end].copy_from_slice(&data);
                }
            }
            let (offset, length) = (within(random(6 * PAGE)), random(3 * PAGE) as u32);
            let stop = (offset + length as usize).min(plain.len());
            let (bytes, end) = content.read(offset as u64, length);
            assert!(bytes == plain[offset.min(stop)..stop], "round {round}: {length} bytes at {offset}");
            assert_eq!(end, offset + length as usize >= plain.len(), "round {round}");
            assert_eq!(content.size(), plain.len() as u64);
            assert_eq!(content.used(), budget.limit() - budget.free());
            assert_eq!(content.used(), content.pages.values().map(|page| page.len() as u64).sum::<u64>());
        }
    }

    /// Allocates and makes holes at random: data is where it was written, and zeros are everywhere else.
    #[test]
    fn holes_come_and_go() {
        let (budget, mut content) = content(64 << 20);
        let mut plain = vec![0; within(6 * PAGE)];
        content.set_size(6 * PAGE).unwrap();
        let mut state = 9_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300_u64 {
            let (offset, length) = (random(5 * PAGE), random(PAGE + PAGE / 2));
            let range = within(offset)..within((offset + length).min(6 * PAGE));
            match random(3) {
                0 => {
                    content.write(offset, &vec![1; range.len()]).unwrap();
                    plain[range].fill(1);
                }
                1 => {
                    content.deallocate(offset, length);
                    plain[range].fill(0);
                    let mut whole = offset.div_ceil(PAGE)..(offset + length) / PAGE;
                    let is_hole = |page: u64| content.next_data(page * PAGE, (page + 1) * PAGE).is_none();
                    assert!(whole.all(is_hole), "round {round}: data in a hole");
                }
                _ => content.allocate(offset, range.len() as u64).unwrap(),
            }
            assert!(content.read(0, 6 * PAGE as u32).0 == plain, "round {round}");
            assert_eq!(content.used(), budget.limit() - budget.free());
            let (mut at, mut data) = (0, vec![false; plain.len()]);
            while let Some((start, stop)) = content.next_data(at, u64::MAX) {
                assert!(start >= at && stop > start && stop <= 6 * PAGE, "round {round}: {start} to {stop}");
                data[within(start)..within(stop)].fill(true);
                at = stop;
            }
            assert!(plain.iter().zip(&data).all(|(byte, data)| *byte == 0 || *data), "round {round}: a hole has data");
        }
        assert_eq!(content.size(), 6 * PAGE);
        content.deallocate(0, u64::MAX);
        assert_eq!((content.used(), content.size(), content.next_data(0, u64::MAX)), (0, 6 * PAGE, None));
        // The last page is shorter than a page.
        content.write(6 * PAGE, &[1; 100]).unwrap();
        content.deallocate(6 * PAGE, 99);
        assert_eq!(content.next_data(0, u64::MAX), Some((6 * PAGE, 6 * PAGE + 100)));
        content.deallocate(6 * PAGE, 100);
        assert_eq!((content.used(), content.size(), content.next_data(0, u64::MAX)), (0, 6 * PAGE + 100, None));
    }

    #[test]
    fn space_is_taken_before_it_is_written() {
        let (budget, mut content) = content(3 * PAGE);
        content.allocate(10, 2 * PAGE - 10).unwrap();
        assert_eq!((content.size(), content.used(), budget.free()), (2 * PAGE, 2 * PAGE, PAGE));
        assert_eq!(content.next_data(0, u64::MAX), Some((0, 2 * PAGE)), "allocated zeros are data");
        assert_eq!(content.next_data(0, 1), Some((0, PAGE)), "only one page was looked at");
        assert_eq!(content.next_data(5 * PAGE, 2 * PAGE), None);
        assert_eq!(content.allocate(0, 4 * PAGE), Err(Trouble::NoSpace));
        assert_eq!(content.allocate(0, LONGEST), Err(Trouble::NoSpace));
        assert_eq!(content.allocate(1, LONGEST), Err(Trouble::TooLarge));
        assert_eq!((content.size(), content.used()), (2 * PAGE, 2 * PAGE), "nothing has changed");
    }

    #[test]
    fn holes_cost_nothing_and_read_as_zeros() {
        let (budget, mut content) = content(1 << 20);
        content.write(1 << 40, b"far").unwrap();
        content.set_size(1 << 41).unwrap();
        assert_eq!(budget.limit() - budget.free(), SMALLEST as u64);
        assert_eq!(content.read((1 << 40) - 2, 7).0, b"\0\0far\0\0");
        assert_eq!(content.read(1 << 41, 9), (Vec::new(), true));
        assert_eq!(content.read(u64::MAX, u32::MAX), (Vec::new(), true));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let (budget, mut content) = content(3 * PAGE);
        content.write(0, &[1; 100]).unwrap();
        let free = budget.free();
        assert_eq!(content.write(50, &vec![2; 3 * within(PAGE)]), Err(Trouble::NoSpace));
        assert_eq!((content.read(0, 200), budget.free()), ((vec![1; 100], true), free));
        assert_eq!(content.write(LONGEST, b"x"), Err(Trouble::TooLarge));
        assert_eq!(content.write(u64::MAX, b"x"), Err(Trouble::TooLarge));
        assert_eq!(content.set_size(LONGEST + 1), Err(Trouble::TooLarge));
        drop(content);
        assert_eq!(budget.free(), budget.limit());
    }
}
