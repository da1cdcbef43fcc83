//! NFS versions 2 to 4.2 and the NFSv4 callbacks.
//!
//! NFSv4 has two RPC procedures, NULL and COMPOUND; its operations begin at 3, so that one number space serves both.
//! Operation ILLEGAL (10044) falls on the UNKNOWN row.
//!
//! Spec: RFC 1094 2.2
//! Spec: RFC 1813 3.3
//! Spec: RFC 7530 16
//! Spec: RFC 8881 18
//! Spec: RFC 7862 15
//! Spec: RFC 8276 8.4

use super::Row;
use super::row::{row, unknown};
use crate::{Group as G, Operation as O, Protocol};

const fn v2(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Nfs2, code, name, operation, group)
}

const fn v3(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Nfs3, code, name, operation, group)
}

const fn v4(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Nfs4, code, name, operation, group)
}

const fn cb(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Nfs4Callback, code, name, operation, group)
}

pub(super) const BIND_CONN_TO_SESSION: u16 = 41;

pub(super) const ROWS: &[Row] = &[
    v2(0, "NULL", O::Null, G::Session),
    v2(1, "GETATTR", O::GetAttributes, G::Attributes),
    v2(2, "SETATTR", O::SetAttributes, G::Attributes),
    v2(3, "ROOT", O::Session, G::Session),
    v2(4, "LOOKUP", O::Lookup, G::Directory),
    v2(5, "READLINK", O::ReadLink, G::Directory),
    v2(6, "READ", O::Read, G::Read),
    v2(7, "WRITECACHE", O::Flush, G::Write),
    v2(8, "WRITE", O::Write, G::Write),
    v2(9, "CREATE", O::Create, G::Directory),
    v2(10, "REMOVE", O::Remove, G::Directory),
    v2(11, "RENAME", O::Rename, G::Directory),
    v2(12, "LINK", O::Link, G::Directory),
    v2(13, "SYMLINK", O::Link, G::Directory),
    v2(14, "MKDIR", O::MakeDirectory, G::Directory),
    v2(15, "RMDIR", O::RemoveDirectory, G::Directory),
    v2(16, "READDIR", O::List, G::Directory),
    v2(17, "STATFS", O::FileSystemInfo, G::Attributes),
    unknown(Protocol::Nfs2),
    v3(0, "NULL", O::Null, G::Session),
    v3(1, "GETATTR", O::GetAttributes, G::Attributes),
    v3(2, "SETATTR", O::SetAttributes, G::Attributes),
    v3(3, "LOOKUP", O::Lookup, G::Directory),
    v3(4, "ACCESS", O::Access, G::Attributes),
    v3(5, "READLINK", O::ReadLink, G::Directory),
    v3(6, "READ", O::Read, G::Read),
    v3(7, "WRITE", O::Write, G::Write),
    v3(8, "CREATE", O::Create, G::Directory),
    v3(9, "MKDIR", O::MakeDirectory, G::Directory),
    v3(10, "SYMLINK", O::Link, G::Directory),
    v3(11, "MKNOD", O::Link, G::Directory),
    v3(12, "REMOVE", O::Remove, G::Directory),
    v3(13, "RMDIR", O::RemoveDirectory, G::Directory),
    v3(14, "RENAME", O::Rename, G::Directory),
    v3(15, "LINK", O::Link, G::Directory),
    v3(16, "READDIR", O::List, G::Directory),
    v3(17, "READDIRPLUS", O::List, G::Directory),
    v3(18, "FSSTAT", O::FileSystemInfo, G::Attributes),
    v3(19, "FSINFO", O::FileSystemInfo, G::Attributes),
    v3(20, "PATHCONF", O::FileSystemInfo, G::Attributes),
    v3(21, "COMMIT", O::Flush, G::Write),
    unknown(Protocol::Nfs3),
    v4(0, "NULL", O::Null, G::Session),
    v4(1, "COMPOUND", O::Compound, G::Compound),
    v4(3, "ACCESS", O::Access, G::Attributes),
    v4(4, "CLOSE", O::Close, G::OpenClose),
    v4(5, "COMMIT", O::Flush, G::Write),
    // Directories, links and special files; files are made by OPEN.
    v4(6, "CREATE", O::Create, G::Directory),
    v4(7, "DELEGPURGE", O::Lock, G::Locking),
    v4(8, "DELEGRETURN", O::Lock, G::Locking),
    v4(9, "GETATTR", O::GetAttributes, G::Attributes),
    v4(10, "GETFH", O::Other, G::Session).bookkeeping(),
    v4(11, "LINK", O::Link, G::Directory),
    v4(12, "LOCK", O::Lock, G::Locking),
    v4(13, "LOCKT", O::Lock, G::Locking),
    v4(14, "LOCKU", O::Lock, G::Locking),
    v4(15, "LOOKUP", O::Lookup, G::Directory),
    v4(16, "LOOKUPP", O::Lookup, G::Directory),
    v4(17, "NVERIFY", O::GetAttributes, G::Attributes),
    v4(18, "OPEN", O::Open, G::OpenClose),
    v4(19, "OPENATTR", O::Lookup, G::Directory),
    v4(20, "OPEN_CONFIRM", O::Open, G::OpenClose),
    v4(21, "OPEN_DOWNGRADE", O::Open, G::OpenClose),
    v4(22, "PUTFH", O::Other, G::Session).bookkeeping(),
    v4(23, "PUTPUBFH", O::Other, G::Session).bookkeeping(),
    v4(24, "PUTROOTFH", O::Other, G::Session).bookkeeping(),
    v4(25, "READ", O::Read, G::Read),
    v4(26, "READDIR", O::List, G::Directory),
    v4(27, "READLINK", O::ReadLink, G::Directory),
    v4(28, "REMOVE", O::Remove, G::Directory),
    v4(29, "RENAME", O::Rename, G::Directory),
    v4(30, "RENEW", O::Session, G::Session).bookkeeping(),
    v4(31, "RESTOREFH", O::Other, G::Session).bookkeeping(),
    v4(32, "SAVEFH", O::Other, G::Session).bookkeeping(),
    v4(33, "SECINFO", O::Session, G::Session),
    v4(34, "SETATTR", O::SetAttributes, G::Attributes),
    v4(35, "SETCLIENTID", O::Session, G::Session),
    v4(36, "SETCLIENTID_CONFIRM", O::Session, G::Session),
    v4(37, "VERIFY", O::GetAttributes, G::Attributes),
    v4(38, "WRITE", O::Write, G::Write),
    v4(39, "RELEASE_LOCKOWNER", O::Lock, G::Locking),
    v4(40, "BACKCHANNEL_CTL", O::Session, G::Session),
    v4(BIND_CONN_TO_SESSION, "BIND_CONN_TO_SESSION", O::Session, G::Session),
    v4(42, "EXCHANGE_ID", O::Session, G::Session),
    v4(43, "CREATE_SESSION", O::Session, G::Session),
    v4(44, "DESTROY_SESSION", O::Session, G::Session),
    v4(45, "FREE_STATEID", O::Lock, G::Locking),
    v4(46, "GET_DIR_DELEGATION", O::Lock, G::Locking),
    v4(47, "GETDEVICEINFO", O::Other, G::Session),
    v4(48, "GETDEVICELIST", O::Other, G::Session),
    v4(49, "LAYOUTCOMMIT", O::SetAttributes, G::Attributes),
    v4(50, "LAYOUTGET", O::Lock, G::Locking),
    v4(51, "LAYOUTRETURN", O::Lock, G::Locking),
    v4(52, "SECINFO_NO_NAME", O::Session, G::Session),
    v4(53, "SEQUENCE", O::Session, G::Session).bookkeeping(),
    v4(54, "SET_SSV", O::Session, G::Session),
    v4(55, "TEST_STATEID", O::Lock, G::Locking),
    v4(56, "WANT_DELEGATION", O::Lock, G::Locking),
    v4(57, "DESTROY_CLIENTID", O::Session, G::Session),
    v4(58, "RECLAIM_COMPLETE", O::Session, G::Session),
    v4(59, "ALLOCATE", O::SetAttributes, G::Attributes),
    // COPY, CLONE: the server copies: file data is written, though none crosses the wire.
    v4(60, "COPY", O::Write, G::Write).without_data(),
    v4(61, "COPY_NOTIFY", O::Control, G::Session),
    v4(62, "DEALLOCATE", O::SetAttributes, G::Attributes),
    v4(63, "IO_ADVISE", O::Control, G::Session),
    v4(64, "LAYOUTERROR", O::Control, G::Session),
    v4(65, "LAYOUTSTATS", O::Control, G::Session),
    v4(66, "OFFLOAD_CANCEL", O::Control, G::Session),
    v4(67, "OFFLOAD_STATUS", O::Control, G::Session),
    v4(68, "READ_PLUS", O::Read, G::Read),
    v4(69, "SEEK", O::GetAttributes, G::Attributes),
    v4(70, "WRITE_SAME", O::Write, G::Write).without_data(),
    v4(71, "CLONE", O::Write, G::Write).without_data(),
    v4(72, "GETXATTR", O::GetAttributes, G::Attributes),
    v4(73, "SETXATTR", O::SetAttributes, G::Attributes),
    v4(74, "LISTXATTRS", O::GetAttributes, G::Attributes),
    v4(75, "REMOVEXATTR", O::SetAttributes, G::Attributes),
    unknown(Protocol::Nfs4),
];

