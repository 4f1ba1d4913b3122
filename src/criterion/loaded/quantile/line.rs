//! The targets and the weights of some samples, arranged by place. The place of a sample is its
//! position in the order of their targets, from 1 on.

/// The targets and weights of samples by place. Place 0 belongs to no sample; in lists it closes
/// the ring.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub values: Vec<i64>,
    /// The weight of each place. Only place 0 is there if all weights are 1 and the level is one
    /// half.
    pub weights: Vec<u64>,
}

impl Line {
    /// Leaves no samples, and place 0 alone.
    pub fn clear(&mut self) {
        self.values.clear();
        self.values.push(0);
        self.weights.clear();
        self.weights.push(0);
    }

    /// The weight at a place, from 1 on.
    pub fn weight(&self, place: usize) -> u64 {
        self.weights.get(place).copied().unwrap_or(1)
    }

    /// The number of samples on the line.
    pub fn len(&self) -> usize {
        self.values.len() - 1
    }
}
