//! Steps that are one operation on the iteration's open file, with options. All that a workload knows of such an operation stands
//! here: its word, what it needs, what is sent, and what it leaves behind.

use plimsoll_client::operation::{Control, Failure, FileKey, InfoClass, Operation, Reply};
use plimsoll_wire::nfs::status::NFS4ERR_NXIO;
use plimsoll_wire::smb2::status::{
    STATUS_FS_DRIVER_REQUIRED, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_PARAMETER, STATUS_NOT_FOUND,
    STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED, STATUS_OBJECT_NAME_NOT_FOUND,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Scale, Size};

/// The largest file that a slot writes for itself, bytes.
pub(super) const LARGEST_OWN: u64 = 1 << 40;

/// What servers say that lack a control, or have nothing to tell: with that, the control is done as office programs know it.
const LACKING: [u32; 7] = [
    STATUS_NOT_SUPPORTED,
    STATUS_INVALID_DEVICE_REQUEST,
    STATUS_INVALID_PARAMETER,
    STATUS_NOT_IMPLEMENTED,
    STATUS_FS_DRIVER_REQUIRED,
    STATUS_NOT_FOUND,
    STATUS_OBJECT_NAME_NOT_FOUND,
];

/// A step on the iteration's open file, with options.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum FileStep {
    /// Sets the file's size.
    Truncate(Size),
    /// Queries a property of the file's file system (SMB only).
    Volume(VolumeText),
    /// Sends a control code for the file (SMB only).
    Ioctl(Control),
    /// Copies a range of the file to another offset of the same file, by READ and WRITE. The ranges must not overlap.
    CopyRange {
        /// Start of the range, in bytes from the start of the file.
        from: Size,
        /// Start of the copy, in bytes from the start of the file.
        to: Size,
        /// Length of the range; at least 1B.
        length: Size,
    },
    /// Reserves space for a range of the file (NFS 4.2 ALLOCATE only). A file that ends before the end of the range grows.
    Allocate(RangeText),
    /// Makes a hole of a range of the file (NFS 4.2 DEALLOCATE only); the file keeps its size.
    Deallocate(RangeText),
    /// Searches the next data from an offset on (NFS 4.2 SEEK only).
    SeekData(Size),
    /// Searches the next hole from an offset on (NFS 4.2 SEEK only).
    SeekHole(Size),
}

/// Range of a file.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
pub(super) struct RangeText {
    /// Start of the range, in bytes from the start of the file.
    offset: Size,
    /// Length of the range; at least 1B.
    length: Size,
}

/// Property of the file system to query.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Volume")]
pub(super) enum VolumeText {
    /// Volume label (FileFsVolumeInformation).
    Label,
    /// File-system attributes (FileFsAttributeInformation).
    Attributes,
    /// Size and free space (FileFsFullSizeInformation).
    Size,
}

/// MS-FSCC 2.5: FileFsVolumeInformation, FileFsAttributeInformation, FileFsFullSizeInformation.
impl From<VolumeText> for InfoClass {
    fn from(text: VolumeText) -> Self {
        match text {
            VolumeText::Label => InfoClass(1),
            VolumeText::Attributes => InfoClass(5),
            VolumeText::Size => InfoClass(7),
        }
    }
}

/// The slot's own file after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileAfter {
    /// Its size.
    pub(super) size: u64,
    /// It holds what the workload would write there: a read of it can be verified.
    pub(super) known: bool,
}

impl FileStep {
    /// The words of all steps.
    pub(super) const WORDS: [&str; 8] =
        ["truncate", "volume", "ioctl", "copy-range", "allocate", "deallocate", "seek-data", "seek-hole"];

