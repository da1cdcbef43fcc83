//! Counts of damage in captures, and until when they went on.

use plimsoll_model::{Anomaly, Coverage, Downtime, FileGaps};
use serde::{Deserialize, Serialize};

/// Damage found in the captures so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureAnomalies {
    /// Files that end in the middle of a record, or whose compressed stream ends too early. Everything before is used.
    pub truncated_tail: u64,
    /// Records that made no sense, of a file that had given packets before. In pcapng a bad packet block is stepped
    /// over; otherwise the place of the next record is lost, and the rest of that file is not read. Neither takes a
    /// frame number.
    pub bad_records: u64,
    /// pcapng blocks of a kind that is not known, stepped over.
    pub skipped_blocks: u64,
    /// Packets whose timestamp does not fit 64 bits as nanoseconds since 1970.
    pub unusable_times: u64,
    /// Files without a single byte, as a ring of captures may end with.
    pub empty_files: u64,
    /// Packets that the capturing program reported as lost: snoop's drop counts, and the sum of the two counts in the statistics of
    /// an interface that Plimsoll captured, and the greater one in those of another program. A lower bound.
    pub reported_drops: u64,
    /// Times in which the captured interface was down, as `plimsoll watch --save` stores them.
    pub downtime: Downtime,
    /// Interfaces that were removed while `plimsoll watch` captured them: the capture ended then.
    pub interfaces_removed: u64,
    /// Until when `plimsoll watch` captured, with or without packets, ns since the Unix epoch; `None` if only the packets tell.
    pub captured_until_ns: Option<i64>,
    /// Files read at another place than given, in the order of their first packets.
    pub reordered_files: u64,
    /// Files that begin with the same packets as one before.
    pub repeated_files: u64,
    /// Packets of a load generator's tap, which leaves out file data by design: no snap length truncated them.
    #[serde(default)]
    pub shortened_by_tap: u64,
    /// Packets that stood behind one of a later time, and were put at their place as far as the window reaches.
    pub reordered: u64,
    /// Times between the files.
    pub file_gaps: FileGaps,
}

impl CaptureAnomalies {
    /// Why a capture gave no packet, and what to do.
    pub fn no_packets(&self) -> &'static str {
        match self.bad_records {
            0 => "the capture contains no packets; check the capture command",
            _ => {
                "no packet of the capture can be read: its records are damaged, or the file does not describe their interface; capture again"
            }
        }
    }

    /// Adds the counts of earlier files.
    #[must_use]
    pub fn behind(&self, before: &Self) -> Self {
        let mut downtime = before.downtime;
        downtime.add(&self.downtime);
        Self {
            truncated_tail: self.truncated_tail + before.truncated_tail,
            bad_records: self.bad_records + before.bad_records,
            skipped_blocks: self.skipped_blocks + before.skipped_blocks,
            unusable_times: self.unusable_times + before.unusable_times,
            empty_files: self.empty_files + before.empty_files,
            reported_drops: self.reported_drops + before.reported_drops,
            downtime,
            interfaces_removed: self.interfaces_removed + before.interfaces_removed,
            captured_until_ns: self.captured_until_ns.max(before.captured_until_ns),
            reordered_files: self.reordered_files + before.reordered_files,
            repeated_files: self.repeated_files + before.repeated_files,
            shortened_by_tap: self.shortened_by_tap + before.shortened_by_tap,
            reordered: self.reordered + before.reordered,
            file_gaps: before.file_gaps.and(&self.file_gaps),
        }
    }

    /// Adds these counts to those of the packets. Two things are not added: packets without a usable time, which the reader of the packets
    /// counts, and the end of the capture, which goes to the observer.
    pub fn add_to(&self, coverage: &mut Coverage) {
        let &Self {
            truncated_tail,
            bad_records,
            skipped_blocks,
            unusable_times: _,
            empty_files,
            reported_drops,
            downtime,
            interfaces_removed,
            captured_until_ns: _,
            reordered_files,
            repeated_files,
            shortened_by_tap,
            reordered,
            file_gaps,
        } = self;
        coverage.file_gaps = file_gaps;
        coverage.downtime.add(&downtime);
        coverage.packets.truncated = coverage.packets.truncated.saturating_sub(shortened_by_tap);
        let counts = [
            (Anomaly::CaptureFileTruncated, truncated_tail),
            (Anomaly::CaptureRecordBad, bad_records),
            (Anomaly::CaptureBlockSkipped, skipped_blocks),
            (Anomaly::CaptureFileEmpty, empty_files),
            (Anomaly::CaptureDropsReported, reported_drops),
            (Anomaly::InterfaceDown, downtime.count),
            (Anomaly::InterfaceRemoved, interfaces_removed),
            (Anomaly::CaptureFileReordered, reordered_files),
            (Anomaly::CaptureFileRepeated, repeated_files),
            (Anomaly::PacketReordered, reordered),
        ];
        for (anomaly, count) in counts {
            coverage.anomalies.add_many(anomaly, count);
        }
    }
}
