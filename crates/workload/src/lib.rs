//! Workloads: descriptions of users' actions, their files and their frequencies.
//!
//! ```text
//! TOML text ─ text (as written) ─ program (checked) ─ slot: a Scenario ─┐
//!      └ fileset: what is there before, made by Scenarios of its own ───┴─ engine
//! ```
//!
//! A slot does *iterations*, each a short script of steps on one subject. The iteration, the file and the offset are random, from one
//! numbering of all files, which every slot of every client uses; the random numbers of an iteration depend only on the slot's seed and
//! the iteration's number. So the accessed files, and their frequencies, do not depend on the number of clients, threads or processes:
//! the union of the slots has the distribution of one slot (a test checks this; SPEC withdrew SFS 2.0 in 2001 because it violated this).
//!
//! Every iteration leaves the files unchanged. It removes the objects that it creates, which have names private to the slot, and writes
//! to files of the set repeat the existing content. So slots never interfere, and any read can be verified at any time.

mod builtin;
mod data_source;
pub(crate) mod dbench;
mod deck;
mod defaults;
mod distribution;
mod error;
mod file_step;
pub mod fileset;
mod hexadecimal;
mod load;
mod open_files;
mod parameters;
mod program;
mod quantity;
mod replay;
mod rng;
pub mod scenario;
mod schema;
mod script_runner;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod workload_files;

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use toml::Spanned;

pub use builtin::{BUILTINS, Builtin};
pub use data_source::DataSource;
pub use defaults::Defaults;
pub use error::WorkloadError;
pub use fileset::FileSet;
pub(crate) use fileset::{Sweep, Swept, Tree};
pub use load::{Arrivals, Load, Pause, Phases, nanoseconds};
pub use parameters::Parameter;
pub use rng::{Rng, seed_of};
pub use schema::schema;

use plimsoll_client::operation::Caching;

use crate::hexadecimal::hexadecimal;
use crate::scenario::Scenario;

/// Bytes of a size as workloads write it (`8KiB`, `0.75kB`); `None` where it is none.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    quantity::Size::parse(text).map(|size| size.0)
}

/// The largest workload file, bytes.
const LARGEST: usize = 1 << 20;
/// The longest name, characters: file sets are called after it.
const LONGEST_NAME: usize = 40;
/// The most kinds of iterations.
const MAX_ITERATION_KINDS: usize = 1000;
/// The most files that a slot keeps open.
const MOST_KEPT: u32 = 1000;

/// What users do, on which files, how often. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workload {
    work: Arc<Work>,
}

/// A parsed and checked workload.
#[derive(Debug)]
struct Work {
    name: String,
    description: String,
    text: String,
    parameters: Vec<Parameter>,
    digest: String,
    files: text::Files,
    defaults: Defaults,
    /// Files that a slot keeps open from iteration to iteration; 0: opens and closes in each.
    keep_open: usize,
    /// Reads that keep and verify their data, 0 to 1.
    verify: f64,
    caching: Caching,
    source: DataSource,
    iterations: Vec<program::IterationKind>,
    /// Whether any iteration writes to files of the set.
    writes_to_the_set: bool,
    /// Sums of the iterations' weights up to each.
    weights: Vec<u64>,
    /// Where iterations are dealt and not drawn.
    deck: Option<deck::Deck>,
    /// The first slot of a client looks everything up before its first iteration.
    look_up_first: bool,
    /// A load file in place of iterations.
    replay: Option<replay::Replay>,
}

impl Workload {
    /// Takes a workload file apart; `file` is what errors call it.
    ///
    /// # Errors
    /// Where it is wrong, what stands there, and what would do.
    pub fn parse(file: &str, text: &str) -> Result<Self, WorkloadError> {
        Self::parse_with(file, text, &[])
    }

    /// The same with other values of its parameters than the defaults.
    ///
    /// # Errors
    /// As [`Workload::parse`], and if the file has no such parameter, or one of another kind.
    pub fn parse_with(file: &str, text: &str, settings: &[Parameter]) -> Result<Self, WorkloadError> {
        if text.len() > LARGEST {
            return Err(WorkloadError::whole(
                file,
                format!("the workload file is too large: the limit is {LARGEST} bytes"),
            ));
        }
        let filled = parameters::fill(file, text, settings)?;
        let at = |place: &std::ops::Range<usize>, problem: &str| filled.wrong(file, text, place, problem);
        let read: text::Text = toml::from_str(&filled.text).map_err(|error| match error.span() {
            Some(place) => at(&place, error.message()),
            None => WorkloadError::whole(file, error.message()),
        })?;
        let replay = read.replay.as_ref().map(|asked| replay::Replay::load(file, &filled.text, asked)).transpose()?;
        let mut work = Work::check(read, &filled.text, replay).map_err(|(place, problem)| at(&place, &problem))?;
        (work.text, work.parameters) = (text.to_owned(), filled.parameters);
        Ok(Self { work: Arc::new(work) })
    }

