//! Requests that open or create a file, and the FID that their answers give.
//! Spec: MS-CIFS 2.2.4.3, 2.2.4.4, 2.2.4.15, 2.2.4.16, 2.2.4.41, 2.2.4.64, 2.2.4.67

use super::andx::Link;
use super::command;
use super::string::SmbString;

/// Buffer format of an SMB_STRING (MS-CIFS 2.2.1.1).
pub(super) const FORMAT_STRING: u8 = 0x04;

/// NT_CREATE_ANDX request: after the AndX words and a reserved byte.
const NT_NAME_LENGTH: usize = 5;
const NT_FLAGS: usize = 7;
const NT_ROOT_FID: usize = 11;
const NT_ACCESS: usize = 15;
const NT_SHARE_ACCESS: usize = 31;
const NT_DISPOSITION: usize = 35;
const NT_OPTIONS: usize = 39;
const NT_FID: usize = 5;
/// FID in the other responses.
const ANDX_FID: usize = 4;
const CORE_FID: usize = 0;

/// An NT_CREATE_ANDX request.
#[derive(Clone, Copy, Debug)]
pub struct NtCreate<'a> {
    /// Flags: bit 1 asks for an oplock, bit 2 for a batch oplock, bit 3 opens the target's directory.
    pub flags: u32,
    /// Directory that the path is relative to; 0 for the share's root.
    pub root_fid: u32,
    /// DesiredAccess (MS-CIFS 2.2.1.4.1).
    pub access: u32,
    /// ShareAccess.
    pub share_access: u32,
    /// CreateDisposition: 0 supersede, 1 open, 2 create, 3 open or create, 4 overwrite, 5 overwrite or create.
    pub disposition: u32,
    /// CreateOptions: bit 0 wants a directory, bit 12 deletes on close.
    pub options: u32,
    /// The path, if its bytes were captured.
    pub path: Option<SmbString<'a>>,
}

impl<'a> NtCreate<'a> {
    /// The view of an NT_CREATE_ANDX request; `None` for other messages, or if one of its words is missing.
    pub fn new(link: &Link<'a>) -> Option<Self> {
        if link.command != command::NT_CREATE_ANDX || !link.is_request() {
            return None;
        }
        Some(Self {
            flags: link.u32(NT_FLAGS)?,
            root_fid: link.u32(NT_ROOT_FID)?,
            access: link.u32(NT_ACCESS)?,
            share_access: link.u32(NT_SHARE_ACCESS)?,
            disposition: link.u32(NT_DISPOSITION)?,
            options: link.u32(NT_OPTIONS)?,
            path: nt_create_path(link),
        })
    }
}

/// The path in a request that opens a file: OPEN, CREATE, CREATE_NEW, CREATE_TEMPORARY (a directory), OPEN_ANDX,
/// NT_CREATE_ANDX. For OPEN2 and NT_TRANSACT CREATE see [`super::trans2`] and [`super::transaction`].
pub fn path<'a>(link: &Link<'a>) -> Option<SmbString<'a>> {
    if !link.is_request() {
        return None;
    }
    match link.command {
        command::OPEN | command::CREATE | command::CREATE_NEW | command::CREATE_TEMPORARY => {
            link.reader()?.formatted(FORMAT_STRING)
        }
        command::OPEN_ANDX => link.reader()?.string(),
        command::NT_CREATE_ANDX => nt_create_path(link),
        _ => None,
    }
}

/// The FID that a response gives: OPEN, CREATE, CREATE_NEW, CREATE_TEMPORARY, OPEN_ANDX, NT_CREATE_ANDX, and
/// OPEN_PRINT_FILE.
pub fn opened_fid(link: &Link<'_>) -> Option<u16> {
    if !link.is_response() {
        return None;
    }
    match link.command {
        command::OPEN
        | command::CREATE
        | command::CREATE_NEW
        | command::CREATE_TEMPORARY
        | command::OPEN_PRINT_FILE => link.u16(CORE_FID),
        command::OPEN_ANDX => link.u16(ANDX_FID),
        command::NT_CREATE_ANDX => link.u16(NT_FID),
        _ => None,
    }
}

