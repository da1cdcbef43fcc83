//! Which licences and sources the crates that the program is built from may have.
//!
//! Cargo's own metadata says both, so nothing has to be installed for it.

use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::{Outcome, process};

/// All permissive: none asks a user of the binary for more than naming its authors.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// How cargo calls its default registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Looks at every crate that a feature of ours may bring in, for any target.
pub(crate) fn run() -> Outcome {
    let arguments = ["metadata", "--format-version", "1", "--all-features"];
    let metadata = process::output(&mut process::cargo(&arguments))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().filter(|packages| !packages.is_empty());
    let packages = packages.ok_or("cargo metadata: no packages in it")?;
    let problems: Vec<String> = packages.iter().filter_map(problem).collect();
    if problems.is_empty() {
        println!("{} crates, each under a licence and from a source that we accept", packages.len());
        return Ok(());
    }
    Err(problems.join("\n"))
}

/// The problem of a package in the metadata, if there is one.
fn problem(package: &Value) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let licence = package["license"].as_str().unwrap_or_default();
    if !accepts(licence) {
        return Some(format!("{name}: licence {licence:?} is not accepted"));
    }
    match package["source"].as_str() {
        // A folder of this repository: only these depend on others by a version that we choose.
        None => {
            let dependencies = package["dependencies"].as_array()?.iter();
            let any_version = |it: &&Value| it["req"] == "*" && it["path"].is_null();
            dependencies.filter(any_version).map(|it| format!("{name}: any version of {}", it["name"])).next()
        }
        Some(REGISTRY) => None,
        Some(source) => Some(format!("{name}: source {source} is not the default registry")),
    }
}

/// Whether an expression can be satisfied by accepted licences alone.
fn accepts(expression: &str) -> bool {
    // Older crates write MIT/Apache-2.0.
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    let allowed: Vec<LicenseReq> = ALLOWED
        .iter()
        .filter_map(|text| Expression::parse(text).ok())
        .flat_map(|accepted| accepted.requirements().map(|it| it.req.clone()).collect::<Vec<_>>())
        .collect();
    parsed.is_ok_and(|parsed| parsed.evaluate(|requirement| allowed.contains(requirement)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_satisfied_by_accepted_licences_alone() {
        for accepted in ["MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(accepts(accepted), "{accepted}");
        }
        assert!(accepts("Apache-2.0 WITH LLVM-exception"));
        for refused in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0 WITH GCC-exception-3.1", "nonsense"] {
            assert!(!accepts(refused), "{refused}");
        }
    }

    #[test]
    fn crates_come_from_the_default_registry_in_versions_that_we_chose() {
        let of = |source: Value, req: &str| {
            problem(&json!({ "name": "a", "version": "1.0.0", "license": "MIT", "source": source,
                "dependencies": [{ "name": "b", "req": req }] }))
        };
        assert_eq!(of(REGISTRY.into(), "*"), None, "that is its authors' choice");
        assert_eq!(of(Value::Null, "^1"), None);
        assert!(of(Value::Null, "*").unwrap().contains("any version"));
        assert!(of("git+https://example.com/a".into(), "^1").unwrap().contains("not the default registry"));
    }
}