    /// What reports call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.work.name
    }

    /// One line about it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.work.description
    }

    /// Its file, as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.work.text
    }

    /// Its parameters with their values, as they are declared.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.work.parameters
    }

    /// SHA-256 of its text with its parameters' values in place (and of its load file's behind it), in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.work.digest
    }

    /// The load that it asks for where no flag says otherwise.
    #[must_use]
    pub fn defaults(&self) -> &Defaults {
        &self.work.defaults
    }

    /// The kinds of iterations with their shares, 0 to 1.
    pub fn iterations(&self) -> impl Iterator<Item = (&str, f64)> {
        let all = self.work.weights.last().copied().unwrap_or(1) as f64;
        self.work.iterations.iter().map(move |iteration| (iteration.name.as_str(), f64::from(iteration.weight) / all))
    }

    /// The first SMB-only step; other targets cannot run this workload.
    #[must_use]
    pub fn smb_alone(&self) -> Option<&str> {
        self.work.iterations.iter().find_map(program::IterationKind::smb_alone)
    }

    /// The first step that only NFS 4.2 has; other targets cannot run this workload.
    #[must_use]
    pub fn nfs_4_2_alone(&self) -> Option<&str> {
        self.work.iterations.iter().find_map(program::IterationKind::nfs_4_2_alone)
    }

    /// Whether the server copies files: SMB does, NFS from version 4.2 on.
    #[must_use]
    pub fn copies(&self) -> bool {
        self.work.iterations.iter().any(program::IterationKind::copies)
    }

    /// Whether an iteration changes the share or the session of its connection, which then must not be shared.
    #[must_use]
    pub fn wants_its_connection_alone(&self) -> bool {
        self.work.iterations.iter().any(program::IterationKind::uses_shares)
    }

    /// Whether slots make files or directories for themselves, which are left behind where they are stopped.
    #[must_use]
    pub fn makes_its_own(&self) -> bool {
        let makes = |kind: &program::IterationKind| kind.on == text::Subject::Own || kind.copies();
        self.work.replay.is_some() || self.work.iterations.iter().any(makes)
    }

    /// Where the server is to take the data that clients read from.
    #[must_use]
    pub fn source(&self) -> DataSource {
        self.work.source
    }

    /// Whether SMB clients ask for leases of directories.
    #[must_use]
    pub fn caches_directories(&self) -> bool {
        self.work.caching == Caching::DirectoryCached
    }

    /// Files that a slot has open at most: those that it keeps open, and one of its own.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.work.replay.as_ref().map_or(self.work.keep_open.max(1) as u64 + 1, replay::Replay::open_files)
    }

    /// What its scenarios have to tell besides their transactions since this was last asked: a fact each, in words.
    #[must_use]
    pub fn take_remarks(&self) -> Vec<String> {
        self.work.replay.as_ref().map_or_else(Vec::new, replay::Replay::take_remarks)
    }

    /// The scenario of one slot of a client on a file set of this workload. It does not depend on other slots, and never ends, except for
    /// a load file with a number of replays.
    #[must_use]
    pub fn scenario(&self, files: &Arc<FileSet>, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        match &self.work.replay {
            Some(replay) => replay.player(files, client_index, slot, seed),
            None => {
                Box::new(script_runner::ScriptRunner::new(self.work.clone(), files.clone(), client_index, slot, seed))
            }
        }
    }
}

