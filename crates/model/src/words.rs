//! Enums whose values have a word each.

/// All values of an enum with their words, in one list: makes `ALL` and `label`, with these comments.
#[macro_export]
macro_rules! words {
    ($of:ident, $all:literal, $label:literal: $($value:ident $word:literal),+) => {
        impl $of {
            #[doc = $all]
            pub const ALL: [$of; [$($word),+].len()] = [$($of::$value),+];

            #[doc = $label]
            pub fn label(self) -> &'static str {
                match self {
                    $($of::$value => $word),+
                }
            }
        }
    };
}
