//! The table from wire commands to their meanings: see `table.rs` for the rows.

use serde::{Deserialize, Serialize};

use crate::Protocol;

pub use file::FileCall;
pub use row::Row;

mod file;
mod nfs;
mod principal;
mod row;
mod rpc;
mod smb1;
mod smb2;
mod table;
#[cfg(test)]
mod tests;

/// What went over the wire: a row of the table, as a dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Procedure(u16);

impl Procedure {
    /// How many rows there are; [`Procedure::index`] is below it.
    pub const COUNT: usize = table::ROWS.len();

    /// The row of a command or procedure number; the protocol's UNKNOWN row where the table has none.
    #[inline]
    pub fn of(protocol: Protocol, code: u16) -> Procedure {
        match table::BY_CODE[protocol as usize].get(usize::from(code)) {
            Some(&row) if row != table::NO_ROW => Procedure(row),
            _ => Procedure(table::UNKNOWN[protocol as usize]),
        }
    }

    /// The row of a subcommand; its command's row where the table does not name the subcommand.
    pub fn of_sub(protocol: Protocol, code: u16, sub: u16) -> Procedure {
        let parent = Procedure::of(protocol, code);
        let start = parent.index() + 1;
        let rows = table::ROWS.get(start..).unwrap_or_default();
        let children = rows.iter().take_while(|row| row.sub.is_some() && row.code == code && row.protocol == protocol);
        for (i, row) in children.enumerate() {
            if row.sub == Some(sub) {
                return u16::try_from(start + i).map_or(parent, Procedure);
            }
        }
        parent
    }

    /// The row of an SMB2 IOCTL by its control code (FSCTL); IOCTL's own row where the table does not name it.
    pub fn smb2_ioctl(ctl_code: u32) -> Procedure {
        match smb2::ioctl_sub(ctl_code) {
            Some(sub) => Procedure::of_sub(Protocol::Smb2, smb2::IOCTL, sub),
            None => Procedure::of(Protocol::Smb2, smb2::IOCTL),
        }
    }

    /// The row of an SMB2 IOCTL whose control code was cut off.
    pub fn smb2_ioctl_cut() -> Procedure {
        Procedure::of_sub(Protocol::Smb2, smb2::IOCTL, smb2::IOCTL_CUT)
    }

    /// The row of this read or write of a named pipe, which moves no file data; itself where it is neither.
    #[cold]
    pub fn on_pipe(self) -> Procedure {
        let (protocol, code) = (self.row().protocol, row::ON_PIPE | self.row().code);
        let is_it = |row: &Row| row.protocol == protocol && row.code == code && row.sub.is_none();
        let place = table::ROWS.iter().position(is_it).filter(|_| !self.is_unknown());
        place.and_then(|place| u16::try_from(place).ok()).map_or(self, Procedure)
    }

    /// The row of a call to the operating system.
    pub fn of_call(call: FileCall) -> Procedure {
        Procedure::of(Protocol::File, call as u16)
    }

    /// The part of an SMB1 WRITE_RAW without an answer (Swartz 1997, section 5): a separate row, but not a separate request.
    pub fn write_raw_async() -> Procedure {
        Procedure::of_sub(Protocol::Smb1, smb1::WRITE_RAW, smb1::WRITE_RAW_ASYNC)
    }

    /// SMB2 SESSION_SETUP that binds another connection to a session.
    pub fn smb2_binding() -> Procedure {
        Procedure::of_sub(Protocol::Smb2, smb2::SESSION_SETUP, smb2::SESSION_BINDING)
    }

    /// Whether it is the SMB2 binding procedure.
    pub fn is_smb2_binding(self) -> bool {
        let row = self.row();
        (row.protocol, row.code, row.sub) == (Protocol::Smb2, smb2::SESSION_SETUP, Some(smb2::SESSION_BINDING))
    }

    /// NFS 4 BIND_CONN_TO_SESSION.
    pub fn nfs4_binding() -> Procedure {
        Procedure::of(Protocol::Nfs4, nfs::BIND_CONN_TO_SESSION)
    }

    /// Whether the request binds another connection to a session.
    pub fn is_binding(self) -> bool {
        self.is_smb2_binding() || self == Self::nfs4_binding()
    }

    /// Whether servers send it and clients respond: callbacks of NFS 4; NLM's GRANTED, GRANTED_MSG, and TEST_RES to UNLOCK_RES, which are
    /// calls with the results of earlier calls.
    #[inline]
    pub fn is_callback(self) -> bool {
        let row = self.row();
        match row.protocol {
            Protocol::Nfs4Callback => true,
            Protocol::Nlm => matches!(row.code, 5 | 10..=14),
            _ => false,
        }
    }

    /// Every procedure, in the table's order: a command is followed by its subcommands.
    pub fn all() -> impl Iterator<Item = Procedure> {
        (0..table::ROWS.len() as u16).map(Procedure)
    }

    /// Its row.
    #[inline]
    pub fn row(self) -> &'static Row {
        &table::ROWS[usize::from(self.0)]
    }

    /// A dense index below [`Procedure::COUNT`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The command that a subcommand belongs to; itself for a command.
    pub fn command(self) -> Procedure {
        if self.row().sub.is_none() { self } else { Procedure::of(self.row().protocol, self.row().code) }
    }

    /// Whether it is its protocol's UNKNOWN row.
    pub fn is_unknown(self) -> bool {
        self.row().code == u16::MAX
    }

    /// The name used in tables and files: `READ_ANDX`, `TRANSACTION2 FIND_FIRST2`.
    pub fn name(self) -> String {
        let row = self.row();
        match row.sub {
            None => row.name.to_owned(),
            Some(_) => format!("{} {}", self.command().row().name, row.name),
        }
    }

    /// The name in tables with several protocols: `NFS3 WRITE`.
    pub fn name_with_protocol(self) -> String {
        format!("{} {}", self.row().protocol.label(), self.name())
    }
}
