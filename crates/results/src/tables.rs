//! Transactions tables and recordings of all transactions, in the place of captures.

use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::{Coverage, Names, Sink, Transaction, Vantage};
use plimsoll_recording::folder::Recording;
use plimsoll_recording::{TableFormat, read_transactions};
use plimsoll_stats::Headline;

use crate::Usage;

/// Maximum number of distinct connections; above it the count is a lower bound.
const MOST_CONNECTIONS: usize = 1 << 20;

/// Tables to read, with the facts found before filtering.
pub struct Tables {
    files: Vec<PathBuf>,
    whole: Whole,
}

/// Result of the first pass over all rows.
#[derive(Default)]
struct Whole {
    span: Option<(i64, i64)>,
    connections: std::collections::HashSet<u32>,
    planned: bool,
    vantage: Option<Vantage>,
}

impl Tables {
    /// `None` where none of the inputs is a table or a recording. A folder without a recording is one of captures.
    ///
    /// # Errors
    /// The inputs mix tables and captures, a recording has only some of its transactions or several load levels, or a
    /// file cannot be read.
    pub fn open(inputs: &[PathBuf]) -> anyhow::Result<Option<Self>> {
        let is_one = |path: &&PathBuf| Recording::is_in(path) || TableFormat::of(path).is_ok();
        match inputs.iter().filter(is_one).count() {
            0 => return Ok(None),
            count if count < inputs.len() => {
                return Err(Usage(
                    "cannot analyze captures together with transactions tables or recordings; \
                give inputs of one kind"
                        .to_owned(),
                )
                .into());
            }
            _ => {}
        }
        let files = inputs.iter().map(|path| files(path)).collect::<anyhow::Result<Vec<_>>>()?.concat();
        let mut whole = Whole::default();
        for file in &files {
            read_transactions(file, &mut Names::default(), &mut whole)?;
        }
        Ok(Some(Self { files, whole }))
    }

    /// Where the clock stood.
    pub fn vantage(&self) -> &'static str {
        self.whole.vantage.unwrap_or(Vantage::Wire).label()
    }

    /// Which response time leads: that from the intended start where a schedule meant requests to start.
    pub fn headline(&self) -> Headline {
        if self.whole.planned { Headline::FromIntended } else { Headline::Response }
    }

    /// Times of the first and the last message, ns since the Unix epoch.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        self.whole.span
    }

    /// Passes all transactions to `sink`. Returns their names and the coverage.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(self, sink: &mut impl Sink) -> anyhow::Result<(Names, Coverage)> {
        let Whole { span, connections, .. } = self.whole;
        let mut names = Names::default();
        sink.begin(span.map_or(0, |(first, _)| first));
        for file in &self.files {
            read_transactions(file, &mut names, sink)?;
        }
        let coverage = Coverage {
            first_ns: span.map(|(first, _)| first),
            last_ns: span.map(|(_, last)| last),
            connections: connections.len() as u64,
            ..Coverage::default()
        };
        Ok((names, coverage))
    }
}

impl Sink for Whole {
    fn transaction(&mut self, t: &Transaction, _names: &Names) {
        let timeline = &t.timeline;
        for at in timeline.request_first.into_iter().chain(timeline.response_last) {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        if self.connections.len() < MOST_CONNECTIONS {
            self.connections.insert(t.connection);
        }
        self.planned |= timeline.intended.is_some();
        self.vantage = Some(t.vantage);
    }
}

/// The tables that an input stands for.
fn files(input: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let shown = input.display();
    let recording = Recording::open(input)?;
    let kept = &recording.manifest.transactions.which;
    if kept != "all" {
        let why = format!(
            "{shown}: recorded with --record-transactions {kept}, but this command line needs all transactions; \
            record again with --record-transactions all"
        );
        return Err(Usage(why).into());
    }
    match recording.manifest.levels.as_slice() {
        [] => anyhow::bail!("{shown}: the recording has no finished load level; record again"),
        [level] if level.is_so_far() => {
            anyhow::bail!("{shown}: the recording gets its transactions only when its program ends; read it then")
        }
        [level] => recording.transactions(level).with_context(|| shown.to_string()),
        levels => {
            let folders: Vec<&str> = levels.iter().map(|level| level.folder.as_str()).collect();
            let why = format!(
                "{shown}: the recording has {} load levels; choose one: {shown}/FOLDER/transactions-*.parquet, \
                where FOLDER is one of {}",
                levels.len(),
                folders.join(", ")
            );
            Err(Usage(why).into())
        }
    }
}
