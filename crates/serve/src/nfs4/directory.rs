//! READDIR.
//!
//! Spec: RFC 8881 18.23

use plimsoll_wire::xdr::Emit;

use super::attributes::read_mask;
use super::compound::Compound;
use super::limits::LONGEST_DATA;
use super::status::{Done, Status};

/// Cookies that are not those of entries: clients use them for `.` and `..`.
const RESERVED: [u64; 2] = [1, 2];
/// Bytes of the results without entries: verifier, end of the list, and eof.
const FRAME: usize = 16;

impl Compound<'_, '_> {
    pub(super) fn read_directory(&mut self) -> Done {
        let (mut cookie, verifier): (u64, [u8; 8]) = (self.reader.u64()?, self.reader.array()?);
        let (_, most) = (self.reader.u32()?, self.reader.u32()?.min(LONGEST_DATA) as usize);
        let (wanted, _) = read_mask(&mut self.reader)?;
        let directory = self.directory()?;
        if RESERVED.contains(&cookie) {
            return Err(Status::BAD_COOKIE);
        }
        // Cookies are never used again; only another server gave others.
        if cookie != 0 && verifier != self.server.boot {
            return Err(Status::NOT_SAME);
        }
        let start = self.out.len();
        self.out.put_fixed(&self.server.boot);
        let (mut entries, mut end) = (0, false);
        loop {
            let Some(entry) = directory.entry_after(cookie)? else {
                end = true;
                break;
            };
            let at = self.out.len();
            self.out.put_u32(1);
            self.out.put_u64(entry.cookie);
            self.out.put_opaque(&entry.name);
            self.server.put_attributes(&entry.node, wanted, self.out);
            if self.out.len() - start + FRAME - 8 > most {
                self.out.truncate(at);
                break;
            }
            (cookie, entries) = (entry.cookie, entries + 1);
        }
        if entries == 0 && !end {
            return Err(Status::TOOSMALL);
        }
        self.out.put_u32(0);
        self.out.put_u32(u32::from(end));
        Ok(())
    }
}
