//! SMB 1 / CIFS commands and the subcommands of its three transactions.
//!
//! Names without `SMB_COM_`, `TRANS_`, `TRANS2_`, `NT_TRANSACT_`. Subcommands: the TRANSACTION2 and NT_TRANSACT
//! function, and the named-pipe function of TRANSACTION. (A mailslot write has number 1 too, like SET_NMPIPE_STATE:
//! who decodes one must look at the transaction's name first, and leave a mailslot on TRANSACTION's own row.)
//!
//! Table 1 of Swartz (1997) has `Find_First` and `Find_First2`. SMB1 has only FIND_FIRST2, which is called `Find_First`
//! here, as in Swartz's Appendix A. Table 1 also has `Get_Ext_Attribute`. No SMB1 command has this name: a client gets
//! extended attributes with QUERY_PATH_INFORMATION or QUERY_FILE_INFORMATION.
//!
//! Spec: MS-CIFS 2.2.2.1
//! Spec: MS-CIFS 2.2.2.2

use super::Row;
use super::row::{ON_PIPE, row, unknown};
use crate::{Group as G, Operation as O, Protocol};

/// Code of WRITE_RAW.
pub(super) const WRITE_RAW: u16 = 0x1D;
/// Pseudo-subcommand of its unanswered part.
pub(super) const WRITE_RAW_ASYNC: u16 = 1;

const fn c(code: u16, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::Smb1, code, name, operation, group)
}

const fn pipe(sub: u16, name: &'static str, operation: O, group: G) -> Row {
    c(0x25, name, operation, group).sub(sub)
}

const fn trans2(sub: u16, name: &'static str, operation: O, group: G) -> Row {
    c(0x32, name, operation, group).sub(sub)
}

const fn nt(sub: u16, name: &'static str, operation: O, group: G) -> Row {
    c(0xA0, name, operation, group).sub(sub)
}

