//! Hand-assembled vectors, each citing the structure that it follows, and what becomes of them when they are damaged.

mod compounds;
mod sides;
mod v4_strict;
mod v4_vectors;
mod versions_2_and_3;
