//! Which of two ways to ask the trees of a group of folds is faster: together, or each alone.
//!
//! No estimate knows how much the splits of the folds differ, so the ways are timed: the first tree is asked
//! together, the second one alone, and all others by the faster way. Both ways give the same bits, so
//! the time decides on speed and nothing else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::error::Result;

/// How the trees of the folds of a group are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// All folds descend together.
    Together,
    /// The folds descend one after the other.
    Alone,
}

/// The times that a tree took by each way.
#[derive(Debug)]
pub(super) struct Trial {
    first_tree: u64,
    /// The way to go until both have been timed.
    likely: Way,
    /// Nanoseconds that a tree took by this way; 0: not timed yet.
    together: AtomicU64,
    alone: AtomicU64,
}

impl Trial {
    /// A trial for the trees from number `first_tree` on, which go the `likely` way until both have been
    /// timed.
    pub fn new(first_tree: u64, likely: Way) -> Self {
        Self { first_tree, likely, together: AtomicU64::new(0), alone: AtomicU64::new(0) }
    }

    /// How tree number `number` is asked.
    pub fn way(&self, number: u64) -> Way {
        match number - self.first_tree {
            0 => Way::Together,
            1 => Way::Alone,
            _ => self.faster(),
        }
    }

    fn faster(&self) -> Way {
        match (self.together.load(Ordering::Relaxed), self.alone.load(Ordering::Relaxed)) {
            (0, _) | (_, 0) => self.likely,
            (together, alone) if together <= alone => Way::Together,
            _ => Way::Alone,
        }
    }

    /// Does `work`, which asks a tree by one of the ways, and remembers the time that it took.
    pub fn timed<T>(&self, way: Way, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let answer = work()?;
        self.remember(way, u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Ok(answer)
    }

    /// Keeps the time of the first tree that was asked by this way: all further trees go the faster way, so
    /// their times would say nothing new about the other.
    fn remember(&self, way: Way, nanoseconds: u64) {
        let time = match way {
            Way::Together => &self.together,
            Way::Alone => &self.alone,
        };
        let _ = time.compare_exchange(0, nanoseconds.max(1), Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_go_the_faster_way_once_both_are_timed() {
        for (slow, fast) in [(Way::Together, Way::Alone), (Way::Alone, Way::Together)] {
            let trial = Trial::new(5, slow);
            let ways = |trial: &Trial| [5, 6, 7].map(|number| trial.way(number));
            assert_eq!(ways(&trial), [Way::Together, Way::Alone, slow]);
            trial.remember(fast, 1000);
            assert_eq!(ways(&trial), [Way::Together, Way::Alone, slow]);
            trial.remember(slow, 2000);
            assert_eq!(ways(&trial), [Way::Together, Way::Alone, fast]);
            trial.remember(fast, 3000);
            assert_eq!(ways(&trial), [Way::Together, Way::Alone, fast]);
        }
    }
}
