//! Output files of a command: opened before the work begins, and renamed to their final name when they are complete.
//!
//! A regular file is written beside its target, as `.NAME.tmp-PID`, and renamed at the end; so an earlier file stays until then, and no
//! reader sees an incomplete file. Other files (a device, a pipe, `/dev/stdout`) are written directly.

#[cfg_attr(windows, path = "output_file/system/windows.rs")]
mod system;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::interrupt;

/// Links that are followed, at most: as many as Linux follows.
const LINKS: usize = 40;
/// Limit for a name, so that prefix and suffix still fit (255 bytes in most file systems).
const NAME_BYTES: usize = 200;
/// Maximum number of names to try for a temporary file, because earlier ones may have been left behind.
const TRIES: u32 = 100;

/// The user's choice of an output is invalid: why, and what to name instead.
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

/// Which file a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    /// Device and inode, where there is such a file already.
    node: Option<(u64, u64)>,
    /// Its name without links.
    path: PathBuf,
    folder: bool,
}

/// Users who may read an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// As the umask says.
    Usual,
    /// Its owner: it holds something secret.
    Owner,
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

/// Kind of a path, with links followed.
enum Target {
    /// A regular file, or none so far.
    Regular(PathBuf, Option<Metadata>),
    /// Not a regular file; opened by this name.
    Direct(PathBuf),
    /// A descriptor of this process.
    Stdout,
    Stderr,
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
    pub fn fills(&mut self, flag: &str, folder: Option<&Path>) {
        if let Some(Ok(identity)) = folder.map(Identity::of) {
            self.outputs.push((flag.to_owned(), Identity { folder: true, ..identity }));
        }
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
            return Err(refuse("no such folder; create it, or name a file in another folder".to_owned()));
        }
        if there.as_ref().is_some_and(Metadata::is_dir) {
            return Err(refuse("expected a file, but this is a folder; name a file".to_owned()));
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

impl Identity {
    /// Resolves a path that may not exist.
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(there) => {
                let node = system::node(&there);
                Ok(Self { node, path: fs::canonicalize(path)?, folder: there.is_dir() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = fs::canonicalize(folder)?;
                Ok(Self { node: None, path: folder.join(path.file_name().unwrap_or_default()), folder: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the other one is the same file, or is in this folder.
    fn holds(&self, other: &Self) -> bool {
        self.path == other.path
            || (self.node.is_some() && self.node == other.node)
            || (self.folder && other.path.starts_with(&self.path))
    }
}

/// The file that standard input is, if it is one.
fn of_stdin() -> Option<Identity> {
    let there = system::standard_input().ok()?.metadata().ok().filter(Metadata::is_file)?;
    Some(Identity { node: Some(system::node(&there)?), path: PathBuf::new(), folder: false })
}

impl Target {
    /// Follows links one by one. Links in `/proc` stand for descriptors and have no usable target name.
    fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let there = match fs::symlink_metadata(&path) {
                Ok(there) => there,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Target::Regular(path, None)),
                Err(error) => return Err(error),
            };
            if !there.is_symlink() {
                let regular = there.is_file() || there.is_dir();
                return Ok(if regular { Target::Regular(path, Some(there)) } else { Target::Direct(path) });
            }
            let folder = match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                Some(folder) => fs::canonicalize(folder)?,
                None => fs::canonicalize(".")?,
            };
            if folder.starts_with("/proc") {
                let ours = folder == Path::new(&format!("/proc/{}/fd", std::process::id()));
                return Ok(match path.file_name().and_then(OsStr::to_str) {
                    Some("1") if ours => Target::Stdout,
                    Some("2") if ours => Target::Stderr,
                    _ => Target::Direct(path),
                });
            }
            path = folder.join(fs::read_link(&path)?);
        }
        Err(io::Error::other("too many symbolic links"))
    }

    /// Opens a file for writing in place.
    fn open(&self) -> io::Result<File> {
        match self {
            Target::Stdout => system::standard_output(),
            Target::Stderr => system::standard_error(),
            // A descriptor's file may hold something already.
            Target::Direct(path) | Target::Regular(path, _) => OpenOptions::new().append(true).open(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use plimsoll_testkit::servers::Scratch;

    use super::*;

    fn written(opened: OutputFile, text: &str) {
        opened.write(|mut file| file.write_all(text.as_bytes())).unwrap();
    }

    fn left(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_name_stands_for_a_whole_file() {
        let scratch = Scratch::new("output-whole");
        let file = scratch.path().join("page.html");
        fs::write(&file, "earlier").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let opened = Files::default().open("--html", &file, Readers::Usual).unwrap();
        opened.file().unwrap().write_all(b"half").unwrap();
        assert_eq!(left(scratch.path()).len(), 2);
        drop(opened);
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), left(scratch.path()).len()), ("earlier", 1));
        written(Files::default().open("--html", &file, Readers::Usual).unwrap(), "whole");
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), left(scratch.path()).len()), ("whole", 1));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        written(Files::default().open("--tap", &file, Readers::Owner).unwrap(), "secret");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_failure_removes_what_there_is_and_says_why() {
        let scratch = Scratch::new("output-failed");
        let file = scratch.path().join("page.html");
        let opened = Files::default().open("--html", &file, Readers::Usual).unwrap();
        let error = opened.write(|_| Err(io::Error::from(io::ErrorKind::StorageFull))).unwrap_err().to_string();
        assert!(
            error.contains("--html") && error.contains("page.html") && error.contains("free some space"),
            "{error}"
        );
        assert!(left(scratch.path()).is_empty());
    }

    #[test]
    fn no_output_replaces_an_input_or_another_output() {
        let scratch = Scratch::new("output-inputs");
        let name = |name: &str| scratch.path().join(name);
        fs::write(name("a.pcap"), "evidence").unwrap();
        symlink("a.pcap", name("soft")).unwrap();
        fs::hard_link(name("a.pcap"), name("hard")).unwrap();
        fs::create_dir(name("recording")).unwrap();
        symlink("new.json", name("dangling")).unwrap();
        let (capture, recording) = (name("a.pcap"), name("recording"));
        let mut files = Files::reading([capture.as_path(), &recording]);
        for same in ["a.pcap", "soft", "hard", "recording/../a.pcap", "recording/manifest.json"] {
            let error = files.open("--json", &name(same), Readers::Usual).unwrap_err();
            assert!(error.is::<Refused>() && error.to_string().contains("input"), "{same}: {error}");
        }
        let _first = files.open("--json", &name("new.json"), Readers::Usual).unwrap();
        files.fills("--record", Some(&name("kept")));
        for same in ["new.json", "dangling", "recording/../new.json", "kept"] {
            let error = files.open("--html", &name(same), Readers::Usual).unwrap_err();
            assert!(
                error.is::<Refused>() && error.to_string().contains("writes to the same file or folder"),
                "{same}: {error}"
            );
        }
        let error = files.open("--html", &name("missing/x"), Readers::Usual).unwrap_err();
        assert!(error.is::<Refused>() && error.to_string().contains("no such folder"), "{error}");
        assert!(files.open("--html", &recording, Readers::Usual).unwrap_err().is::<Refused>());
        assert_eq!(fs::read_to_string(capture).unwrap(), "evidence");
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_is_written_directly() {
        let scratch = Scratch::new("output-links");
        let name = |name: &str| scratch.path().join(name);
        fs::create_dir(name("there")).unwrap();
        symlink("there/page.html", name("link")).unwrap();
        let mut files = Files::default();
        written(files.open("--html", &name("link"), Readers::Usual).unwrap(), "whole");
        assert_eq!(fs::read_to_string(name("there/page.html")).unwrap(), "whole");
        assert!(name("link").is_symlink());
        for _ in 0..2 {
            written(files.open("--html", Path::new("/dev/null"), Readers::Usual).unwrap(), "nowhere");
        }
        // A descriptor's file is not replaced: its holder would wait forever.
        fs::write(name("held"), "").unwrap();
        let held = File::open(name("held")).unwrap();
        let by_number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
        written(files.open("--html", Path::new(&by_number), Readers::Usual).unwrap(), "through");
        assert_eq!(fs::read_to_string(name("held")).unwrap(), "through");
        assert_eq!(held.metadata().unwrap().ino(), fs::metadata(name("held")).unwrap().ino());
        assert_eq!(left(scratch.path()), ["held", "link", "there"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_is_an_error() {
        let opened = Files::default().open("--json", Path::new("/dev/full"), Readers::Usual).unwrap();
        let error = opened.write(|mut file| file.write_all(b"x")).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
    }

    #[test]
    fn long_names_leave_room() {
        let scratch = Scratch::new("output-long");
        let file = scratch.path().join("n".repeat(250));
        written(Files::default().open("--json", &file, Readers::Usual).unwrap(), "x");
        assert_eq!(left(scratch.path()).len(), 1);
    }
}
