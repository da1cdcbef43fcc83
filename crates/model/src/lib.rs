//! The words Plimsoll speaks: operations, procedures, transactions and what could not be seen
