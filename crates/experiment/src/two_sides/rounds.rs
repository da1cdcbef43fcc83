//! Two sides in turns, for as long as they are needed.

use std::sync::Arc;

use plimsoll_model::Names;

use crate::{Arm, Runner};

/// Order of the sides in a round; slow drift affects both equally.
pub(crate) const TURNS: [usize; 4] = [0, 1, 1, 0];
/// Runs of each side in a round.
pub const RUNS: u32 = 2;

/// Runs rounds until `over` returns true: it gets the number of complete rounds and the sides after each of them. Returns that number,
/// and the error of an incomplete round.
pub(crate) fn rounds(
    runner: &Runner<'_>,
    arms: &mut [Arm<'_>],
    names: &Arc<Names>,
    mut over: impl FnMut(u32, &[Arm<'_>]) -> anyhow::Result<bool>,
) -> (u32, anyhow::Result<()>) {
    for round in 0.. {
        for (turn, who) in (0..).zip(TURNS) {
            let Some(arm) = arms.get_mut(who) else { continue };
            // The two neighbours of a pair get the same draws.
            let ran = arm.run(runner, names, RUNS.saturating_mul(round).saturating_add(turn / RUNS));
            if ran.is_err() || runner.monitor.stopped() {
                return (round, ran);
            }
        }
        match over(round + 1, arms) {
            Ok(false) => {}
            Ok(true) => return (round + 1, Ok(())),
            Err(error) => return (round + 1, Err(error)),
        }
    }
    unreachable!("only a return ends the loop over the rounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_of_each_and_drift_meets_both_alike() {
        for pair in TURNS.chunks(2) {
            assert!(pair.contains(&0) && pair.contains(&1));
        }
        let places = |who| TURNS.iter().enumerate().filter(|(_, turn)| **turn == who).map(|(at, _)| at).sum::<usize>();
        assert_eq!(places(0), places(1));
        assert_eq!(TURNS.iter().filter(|turn| **turn == 0).count(), RUNS as usize);
    }
}
