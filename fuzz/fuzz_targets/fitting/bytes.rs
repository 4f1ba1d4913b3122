//! Choices made by bytes. A byte is one choice, and where there are no more bytes the choice is the
//! first one, so that short inputs are plain cases and a changed byte changes one thing.

use arbitrary::Unstructured;

pub struct Bytes<'a, 'b>(pub &'b mut Unstructured<'a>);

impl Bytes<'_, '_> {
    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// A number below `n`, which is 256 at most.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// True for one byte in `n`, and not for 0.
    pub fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// A share between 0 and 1 that no sum of small fractions meets: rounding cannot decide.
    pub fn share(&mut self) -> f64 {
        (f64::from(self.byte()) + 0.618_033_988) / 257.0
    }
}
