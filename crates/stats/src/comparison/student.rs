//! Student's t distribution (docs/decisions/0015-comparisons.md says why from a library).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Degrees of freedom of an interval that needs no estimate of a variance: as good as infinitely many.
pub(super) const CERTAIN: f64 = 1e6;

/// The quantile `p` of Student's t-distribution with `degrees` degrees of freedom; infinite without a degree of freedom.
pub(super) fn quantile(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

/// How often chance alone gives a number this far from zero, either way.
pub(super) fn two_sided(t: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(1.0, |dist| 2.0 * dist.cdf(-t.abs()))
}

/// Half-width of an interval of [`super::CONFIDENCE`], in standard errors.
pub(crate) fn half_width(degrees: f64) -> f64 {
    quantile(0.5 + super::CONFIDENCE / 2.0, degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of any textbook.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [(1.0, 12.706), (4.0, 2.776), (9.0, 2.262), (31.0, 2.040), (1e6, 1.960)] {
            let found = half_width(degrees);
            assert!((found - expected).abs() < 1e-3, "{degrees}: {found}");
            let p = two_sided(found, degrees);
            assert!((p - 0.05).abs() < 1e-4, "{degrees}: {p}");
        }
        assert_eq!(half_width(0.0), f64::INFINITY);
    }
}
