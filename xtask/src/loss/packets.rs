//! Which packets a lossy copy of a capture still has.

use std::path::Path;

/// Bytes of a pcap file before its first record, and of a record before its packet.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Whether each packet of the full capture is in the copy, in order.
pub(crate) fn survivors(full: &Path, copy: &Path) -> Result<Vec<bool>, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    Ok(matched(&read(full)?, &read(copy)?))
}

/// A copy holds packets of the full capture in the same order and unchanged: what matches next is the next.
fn matched(full: &[u8], copy: &[u8]) -> Vec<bool> {
    let mut left = Records::new(copy).peekable();
    Records::new(full).map(|record| left.next_if_eq(&record).is_some()).collect()
}

/// The records of a little-endian pcap file, header and packet.
struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self(file.get(FILE_HEADER..).unwrap_or_default())
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(*self.0.get(8..)?.first_chunk()?);
        let (record, rest) = self.0.split_at_checked(RECORD_HEADER.checked_add(length as usize)?)?;
        self.0 = rest;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(packets: &[u8]) -> Vec<u8> {
        let mut file = vec![0; FILE_HEADER];
        for packet in packets {
            file.extend([0, 0, 0, 0, *packet, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, *packet]);
        }
        file
    }

    #[test]
    fn what_is_missing_is_seen() {
        assert_eq!(matched(&file(&[1, 2, 3, 4]), &file(&[1, 3])), [true, false, true, false]);
        assert_eq!(matched(&file(&[1, 2]), &file(&[])), [false, false]);
        assert_eq!(matched(&file(&[5, 5, 6]), &file(&[5, 6])), [true, false, true], "twins: one of them");
    }
}
