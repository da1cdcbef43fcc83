//! Permissions of the page: its own scripts, identified by digest, and nothing from any network.

/// The bundled part of Apache ECharts, made by `assets/build.sh`.
pub(crate) const LIBRARY: &str = include_str!("../../assets/echarts.min.js");
/// Adds up any part of the embedded cube and shows it.
pub(super) const DRILL: &str = concat!(include_str!("../../assets/cube.js"), include_str!("../../assets/drill.js"));
/// Draws the charts from the embedded findings.
pub(super) const PAGE: &str = include_str!("../../assets/page.js");

/// SHA-256 of [`LIBRARY`], base64. `tests::digests_are_those_of_the_scripts` says the right one when it changes.
const LIBRARY_SHA256: &str = "3vPHTLFzppnvAvSrFnAOts00937PwNY5q0RKVgeBhBo=";
/// SHA-256 of [`PAGE`], base64.
const PAGE_SHA256: &str = "y7rn1i22vP2AmTHxcNaOX6QpqMbFQswv8yxZW9hiF5U=";

/// SHA-256 of [`DRILL`], base64.
const DRILL_SHA256: &str = "Yhnn4+rZSGOPOlxoKfj22RRejbs3TFThCNsxkpew++4=";

/// The page's Content-Security-Policy. Inline styles are allowed because charts and bars set them per element; they cannot load anything,
/// because images may only be data and every other source is closed.
pub(super) fn content() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{LIBRARY_SHA256}' 'sha256-{PAGE_SHA256}' \
         'sha256-{DRILL_SHA256}'; style-src 'unsafe-inline'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};

    fn digest(script: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script.as_bytes()))
    }

    #[test]
    fn digests_are_those_of_the_scripts() {
        assert_eq!(PAGE_SHA256, digest(PAGE), "assets/page.js changed: PAGE_SHA256 follows it");
        assert_eq!(DRILL_SHA256, digest(DRILL), "assets/cube.js or drill.js changed: DRILL_SHA256 follows them");
        assert_eq!(LIBRARY_SHA256, digest(LIBRARY), "assets/echarts.min.js changed: LIBRARY_SHA256 follows it");
    }

    #[test]
    fn scripts_stay_inside_their_elements() {
        for script in [LIBRARY, PAGE, DRILL] {
            let lower = script.to_ascii_lowercase();
            assert!(!lower.contains("</script"), "would end its element");
            assert!(!lower.contains("<!--"), "would change how the rest of the element is read");
            assert!(!script.contains('\r'), "an HTML parser rewrites line ends, and the digest with them");
        }
    }
}
