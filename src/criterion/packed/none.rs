//! The packed forms of criteria that have none.

use std::cmp::Ordering;

use super::{LANES, Packed, Summed};
use crate::criterion::statistics::Statistics;
use crate::simd::Level;

/// A type without values: its methods are never called.
pub enum NotPacked {}

impl<C: Statistics> Packed<C> for NotPacked {
    type Rows = ();

    fn new(_criterion: &C) -> Option<Self> {
        None
    }

    fn load(&self, _criterion: &C, _node: &C::Totals, _samples: &[u32], _rows: &mut ()) {
        match *self {}
    }

    fn count(&mut self, _node: &C::Totals, _rows: &(), _bins: &[u8], _n_bins: usize, _with_bounds: bool) {
        match *self {}
    }

    fn rotate(&mut self, _node: &C::Totals) {
        match *self {}
    }

    fn bin_has_rows(&self, _bin: u8) -> bool {
        match *self {}
    }

    fn compare_bins(&self, _number: usize, _a: u8, _b: u8) -> Ordering {
        match *self {}
    }

    fn put_in_order(&mut self, _node: &C::Totals, _bins: &[u8]) {
        match *self {}
    }

    fn scores(&mut self, _level: Level, _node: &C::Totals, _scores: &mut [f64]) {
        match *self {}
    }

    fn bounds(&mut self, _level: Level, _node: &C::Totals, _all_legal: bool, _bounds: &mut [f64]) {
        match *self {}
    }

    fn add_below<const N: usize>(&mut self, _level: Level, _rows: &(), _ranks: &[[u32; N]], _ends: &[u32; N]) {
        match *self {}
    }

    fn add_without(&mut self, _level: Level, _rows: &(), _words: &[u64], _bits: &[u32; LANES]) {
        match *self {}
    }

    fn pushed(&self, _criterion: &C, _node: &C::Totals, _scan: &mut C::Scan, _rows: Summed) -> C::Pushed {
        match *self {}
    }
}
