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
    is_ours: bool,
}

// The compiler cannot see through the pointer, and there is no safe type for it: with a reference of
// any lifetime in its place, a buffer that is dropped would for a moment hold a reference to memory
// that its keeper has given back; with a trait object that lends the slice, each read of a cell would
// be a virtual call. So this is the one place with hand-written `Send` and `Sync`.
//
// SAFETY: a buffer gives shared references alone, which `T` allows for on any thread, and the keeper is
// `Send` and `Sync` itself.
unsafe impl<T: Send + Sync> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Buffer<T> {}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        debug_assert!(self.start.is_aligned() && self.len <= isize::MAX as usize / size_of::<T>().max(1));
        // SAFETY: the constructors had a slice at this place, which the keeper keeps, and which
        // nobody writes to.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> Buffer<T> {
    /// Whether the memory was allocated here, rather than by another owner or as the map of a file.
    pub fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// A slice that lies in the same memory.
    fn share<U>(&self, start: NonNull<U>, len: usize) -> Buffer<U> {
        debug_assert!(
            start.addr() >= self.start.addr()
                && start.addr().get() + len * size_of::<U>() <= self.start.addr().get() + self.len * size_of::<T>(),
            "a part lies within the whole"
        );
        Buffer { start, len, keeper: Arc::clone(&self.keeper), is_ours: self.is_ours }
    }
}

impl<T: Send + Sync> From<Box<[T]>> for Buffer<T> {
    fn from(items: Box<[T]>) -> Self {
        // The items do not move when their box does.
        let keeper = Arc::new(items);
        Self { start: NonNull::from(&keeper[..]).cast(), len: keeper.len(), keeper, is_ours: true }
    }
}

impl<T: Send + Sync> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_boxed_slice().into()
    }
}

/// Numbers without padding, for which any bytes are a value.
///
/// # Safety
///
/// Any bytes of the size of the type must be a value of it, and all of its bytes must be
/// initialised.
pub unsafe trait Plain: Copy + Send + Sync {
    /// Reads a number from its bytes in the order of a file; nothing if there are too few or too many.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

macro_rules! plain {
    ($($number:ty),*) => {
        // SAFETY: integers and floats have no padding, and any bits are a value.
        $(unsafe impl Plain for $number {
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                Some(<$number>::from_le_bytes(bytes.try_into().ok()?))
            }
        })*
    };
}

plain!(u8, u16, u32, u64, f32, f64);

impl<T: Plain> Buffer<T> {
    /// The bytes of the numbers, as this machine has them in memory.
    pub fn bytes(&self) -> Buffer<u8> {
        self.share(self.start.cast(), size_of_val(&self[..]))
    }
}

impl Buffer<u8> {
    /// Some of the bytes, in the same memory.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let part = &self[range];
        self.share(NonNull::from(part).cast(), part.len())
    }

    /// Reads numbers from their bytes in the order of a file, little-endian; nothing if the length is no
    /// multiple of a number's. Shares the memory where numbers lie in it as this machine has them; else they
    /// are copied.
    pub fn numbers<T: Plain>(&self) -> Option<Buffer<T>> {
        if !self.len.is_multiple_of(size_of::<T>()) {
            return None;
        }
        let start = self.start.cast::<T>();
        if cfg!(target_endian = "little") && start.is_aligned() {
            return Some(self.share(start, self.len / size_of::<T>()));
        }
        let numbers: Option<Vec<T>> = self.chunks_exact(size_of::<T>()).map(T::from_bytes).collect();
        numbers.map(Buffer::from)
    }

    /// Bytes that somebody else keeps.
    ///
    /// # Safety
    ///
    /// The bytes must stay where they are, and must not change, as long as the keeper lives.
    pub unsafe fn kept(bytes: &[u8], keeper: Arc<dyn Send + Sync>) -> Self {
        Self { start: NonNull::from(bytes).cast(), len: bytes.len(), keeper, is_ours: false }
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        self.share(self.start, self.len)
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