impl Work {
    fn check(text: text::Text, whole: &str, replay: Option<replay::Replay>) -> Result<Self, program::Wrong> {
        let name = checked_name(&text.name)?;
        if text.description.get_ref().contains(char::is_control) {
            let problem = "\"description\": expected a single line without control characters";
            return Err((text.description.span(), problem.to_owned()));
        }
        let files = files(text.files, replay.is_some())?;
        fileset::check(files.get_ref()).map_err(|problem| (files.span(), problem))?;
        let mut defaults = match &text.load {
            Some(load) => Defaults::of(load.get_ref()).map_err(|problem| (load.span(), problem))?,
            None => Defaults::of(&text::Load::default()).map_err(|problem| (0..0, problem))?,
        };
        if replay.as_ref().is_some_and(|replay| replay.plays.is_some()) {
            // It ends by itself.
            (defaults.phases.warmup_ns, defaults.phases.measured_ns) = (0, None);
        }
        if let (Some(script), Some(_)) = (&text.script, &replay) {
            return Err((
                script.span(),
                "[script] applies only to [[iterations]], but this workload has [replay]: remove [script]".to_owned(),
            ));
        }
        let script = text.script.map(Spanned::into_inner).unwrap_or_default();
        let keep_open = match &script.keep_open {
            Some(kept) if *kept.get_ref() > MOST_KEPT => {
                return Err((kept.span(), format!("\"keep_open\": expected at most {MOST_KEPT} files")));
            }
            kept => kept.as_ref().map_or(0, |kept| *kept.get_ref()),
        };
        let iterations = compile_iterations(&text.iterations, files.get_ref().scale, script.keep_open.as_ref())?;
        let weights: Vec<u64> = iterations
            .iter()
            .scan(0, |sum, iteration| {
                *sum += u64::from(iteration.weight);
                Some(*sum)
            })
            .collect();
        match (text.iterations.first(), &replay) {
            (Some(iteration), Some(_)) => {
                let problem = "[replay] and [[iterations]] cannot be combined: remove one of them";
                return Err((iteration.span(), problem.to_owned()));
            }
            (_, None) => check_iterations(&iterations, &weights, &files)?,
            (None, Some(_)) => {}
        }
        let deck = match script.order {
            text::Order::Random => None,
            text::Order::Shuffled => Some(deck::Deck::new(&iterations).map_err(|problem| (0..0, problem))?),
        };
        Ok(Self {
            name,
            description: text.description.get_ref().clone(),
            text: whole.to_owned(),
            parameters: Vec::new(),
            digest: digest_of(whole, replay.as_ref()),
            files: files.into_inner(),
            defaults,
            keep_open: keep_open as usize,
            verify: script.verify.map_or(0.0, |share| share.0),
            caching: script.caching,
            source: script.source,
            writes_to_the_set: iterations.iter().any(program::IterationKind::writes_to_the_set),
            iterations,
            weights,
            deck,
            look_up_first: script.look_up_first,
            replay,
        })
    }
}

/// The name, if file sets can be called after it.
fn checked_name(name: &Spanned<String>) -> Result<String, program::Wrong> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let called = name.get_ref();
    if called.is_empty() || called.len() > LONGEST_NAME || !called.chars().all(plain) {
        let problem = format!("\"name\": expected 1 to {LONGEST_NAME} lower-case letters, digits or '-'");
        return Err((name.span(), problem));
    }
    Ok(called.clone())
}

/// Every iteration in all its variants. `kept`: files that stay open from iteration to iteration.
fn compile_iterations(
    texts: &[Spanned<text::IterationText>],
    scale: quantity::Scale,
    kept: Option<&Spanned<u32>>,
) -> Result<Vec<program::IterationKind>, program::Wrong> {
    let variants = texts.iter().map(|iteration| program::IterationKind::variants(iteration, scale));
    let iterations = variants.collect::<Result<Vec<_>, _>>()?.concat();
    if let Some(kept) = kept.filter(|kept| *kept.get_ref() > 0)
        && iterations.iter().any(program::IterationKind::uses_shares)
    {
        let problem = "\"keep_open\" must be 0, because iterations of this workload connect to the share or log on";
        return Err((kept.span(), problem.to_owned()));
    }
    Ok(iterations)
}

/// Whether there are iterations, and the files that they are about.
fn check_iterations(
    iterations: &[program::IterationKind],
    weights: &[u64],
    files: &Spanned<text::Files>,
) -> Result<(), program::Wrong> {
    if iterations.len() > MAX_ITERATION_KINDS || weights.last().is_none_or(|sum| *sum == 0) {
        let problem =
            format!("expected 1 to {MAX_ITERATION_KINDS} [[iterations]], at least one with a \"weight\" above 0");
        return Err((0..0, problem));
    }
    if files.get_ref().count == 0 && iterations.iter().any(program::IterationKind::needs_files) {
        return Err((
            files.span(),
            "iterations with on = \"file\" need files: give \"count\" a value above 0".to_owned(),
        ));
    }
    if files.get_ref().links == 0 && iterations.iter().any(program::IterationKind::needs_links) {
        return Err((
            files.span(),
            "iterations with on = \"link\" need links: give \"links\" a value above 0".to_owned(),
        ));
    }
    Ok(())
}

/// The files of a workload; a load file creates its own.
fn files(asked: Option<Spanned<text::Files>>, replay: bool) -> Result<Spanned<text::Files>, program::Wrong> {
    match (asked, replay) {
        (Some(files), true) => Err((files.span(), "[replay] creates its own files: remove [files]".to_owned())),
        (Some(files), false) => Ok(files),
        (None, true) => Ok(Spanned::new(0..0, text::Files::none())),
        (None, false) => Err((0..0, "missing field `files`: [[iterations]] need [files]".to_owned())),
    }
}

fn digest_of(text: &str, replay: Option<&replay::Replay>) -> String {
    let mut context = Context::new(&SHA256);
    context.update(text.as_bytes());
    if let Some(replay) = replay {
        context.update(replay.loadfile.as_ref());
    }
    hexadecimal(context.finish().as_ref())
}
