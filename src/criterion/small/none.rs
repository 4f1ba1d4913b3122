//! The statistics of small subtrees of criteria that have none.

use super::{ExactScore, LANES, SmallCut, SmallRows};
use crate::criterion::Statistics;
use crate::simd::Level;

/// A type without values: its methods are never called.
pub enum NotSmall {}

impl<C: Statistics> SmallRows<C> for NotSmall {
    fn new(_criterion: &C) -> Option<Self> {
        None
    }

    fn load(&mut self, _criterion: &C, _samples: &mut [u32]) -> bool {
        match *self {}
    }

    fn enter(&mut self, _places: &[u8]) {
        match *self {}
    }

    fn weight(&self) -> u64 {
        match *self {}
    }

    fn is_pure(&self) -> bool {
        match *self {}
    }

    fn impurity(&self, _criterion: &C) -> f64 {
        match *self {}
    }

    fn write_value(&self, _criterion: &C, _samples: &[u32], _value: &mut [f64]) {
        match *self {}
    }

    fn begin(&mut self, _places: &[u8]) {
        match *self {}
    }

    fn row_weight(&self, _place: u8) -> u32 {
        match *self {}
    }

    fn write_row_value(&self, _criterion: &C, _place: u8, _sample: u32, _value: &mut [f64]) {
        match *self {}
    }

    fn score_cuts(
        &mut self,
        _level: Level,
        _ranks: &[u32],
        _lasts: &[[u32; LANES]],
        _scores: &mut [[f64; LANES]],
    ) -> f64 {
        match *self {}
    }

    fn score_subsets(
        &mut self,
        _level: Level,
        _units: &[u32],
        _lefts: &[u32; LANES],
        _scores: &mut [f64; LANES],
    ) -> f64 {
        match *self {}
    }

    fn score_again(
        &mut self,
        _level: Level,
        _ranks: &[u32],
        _lasts: &[[u32; LANES]],
        _scores: &mut [[f64; LANES]],
    ) -> f64 {
        match *self {}
    }

    fn exact(&self, _i: usize) -> ExactScore {
        match *self {}
    }

    fn exact_below(&self, _ranks: &[u32], _end: u32) -> ExactScore {
        match *self {}
    }

    fn cut(&self, _i: usize) -> SmallCut {
        match *self {}
    }

    fn cut_below(&self, _ranks: &[u32], _end: u32) -> SmallCut {
        match *self {}
    }

    fn cuts_with_missing(&self, _ranks: &[u32], _end: u32, _missing: u32) -> [SmallCut; 3] {
        match *self {}
    }

    fn add_units(&mut self, _units: &[u8], _n_units: usize) {
        match *self {}
    }

    fn sort_units(&mut self, _i: usize, _units: &mut [u8]) -> bool {
        match *self {}
    }
}
