//! Hand-assembled vectors, each citing its structure, and the results for damaged ones.

mod compounds;
mod sides;
mod v4_answers;
mod v4_requests;
mod v4_vectors;
mod versions_2_and_3;
