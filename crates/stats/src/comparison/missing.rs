//! Why there is no interval.

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The run is too short for the time that the server remembers.
    TooShort,
    /// Too few operations, or too few beyond the percentile.
    TooFew,
    /// Iterations need different numbers of requests, so what requests vary by is not what iterations vary by.
    Uneven,
    /// The load generator's lateness moved the number.
    Late,
}

impl Missing {
    /// The words used in reports.
    pub fn label(self) -> &'static str {
        match self {
            Missing::TooShort => "too short",
            Missing::TooFew => "too few",
            Missing::Uneven => "uneven iterations",
            Missing::Late => "generator late",
        }
    }
}
