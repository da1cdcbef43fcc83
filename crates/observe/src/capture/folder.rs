//! A folder in the place of capture files: it stands for the captures in it.

use std::path::{Path, PathBuf};

use super::input::Input;
use super::{CaptureAnomalies, CaptureError, order};

/// Endings of captures. tcpdump numbers the files of a ring behind the ending: `trace.pcap0`, `trace.pcap1` …
const CAPTURES: [&str; 4] = ["pcap", "pcapng", "cap", "snoop"];
/// Endings of compressed files. The reader refuses the last four and says how to decompress them: a file that is left out would be a gap.
const COMPRESSED: [&str; 6] = ["gz", "zst", "xz", "bz2", "lz4", "zip"];

/// The capture files that these paths stand for: a folder stands for all captures directly in it, in the order of their first packets.
///
/// # Errors
/// A folder has no captures, has one twice, or cannot be listed.
pub fn capture_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaptureError> {
    let files = |path: &PathBuf| if path.is_dir() { inside(path) } else { Ok(vec![path.clone()]) };
    Ok(paths.iter().map(files).collect::<Result<Vec<_>, _>>()?.concat())
}

impl Input {
    /// The inputs of these names. A folder stands for its captures, as in [`capture_files`].
    ///
    /// # Errors
    /// As [`capture_files`].
    pub fn all_of(names: &[PathBuf]) -> Result<Vec<Self>, CaptureError> {
        Ok(capture_files(names)?.iter().map(Self::of).collect())
    }
}

fn inside(folder: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let failed = |source| CaptureError::Io { input: folder.display().to_string().into(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A link to nothing is an error when it is opened.
        let is_file = entry.path().metadata().map_or(true, |there| there.is_file());
        if is_file && is_capture(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    if found.is_empty() {
        return Err(CaptureError::NoCaptures { folder: folder.display().to_string().into() });
    }
    // Files without a packet stay where their name puts them. Nobody gave an order that could be called wrong.
    found.sort();
    let inputs = found.into_iter().map(Input::File).collect();
    let ordered = order::in_order(inputs, &mut CaptureAnomalies::default())?;
    Ok(ordered.into_iter().filter_map(Input::into_path).collect())
}

/// Whether a file of this name is a capture. Programs give hidden names to files that they have not completed.
fn is_capture(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let Some((mut stem, mut end)) = name.rsplit_once('.') else { return false };
    if COMPRESSED.contains(&end) {
        (stem, end) = stem.rsplit_once('.').unwrap_or_default();
    }
    let end = end.trim_end_matches(|letter: char| letter.is_ascii_digit());
    !stem.is_empty() && !stem.starts_with('.') && CAPTURES.contains(&end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_known_by_the_ends_of_their_names() {
        for name in "a.pcap a.PCAPNG a.b.cap a.snoop a.pcap.gz a.cap.ZST a.pcap0 a.pcap12.gz a.pcap.xz".split(' ') {
            assert!(is_capture(name), "{name}");
        }
        let names = "pcap a.txt .a.pcap .pcap a.gz a.pcap.tmp a.pcap.txt a.parquet a.json.gz .gz";
        for name in names.split(' ').chain([""]) {
            assert!(!is_capture(name), "{name}");
        }
    }
}
