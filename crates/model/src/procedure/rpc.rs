//! The ONC RPC programs around NFS: portmapper, MOUNT, lock manager, access control lists; and any other program.
//!
//! One row a number over all versions of a program; where versions differ in the name, the later one stands here
//! unless said otherwise. NFSACL 3 is GETATTR in version 2 and GETXATTRDIR in version 3: the elder name stands.
//! NLM's `_MSG` and `_RES` are one-way pairs: the answer to a `_MSG` is a call of its own the other way.
//!
//! Spec: RFC 1833 3
//! Spec: RFC 1813 5
//! Spec: RFC 1094 A

use super::Row;
use super::row::{row, unknown};
use crate::{Group as G, Operation as O, Protocol};

const fn portmap(code: u16, name: &'static str) -> Row {
    row(Protocol::Portmap, code, name, O::Session, G::Session)
}

const fn mount(code: u16, name: &'static str) -> Row {
    row(Protocol::Mount, code, name, O::Session, G::Session)
}

const fn nlm(code: u16, name: &'static str) -> Row {
    row(Protocol::Nlm, code, name, O::Lock, G::Locking)
}

const fn acl(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::NfsAcl, code, name, operation, group)
}

const fn null(protocol: Protocol) -> Row {
    row(protocol, 0, "NULL", O::Null, G::Session)
}

pub(super) const ROWS: &[Row] = &[
    null(Protocol::Portmap),
    portmap(1, "SET"),
    portmap(2, "UNSET"),
    portmap(3, "GETPORT"), // versions 3 and 4: GETADDR
    portmap(4, "DUMP"),
    portmap(5, "CALLIT"), // version 4: BCAST
    portmap(6, "GETTIME"),
    portmap(7, "UADDR2TADDR"),
    portmap(8, "TADDR2UADDR"),
    portmap(9, "GETVERSADDR"),
    portmap(10, "INDIRECT"),
    portmap(11, "GETADDRLIST"),
    portmap(12, "GETSTAT"),
    unknown(Protocol::Portmap),
    null(Protocol::Mount),
    mount(1, "MNT"),
    mount(2, "DUMP"),
    mount(3, "UMNT"),
    mount(4, "UMNTALL"),
    mount(5, "EXPORT"),
    mount(6, "EXPORTALL"),
    mount(7, "PATHCONF"),
    unknown(Protocol::Mount),
    null(Protocol::Nlm),
    nlm(1, "TEST"),
    nlm(2, "LOCK"),
    nlm(3, "CANCEL"),
    nlm(4, "UNLOCK"),
    nlm(5, "GRANTED"),
    nlm(6, "TEST_MSG"),
    nlm(7, "LOCK_MSG"),
    nlm(8, "CANCEL_MSG"),
    nlm(9, "UNLOCK_MSG"),
    nlm(10, "GRANTED_MSG"),
    nlm(11, "TEST_RES"),
    nlm(12, "LOCK_RES"),
    nlm(13, "CANCEL_RES"),
    nlm(14, "UNLOCK_RES"),
    nlm(15, "GRANTED_RES"),
    nlm(16, "SM_NOTIFY"),
    nlm(20, "SHARE"),
    nlm(21, "UNSHARE"),
    nlm(22, "NM_LOCK"),
    nlm(23, "FREE_ALL"),
    unknown(Protocol::Nlm),
    null(Protocol::NfsAcl),
    acl(1, "GETACL", O::GetAttributes, G::Attributes),
    acl(2, "SETACL", O::SetAttributes, G::Attributes),
    acl(3, "GETATTR", O::GetAttributes, G::Attributes),
    acl(4, "ACCESS", O::Access, G::Attributes),
    acl(5, "GETXATTRDIR", O::Lookup, G::Directory),
    unknown(Protocol::NfsAcl),
];

pub(super) const OTHER_ROWS: &[Row] = &[unknown(Protocol::Rpc)];
