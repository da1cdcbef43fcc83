//! A row of the table, and how it is written down.

use crate::{Group as G, Operation as O, Protocol};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Whose procedure it is.
    pub protocol: Protocol,
    /// Number on the wire (SMB command, RPC procedure, NFSv4 operation); `u16::MAX` for "unknown to us".
    pub code: u16,
    /// Subcommand on the wire, for those that have them.
    pub sub: Option<u16>,
    /// Name in the standard, without protocol prefix (`READ_ANDX`, `CREATE`, `READDIRPLUS`); for a subcommand its
    /// own name (`FIND_FIRST2`).
    pub name: &'static str,
    /// Name in Table 1 of Swartz (1997) and Appendix A, where it has one.
    pub netbench_name: Option<&'static str>,
    /// The user's operation.
    pub operation: O,
    /// Where it is summed.
    pub group: G,
    /// Always waits by design (SMB2 CHANGE_NOTIFY); for some others this depends on their arguments.
    pub long_lived: bool,
    /// Its request or its answer carries file data. (Where the server copies, file data is written and none carried.)
    pub carries_data: bool,
    /// An NFSv4 operation that only serves the others of its compound (SEQUENCE, PUTFH, SAVEFH).
    pub bookkeeping: bool,
}

impl Row {
    /// Whether "all operations together" includes it: operations that users request. Without connections, sessions and portmap, but with
    /// ECHO and NULL, which may be a workload's only requests.
    pub fn is_asked_for(&self) -> bool {
        match self.group {
            G::Session => self.operation == O::Null && !matches!(self.protocol, Protocol::Portmap | Protocol::Mount),
            _ => self.protocol != Protocol::Portmap,
        }
    }
}

/// Added to the code of a read or write that goes to a named pipe: commands on the wire are below it.
pub(super) const ON_PIPE: u16 = 0x100;

/// A command's row.
pub(super) const fn row(protocol: Protocol, code: u16, name: &'static str, operation: O, group: G) -> Row {
    let carries_data = matches!(operation, O::Read | O::Write);
    Row {
        protocol,
        code,
        sub: None,
        name,
        netbench_name: None,
        operation,
        group,
        long_lived: false,
        carries_data,
        bookkeeping: false,
    }
}

/// The row of procedures that are not in the table.
pub(super) const fn unknown(protocol: Protocol) -> Row {
    row(protocol, u16::MAX, "UNKNOWN", O::Other, G::Session)
}

impl Row {
    /// As a subcommand of its code.
    pub(super) const fn sub(mut self, sub: u16) -> Row {
        self.sub = Some(sub);
        self
    }

    /// With its name in Swartz (1997).
    pub(super) const fn seed(mut self, name: &'static str) -> Row {
        self.netbench_name = Some(name);
        self
    }

    /// Serves the operations beside it in its compound.
    pub(super) const fn bookkeeping(mut self) -> Row {
        self.bookkeeping = true;
        self
    }

    /// Writes file data that its messages do not carry.
    pub(super) const fn without_data(mut self) -> Row {
        self.carries_data = false;
        self
    }

    /// Waits by design, always.
    pub(super) const fn long_lived(mut self) -> Row {
        self.long_lived = true;
        self
    }
}
