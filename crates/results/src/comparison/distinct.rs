//! An input that is given twice: a condition that compares it with itself passes whatever the servers do, and rows would count twice.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Usage;

/// Refuses recordings or captures that are given twice, by any name.
///
/// # Errors
/// One of them is given twice.
pub fn refuse_repeated<'p>(inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Usage> {
    refuse(inputs, "it would be compared with itself; name each recording or capture once")
}

/// Refuses tables that are given twice, by any name: a recording gives all its tables.
///
/// # Errors
/// One of them is given twice.
pub(crate) fn refuse_repeated_tables<'p>(tables: impl IntoIterator<Item = &'p Path>) -> Result<(), Usage> {
    refuse(tables, "each of its rows would count twice; name each table or recording once")
}

fn refuse<'p>(inputs: impl IntoIterator<Item = &'p Path>, consequence: &str) -> Result<(), Usage> {
    let mut seen: BTreeMap<_, &Path> = BTreeMap::new();
    for input in inputs {
        // Whoever opens it reports one that is missing.
        let Some(identity) = identity(input) else { continue };
        let Some(earlier) = seen.insert(identity, input) else { continue };
        let repeated = match earlier == input {
            true => "given twice".to_owned(),
            false => format!("the same as {}", earlier.display()),
        };
        return Err(Usage(format!("{}: {repeated}, so {consequence}", input.display())));
    }
    Ok(())
}

/// The identity of a file or folder, whatever its name, as for captures that are analysed.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    std::fs::canonicalize(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_by_another_name_is_the_same() {
        let folder = std::env::temp_dir().join("plimsoll-distinct");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        std::fs::create_dir_all(folder.join("b")).unwrap();
        let [a, b, again] = ["a", "b", "b/../a"].map(|name| folder.join(name));
        let missing = Path::new("plimsoll-no-such-recording");
        refuse_repeated([a.as_path(), &b, missing, missing]).unwrap();
        let said = |inputs: [&Path; 2]| refuse_repeated(inputs).unwrap_err().0;
        let shown = |path: &Path| path.display().to_string();
        assert!(said([&a, &a]).starts_with(&format!("{}: given twice", shown(&a))));
        assert!(said([&a, &again]).starts_with(&format!("{}: the same as {}", shown(&again), shown(&a))));
    }
}
