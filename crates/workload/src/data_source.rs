//! Where the server is to take the data that clients read from.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the server is to take the data that clients read from: what a workload says of itself, and a report checks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DataSource")]
pub enum DataSource {
    /// Anywhere.
    #[default]
    Any,
    /// From its memory; the report warns if its disks had to be read.
    Cache,
    /// From its disks; the report warns if they were not read.
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