pub(super) const ROWS: &[Row] = &[
    c(0x00, "CREATE_DIRECTORY", O::MakeDirectory, G::Directory).seed("Create_Directory"),
    c(0x01, "DELETE_DIRECTORY", O::RemoveDirectory, G::Directory).seed("Delete_Directory"),
    c(0x02, "OPEN", O::Open, G::OpenClose),
    c(0x03, "CREATE", O::Open, G::OpenClose),
    c(0x04, "CLOSE", O::Close, G::OpenClose).seed("Close_File"),
    c(0x05, "FLUSH", O::Flush, G::Write).seed("Flush_File"),
    c(0x06, "DELETE", O::Remove, G::Directory).seed("Delete_File"),
    c(0x07, "RENAME", O::Rename, G::Directory).seed("Rename_File"),
    c(0x08, "QUERY_INFORMATION", O::GetAttributes, G::Attributes).seed("Get_File_Attributes"),
    c(0x09, "SET_INFORMATION", O::SetAttributes, G::Attributes).seed("Set_File_Attributes"),
    c(0x0A, "READ", O::Read, G::Read),
    c(0x0B, "WRITE", O::Write, G::Write).seed("Write_Bytes"),
    c(ON_PIPE | 0x0A, "PIPE_READ", O::Control, G::Session).long_lived(),
    c(ON_PIPE | 0x0B, "PIPE_WRITE", O::Control, G::Session),
    c(0x0C, "LOCK_BYTE_RANGE", O::Lock, G::Locking),
    c(0x0D, "UNLOCK_BYTE_RANGE", O::Lock, G::Locking),
    c(0x0E, "CREATE_TEMPORARY", O::Open, G::OpenClose),
    c(0x0F, "CREATE_NEW", O::Open, G::OpenClose),
    c(0x10, "CHECK_DIRECTORY", O::Lookup, G::Directory).seed("Check_Directory"),
    c(0x11, "PROCESS_EXIT", O::Session, G::Session),
    c(0x12, "SEEK", O::Other, G::Session),
    c(0x13, "LOCK_AND_READ", O::Read, G::Read),
    c(0x14, "WRITE_AND_UNLOCK", O::Write, G::Write),
    c(0x1A, "READ_RAW", O::Read, G::Read),
    c(0x1B, "READ_MPX", O::Read, G::Read),
    c(0x1C, "READ_MPX_SECONDARY", O::Read, G::Read),
    // Swartz 1997, section 5: the first row is the request and the interim answer, the second is the block, which has no answer.
    c(WRITE_RAW, "WRITE_RAW", O::Write, G::Write).seed("Write_Raw"),
    c(WRITE_RAW, "async portion", O::Write, G::Write).sub(WRITE_RAW_ASYNC).seed("async portion"),
    c(0x1E, "WRITE_MPX", O::Write, G::Write),
    c(0x1F, "WRITE_MPX_SECONDARY", O::Write, G::Write),
    c(0x20, "WRITE_COMPLETE", O::Write, G::Write),
    c(0x21, "QUERY_SERVER", O::FileSystemInfo, G::Attributes),
    c(0x22, "SET_INFORMATION2", O::SetAttributes, G::Attributes).seed("Set_File_Attributes2"),
    c(0x23, "QUERY_INFORMATION2", O::GetAttributes, G::Attributes).seed("Get_File_Attributes2"),
    c(0x24, "LOCKING_ANDX", O::Lock, G::Locking).seed("Locking+X"),
    c(0x25, "TRANSACTION", O::Control, G::Session),
    pipe(0x01, "SET_NMPIPE_STATE", O::Control, G::Session),
    pipe(0x11, "RAW_READ_NMPIPE", O::Control, G::Session),
    pipe(0x21, "QUERY_NMPIPE_STATE", O::Control, G::Session),
    pipe(0x22, "QUERY_NMPIPE_INFO", O::Control, G::Session),
    pipe(0x23, "PEEK_NMPIPE", O::Control, G::Session),
    pipe(0x26, "TRANSACT_NMPIPE", O::Control, G::Session),
    pipe(0x31, "RAW_WRITE_NMPIPE", O::Control, G::Session),
    pipe(0x36, "READ_NMPIPE", O::Control, G::Session),
    pipe(0x37, "WRITE_NMPIPE", O::Control, G::Session),
    pipe(0x53, "WAIT_NMPIPE", O::Control, G::Session).long_lived(),
    pipe(0x54, "CALL_NMPIPE", O::Control, G::Session),
    c(0x26, "TRANSACTION_SECONDARY", O::Control, G::Session),
    c(0x27, "IOCTL", O::Control, G::Session),
    c(0x28, "IOCTL_SECONDARY", O::Control, G::Session),
    c(0x29, "COPY", O::Write, G::Write).without_data(),
    c(0x2A, "MOVE", O::Rename, G::Directory),
    c(0x2B, "ECHO", O::Null, G::Session),
    c(0x2C, "WRITE_AND_CLOSE", O::Write, G::Write),
    c(0x2D, "OPEN_ANDX", O::Open, G::OpenClose).seed("Open+X"),
    c(0x2E, "READ_ANDX", O::Read, G::Read).seed("Read+X"),
    c(0x2F, "WRITE_ANDX", O::Write, G::Write).seed("Write+X"),
    c(ON_PIPE | 0x2E, "PIPE_READ_ANDX", O::Control, G::Session).long_lived(),
    c(ON_PIPE | 0x2F, "PIPE_WRITE_ANDX", O::Control, G::Session),
    c(0x30, "NEW_FILE_SIZE", O::SetAttributes, G::Attributes),
    c(0x31, "CLOSE_AND_TREE_DISC", O::Close, G::OpenClose),
    c(0x32, "TRANSACTION2", O::Other, G::Unknown).seed("Transaction2"),
    trans2(0x01, "FIND_FIRST2", O::List, G::Directory).seed("Find_First"),
    trans2(0x02, "FIND_NEXT2", O::List, G::Directory).seed("Find_Next"),
    trans2(0x03, "QUERY_FS_INFORMATION", O::FileSystemInfo, G::Attributes).seed("Get_FS_Info"),
    trans2(0x05, "QUERY_PATH_INFORMATION", O::GetAttributes, G::Attributes).seed("Get_Path_Info"),
    trans2(0x06, "SET_PATH_INFORMATION", O::SetAttributes, G::Attributes),
    trans2(0x07, "QUERY_FILE_INFORMATION", O::GetAttributes, G::Attributes).seed("Get_File_Info"),
    trans2(0x08, "SET_FILE_INFORMATION", O::SetAttributes, G::Attributes).seed("Set_File_Info"),
    trans2(0x00, "OPEN2", O::Open, G::OpenClose),
    trans2(0x04, "SET_FS_INFORMATION", O::SetAttributes, G::Attributes),
    trans2(0x09, "FSCTL", O::Control, G::Session),
    trans2(0x0A, "IOCTL2", O::Control, G::Session),
    trans2(0x0B, "FIND_NOTIFY_FIRST", O::Notify, G::Directory),
    trans2(0x0C, "FIND_NOTIFY_NEXT", O::Notify, G::Directory),
    trans2(0x0D, "CREATE_DIRECTORY", O::MakeDirectory, G::Directory),
    trans2(0x0E, "SESSION_SETUP", O::Session, G::Session),
    trans2(0x10, "GET_DFS_REFERRAL", O::Control, G::Session),
    trans2(0x11, "REPORT_DFS_INCONSISTENCY", O::Control, G::Session),
    c(0x33, "TRANSACTION2_SECONDARY", O::Other, G::Session),
    c(0x34, "FIND_CLOSE2", O::List, G::Directory).seed("Find_Close2"),
    c(0x35, "FIND_NOTIFY_CLOSE", O::Notify, G::Directory),
    c(0x70, "TREE_CONNECT", O::Session, G::Session),
    c(0x71, "TREE_DISCONNECT", O::Session, G::Session),
    c(0x72, "NEGOTIATE", O::Session, G::Session),
    c(0x73, "SESSION_SETUP_ANDX", O::Session, G::Session),
    c(0x74, "LOGOFF_ANDX", O::Session, G::Session),
    c(0x75, "TREE_CONNECT_ANDX", O::Session, G::Session),
    c(0x7E, "SECURITY_PACKAGE_ANDX", O::Session, G::Session),
    c(0x80, "QUERY_INFORMATION_DISK", O::FileSystemInfo, G::Attributes),
    c(0x81, "SEARCH", O::List, G::Directory),
    c(0x82, "FIND", O::List, G::Directory),
    c(0x83, "FIND_UNIQUE", O::List, G::Directory),
    c(0x84, "FIND_CLOSE", O::List, G::Directory),
    c(0xA0, "NT_TRANSACT", O::Other, G::Unknown),
    nt(0x01, "CREATE", O::Open, G::OpenClose),
    nt(0x02, "IOCTL", O::Control, G::Session),
    nt(0x03, "SET_SECURITY_DESC", O::SetAttributes, G::Attributes),
    nt(0x04, "NOTIFY_CHANGE", O::Notify, G::Directory).long_lived(),
    nt(0x05, "RENAME", O::Rename, G::Directory),
    nt(0x06, "QUERY_SECURITY_DESC", O::GetAttributes, G::Attributes),
    nt(0x07, "QUERY_QUOTA", O::FileSystemInfo, G::Attributes),
    nt(0x08, "SET_QUOTA", O::SetAttributes, G::Attributes),
    c(0xA1, "NT_TRANSACT_SECONDARY", O::Other, G::Session),
    c(0xA2, "NT_CREATE_ANDX", O::Open, G::OpenClose).seed("NT_Create+X"),
    c(0xA4, "NT_CANCEL", O::Other, G::Session),
    c(0xA5, "NT_RENAME", O::Rename, G::Directory),
    c(0xC0, "OPEN_PRINT_FILE", O::Open, G::OpenClose),
    c(0xC1, "WRITE_PRINT_FILE", O::Write, G::Write),
    c(0xC2, "CLOSE_PRINT_FILE", O::Close, G::OpenClose),
    c(0xC3, "GET_PRINT_QUEUE", O::Other, G::Session),
    c(0xD8, "READ_BULK", O::Read, G::Read),
    c(0xD9, "WRITE_BULK", O::Write, G::Write),
    c(0xDA, "WRITE_BULK_DATA", O::Write, G::Write),
    c(0xFE, "INVALID", O::Other, G::Session),
    unknown(Protocol::Smb1),
];
