//! Synthetic data for the benches, from a fixed generator.
#![allow(dead_code, reason = "each bench uses a part")]

use std::sync::atomic::AtomicBool;

use ndarray::Array2;
use spinney::data::{Dataset, Format, SparseView, Target};
use spinney::error::Result;
use spinney::runtime::Runtime;

/// A stop flag that is never raised.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// A small random generator (xorshift64*, Vigna 2016): benches need repeatable data, not good
/// randomness.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number drawn uniformly from [0, 1).
    pub fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// A CSC matrix whose nonzeros are at random places and have uniform values.
pub struct Csc {
    pub shape: (usize, usize),
    pub indptr: Vec<i64>,
    pub indices: Vec<i64>,
    pub data: Vec<f32>,
}

impl Csc {
    pub fn random(n_samples: usize, n_features: usize, density: f32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n_features {
            for sample in 0..n_samples {
                if random.uniform() < density {
                    indices.push(sample as i64);
                    data.push(random.uniform() + 1e-3);
                }
            }
            indptr.push(indices.len() as i64);
        }
        Self { shape: (n_samples, n_features), indptr, indices, data }
    }

    pub fn encode(&self, runtime: &Runtime<'_>) -> Result<Dataset> {
        let view = SparseView::new(self.shape, Format::Csc, &self.indptr, &self.indices, &self.data)?;
        Dataset::from_sparse(&view, runtime)
    }

    pub fn to_dense(&self) -> Array2<f32> {
        let mut dense = Array2::zeros(self.shape);
        for feature in 0..self.shape.1 {
            for at in self.indptr[feature]..self.indptr[feature + 1] {
                dense[[self.indices[at as usize] as usize, feature]] = self.data[at as usize];
            }
        }
        dense
    }
}

/// A target of random classes, which makes the deepest trees.
pub fn random_classes(n_samples: usize, n_classes: u32, seed: u64) -> Result<Target> {
    let mut random = Random::new(seed);
    let classes: Vec<u32> = (0..n_samples).map(|_| (random.next() >> 33) as u32 % n_classes).collect();
    Target::classification(&classes, &[n_classes], None)
}

/// A target of random numbers.
pub fn random_numbers(n_samples: usize, seed: u64) -> Result<Target> {
    let mut random = Random::new(seed);
    let y: Vec<f64> = (0..n_samples).map(|_| f64::from(random.uniform())).collect();
    Target::regression(&y, 1, None)
}
