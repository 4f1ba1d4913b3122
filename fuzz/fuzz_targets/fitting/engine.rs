//! What the tests of the engine have: data in every storage, the brute-force grower, and folds as a
//! loop of fits.
#![allow(unused_imports, reason = "imports of the tests themselves, which are not compiled here")]

#[path = "../../../tests/engine/common/mod.rs"]
pub mod common;
#[path = "../../../tests/engine/crossval.rs"]
pub mod crossval;
#[path = "../../../tests/engine/oracle.rs"]
pub mod oracle;
