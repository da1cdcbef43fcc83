//! A recording: a folder with everything that a run or an analysis found.
//!
//! ```text
//! DIR/manifest.json                      what was measured, how, and which levels are finished
//! DIR/level-0000/statistics.zst          everything that the report is made from, exact (`stats::state`)
//! DIR/level-0000/intervals.zst           what comparisons are made from, exact
//! DIR/level-0000/intervals.parquet       a row an interval and procedure
//! DIR/level-0000/histograms.parquet      a row an interval, procedure and histogram cell
//! DIR/level-0000/transactions-0000.parquet …  a row a transaction: none, a sample or all
//! DIR/level-0000/part.zst                of a part of a run: what the other parts are merged with
//! DIR/level-0000/spans.zst               of the same: from when to when its requests were outstanding
//! DIR/level-0000/about.json              data of the recording command that has no room in the manifest (`about.rs`)
//! DIR/level-0001.partial/                a level that was not finished
//! DIR/level-0001.partial/progress.zst    what there was of it about a second before the end, with its statistics
//! DIR/so-far-0007/                       of an analysis: its results so far, as a finished level has them (`checkpoint.rs`)
//! DIR/replaced/                          the recording that this one replaces, until this one has results (`replaced.rs`)
//! ```
//!
//! A level is written to a folder whose name ends in `.partial`. When it is whole and on the disk, the folder is renamed and
//! then the manifest replaced, which is the moment from which the level belongs to the recording. So a kill at any time leaves a
//! recording of all finished levels, and of the one in progress what was measured
//! until about a second before.

mod about;
mod checkpoint;
mod error;
mod intervals;
mod level_writer;
mod manifest;
mod names;
mod own_files;
mod packed;
mod parts;
mod progress;
mod read;
mod replaced;
mod rows;
mod sample;
mod tables;
mod write;

pub use checkpoint::CheckpointWriter;
pub use error::FolderError;
pub use level_writer::LevelWriter;
pub use manifest::{Machine, Manifest, Progress, RecordedLevel, SCHEMA, TransactionPolicy};
pub use read::Recording;
pub use rows::{Packer, Rows};
pub use sample::Sample;
pub use write::{Finished, RecordingWriter};
