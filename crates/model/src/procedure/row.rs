//! How a row is written down.

use super::Row;
use crate::{Group as G, Operation as O, Protocol};

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

/// The row for what the table does not name.
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
