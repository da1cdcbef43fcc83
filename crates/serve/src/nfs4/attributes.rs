//! Attributes of files and of the file system.
//!
//! Spec: RFC 8881 5

use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_wire::xdr::{Emit, Strict};

use super::clients::LEASE;
use super::compound::Compound;
use super::limits::{LONGEST_DATA, LONGEST_RECORD};
use super::server::Server;
use super::status::{Done, Status};
use crate::memory::{Kind, LONGEST_NAME, Node, Stat};

/// Words of a bitmap that mean something here.
pub(super) const WORDS: usize = 3;
/// A set of attributes.
pub(super) type Mask = [u32; WORDS];

/// Attributes that can be read.
const READABLE: Mask = mask(&[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 26, 27, 28, 29, 30, 31, 33, 34, 35,
    36, 37, 41, 42, 43, 44, 45, 47, 51, 52, 53, 55, 75,
]);
/// Attributes that can be set: size, mode, owner, owner_group, time_access_set, time_modify_set.
pub(super) const SETTABLE: Mask = mask(&[4, 33, 36, 37, 48, 54]);
/// time_access_set and time_modify_set.
const WRITE_ONLY: Mask = mask(&[48, 54]);
/// Of READDIR's answers only.
const ERROR: u32 = 11;
/// Links of a file, at most (see memory).
const MOST_LINKS: u32 = 65_000;

const fn mask(attributes: &[u8]) -> Mask {
    let mut words = [0; WORDS];
    let mut at = 0;
    while at < attributes.len() {
        words[(attributes[at] / 32) as usize] |= 1 << (attributes[at] % 32);
        at += 1;
    }
    words
}

fn both(one: Mask, other: Mask) -> Mask {
    std::array::from_fn(|at| one.get(at).unwrap_or(&0) & other.get(at).unwrap_or(&0))
}

/// Appends a set.
pub(super) fn put_mask(mask: Mask, out: &mut Vec<u8>) {
    let words = mask.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    out.put_u32(words as u32);
    mask.iter().take(words).for_each(|&word| out.put_u32(word));
}

/// Reads a set, and whether it has attributes that do not exist here.
pub(super) fn read_mask(reader: &mut Strict<'_>) -> Done<(Mask, bool)> {
    /// More words than there are attributes of any version.
    const MOST: u32 = 32;
    let (mut mask, mut unknown) = ([0; WORDS], false);
    let count = reader.u32()?;
    if count > MOST {
        return Err(Status::BADXDR);
    }
    for at in 0..count as usize {
        let word = reader.u32()?;
        match mask.get_mut(at) {
            Some(place) => *place = word,
            None => unknown |= word != 0,
        }
    }
    Ok((mask, unknown))
}

/// The attributes of a set, in order.
pub(super) fn numbers(mask: Mask) -> impl Iterator<Item = u32> {
    let words = mask.into_iter().zip(0..);
    words.flat_map(|(word, at)| (0..32).filter(move |bit| word & (1 << bit) != 0).map(move |bit| at * 32 + bit))
}

/// The change ID: nanoseconds of the last change.
pub(super) fn change(stat: &Stat) -> u64 {
    let since = stat.attributes.changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn put_time(at: SystemTime, out: &mut Vec<u8>) {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => {
            out.put_u64(since.as_secs());
            out.put_u32(since.subsec_nanos());
        }
        Err(before) => {
            // Rounded down to the second: nanoseconds are never negative.
            let before = before.duration();
            let whole = before.as_secs() + u64::from(before.subsec_nanos() > 0);
            out.put_u64(whole.wrapping_neg());
            out.put_u32((1_000_000_000 - before.subsec_nanos()) % 1_000_000_000);
        }
    }
}

