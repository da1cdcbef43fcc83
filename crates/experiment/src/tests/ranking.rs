//! Sweeps of servers of known speed: the faster one is ahead at every point, and a server is never ahead of itself. The real client
//! and engine on the scripted server, in memory under a virtual clock.

use std::time::Duration;

use plimsoll_report::collect::comparison::{Contestant, LevelRuns, Order};
use plimsoll_report::findings::ranking::{Ranked, Ranking};
use plimsoll_report::findings::{Findings, Report};
use plimsoll_report::text;
use plimsoll_testkit::servers::scripted::{Draw, Script};

use super::outliers::{Found, jitter};

const SIZES: [u32; 2] = [750, 6_000];
const CLIENTS: [u32; 2] = [1, 4];
/// Of a level, ns.
const LENGTH: u64 = 2_000_000_000;

/// A sweep over clients and sizes of a server with this time per call; `seed` determines its random numbers.
fn sweep(found: &Found, name: &str, middle: Duration, seed: u32) -> Contestant {
    let script = Script { draw: Draw::Independent, ..Script::parallel(jitter(middle)) };
    let mut levels = Vec::new();
    for block in SIZES {
        for clients in CLIENTS {
            let level = found.loaded(&script, clients, (seed * 100 + levels.len() as u32, LENGTH), block);
            let words = format!("{}, block={block}B", level.load_name());
            let runs = vec![level.measured().unwrap()];
            levels.push(LevelRuns { level_name: words, point: Some(level.recorded().point()), runs, findings: None });
        }
    }
    Contestant { findings: Findings { name: name.to_owned(), ..Findings::default() }, levels }
}

fn compared(contestants: &[Contestant]) -> (Ranking, String) {
    let report = Report::compare(contestants.to_vec(), Order::Apart, Vec::new());
    let text = text::to_string(&report, &text::Style::plain(100));
    (report.comparison.unwrap().ranking.unwrap(), text)
}

fn all(ranking: &Ranking) -> Vec<&Ranked> {
    let points = ranking.curves.iter().flat_map(|curve| &curve.points);
    let of_points = points.flat_map(|point| [&point.throughput, &point.mean]);
    of_points.chain(ranking.curves.iter().map(|curve| &curve.highest)).chain(&ranking.overall).collect()
}

#[test]
fn the_faster_server_is_ahead_everywhere_and_equals_share_a_place() {
    let found = Found::new();
    let [quick, slow] = [Duration::from_millis(4), Duration::from_millis(5)];
    let three =
        [sweep(&found, "slow", slow, 1), sweep(&found, "quick", quick, 2), sweep(&found, "quick again", quick, 3)];
    let (ranking, text) = compared(&three);
    assert_eq!((ranking.points, ranking.not_used, ranking.curves.len()), (4, 0, 2));
    for ranked in all(&ranking) {
        assert_eq!(ranked.places, [Some(3), Some(1), Some(1)], "{ranked:?}");
        assert_eq!((ranked.pairs.len(), ranked.winner()), (3, None));
    }
    for curve in &ranking.curves {
        assert_eq!(curve.highest_at, vec![Some("4 clients".to_owned()); 3]);
        let value = |at: usize| curve.highest.estimates[at].as_ref().unwrap().value;
        assert!((value(0) / value(1) - 0.8).abs() < 0.02, "4 ms against 5 ms: {curve:?}");
    }
    let over = |pair: usize| ranking.overall[0].pairs[pair].difference.relative.unwrap();
    assert!((over(0) - 0.25).abs() < 0.02 && over(2).abs() < 0.02, "{:?}", ranking.overall);
    assert!(text.contains("B = C, then A"), "{text}");
    let (ranking, text) = compared(&three[..2]);
    assert!(all(&ranking).iter().all(|ranked| ranked.winner() == Some(1)), "{text}");
}

/// At 95 % one ranking of equals in twenty may have a winner somewhere; of three, none is expected.
#[test]
fn noise_is_no_win() {
    let found = Found::new();
    let sweeps: Vec<Contestant> = (1..=6).map(|seed| sweep(&found, "same", Duration::from_millis(4), seed)).collect();
    let wins = |pair: &[Contestant]| all(&compared(pair).0).iter().any(|ranked| ranked.winner().is_some());
    let won = sweeps.chunks(2).filter(|pair| wins(pair)).count();
    assert_eq!(won, 0, "of 3 pairs of equals");
}