fn nt_create_path<'a>(link: &Link<'a>) -> Option<SmbString<'a>> {
    link.reader()?.string_of(usize::from(link.u16(NT_NAME_LENGTH)?))
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::super::build::{Build, first, wide, words};
    use super::*;

    /// MS-CIFS 2.2.4.64.1, field after field.
    fn nt_create(name: &[u8], padding: &[u8]) -> Vec<u8> {
        let mut block = vec![0xff, 0, 0, 0, 0];
        block.extend((name.len() as u16).to_le_bytes());
        block.extend(0x16u32.to_le_bytes()); // Flags
        block.extend(0u32.to_le_bytes()); // RootDirectoryFID
        block.extend(0x0002_0089u32.to_le_bytes()); // DesiredAccess
        block.extend(0u64.to_le_bytes()); // AllocationSize
        block.extend(0x80u32.to_le_bytes()); // ExtFileAttributes
        block.extend(7u32.to_le_bytes()); // ShareAccess
        block.extend(3u32.to_le_bytes()); // CreateDisposition
        block.extend(0x40u32.to_le_bytes()); // CreateOptions
        block.extend(2u32.to_le_bytes()); // ImpersonationLevel
        block.push(3); // SecurityFlags
        assert_eq!(block.len(), 48);
        let bytes: Vec<u8> = [padding, name].concat();
        Build::request(command::NT_CREATE_ANDX).unicode().block(&block, &bytes).done()
    }

    #[test]
    fn nt_create_gives_path_and_wishes() {
        // 32 + 1 + 48 + 2 is odd: one byte of padding before UTF-16 (MS-CIFS 2.2.4.64.1).
        let message = nt_create(&wide("\\dir\\fü"), &[0]);
        let link = first(&message);
        let create = NtCreate::new(&link).unwrap();
        assert_eq!((create.flags, create.access, create.share_access), (0x16, 0x2_0089, 7));
        assert_eq!((create.disposition, create.options, create.root_fid), (3, 0x40, 0));
        assert_eq!(create.path.unwrap().text(), "\\dir\\fü");
        assert_eq!(path(&link), create.path);
        let root = nt_create(&[], &[0, 0, 0]);
        assert!(path(&first(&root)).unwrap().is_empty());
    }

    #[test]
    fn a_cut_path_is_marked() {
        let message = nt_create(&wide("\\dir\\file"), &[0]);
        let cut = Chain::new(&message[..message.len() - 3], message.len()).unwrap().next().unwrap();
        let path = path(&cut).unwrap();
        assert!(!path.complete && path.text() == "\\dir\\fi");
    }

    #[test]
    fn responses_give_the_fid() {
        // MS-CIFS 2.2.4.64.2: OpLockLevel 2, FID 0x4002, CreateDisposition 1.
        let mut block = vec![0; 68];
        block[..11].copy_from_slice(&[0xff, 0, 0, 0, 2, 0x02, 0x40, 1, 0, 0, 0]);
        let message = Build::response(command::NT_CREATE_ANDX).block(&block, &[]).done();
        assert_eq!(opened_fid(&first(&message)), Some(0x4002));
        let andx = Build::response(command::OPEN_ANDX).block(&words(&[0xff, 0, 5, 0]), &[]).done();
        assert_eq!(opened_fid(&first(&andx)), Some(5));
        let refused = Build::response(command::OPEN_ANDX).status(0xc000_0034).block(&[], &[]).done();
        assert_eq!(opened_fid(&first(&refused)), None);
    }

    #[test]
    fn older_opens_name_the_file_in_their_bytes() {
        let core = Build::request(command::OPEN).block(&words(&[0, 0]), b"\x04\\A.TXT\0").done();
        assert_eq!(path(&first(&core)).unwrap().text(), "\\A.TXT");
        let andx = Build::request(command::OPEN_ANDX).block(&words(&[0xff; 15]), b"\\B.TXT\0").done();
        assert_eq!(path(&first(&andx)).unwrap().text(), "\\B.TXT");
    }
}
