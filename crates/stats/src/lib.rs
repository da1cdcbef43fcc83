//! Transactions become distributions, rates, queue depths and heat maps.
//!
//! [`Statistics`] is a sink: a pure function of its transactions, in bounded memory. All sums are integers, so merged parts equal the
//! whole to the last bit, except where stated.
//!
//! [`Intervals`] are the same sums by time, for comparisons: see [`mod@intervals`]. [`curve`] evaluates several loads.
//!
//! [`capacity`] finds the highest load that meets an objective; it requests runs and takes their results.
//!
//! [`cube`] has sums by client, server, share, operation, status and time at once, for a page that shows any part of them.
//!
//! [`live`] keeps the last minutes second by second, for a live view.
//!
//! [`parts`] divides the time of a call into parts, measured or inferred.
//!
//! What counts where:
//!
//! | | operations | groups, total, series, heat maps, breakdown | slowest | queue depth |
//! |---|---|---|---|---|
//! | a request | its row | yes | yes | yes |
//! | a member of an SMB1 AndX chain or SMB2 compound | its row | yes | one a message | yes |
//! | the operation that an NFSv4 compound is about (`counted`) | its row | yes | yes | yes |
//! | an NFSv4 compound as a whole, and its other members | no: a table of its own | no | no | no |
//! | Write_Raw's asynchronous part | its row | its bytes only (groups) | no | no |
//! | a request that waits by design (`long_lived`) | no: a table of its own | no | no | no |
//! | a request that was never sent | `never_sent` of its row | no | no | no |

mod accumulator;
mod bins;
mod by;
mod byte_sum;
pub mod capacity;
mod cells;
pub mod changes;
mod channels;
pub mod comparison;
pub mod cube;
pub mod curve;
mod depth;
mod fine;
mod groups;
mod headline;
mod heat;
pub mod intervals;
pub mod io;
pub mod live;
mod moments;
mod octaves;
mod packed;
pub mod parts;
mod rank;
mod series;
mod shared_statistics;
mod spans;
mod sparse;
pub mod state;
mod statistics;
pub mod tallies;
mod times;
mod times_recorder;
mod top;
mod waiting;

pub use accumulator::{Accumulator, MAX_STATUSES, StatusCount};
pub use bins::{BASE_NS, Bins, Cell};
pub use by::{
    Breakdown, CompositeKey, Dimension, Dimensions, Key, KeyCell, KeyStats, MAX_DIMENSIONS, MAX_KEY_BINS, MAX_KEYS,
};
pub use byte_sum::ByteSum;
pub use channels::{ChannelSums, Channels, MAX_CHANNELS, SessionChannels};
pub use depth::{DepthTally, MAX_DEPTH, QueueDepth, SharedDepth};
pub use fine::{FineCell, FineHistogram};
pub use groups::GroupKey;
pub use headline::Headline;
pub use heat::{HEAT_EDGES_NS, HEAT_ROWS, HeatMap, MAX_HEAT_COLUMNS};
pub use intervals::{Interval, IntervalRecorder, IntervalRow, IntervalWidth, Intervals};
pub use moments::Moments;
pub use octaves::Octave;
pub use series::{MAX_SERIES_BINS, Series, SeriesCell};
pub use shared_statistics::{SharedStatistics, Work};
pub use spans::{SpansReader, SpansWriter};
pub use sparse::SparseHistogram;
pub use statistics::{Options, Statistics};
pub use tallies::Tallies;
pub use times::{CURVE_PERCENTILES, Decades, SIGNIFICANT_DIGITS, Times};
pub use times_recorder::TimesRecorder;
pub use waiting::Waiting;
