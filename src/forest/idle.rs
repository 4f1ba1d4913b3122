//! Buffers that tasks of one call hand on to each other: as many are made as threads need at once.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Buffers that no task uses now.
pub(super) struct Idle<T>(Mutex<Vec<T>>);

impl<T> Idle<T> {
    pub fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Calls `work` with a buffer, which `make` makes if all are in use. `work` leaves it as `make` would
    /// have made it; after an error it is not used again.
    pub fn with<R>(&self, make: impl FnOnce() -> Result<T>, work: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = lock().pop();
        let mut buffer = taken.map_or_else(make, Ok)?;
        let result = work(&mut buffer)?;
        lock().push(buffer);
        Ok(result)
    }
}
