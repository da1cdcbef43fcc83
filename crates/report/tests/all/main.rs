//! Reports in every form, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod browser;
mod collect;
mod comparison;
mod example;
mod html;
mod html_browser;
mod html_synthetic;
mod json;
mod text;
mod vocabulary;
