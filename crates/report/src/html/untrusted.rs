//! Untrusted text in markup.

use crate::safe;
use maud::{Escaper, Render};
use std::fmt::Write as _;

/// Shows a text as text: characters that act (controls, bidirectional overrides, zero widths) as visible escapes,
/// markup as itself.
pub(super) struct Untrusted<'a>(pub(super) &'a str);

impl Render for Untrusted<'_> {
    fn render_to(&self, buffer: &mut String) {
        // Writing to a String cannot fail.
        let _ = Escaper::new(buffer).write_str(&safe::for_terminal(self.0));
    }
}
