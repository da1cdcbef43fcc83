//! What carries each operation out.
//!
//! Spec: RFC 8881 17

use std::sync::Arc;

use super::codes::{CREATE_SESSION, EXCHANGE_ID, SEQUENCE, SETATTR};
use super::compound::{Compound, Place};
use super::status::{Done, Status};

impl Compound<'_, '_> {
    /// Carries an operation out and appends its results.
    pub(super) fn operation(&mut self, code: u32) -> Done {
        match code {
            3 => self.access(),
            4 => self.close(),
            5 => self.commit(),
            6 => self.create(),
            8 => self.return_delegation(),
            9 => self.get_attributes(),
            10 => self.get_handle(),
            11 => self.link(),
            12 => self.lock(),
            13 => self.test_lock(),
            14 => self.unlock(),
            15 => self.lookup(),
            16 => self.lookup_parent(),
            17 => self.verify(false),
            18 => self.open(),
            21 => self.downgrade(),
            22 => self.put_handle(),
            // PUTPUBFH and PUTROOTFH: the same.
            23 | 24 => {
                self.go(Arc::clone(&self.server.top));
                Ok(())
            }
            25 => self.read(),
            26 => self.read_directory(),
            27 => self.read_link(),
            28 => self.remove(),
            29 => self.rename(),
            31 => self.restore(),
            32 => self.save(),
            33 => self.security_of_name(),
            SETATTR => self.set_attributes(),
            37 => self.verify(true),
            38 => self.write(),
            41 => self.bind_connection(),
            EXCHANGE_ID => self.exchange_id(),
            CREATE_SESSION => self.create_session(),
            44 => self.destroy_session(),
            45 => self.free_state(),
            52 => self.security(),
            SEQUENCE => Err(Status::SEQUENCE_POS),
            55 => self.test_states(),
            57 => self.destroy_client(),
            58 => self.reclaim_complete(),
            59 => self.allocate(),
            60 => self.copy(),
            62 => self.deallocate(),
            68 => self.read_plus(),
            69 => self.seek(),
            71 => self.clone_range(),
            // Delegations of directories, layouts, named attributes, the back channel of 4.0, operations of 4.0, and other optional ones of
            // 4.2.
            _ => Err(Status::NOTSUPP),
        }
    }

    fn put_handle(&mut self) -> Done {
        /// NFS4_FHSIZE.
        const LONGEST: usize = 128;
        let handle = self.reader.opaque(LONGEST)?;
        self.go(self.server.node(handle)?);
        Ok(())
    }

    fn get_handle(&mut self) -> Done {
        let handle = self.server.handle(self.current()?);
        plimsoll_wire::xdr::Emit::put_opaque(self.out, &handle);
        Ok(())
    }

    fn save(&mut self) -> Done {
        self.saved = Some(self.current.clone().ok_or(Status::NOFILEHANDLE)?);
        Ok(())
    }

    fn restore(&mut self) -> Done {
        self.current = Some(self.saved.clone().ok_or(Status::RESTOREFH)?);
        Ok(())
    }

    /// The saved handle, for operations on two.
    pub(super) fn saved(&self) -> Done<&Place> {
        self.saved.as_ref().ok_or(Status::NOFILEHANDLE)
    }
}
