//! Hand-assembled vectors, each citing the structure that it follows, what becomes of them when they are damaged, and
//! tshark's opinion where it is installed.

mod captures;
mod compounds;
mod sides;
mod v4_vectors;
mod versions_2_and_3;
