//! Data made of columns once, when a search first needs them; a search can do without them.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::Result;

/// Something that is made when it is first needed; nothing if it cannot be had.
#[derive(Debug)]
pub(super) struct Derived<T> {
    made: OnceLock<Option<T>>,
    /// Held by the thread that makes it; the others wait, and do not make it too.
    making: Mutex<()>,
}

impl<T> Derived<T> {
    /// Nothing is made before [`get`](Self::get) asks for it.
    pub fn new() -> Self {
        Self { made: OnceLock::new(), making: Mutex::default() }
    }

    /// Nothing can be had, so [`get`](Self::get) never makes it.
    pub fn none() -> Self {
        Self { made: OnceLock::from(None), making: Mutex::default() }
    }

    /// What has been made, or what `make` makes now. Who is interrupted does without: the call is about
    /// to end, and the next call makes it. `make` must not wait for other threads, which may wait here.
    #[inline]
    pub fn get(&self, make: impl FnOnce() -> Result<Option<T>>) -> Option<&T> {
        match self.made.get() {
            Some(made) => made.as_ref(),
            None => self.make(make),
        }
    }

    #[cold]
    fn make(&self, make: impl FnOnce() -> Result<Option<T>>) -> Option<&T> {
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if self.made.get().is_none() {
            let made = make().ok()?;
            return self.made.get_or_init(|| made).as_ref();
        }
        self.made.get()?.as_ref()
    }

    /// `f` of the value if it has been made; otherwise a value that is not made yet.
    pub fn map(&self, f: impl FnOnce(&T) -> T) -> Self {
        match self.made.get() {
            Some(made) => Self { made: OnceLock::from(made.as_ref().map(f)), making: Mutex::default() },
            None => Self::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_interrupt_is_not_kept() {
        let derived = Derived::new();
        assert_eq!(derived.get(|| Err(Error::Interrupted)), None);
        assert_eq!(derived.map(|made| *made).get(|| Ok(Some(1))), Some(&1));
        assert_eq!(derived.get(|| Ok(Some(7))), Some(&7));
        assert_eq!(derived.get(|| Err(Error::Interrupted)), Some(&7));
        assert_eq!(derived.map(|made| made + 1).get(|| Ok(None)), Some(&8));
        assert_eq!(Derived::none().get(|| Ok(Some(7))), None);
    }
}
