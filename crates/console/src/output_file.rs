//! Output files of a command: opened before the work begins, and renamed to their final name when they are complete.
//!
//! A regular file is written beside its target, as `.NAME.tmp-PID`, and renamed at the end; so an earlier file stays until then, and no
//! reader sees an incomplete file. Other files (a device, a pipe, `/dev/stdout`) are written directly.

mod identity;
mod readers;
#[cfg_attr(windows, path = "output_file/system/windows.rs")]
mod system;
mod target;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use self::identity::{Identity, of_stdin};
pub use self::readers::Readers;
use self::target::Target;
use crate::interrupt;

/// Limit for a name, so that prefix and suffix still fit (255 bytes in most file systems).
const NAME_BYTES: usize = 200;
/// Maximum number of names to try for a temporary file, because earlier ones may have been left behind.
const TRIES: u32 = 100;

/// An output would replace an input or another output: which, and what to name instead.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Inputs and outputs of one command. No output replaces an input or another output.
#[derive(Default)]
pub struct Files {
    inputs: Vec<(PathBuf, Identity)>,
    outputs: Vec<(String, Identity)>,
}

/// A file that is being written.
#[derive(Debug)]
pub struct OutputFile {
    /// The flag and the name as they were given, for messages.
    shown: String,
    file: File,
    /// The temporary file, and the name that it gets; none where the target is written directly.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Files {
    /// Of a command that reads these; `-` is standard input.
    pub fn reading<'p>(inputs: impl IntoIterator<Item = &'p Path>) -> Self {
        let known = |path: &Path| {
            let identity = match path == Path::new("-") {
                true => of_stdin(),
                // A file that cannot be examined cannot be read either; its reader reports the error.
                false => Identity::of(path).ok(),
            };
            identity.map(|identity| (path.to_owned(), identity))
        };
        Self { inputs: inputs.into_iter().filter_map(known).collect(), outputs: Vec::new() }
    }

    /// A folder that the command fills: no other output may be in it.
    ///
    /// # Errors
    /// It is an input.
    pub fn fills(&mut self, flag: &str, folder: Option<&Path>) -> anyhow::Result<()> {
        let Some((folder, Ok(identity))) = folder.map(|folder| (folder, Identity::of(folder))) else { return Ok(()) };
        // Not a folder below or above an input.
        let is_input = self.inputs.iter().any(|(_, input)| input.holds(&identity) && identity.holds(input));
        self.outputs.push((flag.to_owned(), Identity { folder: true, ..identity }));
        if is_input {
            let why = "the recording would replace the input; name another folder";
            return Err(Refused(format!("{flag} {}: {why}", folder.display())).into());
        }
        Ok(())
    }

    /// Opens an output.
    ///
    /// # Errors
    /// It is an input or another output, it lies in no folder, or it cannot be written.
    pub fn open(&mut self, flag: &str, path: &Path, readers: Readers) -> anyhow::Result<OutputFile> {
        let shown = format!("{flag} {}", path.display());
        let refuse = |why: String| -> anyhow::Error { Refused(format!("{shown}: {why}")).into() };
        let failed = |error: io::Error| anyhow!("{shown}: cannot write: {error}; name a writable file");
        let target = Target::of(path).map_err(failed)?;
        let Target::Regular(real, there) = target else {
            let file = target.open().map_err(failed)?;
            return Ok(OutputFile { shown, file, rename: None });
        };
        let folder = match real.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => folder.to_owned(),
            None => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return Err(anyhow!("{shown}: no such folder; create it, or name a file in another folder"));
        }
        if there.as_ref().is_some_and(Metadata::is_dir) {
            return Err(anyhow!("{shown}: expected a file, but this is a folder; name a file"));
        }
        let identity = Identity::of(&real).map_err(failed)?;
        if let Some((input, _)) = self.inputs.iter().find(|(_, input)| input.holds(&identity)) {
            let input = input.display();
            return Err(refuse(format!("the output would change the input {input}; name another file")));
        }
        if let Some((other, _)) = self.outputs.iter().find(|(_, other)| other.holds(&identity)) {
            return Err(refuse(format!("{other} writes to the same file or folder; name another file")));
        }
        let opened = begin(&shown, &folder, &real, there.as_ref(), readers).map_err(failed)?;
        self.outputs.push((flag.to_owned(), identity));
        Ok(opened)
    }

    /// Opens an optional output.
    pub fn open_if(&mut self, flag: &str, path: Option<&Path>) -> anyhow::Result<Option<OutputFile>> {
        path.map(|path| self.open(flag, path, Readers::Usual)).transpose()
    }
}

/// Begins a temporary file beside a target.
fn begin(
    shown: &str,
    folder: &Path,
    real: &Path,
    there: Option<&Metadata>,
    readers: Readers,
) -> io::Result<OutputFile> {
    if there.is_some() {
        // A rename would replace a file that is protected against writing, too.
        OpenOptions::new().write(true).open(real)?;
    }
    for number in 0..TRIES {
        let temporary = folder.join(temporary_name(real.file_name().unwrap_or_default(), number));
        match interrupt::create_until_end(&temporary, || system::create(&temporary, readers)) {
            Ok(file) => {
                let begun =
                    OutputFile { shown: shown.to_owned(), file, rename: Some((temporary.clone(), real.to_owned())) };
                if let (Some(there), Readers::Usual) = (there, readers) {
                    begun.file.set_permissions(there.permissions())?;
                }
                return Ok(begun);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "the folder contains too many temporary files of earlier commands; delete the files .NAME.tmp-* there",
    ))
}

/// `.NAME.tmp-PID`, and the number where that is taken.
fn temporary_name(name: &OsStr, number: u32) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(if name.len() > NAME_BYTES { OsStr::new("plimsoll") } else { name });
    temporary.push(format!(".tmp-{}", std::process::id()));
    if number > 0 {
        temporary.push(format!("-{number}"));
    }
    temporary
}

impl OutputFile {
    /// Where to write.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// An error with the output's name and a remedy.
    pub fn failed(&self, why: impl fmt::Display) -> anyhow::Error {
        anyhow!("{}: cannot write: {why}; free some space or name another file", self.shown)
    }

    /// Writes the complete file to the disk and renames it to its final name.
    ///
    /// # Errors
    /// The file system is full, or renaming fails. An earlier file of that name is still there then.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let Some((temporary, real)) = &self.rename else { return Ok(()) };
        // Some file systems find out that they are full, or out of reach, only here.
        let named = self.file.sync_all().and_then(|()| fs::rename(temporary, real));
        match named {
            Ok(()) => {
                interrupt::keep(temporary);
                self.rename = None;
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The same after it was written by `write`; if that failed, it is removed.
    pub fn write<E: Into<anyhow::Error>>(self, write: impl FnOnce(File) -> Result<(), E>) -> anyhow::Result<()> {
        let file = self.file().with_context(|| self.shown.clone())?;
        match write(file) {
            Ok(()) => self.finish(),
            Err(error) => Err(self.failed(format!("{:#}", error.into()))),
        }
    }
}

/// Removes an incomplete file.
impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            // The error that led here is what people have to hear of.
            let _ = fs::remove_file(temporary);
            interrupt::keep(temporary);
        }
    }
}
