//! SMB 2 and 3 commands, and the subcommands of SESSION_SETUP, QUERY_INFO, SET_INFO and IOCTL.
//!
//! Subcommand numbers: SESSION_SETUP 1 for SMB2_SESSION_FLAG_BINDING; QUERY_INFO its info type; SET_INFO `type << 8 | class`; IOCTL [`ioctl_sub`] of its control
//! code. A subcommand without a row belongs to its command's own row.
//!
//! Spec: MS-SMB2 2.2.1.2
//! Spec: MS-SMB2 2.2.5
//! Spec: MS-SMB2 2.2.31
//! Spec: MS-SMB2 2.2.37
//! Spec: MS-SMB2 2.2.39
//! Spec: MS-FSCC 2.3
//! Spec: MS-FSCC 2.4

use super::Row;
use super::row::{ON_PIPE, row, unknown};
use crate::{Group as G, Operation as O, Protocol};

/// Code of SMB2 IOCTL.
pub(super) const IOCTL: u16 = 0x0B;

/// Stands for a control code that was cut off: it may be a server-side copy. No known device has a function of this number.
pub(super) const IOCTL_CUT: u16 = u16::MAX;

/// Code of SMB2 SESSION_SETUP.
pub(super) const SESSION_SETUP: u16 = 0x01;

/// Stands for SMB2_SESSION_FLAG_BINDING: a further connection of an existing session.
pub(super) const SESSION_BINDING: u16 = 1;

/// Packs a control code into 16 bits: its device (2 bits: DFS, file system, named pipe, network file system), access (2 bits) and
/// function (12 bits). The transfer method is left out, because no two control codes differ only in it, while SRV_COPYCHUNK and
/// SRV_COPYCHUNK_WRITE differ only in access. `None` for other devices.
pub(super) const fn ioctl_sub(ctl_code: u32) -> Option<u16> {
    let device = match ctl_code >> 16 {
        0x06 => 0,
        0x09 => 1,
        0x11 => 2,
        0x14 => 3,
        _ => return None,
    };
    let (access, function) = (ctl_code >> 14 & 0x3, ctl_code >> 2 & 0xFFF);
    Some((device << 14 | access << 12 | function) as u16)
}

const fn c(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Smb2, code, name, operation, group)
}

const fn query(info_type: u16, name: &'static str, operation: O) -> Row {
    c(0x10, name, operation, G::Attributes).sub(info_type)
}

const fn set(info_type: u16, class: u16, name: &'static str, operation: O, group: G) -> Row {
    c(0x11, name, operation, group).sub(info_type << 8 | class)
}

const fn ioctl(ctl_code: u32, name: &'static str, operation: O, group: G) -> Row {
    match ioctl_sub(ctl_code) {
        Some(sub) => c(IOCTL, name, operation, group).sub(sub),
        None => panic!("a control code of a device type that ioctl_sub cannot encode"), // at compile time
    }
}

