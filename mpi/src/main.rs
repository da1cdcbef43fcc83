//! `mpirun -n 4 plimsoll-mpi run mixed --target nfs://server/export --clients 400 --record all`: each rank drives one part of a run.
//!
//! Rank 0 tells the others the options, measures their clocks, and names a common start. Each rank then starts `plimsoll` for its part, and
//! waits for it: no rank calls MPI while `plimsoll` runs. Then rank 0 measures the clocks again and merges the recordings.

mod clocks;
mod options;
mod part;
mod progress;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use clocks::Clocks;
use options::Options;
use progress::Progress;

/// Interval at which a rank checks whether the others have arrived.
const MEETING_POLL: Duration = Duration::from_millis(100);
/// The file that each recording has.
const MANIFEST: &str = "manifest.json";
/// Sent instead of an exit code: the part has not replaced the recording of an earlier call.
const NOT_REPLACED: i32 = -2;

fn main() -> ExitCode {
    let code = run().unwrap_or_else(|error| {
        say(&format!("{error:#}"));
        2
    });
    ExitCode::from(code)
}

#[expect(clippy::print_stderr, reason = "the only way to the user")]
pub(crate) fn say(text: &str) {
    eprintln!("plimsoll-mpi: {text}");
}

fn run() -> anyhow::Result<u8> {
    let universe = mpi::initialize().context("MPI cannot be initialized: start this program with mpirun or srun")?;
    let world = universe.world();
    // All ranks use the options of rank 0, so options cannot differ.
    let given = tell(&world, std::env::args().skip(1).collect());
    let options = Options::of(&given)?;
    if options.only_clocks {
        let clocks = clocks::measure(&world, options.round_trips)?;
        show(&world, &clocks);
        return Ok(0);
    }
    if world.size() == 1 {
        return part::alone(&options);
    }
    drive(&world, &options)
}

/// The parts of a run.
fn drive(world: &SimpleCommunicator, options: &Options) -> anyhow::Result<u8> {
    let number = world.rank() + 1;
    if is_occupied(world, options) {
        return Ok(if world.rank() == 0 { 2 } else { 0 });
    }
    let earlier = manifest(options, number);
    begin_progress(options, number)?;
    let before = clocks::measure(world, options.round_trips)?;
    show(world, &before);
    let bound = before.bound_ns();
    if bound > nanoseconds(options.clock_bound) {
        anyhow::bail!("the clocks differ by up to {} µs, more than --clock-bound", bound / 1_000);
    }
    let start_ns = agreed(world, before.common_ns() + nanoseconds(options.start_in));
    let mut progress = progress(world, options);
    let code = part::drive(options, (number, world.size()), start_ns, before.origin_ns(), || progress.look());
    // No rank has called MPI since the start was agreed on.
    let ended: i32 = match &code {
        _ if earlier.is_some() && manifest(options, number) == earlier => NOT_REPLACED,
        Ok(code) => i32::from(*code),
        Err(_) => -1,
    };
    if let Err(error) = &code {
        say(&format!("part {number}/{}: {error:#}", world.size()));
    }
    meet(world, || progress.look());
    progress.end();
    let after = clocks::measure(world, options.round_trips)?;
    let difference = after.difference_ns(&before, world);
    let mut codes = vec![0_i32; world.size() as usize];
    let root = world.process_at_rank(0);
    if world.rank() != 0 {
        root.gather_into(&ended);
        // The merge reports the result of each part. If a rank ended with another exit code, MPI would end rank 0 before the merge.
        return Ok(0);
    }
    root.gather_into_root(&ended, &mut codes);
    for number in 1..=world.size() {
        let _gone = std::fs::remove_file(options.progress_file(number));
    }
    for (rank, _) in codes.iter().enumerate().filter(|(_, code)| !matches!(code, 0 | 4)) {
        say(&format!("rank {rank}: its part did not end normally"));
    }
    if codes.contains(&NOT_REPLACED) {
        say(
            "not merged: a part failed, and its folder has the recording of an earlier call; correct the error above and try again",
        );
        return Ok(2);
    }
    say(&format!("clocks differed by up to {} µs after the run", difference.div_ceil(1_000)));
    let folders: Vec<PathBuf> = (1..=world.size()).map(|number| options.part_folder(number)).collect();
    part::merge(options, &folders, Duration::from_nanos(difference))
}

/// Whether the recording of an earlier call must not be replaced; rank 0 names it. Otherwise the parts would fail, and the merge would take
/// the results of the earlier call; or they would measure, and the merge would fail.
fn is_occupied(world: &SimpleCommunicator, options: &Options) -> bool {
    let folders = (1..=world.size()).map(|number| options.part_folder(number)).chain([options.merged_folder()]);
    let found = folders.filter(|_| !options.overwrite).find(|folder| folder.join(MANIFEST).exists());
    if let Some(folder) = found.as_ref().filter(|_| world.rank() == 0) {
        let why = "already contains a recording: name another folder with --record, or add --overwrite";
        say(&format!("{} {why}", folder.display()));
    }
    agreed(world, i64::from(found.is_some())) != 0
}

/// The manifest of a part's recording, which differs between two recordings at least in the time of their start.
fn manifest(options: &Options, number: i32) -> Option<Vec<u8>> {
    std::fs::read(options.part_folder(number).join(MANIFEST)).ok()
}

/// Makes the folder of all parts, without the progress of an earlier run.
fn begin_progress(options: &Options, number: i32) -> anyhow::Result<()> {
    let (folder, file) = (&options.record, options.progress_file(number));
    std::fs::create_dir_all(folder).with_context(|| format!("--record {}", folder.display()))?;
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| file.display().to_string())
        }
        _ => Ok(()),
    }
}

/// The progress of all parts, which rank 0 prints.
fn progress(world: &SimpleCommunicator, options: &Options) -> Progress {
    let prints = world.rank() == 0 && !options.quiet;
    let parts = if prints { world.size() } else { 0 };
    Progress::of((1..=parts).map(|number| options.progress_file(number)).collect())
}

/// Waits for all ranks. MPI would poll and take a processor from parts that are not over yet.
fn meet(world: &SimpleCommunicator, mut look: impl FnMut()) {
    let mut barrier = world.immediate_barrier();
    while let Err(waiting) = barrier.test() {
        look();
        std::thread::sleep(MEETING_POLL);
        barrier = waiting;
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Prints the clock measurement of rank 0.
fn show(world: &SimpleCommunicator, clocks: &Clocks) {
    let all = clocks::of_all(world, clocks.own());
    if world.rank() == 0 {
        for (rank, [offset, bound]) in all.iter().enumerate().skip(1) {
            say(&format!("rank {rank}: clock ahead by {} ns, within {bound} ns", -offset));
        }
        say(&format!("clocks within {} µs", clocks.bound_ns().div_euclid(1_000) + 1));
    }
}

/// The value of rank 0, in all ranks.
fn agreed(world: &SimpleCommunicator, mut value: i64) -> i64 {
    world.process_at_rank(0).broadcast_into(&mut value);
    value
}

/// Sends the arguments of rank 0 to all ranks.
fn tell(world: &SimpleCommunicator, given: Vec<String>) -> Vec<String> {
    let mut text = given.join("\0").into_bytes();
    let mut length = agreed(world, text.len() as i64) as usize;
    if world.rank() != 0 {
        text = vec![0; length];
    }
    // MPI counts have 32 bits.
    length = length.min(i32::MAX as usize);
    world.process_at_rank(0).broadcast_into(&mut text[..length]);
    let text = String::from_utf8_lossy(&text).into_owned();
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}
