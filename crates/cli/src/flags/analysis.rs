//! What `analyze` and `watch` do with packets: the same flags, outputs and report.

use std::path::PathBuf;

use plimsoll_analysis::{Analyzed, Chain, Job, Running, Wanted};
use plimsoll_console::output_file::Files;
use plimsoll_observe::capture::Captures;
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_recording::Batched;
use plimsoll_report::findings::Source;
use plimsoll_report::safe::for_shell;
use plimsoll_stats::{Dimension, Dimensions, MAX_DIMENSIONS};

use crate::exit::{Done, Usage, first_error};
use crate::flags::about::AboutFlags;
use crate::flags::chain::ChainFlags;
use crate::flags::filter::FilterFlags;
use crate::flags::keys::Keys;
use crate::flags::output::{OpenOutput, Output};
use crate::flags::record::RecordFlags;

/// What to find out, and where it goes, as flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisFlags {
    #[command(flatten)]
    pub(crate) keys: Keys,
    /// Group the numbers by up to three keys, e.g. client,operation. Keys: client, server, share, user, path,
    /// connection, operation, status, protocol, second, minute, hour
    #[arg(long, value_name = "KEY[,KEY]", value_parser = parse_dimensions)]
    pub(crate) by: Option<Dimensions>,
    /// Maximum number of rows in the list of the slowest operations, and in the list of operations without a response
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) slowest: usize,
    /// Write one row per transaction to FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE")]
    pub(crate) transactions: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterFlags,
    #[command(flatten)]
    pub(crate) about: AboutFlags,
    #[command(flatten)]
    pub(crate) record: RecordFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// An analysis whose outputs are open.
pub(crate) struct Analysis {
    pub(crate) flags: AnalysisFlags,
    pub(crate) job: Job,
    pub(crate) output: OpenOutput,
}

impl Analysis {
    /// Opens the outputs, none of which may be one of the inputs.
    pub(crate) fn open(flags: AnalysisFlags, inputs: &[PathBuf], chain: &ChainFlags) -> anyhow::Result<Self> {
        let mut filter = flags.filter.filter();
        let hosts = filter.resolve()?;
        let read = inputs.iter().map(PathBuf::as_path).chain(flags.keys.files()).chain(chain.files());
        let mut files = Files::reading(read.chain(flags.filter.files()).chain(flags.about.files()));
        files.fills("--record", flags.record.folder())?;
        let about = flags.about.read()?;
        let output = flags.output.open(&mut files)?;
        let table =
            flags.transactions.as_deref().map(|path| crate::flags::output::table(path, &mut files)).transpose()?;
        let table = table.map(|(table, file)| (Batched::new(table), file));
        let options = source_options(flags.output.is_utc(), &flags.filter, &flags.keys);
        let source = Job::source(inputs, &filter, options, about);
        let wanted = Wanted {
            by: flags.by,
            slowest: flags.slowest,
            io: flags.output.has_io() || flags.record.folder().is_some(),
            page: flags.output.has_page(),
            filter,
            record: flags.record.to(),
        };
        let chain = Chain::open(chain.options(), wanted.describe(), &mut files)?;
        if chain.is_some() && (flags.keys.given() || flags.output.has_page()) {
            let why = "--html and session keys cannot be used with --hand-over-from or --hand-over-to; for an HTML page of all \
                files, record each analysis (--record DIR) and give all recordings to `plimsoll merge --html`";
            return Err(Usage(why.to_owned()).into());
        }
        Ok(Self { flags, job: Job { wanted, hosts, source, table, chain }, output })
    }

    /// Keys of sessions, read.
    pub(crate) fn keys(&self) -> anyhow::Result<SessionKeys> {
        self.flags.keys.read()
    }
}

/// The options that decide what captures and filters mean, as flags.
pub(crate) fn source_options(utc: bool, filter: &FilterFlags, keys: &Keys) -> Vec<String> {
    let utc = utc.then(|| Source::UTC.to_owned());
    let hosts = filter.files().map(|file| format!("--hosts {}", for_shell(&file.display().to_string())));
    utc.into_iter().chain(hosts).chain(keys.options()).collect()
}

/// Writes the report of a job to each destination. `unsaved`: why the saved packets are incomplete.
pub(crate) fn end(
    running: Running,
    captures: &Captures,
    output: OpenOutput,
    unsaved: Option<String>,
) -> anyhow::Result<Done> {
    let Analyzed { findings, drill, table, recording, chain } = running.end(captures, unsaved.as_deref())?;
    let unsaved = unsaved.map_or(Ok(()), |why| Err(anyhow::Error::msg(why)));
    // If one output fails, the others are written even so.
    let done = Done::with(&findings.validity, output.prints());
    first_error([output.write_with(&findings.into(), drill.as_ref()), table, recording, unsaved])?;
    chain.map_or(Ok(()), Chain::finish)?;
    Ok(done)
}

fn parse_dimensions(text: &str) -> Result<Dimensions, String> {
    let labels = || Dimension::ALL.iter().map(|dimension| dimension.label()).collect::<Vec<_>>().join(", ");
    let known = |label: &str| {
        let found = Dimension::ALL.iter().find(|dimension| dimension.label() == label.trim());
        found.copied().ok_or_else(|| format!("{label}: expected one of {}", labels()))
    };
    let wanted = text.split(',').map(known).collect::<Result<Vec<_>, _>>()?;
    Dimensions::new(&wanted).ok_or_else(|| format!("{text}: expected 1 to {MAX_DIMENSIONS} different keys"))
}
