//! The stages of the passive half, each alone: time a packet (capture, packet, stream) or an operation (message,
//! observer). Run with `cargo bench -p plimsoll-observe`, or with `-- stream` for one stage.
//!
//! Samples take a few milliseconds: on a busy machine some of them are not interrupted, and the fastest says what the
//! code costs.
//!
//! All input is made here by the test kit, so that nothing is needed but a checkout. Real traffic through the whole
//! program is what `cargo xtask bench` compares.

mod capture;
mod message;
mod observer;
mod packet;
mod stream;
mod traffic;

fn main() {
    divan::main();
}
