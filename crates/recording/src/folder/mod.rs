//! A recording: a folder with everything that a run or an analysis found.
//!
//! ```text
//! DIR/manifest.json                      what was measured, how, and which stages are finished
//! DIR/stage-0000/statistics.zst          everything that the report is made from, exact (`stats::state`)
//! DIR/stage-0000/intervals.zst           what comparisons are made from, exact
//! DIR/stage-0000/intervals.parquet       a row an interval and procedure
//! DIR/stage-0000/histograms.parquet      a row an interval, procedure and histogram cell
//! DIR/stage-0000/transactions-0000.parquet …  a row a transaction: none, a sample or all
//! DIR/stage-0000/part.zst                of a part of a run: what the other parts are merged with
//! DIR/stage-0000/spans.zst               of the same: from when to when its requests were outstanding
//! DIR/stage-0001.partial/                a stage that was not finished
//! DIR/stage-0001.partial/progress.zst    what there was of it about a second before the end, with its statistics
//! DIR/so-far-0007/                       of an analysis: its results so far, as a finished stage has them (`checkpoint.rs`)
//! ```
//!
//! A stage is written to a folder whose name ends in `.partial`. When it is whole and on the disk, the folder is renamed and
//! then the manifest replaced, which is the moment from which the stage belongs to the recording. So a kill at any time leaves a
//! recording of all finished stages, and of the one in progress what was measured
//! until about a second before.

mod checkpoint;
mod error;
mod intervals;
mod manifest;
mod names;
mod packed;
mod parts;
mod progress;
mod read;
mod rows;
mod sample;
mod stage;
mod tables;
mod write;

pub use checkpoint::CheckpointWriter;
pub use error::FolderError;
pub use manifest::{Machine, Manifest, Progress, SCHEMA, Stage, TransactionPolicy};
pub use read::Recording;
pub use rows::{Packer, Rows};
pub use sample::Sample;
pub use stage::StageWriter;
pub use write::{Finished, RecordingWriter};
