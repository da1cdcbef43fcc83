//! The frame of a table.

use maud::{Markup, html};

/// A table that scrolls by itself where the window is narrow. `id` is that of its caption; `class` may be empty.
pub(super) fn scrolled(id: &str, class: &str, caption: Markup, rest: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(id) {
            table class=[(!class.is_empty()).then_some(class)] { caption id=(id) { (caption) } (rest) }
        }
    }
}
