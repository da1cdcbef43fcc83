//! READ, WRITE and COMMIT.
//!
//! Spec: RFC 8881 18.3, RFC 8881 18.22, RFC 8881 18.32

use std::sync::Arc;

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::Emit;

use super::compound::Compound;
use super::limits::{LONGEST_DATA, LONGEST_RECORD};
use super::opens::{READ, WRITE};
use super::status::{Done, Status};
use crate::memory::{Kind, Node};

/// FILE_SYNC4: memory is as stable as this file system gets.
const FILE_SYNC: u32 = 2;

impl Compound<'_, '_> {
    /// The current handle, of a file.
    pub(super) fn file(&self) -> Done<Arc<Node>> {
        let node = self.current()?;
        match node.kind() {
            Kind::File => Ok(Arc::clone(node)),
            Kind::Directory => Err(Status::ISDIR),
            Kind::Link => Err(Status::SYMLINK),
        }
    }

    pub(super) fn read(&mut self) -> Done {
        let state = StateId::parse(&mut self.reader)?;
        let (offset, count) = (self.reader.u64()?, self.reader.u32()?);
        let file = self.file()?;
        self.may(&file, state, READ)?;
        let (data, end) = file.read(offset, count.min(LONGEST_DATA))?;
        self.out.put_u32(u32::from(end));
        self.out.put_opaque(&data);
        Ok(())
    }

    pub(super) fn write(&mut self) -> Done {
        let state = StateId::parse(&mut self.reader)?;
        let (offset, stable) = (self.reader.u64()?, self.reader.u32()?);
        let data = self.reader.opaque(LONGEST_RECORD)?;
        if stable > FILE_SYNC {
            return Err(Status::BADXDR);
        }
        let file = self.file()?;
        self.server.may_change(&file)?;
        self.may(&file, state, WRITE)?;
        self.recall(&file)?;
        // No more than LONGEST_DATA; the client writes the rest again.
        let data = data.get(..LONGEST_DATA as usize).unwrap_or(data);
        if !data.is_empty() {
            file.write(offset, data)?;
        }
        self.out.put_u32(data.len() as u32);
        self.out.put_u32(FILE_SYNC);
        self.out.put_fixed(&self.server.boot);
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Done {
        self.reader.fixed(12)?;
        self.file()?;
        self.out.put_fixed(&self.server.boot);
        Ok(())
    }
}
