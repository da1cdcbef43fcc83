//! Sums of parts, field by field.

/// Adds these numbers of another part. Captures may be hostile: a sum that is too large stays at its limit.
#[macro_export]
macro_rules! add_fields {
    ($mine:expr, $other:expr; $($field:ident),+) => {
        $($mine.$field = $mine.$field.saturating_add($other.$field);)+
    };
}
