//! An input that is given twice: a condition that compares it with itself passes whatever the servers do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Usage;

/// Refuses recordings or captures that are given twice, by any name.
///
/// # Errors
/// One of them is given twice.
pub fn refuse_repeated<'p>(inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Usage> {
    let mut seen: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for input in inputs {
        // Whoever opens it reports one that is missing.
        let Ok(real) = std::fs::canonicalize(input) else { continue };
        let Some(earlier) = seen.insert(real, input) else { continue };
        let repeated = match earlier == input {
            true => "given twice".to_owned(),
            false => format!("the same as {}", earlier.display()),
        };
        return Err(Usage(format!(
            "{}: {repeated}, so it would be compared with itself; name each recording or capture once",
            input.display()
        )));
    }
    Ok(())
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