pub(super) const ROWS: &[Row] = &[
    c(0x00, "NEGOTIATE", O::Session, G::Session),
    c(SESSION_SETUP, "SESSION_SETUP", O::Session, G::Session),
    c(SESSION_SETUP, "BINDING", O::Session, G::Session).sub(SESSION_BINDING),
    c(0x02, "LOGOFF", O::Session, G::Session),
    c(0x03, "TREE_CONNECT", O::Session, G::Session),
    c(0x04, "TREE_DISCONNECT", O::Session, G::Session),
    c(0x05, "CREATE", O::Open, G::OpenClose),
    c(0x06, "CLOSE", O::Close, G::OpenClose),
    c(0x07, "FLUSH", O::Flush, G::Write),
    c(0x08, "READ", O::Read, G::Read),
    c(0x09, "WRITE", O::Write, G::Write),
    c(ON_PIPE | 0x08, "PIPE_READ", O::Control, G::Session).long_lived(),
    c(ON_PIPE | 0x09, "PIPE_WRITE", O::Control, G::Session),
    c(0x0A, "LOCK", O::Lock, G::Locking),
    c(IOCTL, "IOCTL", O::Control, G::Session),
    ioctl(0x0011_C017, "PIPE_TRANSCEIVE", O::Control, G::Session),
    ioctl(0x0011_0018, "PIPE_WAIT", O::Control, G::Session).long_lived(),
    ioctl(0x0011_400C, "PIPE_PEEK", O::Control, G::Session),
    ioctl(0x0006_0194, "DFS_GET_REFERRALS", O::Control, G::Session),
    ioctl(0x0006_01B0, "DFS_GET_REFERRALS_EX", O::Control, G::Session),
    ioctl(0x0014_0204, "VALIDATE_NEGOTIATE_INFO", O::Session, G::Session),
    ioctl(0x0014_01FC, "QUERY_NETWORK_INTERFACE_INFO", O::Session, G::Session),
    ioctl(0x0014_0078, "SRV_REQUEST_RESUME_KEY", O::Control, G::Session),
    // The server copies: file data is written, though none crosses the wire.
    ioctl(0x0014_40F2, "SRV_COPYCHUNK", O::Write, G::Write).without_data(),
    ioctl(0x0014_80F2, "SRV_COPYCHUNK_WRITE", O::Write, G::Write).without_data(),
    ioctl(0x0014_4064, "SRV_ENUMERATE_SNAPSHOTS", O::List, G::Directory),
    ioctl(0x0014_41BB, "SRV_READ_HASH", O::Control, G::Session),
    ioctl(0x0014_01D4, "LMR_REQUEST_RESILIENCY", O::Session, G::Session),
    ioctl(0x0009_00C0, "CREATE_OR_GET_OBJECT_ID", O::GetAttributes, G::Attributes),
    ioctl(0x0009_009C, "GET_OBJECT_ID", O::GetAttributes, G::Attributes),
    ioctl(0x0009_8098, "SET_OBJECT_ID", O::SetAttributes, G::Attributes),
    ioctl(0x0009_80A0, "DELETE_OBJECT_ID", O::SetAttributes, G::Attributes),
    ioctl(0x0009_00A8, "GET_REPARSE_POINT", O::ReadLink, G::Directory),
    ioctl(0x0009_00A4, "SET_REPARSE_POINT", O::Link, G::Directory),
    ioctl(0x0009_00AC, "DELETE_REPARSE_POINT", O::Link, G::Directory),
    ioctl(0x0009_003C, "GET_COMPRESSION", O::GetAttributes, G::Attributes),
    ioctl(0x0009_C040, "SET_COMPRESSION", O::SetAttributes, G::Attributes),
    ioctl(0x0009_00C4, "SET_SPARSE", O::SetAttributes, G::Attributes),
    ioctl(0x0009_80C8, "SET_ZERO_DATA", O::SetAttributes, G::Attributes),
    ioctl(0x0009_40CF, "QUERY_ALLOCATED_RANGES", O::GetAttributes, G::Attributes),
    ioctl(0x0009_0284, "QUERY_FILE_REGIONS", O::GetAttributes, G::Attributes),
    ioctl(0x0009_8208, "FILE_LEVEL_TRIM", O::SetAttributes, G::Attributes),
    ioctl(0x0009_4264, "OFFLOAD_READ", O::Control, G::Session),
    ioctl(0x0009_8268, "OFFLOAD_WRITE", O::Write, G::Write).without_data(),
    ioctl(0x0009_8344, "DUPLICATE_EXTENTS_TO_FILE", O::Write, G::Write).without_data(),
    ioctl(0x0009_83E8, "DUPLICATE_EXTENTS_TO_FILE_EX", O::Write, G::Write).without_data(),
    ioctl(0x0009_027C, "GET_INTEGRITY_INFORMATION", O::GetAttributes, G::Attributes),
    ioctl(0x0009_C280, "SET_INTEGRITY_INFORMATION", O::SetAttributes, G::Attributes),
    ioctl(0x0009_0060, "FILESYSTEM_GET_STATISTICS", O::FileSystemInfo, G::Attributes),
    ioctl(0x0009_0064, "GET_NTFS_VOLUME_DATA", O::FileSystemInfo, G::Attributes),
    ioctl(0x0009_002C, "IS_PATHNAME_VALID", O::Lookup, G::Directory),
    ioctl(0x0009_0300, "QUERY_SHARED_VIRTUAL_DISK_SUPPORT", O::Control, G::Session),
    c(IOCTL, "(control code cut off)", O::Other, G::Unknown).sub(IOCTL_CUT),
    c(0x0C, "CANCEL", O::Other, G::Session),
    c(0x0D, "ECHO", O::Null, G::Session),
    c(0x0E, "QUERY_DIRECTORY", O::List, G::Directory),
    c(0x0F, "CHANGE_NOTIFY", O::Notify, G::Directory).long_lived(),
    c(0x10, "QUERY_INFO", O::GetAttributes, G::Attributes),
    query(1, "FILE", O::GetAttributes),
    query(2, "FILESYSTEM", O::FileSystemInfo),
    query(3, "SECURITY", O::GetAttributes),
    query(4, "QUOTA", O::FileSystemInfo),
    // Attributes, names or removal: the subcommand says it.
    c(0x11, "SET_INFO", O::Other, G::Unknown),
    set(1, 4, "BASIC", O::SetAttributes, G::Attributes),
    set(1, 10, "RENAME", O::Rename, G::Directory),
    set(1, 65, "RENAME_EX", O::Rename, G::Directory),
    set(1, 11, "LINK", O::Link, G::Directory),
    set(1, 72, "LINK_EX", O::Link, G::Directory),
    // Deletes on close: files and directories alike, the wire does not say which.
    set(1, 13, "DISPOSITION", O::Remove, G::Directory),
    set(1, 64, "DISPOSITION_EX", O::Remove, G::Directory),
    set(1, 14, "POSITION", O::SetAttributes, G::Attributes),
    set(1, 15, "FULL_EA", O::SetAttributes, G::Attributes),
    set(1, 16, "MODE", O::SetAttributes, G::Attributes),
    set(1, 19, "ALLOCATION", O::SetAttributes, G::Attributes),
    set(1, 20, "END_OF_FILE", O::SetAttributes, G::Attributes),
    set(1, 23, "PIPE", O::SetAttributes, G::Attributes),
    set(1, 39, "VALID_DATA_LENGTH", O::SetAttributes, G::Attributes),
    set(1, 40, "SHORT_NAME", O::Rename, G::Directory),
    set(2, 6, "FILESYSTEM_CONTROL", O::SetAttributes, G::Attributes),
    set(2, 8, "FILESYSTEM_OBJECT_ID", O::SetAttributes, G::Attributes),
    set(3, 0, "SECURITY", O::SetAttributes, G::Attributes),
    set(4, 0, "QUOTA", O::SetAttributes, G::Attributes),
    c(0x12, "OPLOCK_BREAK", O::Lock, G::Locking),
    unknown(Protocol::Smb2),
];
