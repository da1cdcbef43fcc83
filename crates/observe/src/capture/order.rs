//! Several files: in the order of their first packets, and none twice.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use super::downtimes::Downtimes;
use super::input::{self, Input};
use super::parser::Parser;
use super::{CaptureAnomalies, CaptureError, StopReading};

/// Packets that are compared to tell whether two files hold the same.
const COMPARED: usize = 64;

/// The start of a file.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Time of the first packet that has one, ns since the Unix epoch.
    time_ns: i64,
    /// Of the times and bytes of the first packets.
    fingerprint: u64,
}

/// Sorts files by the time of their first packets, because the files of a ring may be given in any order. Files without a packet stay in
/// their place, and if one input is a pipe, all do.
///
/// # Errors
/// If a file is given twice, also under two names: its packets would count twice.
pub(super) fn in_order(inputs: Vec<Input>, anomalies: &mut CaptureAnomalies) -> Result<Vec<Input>, CaptureError> {
    if inputs.len() < 2 {
        return Ok(inputs);
    }
    refuse_repeated(&inputs)?;
    if inputs.iter().any(|input| !matches!(input.size(), Ok(Some(_)))) {
        return Ok(inputs);
    }
    let starts: Vec<Option<Start>> = inputs.iter().map(start).collect();
    let known: Vec<Start> = starts.iter().flatten().copied().collect();
    let repeats = |(at, one): (usize, &Start)| known[..at].iter().any(|other| other.fingerprint == one.fingerprint);
    anomalies.repeated_files = known.iter().enumerate().filter(|&one| repeats(one)).count() as u64;

    let places: Vec<usize> = (0..inputs.len()).filter(|&at| starts[at].is_some()).collect();
    let mut sorted = places.clone();
    sorted.sort_by_key(|&at| starts[at].map(|start| start.time_ns));
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    places.iter().zip(&sorted).for_each(|(&place, &at)| order[place] = at);
    anomalies.reordered_files = order.iter().enumerate().filter(|&(place, &at)| place != at).count() as u64;
    let mut inputs: Vec<Option<Input>> = inputs.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| inputs[at].take()).collect())
}

fn refuse_repeated(inputs: &[Input]) -> Result<(), CaptureError> {
    let mut seen = Vec::new();
    for input in inputs {
        // A file that cannot be examined causes an error later, when it is opened.
        let Some(identity) = identity(input) else { continue };
        if let Some((_, earlier)) = seen.iter().find(|(one, _)| *one == identity) {
            let earlier: &&Input = earlier;
            return Err(CaptureError::Repeated { input: input.name(), earlier: earlier.name() });
        }
        seen.push((identity, input));
    }
    Ok(())
}

/// The identity of a file, whatever its name; standard input has none.
#[cfg(unix)]
fn identity(input: &Input) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    match input {
        Input::Stdin => Some((u64::MAX, u64::MAX)),
        Input::File(path) => std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino())),
    }
}

#[cfg(not(unix))]
fn identity(input: &Input) -> Option<std::path::PathBuf> {
    match input {
        Input::Stdin => Some("-".into()),
        Input::File(path) => std::fs::canonicalize(path).ok(),
    }
}

/// The same for all files.
fn hasher() -> impl Hasher {
    foldhash::quality::FixedState::default().build_hasher()
}

/// `None` if the file has no packet with a time or cannot be read; the error is reported when it is opened.
fn start(input: &Input) -> Option<Start> {
    // Only regular files get here, and reading their first packets does not wait, so the stop flag is not needed.
    let mut window = input::open(input, &Arc::default(), &StopReading::default()).ok()?.window;
    let mut parser = Parser::open(&mut window).ok()??;
    let (mut ignored, mut first, mut hasher) = (CaptureAnomalies::default(), None, hasher());
    for _ in 0..COMPARED {
        let Ok(Some(located)) = parser.next(&mut window, &mut ignored, &Downtimes::default()) else { break };
        first = first.or(located.time_ns);
        located.time_ns.hash(&mut hasher);
        window.slice(located.start, located.len).hash(&mut hasher);
    }
    first.map(|time_ns| Start { time_ns, fingerprint: hasher.finish() })
}
