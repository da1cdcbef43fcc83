//! What could not be seen or understood: every kind is counted, none is swallowed.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! anomalies {
    ($($(#[doc = $doc:literal])+ $variant:ident $label:literal $text:literal;)+) => {
        /// A kind of thing that went wrong or could not be seen. Reports end with their counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Anomaly {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Anomaly {
            /// Every kind, from the file inwards.
            pub const ALL: &'static [Anomaly] = &[$(Anomaly::$variant,)+];

            /// The word used in JSON and in flags.
            pub fn label(self) -> &'static str {
                match self { $(Anomaly::$variant => $label,)+ }
            }

            /// The text in reports.
            pub fn text(self) -> &'static str {
                match self { $(Anomaly::$variant => $text,)+ }
            }
        }
    };
}

anomalies! {
    /// A capture file ended in the middle of a record.
    CaptureFileTruncated "capture_file_truncated" "capture file ends in the middle of a record, or in reserved space that was never written";
    /// Records of a capture file that made no sense; what follows in that file was not read.
    CaptureRecordBad "capture_record_bad" "capture record damaged; the rest of the file was not read";
    /// Blocks of a pcapng file of a kind that is not known, stepped over.
    CaptureBlockSkipped "capture_block_skipped" "capture block of an unknown type, skipped";
    /// Files without a single byte, as a ring of captures may end with.
    CaptureFileEmpty "capture_file_empty" "empty capture file";
    /// Files read at another place than given, in the order of their first packets.
    CaptureFileReordered "capture_file_reordered" "capture file given out of order; files were read in the order of their first packets";
    /// Files that begin with the same packets as another.
    CaptureFileRepeated "capture_file_repeated" "capture file that begins with the same packets as another file";
    /// The user ended the reading before the end of the input.
    ReadingInterrupted "reading_interrupted" "reading interrupted by the user; the rest of the input was not read";
    /// Packets that the capturing program itself says it lost.
    CaptureDropsReported "capture_drops_reported" "packet lost by the capture, as reported by the capturing program";
    /// Times that the captured network interface went down.
    InterfaceDown "interface_down" "time that the network interface went down; the packets of this time are missing";
    /// Captured network interfaces that were removed, which ended the capture.
    InterfaceRemoved "interface_removed" "network interface removed during the capture; the capture ended then";
    /// Packets that stood behind one of a later time and were put at their place.
    PacketReordered "packet_reordered" "packet out of order in the file, sorted by timestamp";
    /// Packets that stood too far behind one of a later time to be put at their place.
    PacketOutOfOrder "packet_out_of_order" "packet too far out of order in the file to be sorted by timestamp";
    /// Packets whose record has no time; they carry no transaction.
    PacketWithoutTime "packet_without_time" "packet without a timestamp";
    /// Packets whose time is more than a day from that of the packets before and after; they belong to no transaction.
    TimeOutlier "time_outlier" "packet left out: its timestamp is more than a day from those of the packets around it";
    /// Places where time goes on more than a day away.
    TimeJump "time_jump" "timestamps jump by more than a day";
    /// Responses behind such a place, of requests before it; they have no time.
    ResponseBehindJump "response_behind_jump" "response without a response time: timestamps jump between request and response";
    /// Packets with a link type that is not understood.
    LinkTypeUnknown "link_type_unknown" "packet of an unknown link type";
    /// Packets in more tunnels than are followed.
    TunnelTooDeep "tunnel_too_deep" "packet in too many nested tunnels";
    /// Packets whose headers contradict themselves or are cut off.
    PacketMalformed "packet_malformed" "packet header malformed or cut off";
    /// IP datagrams of which fragments never came or were cut (or too many were open at once).
    FragmentsIncomplete "fragments_incomplete" "IP datagram with missing fragments";
    /// Holes in a TCP stream that the receiver acknowledged: the capture dropped the data.
    GapInCapture "gap_in_capture" "gap in a TCP stream, acknowledged by the receiver: the capture dropped the packets";
    /// Holes in a TCP stream without an acknowledgement, left when the buffer or the capture ended.
    GapUnexplained "gap_unexplained" "gap in a TCP stream, not acknowledged by the receiver";
    /// Holes that a later packet filled: lost on the network and sent again, or reordered.
    GapFilled "gap_filled" "gap in a TCP stream, filled by a later packet";
    /// Data that came after its hole had been given up.
    SegmentLate "segment_late" "packet captured too late to fill its gap in the TCP stream";
    /// Connections forgotten because too many were open at once.
    ConnectionEvicted "connection_evicted" "connection no longer analysed: too many connections at once";
    /// Message headers that a short snaplen cut off.
    HeaderCutShort "header_cut_short" "message header cut off by the snap length";
    /// Connections by a file server's port of which nothing was recognised: a short snaplen cut every header.
    ConnectionCutShort "connection_cut_short" "connection on a file server's port not recognised: the snap length cut off all headers";
    /// Times when message framing was lost and found again by header signature.
    Resynchronised "resynchronised" "framing lost and resynchronised at a header signature";
    /// Stretches of a stream in which no message could be recognised.
    BytesUnrecognised "bytes_unrecognised" "part of a TCP stream without a recognised message";
    /// Messages that contradict themselves.
    MessageMalformed "message_malformed" "message malformed";
    /// Messages whose contents are encrypted.
    MessageEncrypted "message_encrypted" "encrypted message, contents not read";
    /// Messages that none of the keys given for their session decrypts; they count as encrypted too.
    MessageUndecryptable "undecryptable_message" "encrypted message that the session key does not decrypt";
    /// Messages whose contents are compressed.
    MessageCompressed "message_compressed" "compressed message, contents not read";
    /// Procedures without a row in the table.
    ProcedureUnknown "procedure_unknown" "unknown procedure";
    /// Requests whose last packet was not captured.
    RequestEndMissing "request_end_missing" "final packet of request missing";
    /// Responses whose last packet was not captured.
    ResponseEndMissing "response_end_missing" "final packet of response missing";
    /// Answers to a request that was not seen.
    ResponseWithoutRequest "response_without_request" "response without a captured request";
    /// Requests without an answer before the capture or the connection ended.
    RequestUnanswered "request_unanswered" "request without a captured response";
    /// Answers that fit an id but not the request (another command, or an acknowledgement too old).
    ResponseMismatch "response_mismatch" "response with a matching ID, but for another kind of request";
    /// Requests without a row because an answer came that may belong to another one: both directions lost data since, and the id wraps
    /// around.
    PairAmbiguous "pair_ambiguous" "request and response left unpaired: both directions have gaps, and IDs are reused";
    /// Requests that took an id still waiting for its answer.
    IdReused "id_reused" "ID reused before its response was captured";
    /// Requests sent again with the same id (RPC).
    DuplicateRequest "duplicate_request" "request sent again";
    /// Answers to a request that had been answered (RPC).
    DuplicateResponse "duplicate_response" "response sent again";
    /// Pairs whose answer was captured before their request.
    NegativeTime "negative_time" "response captured before its request";
    /// Requests forgotten because too many were waiting at once.
    PendingEvicted "pending_evicted" "outstanding request no longer tracked: too many outstanding requests";
    /// Message ids completed from their low 16 bits, the rest having been cut off.
    IdReconstructed "id_reconstructed" "message ID reconstructed from its low 16 bits";
    /// Names not kept for want of room.
    NameRefused "name_refused" "name not stored: too many names";
    /// Those of [`Anomaly::FragmentsIncomplete`] that may hold a message of RPC over UDP. Last, because recordings store numbers of kinds.
    MessageFragmentsIncomplete "message_fragments_incomplete" "UDP datagram with missing or cut IP fragments that may contain an RPC message";
}

/// A count of each [`Anomaly`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomalies([u64; Anomaly::ALL.len()]);

impl Anomalies {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, kind: Anomaly) {
        self.0[kind as usize] += 1;
    }

    /// Counts `n`.
    pub fn add_many(&mut self, kind: Anomaly, n: u64) {
        self.0[kind as usize] += n;
    }

    /// Takes one back that was counted too early.
    pub fn take_back(&mut self, kind: Anomaly) {
        self.0[kind as usize] = self.0[kind as usize].saturating_sub(1);
    }

    /// The count of one kind.
    pub fn count(&self, kind: Anomaly) -> u64 {
        self.0[kind as usize]
    }

    /// Those that happened, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Anomaly, u64)> + '_ {
        Anomaly::ALL.iter().map(|&kind| (kind, self.count(kind))).filter(|&(_, count)| count > 0)
    }
}

impl Serialize for Anomalies {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Anomalies {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let counts = Vec::<u64>::deserialize(from)?;
        let length = counts.len();
        counts.try_into().map(Self).map_err(|_| D::Error::invalid_length(length, &"a count of each anomaly"))
    }
}

impl Default for Anomalies {
    fn default() -> Self {
        Self([0; Anomaly::ALL.len()])
    }
}
