//! The flags `--title`, `--label` and `--describe`.

use std::path::{Path, PathBuf};

use plimsoll_model::About;

use crate::exit::Usage;

/// Title, labels and description of a measurement.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Description")]
pub(crate) struct AboutFlags {
    /// Title of the measurement in reports, pages and recordings
    #[arg(long, value_name = "TEXT", value_parser = About::check_title)]
    title: Option<String>,
    /// Label of the measurement, e.g. commit=1a2b3c; may be repeated. KEY begins with a letter and contains only letters,
    /// digits and underscores. Reports, recordings, comparisons and `report --export FILE.om` show the label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = About::parse_label)]
    labels: Vec<(String, String)>,
    /// Description of the system under test: a TOML file with any of the keys server, version, cpu, memory, disks,
    /// network and notes. Each value is a string or a list of strings (docs/labels.md)
    #[arg(long, value_name = "FILE.toml")]
    describe: Option<PathBuf>,
}

impl AboutFlags {
    /// Reads the description and checks the labels.
    pub(crate) fn read(&self) -> anyhow::Result<About> {
        let labels = About::collect_labels(&self.labels).map_err(|why| Usage(format!("--label: {why}")))?;
        let system = self.describe.as_deref().map(plimsoll_results::read_description).transpose()?;
        Ok(About { title: self.title.clone(), labels, system })
    }

    /// The file of --describe.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.describe.iter().map(PathBuf::as_path)
    }

    /// With the flags of one side of a duel in place of these, where it has them.
    pub(crate) fn with(&self, own: &Self) -> Self {
        let others = self.labels.iter().filter(|(key, _)| !own.labels.iter().any(|(known, _)| known == key));
        Self {
            title: own.title.clone().or_else(|| self.title.clone()),
            labels: others.chain(&own.labels).cloned().collect(),
            describe: own.describe.clone().or_else(|| self.describe.clone()),
        }
    }
}
