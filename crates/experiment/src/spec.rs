//! All that was asked for of a run: a recording keeps it, so that the run can be continued and repeated.

use std::path::Path;

use anyhow::Context;
use plimsoll_recording::folder::{FolderError, Recording};
use plimsoll_workload::{Parameter, Workload};
use serde::{Deserialize, Serialize};

use super::level_spec::LevelSpec;
use super::parameters::Variant;
use crate::error::Usage;
use crate::record::Measured;

/// All that was asked for of a run, but for its outputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// The target, without a password.
    pub target: String,
    /// What was asked of its server besides.
    pub server: ServerSpec,
    /// A workload that comes with the program, or an absolute path.
    pub workload: String,
    /// Values that were given to its parameters.
    pub settings: Vec<Parameter>,
    /// The name of the file set, where it has one of its own.
    pub file_set: Option<String>,
    /// The levels of a load curve end with the one whose mean response time is above this, s.
    pub stop_above_s: Option<f64>,
    /// The workload with each value of what is varied, and its levels.
    pub variants: Vec<VariantSpec>,
}

/// What is asked of a server besides its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSpec {
    /// The SMB dialect that is forced; null where the server chooses.
    pub dialect: Option<String>,
    /// SMB signing is demanded.
    pub signing: bool,
    /// SMB encryption is demanded.
    pub encryption: bool,
    /// SMB users log on with Kerberos; null: with NTLM.
    pub kerberos: Option<KerberosSpec>,
}

/// Where Kerberos tickets come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KerberosSpec {
    /// The realm; null: the one of the user.
    pub realm: Option<String>,
    /// `host:port` of its KDC; null: the one of krb5.conf.
    pub kdc: Option<String>,
}

/// A workload with one value of what is varied, and its levels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantSpec {
    /// What is varied, and the value here; null where nothing is.
    pub value: Option<Parameter>,
    /// The workload's digest, its parameters in place.
    pub workload_sha256: String,
    /// The levels, in order.
    pub levels: Vec<LevelSpec>,
}

impl RunSpec {
    /// That of a recorded run, and the text of its workload.
    ///
    /// # Errors
    /// There is no recording in the folder, it is damaged, or it is none of a run with a plan.
    pub fn read(folder: &Path) -> anyhow::Result<(Self, String)> {
        let shown = folder.display();
        let recording = Recording::open(folder).map_err(|error| match error {
            FolderError::NoRecording { .. } => Usage(format!("--from {shown}: there is no recording")).into(),
            error => anyhow::Error::new(error),
        })?;
        let measured = serde_json::from_value(recording.manifest.measured)
            .context("manifest.json does not say what was measured as this version says it")?;
        match measured {
            Measured::Run { spec: Some(spec), workload_text, .. } => Ok((*spec, workload_text)),
            Measured::Run { .. } | Measured::Analyze { .. } => {
                Err(Usage(format!("--from {shown}: expected a recording of plimsoll run or sweep")).into())
            }
        }
    }

    /// The workload with each value of what is varied; `text` is the workload's.
    ///
    /// # Errors
    /// It is not what it was: it plays a load file that changed.
    pub fn variants(&self, text: &str) -> Result<Vec<Variant>, Usage> {
        let variant = |spec: &VariantSpec| {
            let settings: Vec<Parameter> = self.settings.iter().chain(&spec.value).cloned().collect();
            let workload =
                Workload::parse_with(&self.workload, text, &settings).map_err(|error| Usage(error.to_string()))?;
            if workload.digest() != spec.workload_sha256 {
                return Err(Usage(format!(
                    "--from: the load file that {} names is another one now: SHA-256 of both {}, recorded was {}",
                    self.workload,
                    workload.digest(),
                    spec.workload_sha256
                )));
            }
            Ok(Variant { workload, value: spec.value.clone() })
        };
        self.variants.iter().map(variant).collect()
    }

    /// Every level with its variant, in order.
    pub fn levels(&self) -> impl Iterator<Item = (&VariantSpec, &LevelSpec)> {
        self.variants.iter().flat_map(|variant| variant.levels.iter().map(move |level| (variant, level)))
    }

    /// Why a recording of this is not one of `ours`; `None` where it is.
    pub(crate) fn differs(&self, ours: &Self) -> Option<String> {
        let (many, asked) = (self.levels().count(), ours.levels().count());
        if many != asked {
            return Some(format!("it is of {many} load levels, not of {asked}"));
        }
        if self.server != ours.server {
            let shown = |server| serde_json::to_string(server).unwrap_or_default();
            return Some(format!(
                "it asked the server for {}; asked for is {}",
                shown(&self.server),
                shown(&ours.server)
            ));
        }
        self.levels().zip(ours.levels()).find_map(|((their_variant, theirs), (our_variant, ours))| {
            if (&theirs.words, &theirs.curve) != (&ours.words, &ours.curve) {
                return Some(format!("it has {} where {} is asked for", theirs.shown(), ours.shown()));
            }
            if their_variant.workload_sha256 != our_variant.workload_sha256 {
                let digest = &their_variant.workload_sha256;
                return Some(format!("at {} its workload is another one (SHA-256 {digest})", ours.shown()));
            }
            let (was, is) = (theirs.decisive(), ours.decisive());
            (was != is).then(|| format!("at {} it is of: {was}; asked for is: {is}", ours.shown()))
        })
    }
}
