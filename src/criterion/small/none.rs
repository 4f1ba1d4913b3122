//! The statistics of small subtrees of criteria that have none.

use std::cmp::Ordering;

use super::{LANES, SmallCut, SmallRows};
use crate::criterion::statistics::Statistics;
use crate::simd::Level;

/// A type without values: its methods are never called.
pub enum NotSmall {}

impl<C: Statistics> SmallRows<C> for NotSmall {
    fn new(_: &C) -> Option<Self> {
        None
    }
    fn load(&mut self, _: &C, _: &mut [u32]) -> bool {
        match *self {}
    }
    fn enter(&mut self, _: &C, _: &[u8], _: &[u32]) {
        match *self {}
    }
    fn weight(&self) -> u64 {
        match *self {}
    }
    fn is_pure(&self, _: &C) -> bool {
        match *self {}
    }
    fn impurity(&self, _: &C) -> f64 {
        match *self {}
    }
    fn write_value(&self, _: &C, _: &[u32], _: &mut [f64]) {
        match *self {}
    }
    fn begin(&mut self, _: &C, _: &[u8], _: &[u32], _: f64) {
        match *self {}
    }
    fn row_weight(&self, _: u8) -> u64 {
        match *self {}
    }
    fn write_row_value(&self, _: &C, _: u8, _: u32, _: &mut [f64]) {
        match *self {}
    }
    fn score_cuts(&mut self, _: &C, _: Level, _: &[u32], _: &[[u32; LANES]], _: &mut [[f64; LANES]]) -> f64 {
        match *self {}
    }
    fn score_subsets(&mut self, _: &C, _: Level, _: &[u32], _: &[u32; LANES], _: &mut [f64; LANES]) -> f64 {
        match *self {}
    }
    fn score_again(&mut self, _: &C, _: Level, _: &[u32], _: &[[u32; LANES]], _: &mut [[f64; LANES]]) -> f64 {
        match *self {}
    }
    fn scored_cut(&self, _: &C, _: usize, _: &[u32], _: u32) -> SmallCut {
        match *self {}
    }
    fn compare_below(&self, _: &C, _: (&[u32], u32), _: (&[u32], u32)) -> Ordering {
        match *self {}
    }
    fn cut_below(&self, _: &C, _: &[u32], _: u32) -> SmallCut {
        match *self {}
    }
    fn cuts_with_missing(&self, _: &C, _: &[u32], _: u32, _: u32) -> [SmallCut; 3] {
        match *self {}
    }
    fn subset_cut(&self, _: &C, _: &[u32], _: u32) -> SmallCut {
        match *self {}
    }
    fn compare_subsets(&self, _: &C, _: &[u32], _: u32, _: u32) -> Ordering {
        match *self {}
    }
    fn add_units(&mut self, _: &C, _: &[u8], _: usize) {
        match *self {}
    }
    fn sort_units(&mut self, _: usize, _: bool, _: &mut [u8]) -> bool {
        match *self {}
    }
}
