//! Where the server is to take the data that clients read from.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Expected source of the data that clients read. The report checks it with the server's disk counters.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DataSource")]
pub enum DataSource {
    /// Any source.
    #[default]
    Any,
    /// The server's memory; the report warns if the server reads from its disks.
    Cache,
    /// The server's disks; the report warns if the server does not read from them.
    Disk,
}

impl fmt::Display for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Cache => "cache",
            Self::Disk => "disk",
        })
    }
}
