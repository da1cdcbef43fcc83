//! Workloads: files that say what users do, on which files, how often.
