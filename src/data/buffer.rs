//! Slices that are shared, whoever keeps their memory.
//!
//! The columns of a data set are read as slices, and nothing in the engine depends on where these
//! lie. So this is one type, not one for each keeper.
#![allow(unsafe_code, reason = "a slice together with what keeps its memory")]

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A slice that nobody writes to, and what keeps its memory. A clone shares the memory.
pub struct Buffer<T: 'static> {
    start: NonNull<T>,
    len: usize,
    keeper: Arc<dyn Send + Sync>,
}

// SAFETY: a buffer gives shared references alone, and the keeper may be dropped on any thread.
unsafe impl<T: Sync> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the constructors had a slice at this place, which the keeper keeps, and which
        // nobody writes to.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Send + Sync> From<Box<[T]>> for Buffer<T> {
    fn from(items: Box<[T]>) -> Self {
        // The items do not move when their box does.
        let keeper = Arc::new(items);
        Self { start: NonNull::from(&keeper[..]).cast(), len: keeper.len(), keeper }
    }
}

impl<T: Send + Sync> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_boxed_slice().into()
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self { start: self.start, len: self.len, keeper: Arc::clone(&self.keeper) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(formatter)
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}