impl Server {
    /// Appends the attributes of a set that exist (`fattr4`).
    pub(super) fn put_attributes(&self, node: &Node, wanted: Mask, out: &mut Vec<u8>) {
        let mask = both(wanted, READABLE);
        put_mask(mask, out);
        let at = out.len();
        out.put_u32(0);
        let stat = node.stat();
        numbers(mask).for_each(|number| self.put_attribute(node, &stat, number, out));
        let length = (out.len() - at - 4) as u32;
        if let Some(place) = out.get_mut(at..at + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }

    fn put_attribute(&self, node: &Node, stat: &Stat, number: u32, out: &mut Vec<u8>) {
        let (total, free) = self.system.space();
        match number {
            0 => put_mask(std::array::from_fn(|at| READABLE[at] | SETTABLE[at]), out),
            // nfs_ftype4.
            1 => out.put_u32(match stat.kind {
                Kind::File => 1,
                Kind::Directory => 2,
                Kind::Link => 5,
            }),
            // fh_expire_type: FH4_PERSISTENT. rdattr_error and aclsupport: none. named_attr, case_insensitive, chown_restricted: no.
            2 | 7 | ERROR | 13 | 16 | 18 => out.put_u32(0),
            3 => out.put_u64(change(stat)),
            4 => out.put_u64(stat.size),
            // link_support, symlink_support, unique_handles, cansettime, case_preserving, homogeneous, no_trunc.
            5 | 6 | 9 | 15 | 17 | 26 | 34 => out.put_u32(1),
            // fsid: major and minor.
            8 => [1, 0].iter().for_each(|&half| out.put_u64(half)),
            10 => out.put_u32(LEASE),
            19 => out.put_opaque(&self.handle(node)),
            20 | 55 => out.put_u64(stat.id),
            // Files have no limit but the space.
            21..=23 => out.put_u64(u64::from(u32::MAX)),
            27 => out.put_u64(i64::MAX as u64),
            28 => out.put_u32(MOST_LINKS),
            29 => out.put_u32(LONGEST_NAME as u32),
            30 | 31 => out.put_u64(u64::from(LONGEST_DATA)),
            33 => out.put_u32(stat.attributes.mode),
            35 => out.put_u32(stat.links),
            36 => out.put_opaque(stat.attributes.uid.to_string().as_bytes()),
            37 => out.put_opaque(stat.attributes.gid.to_string().as_bytes()),
            41 => out.put_u64(0),
            42 | 43 => out.put_u64(free),
            44 => out.put_u64(total),
            45 => out.put_u64(stat.used),
            47 => put_time(stat.attributes.accessed, out),
            // time_delta: a nanosecond.
            51 => {
                out.put_u64(0);
                out.put_u32(1);
            }
            52 => put_time(stat.attributes.changed, out),
            53 => put_time(stat.attributes.modified, out),
            // suppattr_exclcreat.
            75 => put_mask(SETTABLE, out),
            // Not in READABLE.
            _ => {}
        }
    }
}

impl Compound<'_, '_> {
    pub(super) fn get_attributes(&mut self) -> Done {
        let (wanted, _) = read_mask(&mut self.reader)?;
        if both(wanted, WRITE_ONLY) != [0; WORDS] {
            return Err(Status::INVAL);
        }
        let node = std::sync::Arc::clone(self.current()?);
        self.server.put_attributes(&node, wanted, self.out);
        Ok(())
    }

    /// VERIFY (`same`) and NVERIFY: compares attributes as they are encoded.
    pub(super) fn verify(&mut self, same: bool) -> Done {
        let (wanted, unknown) = read_mask(&mut self.reader)?;
        let given = self.reader.opaque(LONGEST_RECORD)?;
        if both(wanted, WRITE_ONLY) != [0; WORDS] || wanted[0] & (1 << ERROR) != 0 {
            return Err(Status::INVAL);
        }
        if unknown || both(wanted, READABLE) != wanted {
            return Err(Status::ATTRNOTSUPP);
        }
        let (mut head, mut encoded) = (Vec::new(), Vec::new());
        put_mask(wanted, &mut head);
        self.server.put_attributes(self.current()?, wanted, &mut encoded);
        let is_same = encoded.get(head.len() + 4..) == Some(given);
        match (is_same, same) {
            (true, false) => Err(Status::SAME),
            (false, true) => Err(Status::NOT_SAME),
            _ => Ok(()),
        }
    }
}