    /// Its word, where SMB alone has the operation.
    pub(super) fn smb_alone(self) -> Option<&'static str> {
        match self {
            FileStep::Volume(_) => Some("volume"),
            FileStep::Ioctl(_) => Some("ioctl"),
            _ => None,
        }
    }

    /// Its word, where only NFS 4.2 has the operation.
    pub(super) fn nfs_4_2_alone(self) -> Option<&'static str> {
        match self {
            FileStep::Allocate(_) => Some("allocate"),
            FileStep::Deallocate(_) => Some("deallocate"),
            FileStep::SeekData(_) => Some("seek-data"),
            FileStep::SeekHole(_) => Some("seek-hole"),
            _ => None,
        }
    }

    /// Whether it changes the file, which is not allowed for files of the set.
    pub(super) fn changes_the_file(self) -> bool {
        use FileStep::{Allocate, CopyRange, Deallocate, Truncate};
        matches!(self, Truncate(_) | CopyRange { .. } | Allocate(_) | Deallocate(_))
    }

    /// The step with scaled sizes, or the error in it.
    pub(super) fn compile(self, scale: Scale) -> Result<Self, String> {
        let scaled = |size: Size| Size(scale.of(size.0));
        match self {
            FileStep::Truncate(size) if size.0 > LARGEST_OWN => {
                Err(format!("\"truncate\": the limit is {}", Size(LARGEST_OWN)))
            }
            FileStep::Truncate(size) => Ok(FileStep::Truncate(scaled(size))),
            FileStep::Allocate(range) => Ok(FileStep::Allocate(range.compile(scaled)?)),
            FileStep::Deallocate(range) => Ok(FileStep::Deallocate(range.compile(scaled)?)),
            FileStep::SeekData(offset) | FileStep::SeekHole(offset) if offset.0 > LARGEST_OWN => {
                Err(format!("expected an offset of at most {}", Size(LARGEST_OWN)))
            }
            FileStep::SeekData(offset) => Ok(FileStep::SeekData(scaled(offset))),
            FileStep::SeekHole(offset) => Ok(FileStep::SeekHole(scaled(offset))),
            FileStep::CopyRange { from, to, length } => {
                let most = u64::from(u32::MAX);
                if !(1..=most).contains(&length.0) || from.0.max(to.0) > LARGEST_OWN - length.0 {
                    return Err(format!(
                        "expected \"length\" from 1B to {}, and both ranges within the first {} of the file",
                        Size(most),
                        Size(LARGEST_OWN)
                    ));
                }
                if from.0 < to.0 + length.0 && to.0 < from.0 + length.0 {
                    return Err("the ranges overlap: move one of them".to_owned());
                }
                Ok(FileStep::CopyRange { from: scaled(from), to: scaled(to), length: scaled(length) })
            }
            FileStep::Volume(_) | FileStep::Ioctl(_) => Ok(self),
        }
    }

    /// The operation for it.
    pub(super) fn operation(self, file: FileKey) -> Operation<'static> {
        match self {
            FileStep::Truncate(Size(size)) => Operation::Truncate { file, size },
            FileStep::Volume(what) => Operation::Volume { file, class: what.into() },
            FileStep::Ioctl(what) => Operation::Ioctl { file, what },
            FileStep::CopyRange { from, to, length } => {
                // It was checked to fit.
                let length = u32::try_from(length.0).unwrap_or(u32::MAX);
                Operation::CopyRange { from: file, from_offset: from.0, to: file, to_offset: to.0, length }
            }
            FileStep::Allocate(RangeText { offset, length }) => {
                Operation::Allocate { file, offset: offset.0, length: length.0 }
            }
            FileStep::Deallocate(RangeText { offset, length }) => {
                Operation::Deallocate { file, offset: offset.0, length: length.0 }
            }
            FileStep::SeekData(Size(offset)) => Operation::SeekData { file, offset },
            FileStep::SeekHole(Size(offset)) => Operation::SeekHole { file, offset },
        }
    }

    /// The state of a file of `size` bytes after it; `None` if the reply does not belong to this step.
    pub(super) fn after(self, size: u64, reply: &Reply) -> Option<FileAfter> {
        Some(match (self, reply) {
            (FileStep::Truncate(Size(new)), _) => FileAfter { size: new, known: new <= size },
            (FileStep::Volume(_) | FileStep::Ioctl(_), _) => FileAfter { size, known: true },
            (FileStep::CopyRange { from, to, length }, Reply::Written { bytes }) => {
                let copied = u64::from(*bytes);
                let expected = size.saturating_sub(from.0).min(length.0);
                let end = if copied > 0 { to.0 + copied } else { 0 };
                (copied == expected).then_some(FileAfter { size: size.max(end), known: copied == 0 })?
            }
            (FileStep::Allocate(range), Reply::Nothing) => {
                let end = range.offset.0 + range.length.0;
                FileAfter { size: size.max(end), known: end <= size }
            }
            (FileStep::Deallocate(range), Reply::Nothing) => FileAfter { size, known: range.offset.0 >= size },
            (FileStep::SeekData(Size(from)) | FileStep::SeekHole(Size(from)), Reply::Found { offset })
                if offset.is_none_or(|offset| offset >= from) =>
            {
                FileAfter { size, known: true }
            }
            _ => return None,
        })
    }

    /// Whether a failure is one that the script counts on.
    pub(super) fn expects(self, failure: &Failure) -> bool {
        let Some(status) = failure.status else { return false };
        match self {
            FileStep::Ioctl(_) => LACKING.contains(&status),
            // The offset is behind the end of the file, or no data follows.
            FileStep::SeekData(_) | FileStep::SeekHole(_) => status == NFS4ERR_NXIO,
            _ => false,
        }
    }
}

impl RangeText {
    /// The range with scaled sizes, or the error in it.
    fn compile(self, scaled: impl Fn(Size) -> Size) -> Result<Self, String> {
        if !(1..=LARGEST_OWN).contains(&self.length.0) || self.offset.0 > LARGEST_OWN - self.length.0 {
            let most = Size(LARGEST_OWN);
            return Err(format!(
                "expected a \"length\" of at least 1B, and the range within the first {most} of the file"
            ));
        }
        Ok(Self { offset: scaled(self.offset), length: scaled(self.length) })
    }
}
