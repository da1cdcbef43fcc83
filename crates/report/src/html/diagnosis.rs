//! What to know first: the sentences of the diagnosis, and the command that shows more.

use super::Untrusted;
use crate::findings::Diagnosis;
use maud::{Markup, html};

/// Nothing where there is nothing to say.
pub(super) fn diagnosis(diagnosis: &Diagnosis) -> Option<Markup> {
    (!diagnosis.statements.is_empty()).then(|| {
        html! {
            ul.diagnosis { @for statement in &diagnosis.statements { li { (Untrusted(&statement.text)) } } }
            @if let Some(next) = &diagnosis.next { p { "Next: " code { (Untrusted(next)) } } }
        }
    })
}
