//! For tests only: builds captures and other inputs
