//! memcpy, memmove, memcmp and bcmp for static programs on x86-64, which otherwise have those of musl: musl copies with `rep movsq`, whose
//! start costs more than most copies of ours, and compares byte by byte.
//!
//! A program that links this crate has these functions instead of musl's, in Rust and C code alike. docs/decisions/0025-packages.md
// The compiler must not make a call of memcpy of a loop that is memcpy.
#![no_builtins]
#![no_std]
#![cfg(target_arch = "x86_64")]
#![cfg_attr(not(target_env = "musl"), allow(dead_code, reason = "only programs with musl call these functions"))]

mod compare;
mod copy;
#[cfg(target_env = "musl")]
pub mod exported;
#[cfg(test)]
mod tests;
