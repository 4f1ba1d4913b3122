//! The targets and the weights of some samples in the order of their targets, by place.

/// Samples in the order of their targets, by place from 1 on; place 0 closes the ring.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub values: Vec<i64>,
    /// Only that of place 0 if all are 1 and nobody asks.
    pub weights: Vec<u64>,
}

impl Line {
    /// No samples.
    pub fn clear(&mut self) {
        self.values.clear();
        self.values.push(0);
        self.weights.clear();
        self.weights.push(0);
    }

    /// The weight at a place.
    pub fn weight(&self, place: usize) -> u64 {
        self.weights.get(place).copied().unwrap_or(1)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len() - 1
    }
}
