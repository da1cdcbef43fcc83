//! SMB1's information levels, as the classes that took their place.
//!
//! Spec: MS-CIFS 2.2.2.3.1, 2.2.2.3.3, 2.2.2.3.5, MS-SMB 2.2.2.3.5; MS-FSCC 2.4, 2.5

use plimsoll_client::operation::InfoClass;

/// From here on a level is a class plus this (MS-SMB 2.2.2.3.5).
const PASS_THROUGH: u64 = 1000;

/// What TRANS2 QUERY_PATH_INFORMATION and QUERY_FILE_INFORMATION ask for.
pub(super) fn of_file(level: u64) -> Option<InfoClass> {
    named(level, |level| match level {
        // SMB_INFO_STANDARD, SMB_QUERY_FILE_BASIC_INFO: FileBasicInformation
        1 | 0x101 => Some(4),
        // SMB_QUERY_FILE_STANDARD_INFO: FileStandardInformation
        0x102 => Some(5),
        // SMB_INFO_QUERY_EA_SIZE, SMB_QUERY_FILE_EA_INFO: FileEaInformation
        2 | 0x103 => Some(7),
        // SMB_QUERY_FILE_ALL_INFO: FileAllInformation
        0x107 => Some(18),
        // SMB_QUERY_FILE_ALT_NAME_INFO: FileAlternateNameInformation
        0x108 => Some(21),
        // SMB_QUERY_FILE_STREAM_INFO: FileStreamInformation
        0x109 => Some(22),
        // SMB_QUERY_FILE_COMPRESSION_INFO: FileCompressionInformation
        0x10B => Some(28),
        _ => None,
    })
}

/// What TRANS2 QUERY_FS_INFORMATION asks for.
pub(super) fn of_file_system(level: u64) -> Option<InfoClass> {
    named(level, |level| match level {
        // SMB_INFO_ALLOCATION, SMB_QUERY_FS_SIZE_INFO: FileFsSizeInformation
        1 | 0x103 => Some(3),
        // SMB_INFO_VOLUME, SMB_QUERY_FS_VOLUME_INFO: FileFsVolumeInformation
        2 | 0x102 => Some(1),
        // SMB_QUERY_FS_DEVICE_INFO: FileFsDeviceInformation
        0x104 => Some(4),
        // SMB_QUERY_FS_ATTRIBUTE_INFO: FileFsAttributeInformation
        0x105 => Some(5),
        _ => None,
    })
}

/// What TRANS2 FIND_FIRST2 asks of each entry.
pub(super) fn of_entries(level: u64) -> Option<InfoClass> {
    let class = match level {
        // SMB_INFO_STANDARD, SMB_FIND_FILE_DIRECTORY_INFO: FileDirectoryInformation
        1 | 0x101 => 1,
        // SMB_FIND_FILE_FULL_DIRECTORY_INFO: FileFullDirectoryInformation
        0x102 => 2,
        // SMB_FIND_FILE_NAMES_INFO: FileNamesInformation
        0x103 => 12,
        // SMB_FIND_FILE_BOTH_DIRECTORY_INFO: FileBothDirectoryInformation
        0x104 => 3,
        // SMB_FIND_FILE_ID_FULL_DIRECTORY_INFO: FileIdFullDirectoryInformation
        0x105 => 38,
        // SMB_FIND_FILE_ID_BOTH_DIRECTORY_INFO: FileIdBothDirectoryInformation
        0x106 => 37,
        _ => return None,
    };
    Some(InfoClass(class))
}

/// Whether TRANS2 SET_FILE_INFORMATION sets times and attributes, whose values a load file may leave out.
pub(super) fn sets_attributes(level: u64) -> bool {
    matches!(level, 0x101 | 1004)
}

fn named(level: u64, class: impl Fn(u64) -> Option<u8>) -> Option<InfoClass> {
    let passed = level.checked_sub(PASS_THROUGH).and_then(|class| u8::try_from(class).ok()).filter(|class| *class > 0);
    passed.or_else(|| class(level)).map(InfoClass)
}
