//! A bill of materials in CycloneDX's JSON: the parts of the program, for scanners of vulnerabilities and licences.

use serde_json::{Value, json};

use super::build::Release;
use super::licences::Crate;

/// Not crates, but in the program: name, version, licence, package URL. The charts' library: crates/report/assets/package.json.
const OTHERS: [(&str, &str, &str, &str); 3] = [
    ("echarts", "6.1.0", "Apache-2.0", "pkg:npm/echarts@6.1.0"),
    ("zrender", "6.1.0", "BSD-3-Clause", "pkg:npm/zrender@6.1.0"),
    ("tslib", "2.3.0", "0BSD", "pkg:npm/tslib@2.3.0"),
];

/// The document. Without a time or a serial number, so that equal builds have equal documents.
pub(super) fn document(release: &Release, crates: &[Crate]) -> String {
    let program = json!({
        "type": "application",
        "bom-ref": "plimsoll",
        "name": "plimsoll",
        "version": release.version,
        "licenses": licences("MIT OR Apache-2.0"),
        "properties": [{ "name": "plimsoll:commit", "value": release.commit }],
    });
    let crates = crates.iter().map(|it| {
        let url = format!("pkg:cargo/{}@{}", it.name, it.version);
        let mut component = component(&it.name, &it.version, &it.licence, &url);
        component["hashes"] = json!([{ "alg": "SHA-256", "content": it.checksum }]);
        component
    });
    let others = OTHERS.iter().map(|(name, version, licence, url)| component(name, version, licence, url));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": program },
        "components": crates.chain(others).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn component(name: &str, version: &str, licence: &str, url: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "licenses": licences(licence),
        "purl": url,
    })
}

/// One expression stands for all.
fn licences(expression: &str) -> Value {
    json!([{ "expression": expression }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{package::files, workspace};

    /// Reminds the developer who updates the charts' library to update the bill.
    #[test]
    fn the_parts_of_the_charts_are_those_of_the_lock_file() {
        let lock = files::read(&workspace::root().join("crates/report/assets/package-lock.json")).unwrap();
        let lock: Value = serde_json::from_str(&lock).unwrap();
        for (name, version, licence, _) in OTHERS {
            let package = &lock["packages"][format!("node_modules/{name}")];
            assert_eq!((&package["version"], &package["license"]), (&json!(version), &json!(licence)), "{name}");
        }
    }
}
