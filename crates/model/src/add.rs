//! Sums of parts, field by field.

/// Adds these numbers of another part. Real numbers never reach the limit; with those of a hostile capture a sum stays there rather than
/// panic. With `all` first, the list must have all fields of `Self`: one that is missing does not compile.
#[macro_export]
macro_rules! add_fields {
    ($mine:expr, $other:expr; $($field:ident),+) => {
        $($mine.$field = $mine.$field.saturating_add($other.$field);)+
    };
    ($mine:expr, $other:expr; all $($field:ident),+ $(; largest $most:ident)?) => {
        let Self { $($field,)+ $($most)? } = $mine;
        $(*$field = $field.saturating_add($other.$field);)+
        $(*$most = $other.$most.max(*$most);)?
    };
}
