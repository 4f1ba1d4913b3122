//! What the targets that fit share: cases from bytes, their data in all storages, and the plain ways
//! to compute the same.
#![allow(dead_code, reason = "no target needs all of it")]

pub mod boosting;
pub mod bytes;
pub mod cases;
pub mod engine;
pub mod storage;
pub mod threads;
