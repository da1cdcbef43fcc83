//! Kinds of packages.

use std::path::{Path, PathBuf};

use super::content::Content;
use super::platform::Platform;
use super::{deb, image, rpm, tarball, wheel, zip};
use crate::Outcome;

/// A kind of package.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) name: &'static str,
    /// Programs that write it or try it, each with its Debian package.
    pub(super) needs: &'static [(&'static str, &'static str)],
    /// Writes it into a folder.
    pub(super) write: fn(&Content, &Path) -> Result<PathBuf, String>,
    /// Installs it in a private root, runs it and removes it.
    pub(super) try_it: fn(&Content, &Path) -> Outcome,
}

const TARBALL: Format = Format { name: "tarball", needs: &[], write: tarball::write, try_it: tarball::try_it };
const DEB: Format =
    Format { name: ".deb", needs: &[("dpkg-deb", "dpkg"), ("dpkg", "dpkg")], write: deb::write, try_it: deb::try_it };
const FORMATS: [Format; 5] = [
    TARBALL,
    DEB,
    Format { name: ".rpm", needs: &[("rpmbuild", "rpm"), ("rpm", "rpm")], write: rpm::write, try_it: rpm::try_it },
    Format { name: "wheel", needs: &[("python3", "python3-venv")], write: wheel::write, try_it: wheel::try_it },
    Format { name: "image", needs: &[], write: image::write, try_it: image::try_it },
];
const FORMATS_WINDOWS: [Format; 1] =
    [Format { name: "zip", needs: &[("python3", "python3")], write: zip::write, try_it: zip::try_it }];

/// The formats that a test of the packaging creates.
pub(super) const FORMATS_OF_CHECK: [Format; 2] = [TARBALL, DEB];

pub(super) fn formats_of(platform: &Platform) -> &'static [Format] {
    if platform.is_windows() { &FORMATS_WINDOWS } else { &FORMATS }
}
