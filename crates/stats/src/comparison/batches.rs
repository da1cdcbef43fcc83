//! Uncertainty of a sum over a run, from parts of the run that are long enough to be independent.
//!
//! Batch means: the run is cut into batches of equal length. The sum over the run is the sum of the batches', and its variance follows
//! from their scatter. That is right if batches are long compared with the server's memory (a queue, a cache, a slow wave). The number of
//! batches is chosen from the data: as many as possible, up to 32, without visible correlation between neighbours; the remaining
//! correlation is corrected for. If even [`FEWEST`] batches are strongly correlated, the run is too short for an interval.

use super::missing::Missing;

/// Maximum number of batches. More would narrow an interval only by a few per cent (Schmeiser 1982: 10 to 30 are best).
const MOST: usize = 32;
/// With fewer the variance itself is hardly known.
pub const FEWEST: usize = 10;
/// Numbers of batches that are tried.
const COUNTS: [usize; 6] = [MOST, 26, 21, 16, 13, FEWEST];
/// Neighbours count as correlated if their autocorrelation exceeds this many standard deviations of pure chance. Low on purpose, because
/// a test that rarely warns misses correlation (from the simulation in the tests below).
const DOUBT: f64 = 0.5;
/// Beyond this autocorrelation of ten batches the run is too short.
const TOO_ALIKE: f64 = 0.6;

/// The scatter of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation of the sum of all parts, in the parts' unit.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// Batches it comes from.
    pub batches: usize,
}

/// The scatter of the sum of `residuals`: differences between the parts of a run and the values expected from the whole run. They add up
/// to zero.
///
/// # Errors
/// There are too few parts, or they are too strongly correlated.
pub fn spread(residuals: &[f64]) -> Result<Spread, Missing> {
    if residuals.len() < FEWEST {
        return Err(Missing::TooShort);
    }
    let mut last = (Vec::new(), 0.0);
    for count in COUNTS.into_iter().filter(|&count| count <= residuals.len()) {
        let batches = batched(residuals, count);
        let alike = resemblance(&batches);
        if alike <= DOUBT / (count as f64).sqrt() {
            return Ok(scatter(&batches, alike.max(0.0)));
        }
        last = (batches, alike);
    }
    let (batches, alike) = last;
    if alike > TOO_ALIKE { Err(Missing::TooShort) } else { Ok(scatter(&batches, alike)) }
}

/// Sums of runs of neighbours, as equal in length as whole parts allow.
fn batched(residuals: &[f64], count: usize) -> Vec<f64> {
    let edge = |batch: usize| batch * residuals.len() / count;
    (0..count).map(|batch| residuals.iter().take(edge(batch + 1)).skip(edge(batch)).sum()).collect()
}

/// Autocorrelation of neighbours, without the −1/n that the sum of zero brings; 0 where nothing scatters.
fn resemblance(batches: &[f64]) -> f64 {
    let squares: f64 = batches.iter().map(|batch| batch * batch).sum();
    let products: f64 = batches.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 { products / squares + 1.0 / batches.len() as f64 } else { 0.0 }
}

/// As if neighbours were a first-order autoregressive process with this correlation (as Skart does: Tafazzoli and
/// Wilson 2011).
fn scatter(batches: &[f64], alike: f64) -> Spread {
    let count = batches.len() as f64;
    let squares: f64 = batches.iter().map(|batch| batch * batch).sum();
    let variance = count * squares / (count - 1.0) * (1.0 + alike) / (1.0 - alike);
    Spread { deviation: variance.sqrt(), degrees: count - 1.0, batches: batches.len() }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::Random;

    use super::super::student;
    use super::*;

    /// Simulates series of `length` with an autocorrelation of `memory`. Returns the fraction of intervals that miss the true mean, and
    /// the fraction of series that are too short.
    fn misses(length: usize, memory: f64) -> (f64, f64) {
        let (mut noise, mut missed, mut short) = (Random::new(7), 0_u32, 0_u32);
        let series = 2_000;
        for _ in 0..series {
            let mut value = noise.normal();
            let values: Vec<f64> = (0..length)
                .map(|_| {
                    value = memory * value + (1.0 - memory * memory).sqrt() * noise.normal();
                    value
                })
                .collect();
            let mean = values.iter().sum::<f64>() / length as f64;
            let residuals: Vec<f64> = values.iter().map(|value| value - mean).collect();
            match spread(&residuals) {
                Ok(found) => {
                    let half = student::half_width(found.degrees) * found.deviation / length as f64;
                    missed += u32::from(mean.abs() > half);
                }
                Err(Missing::TooShort) => short += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        (f64::from(missed) / f64::from(series - short).max(1.0), f64::from(short) / f64::from(series))
    }

    #[test]
    fn intervals_hold_the_truth_however_long_the_memory_is() {
        // Correlation 0.9 lasts some 20 parts, 0.98 some 100.
        for (length, memory, limit) in
            [(40, 0.0, 0.06), (300, 0.0, 0.06), (300, 0.5, 0.07), (600, 0.9, 0.08), (3_000, 0.98, 0.08)]
        {
            let (missed, short) = misses(length, memory);
            assert!(missed <= limit, "{length} parts, memory {memory}: {missed}");
            assert!(short < 0.1, "{length} parts, memory {memory}: {short} too short");
        }
    }

    #[test]
    fn too_few_parts_are_too_short_and_so_are_parts_that_are_one_slow_change() {
        assert_eq!(spread(&[0.0; FEWEST - 1]), Err(Missing::TooShort));
        let trend: Vec<f64> = (0..300).map(|at| f64::from(at) - 149.5).collect();
        assert_eq!(spread(&trend), Err(Missing::TooShort));
    }

    #[test]
    fn what_never_changes_has_no_scatter() {
        assert_eq!(spread(&[0.0; 50]).map(|spread| spread.deviation), Ok(0.0));
    }
}
