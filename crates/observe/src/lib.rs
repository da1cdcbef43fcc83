//! The passive half: packet captures become transactions
