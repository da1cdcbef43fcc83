//! Who may read an output.

/// Users who may read an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// As the umask says.
    Usual,
    /// Its owner: it holds something secret.
    Owner,
}