/// From server to client: Spec: RFC 8881 20
pub(super) const CALLBACK_ROWS: &[Row] = &[
    cb(0, "CB_NULL", O::Null, G::Session),
    cb(1, "CB_COMPOUND", O::Compound, G::Compound),
    cb(3, "CB_GETATTR", O::GetAttributes, G::Attributes),
    cb(4, "CB_RECALL", O::Lock, G::Locking),
    cb(5, "CB_LAYOUTRECALL", O::Lock, G::Locking),
    cb(6, "CB_NOTIFY", O::Notify, G::Directory),
    cb(7, "CB_PUSH_DELEG", O::Lock, G::Locking),
    cb(8, "CB_RECALL_ANY", O::Lock, G::Locking),
    cb(9, "CB_RECALLABLE_OBJ_AVAIL", O::Lock, G::Locking),
    cb(10, "CB_RECALL_SLOT", O::Session, G::Session),
    cb(11, "CB_SEQUENCE", O::Session, G::Session).bookkeeping(),
    cb(12, "CB_WANTS_CANCELLED", O::Lock, G::Locking),
    cb(13, "CB_NOTIFY_LOCK", O::Lock, G::Locking),
    cb(14, "CB_NOTIFY_DEVICEID", O::Other, G::Session),
    cb(15, "CB_OFFLOAD", O::Control, G::Session),
    unknown(Protocol::Nfs4Callback),
];
