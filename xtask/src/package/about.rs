//! What packages say of the program.

/// In one line, and in a few.
pub(super) const SUMMARY: &str = "measures response time and throughput of SMB and NFS file servers";
pub(super) const DESCRIPTION: &str = "\
Reads packet captures of SMB and NFS traffic and reports the response time of
every operation, with a diagnosis; drives file servers with load and reports
throughput and response time at each level.";
pub(super) const MAINTAINER: &str = "The Plimsoll developers";
