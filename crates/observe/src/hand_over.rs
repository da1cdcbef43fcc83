//! How messages' fields that `wire` defines are handed over from one capture file to the next: `wire` knows no `serde`.

use plimsoll_wire::smb1::raw::WriteRaw;

type WriteRawFields = (u16, u16, u64, u32, u16, u16);

fn fields(of: &WriteRaw) -> WriteRawFields {
    (of.fid, of.count, of.offset, of.timeout_ms, of.mode, of.immediate)
}

fn of_fields((fid, count, offset, timeout_ms, mode, immediate): WriteRawFields) -> WriteRaw {
    WriteRaw { fid, count, offset, timeout_ms, mode, immediate }
}

/// Functions for `#[serde(with)]` by which a type goes as another one.
macro_rules! as_other {
    ($(#[$doc:meta])* $module:ident, $type:ty, $to:expr, $from:expr) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(crate) fn serialize<S: Serializer>(of: &$type, to: S) -> Result<S::Ok, S::Error> {
                $to(of).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                Deserialize::deserialize(from).map($from)
            }
        }
    };
}

as_other!(
    /// A WRITE_RAW request.
    write_raw,
    plimsoll_wire::smb1::raw::WriteRaw,
    super::fields,
    super::of_fields
);
as_other!(
    /// One, perhaps.
    maybe_write_raw,
    Option<plimsoll_wire::smb1::raw::WriteRaw>,
    |of: &Option<_>| of.as_ref().map(super::fields),
    |fields: Option<_>| fields.map(super::of_fields)
);
as_other!(
    /// How much of a transaction was seen.
    progress,
    plimsoll_wire::smb1::transaction::Progress,
    plimsoll_wire::smb1::transaction::Progress::bytes,
    plimsoll_wire::smb1::transaction::Progress::of_bytes
);
as_other!(
    /// How an RPC call is protected, if that is known.
    protection,
    Option<plimsoll_wire::rpc::Protection>,
    |of: &Option<_>| of.map(super::protection_number),
    |number: Option<u8>| number.map(super::protection_of)
);

use plimsoll_wire::rpc::Protection;

fn protection_number(of: Protection) -> u8 {
    match of {
        Protection::None => 0,
        Protection::Integrity => 1,
        Protection::Privacy => 2,
    }
}

fn protection_of(number: u8) -> Protection {
    match number {
        0 => Protection::None,
        1 => Protection::Integrity,
        _ => Protection::Privacy,
    }
}
