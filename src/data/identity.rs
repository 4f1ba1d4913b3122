//! Identities, which tell categories apart: numbers that follow from the contents of their rows.
//!
//! Ties between categories must be broken somehow. If their names or codes, unused levels, the order of rows
//! or rows of weight 0 broke them, trees would change with things that carry no information. So the identity
//! of a category is its place in the order of a commutative hash: the sum over its rows of a number that
//! follows from the target of the row, times the row's weight. It is divided by the sum over all rows, in the
//! field of integers modulo a prime: so a row of weight k counts as k rows, and a common factor of all
//! weights changes nothing.
//!
//! Categories whose rows have the same targets are told apart by the numeric features of these rows, and if
//! they are still equal by the other categories of these rows. Categories that are equal then are told apart
//! by the row in which each first occurs: there is nothing else to go by.

use std::borrow::Cow;
use std::sync::Arc;

use super::category::{Categories, NOWHERE};
use super::contents::{MOST_FEATURES, RowsOf};
use super::{Columns, Dataset, Target};
use crate::error::Result;
use crate::memory;
use crate::num::sort_by_key;
use crate::rng::combine;
use crate::runtime::Runtime;

/// A prime: 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

impl Dataset {
    /// Returns this data set for trees that are grown on this target: categories have the identities
    /// that follow from what their rows hold. `numbers` has the number in this data set of each row of
    /// the target, if that is not its own number. Shares columns and values. O(cells of categorical
    /// columns), or of their entries if sparse, and O(cells) for rows of categories that are hard to
    /// tell apart.
    pub fn identified<'d>(
        &'d self,
        target: &Target,
        numbers: Option<&[u32]>,
        runtime: &Runtime<'_>,
    ) -> Result<Cow<'d, Self>> {
        if !self.has_categories() {
            return Ok(Cow::Borrowed(self));
        }
        let rows = target.weighted_samples();
        let rows = RowsOf { data: self, numbers, target, rows: &rows };
        let mut features: Vec<Feature> =
            (0..self.n_features() as u32).filter(|&feature| self.is_categorical(feature)).map(Feature::new).collect();
        tell_apart(&rows, &mut features, runtime)?;
        let mut identities = vec![None; self.n_features()];
        for feature in &features {
            let mut of_ranks = vec![NOWHERE; self.n_ranks(feature.number)];
            (0..).zip(&feature.order).for_each(|(identity, &rank)| of_ranks[rank as usize] = identity);
            identities[feature.number as usize] = Some(of_ranks.into());
        }
        let categories = Categories {
            n_categories: Arc::clone(&self.categories.n_categories),
            identities: identities.into(),
            by_place: Box::default(),
        };
        Ok(Cow::Owned(Self { categories: Arc::new(categories), ..self.clone() }))
    }
}

/// The identity of a category: the shares of the contents of its rows, namely targets, then numbers, then
/// other categories, and last the row in which it first occurs. 0 where the items before are enough.
type Key = [u64; 4];
const TARGETS: usize = 0;
const NUMBERS: usize = 1;
const CATEGORIES: usize = 2;
const FIRST_ROW: usize = 3;

/// The categories of a feature, while they are told apart.
struct Feature {
    number: u32,
    /// The ranks that occur, in ascending order of their keys.
    order: Vec<u32>,
    /// The key of each rank.
    keys: Vec<Key>,
}

impl Feature {
    fn new(number: u32) -> Self {
        Self { number, order: Vec::new(), keys: Vec::new() }
    }

    fn key(&self, rank: u32) -> Key {
        self.keys[rank as usize]
    }

    /// The ranks of categories whose keys others have too.
    fn tied_ranks(&self) -> Vec<u32> {
        let of_equals = self.order.chunk_by(|&one, &other| self.key(one) == self.key(other));
        of_equals.filter(|equals| equals.len() > 1).flatten().copied().collect()
    }

    /// Sets a part of the keys of these ranks.
    fn set(&mut self, part: usize, ranks: &[u32], value: impl Fn(u32) -> u64) {
        for &rank in ranks {
            self.keys[rank as usize][part] = value(rank);
        }
        let keys = &self.keys;
        sort_by_key(&mut self.order, |rank| keys[rank as usize]);
    }
}

/// Puts the categories of each feature in order.
fn tell_apart(all: &RowsOf<'_>, features: &mut [Feature], runtime: &Runtime<'_>) -> Result<()> {
    let sums = SumsByRank::new(all, &all.targets())?;
    for feature in &mut *features {
        runtime.check_interrupt()?;
        let by_rank = sums.of(feature.number);
        feature.keys = vec![Key::default(); by_rank.len()];
        feature.order = (0..by_rank.len() as u32).filter(|&rank| by_rank[rank as usize] > 0).collect();
        let ranks = feature.order.clone();
        feature.set(TARGETS, &ranks, |rank| sums.share(by_rank[rank as usize]));
    }
    drop(sums);
    for part in [NUMBERS, CATEGORIES] {
        let tied: Vec<Vec<u32>> = features.iter().map(Feature::tied_ranks).collect();
        if tied.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let rows = rows_with(all, features, &tied, runtime)?;
        let rows = RowsOf { rows: &rows, ..*all };
        let mut contents = rows.targets();
        let compared = (0..MOST_FEATURES.min(all.data.n_features() as u32))
            .filter(|&feature| part == CATEGORIES || !all.data.is_categorical(feature));
        let identity = |number: u32, rank: u32| {
            let feature = features.binary_search_by_key(&number, |feature| feature.number);
            feature.map_or(0, |at| features[at].key(rank).into_iter().fold(0, combine))
        };
        rows.add_features(&mut contents, compared, identity, runtime)?;
        let sums = SumsByRank::new(&rows, &contents)?;
        for (feature, ranks) in features.iter_mut().zip(&tied).filter(|(_, ranks)| !ranks.is_empty()) {
            runtime.check_interrupt()?;
            let by_rank = sums.of(feature.number);
            feature.set(part, ranks, |rank| sums.share(by_rank[rank as usize]));
        }
    }
    for feature in features {
        let tied = feature.tied_ranks();
        if !tied.is_empty() {
            runtime.check_interrupt()?;
            let first = first_places(all, feature.number, &tied, feature.keys.len());
            feature.set(FIRST_ROW, &tied, |rank| first[rank as usize]);
        }
    }
    Ok(())
}

/// The rows that have one of these ranks, listed by feature, in some feature.
fn rows_with(all: &RowsOf<'_>, features: &[Feature], tied: &[Vec<u32>], runtime: &Runtime<'_>) -> Result<Vec<u32>> {
    let mut has_one = vec![false; all.rows.len()];
    for (feature, ranks) in features.iter().zip(tied).filter(|(_, ranks)| !ranks.is_empty()) {
        runtime.check_interrupt()?;
        let mut is_tied = vec![false; feature.keys.len()];
        for &rank in ranks {
            is_tied[rank as usize] = true;
        }
        let mut of_rows = has_one.iter_mut();
        all.visit_ranks(feature.number, |rank| {
            if let Some(has_one) = of_rows.next() {
                *has_one |= is_tied[rank as usize];
            }
        });
    }
    Ok(all.rows.iter().zip(has_one).filter(|&(_, has_one)| has_one).map(|(&row, _)| row).collect())
}

/// The place among the rows of the first one that has each of these ranks of a feature; by rank.
fn first_places(all: &RowsOf<'_>, feature: u32, ranks: &[u32], n_ranks: usize) -> Vec<u64> {
    let mut first = vec![0; n_ranks];
    for &rank in ranks {
        first[rank as usize] = u64::MAX;
    }
    let mut n_left = ranks.len();
    for (place, &row) in (0..).zip(all.rows) {
        let row = all.numbers.map_or(row, |numbers| numbers[row as usize]);
        let first = &mut first[all.data.rank(feature, row) as usize];
        if *first == u64::MAX {
            *first = place;
            n_left -= 1;
            if n_left == 0 {
                break;
            }
        }
    }
    first
}

/// Sums over the rows of each category: of what the rows hold, times their weights.
struct SumsByRank<'a> {
    data: &'a Dataset,
    /// The number that each row of the data set adds, 0 to [`PRIME`]; 0 exactly if the row has no part.
    of_rows: Vec<u64>,
    total: u128,
    /// The inverse of the total, modulo [`PRIME`].
    inverse: u64,
}

impl<'a> SumsByRank<'a> {
    /// `contents` has what each of the rows holds.
    fn new(rows: &RowsOf<'a>, contents: &[u64]) -> Result<Self> {
        let mut of_rows: Vec<u64> = memory::zeros("what rows hold", rows.data.n_samples())?;
        let weights = rows.target.weights();
        let mut total = 0;
        for (&row, &contents) in rows.rows.iter().zip(contents) {
            // 61 bits, not all of them 0, times the weight, which is 1 or more.
            let part = reduced(u128::from(contents >> 3 | 1) * u128::from(weights.get(row as usize)));
            // A row of the data set may be several of the target.
            let of_row = &mut of_rows[rows.numbers.map_or(row, |numbers| numbers[row as usize]) as usize];
            *of_row = reduced(u128::from(*of_row) + u128::from(part));
            total += u128::from(part);
        }
        Ok(Self { data: rows.data, of_rows, total, inverse: inverse(reduced(total)) })
    }

    /// The sums of a feature by rank; 0 where no row has the rank. O(rows), or O(entries) if sparse.
    fn of(&self, feature: u32) -> Vec<u128> {
        let mut sums = vec![0u128; self.data.n_ranks(feature)];
        match self.data.columns() {
            Columns::Dense(columns) => {
                let rows = 0..self.of_rows.len() as u32;
                columns
                    .column(feature)
                    .visit_ranks(rows, |row, rank| sums[rank as usize] += u128::from(self.of_rows[row as usize]));
            }
            Columns::Sparse(columns) => {
                let column = columns.column(feature);
                let mut stored = 0;
                for (at, &sample) in column.samples.iter().enumerate() {
                    let part = u128::from(self.of_rows[sample as usize]);
                    sums[column.ranks.at(at) as usize] += part;
                    stored += part;
                }
                sums[column.zero_rank as usize] += self.total - stored;
            }
        }
        sums
    }

    /// The share of a sum in the total, modulo [`PRIME`].
    fn share(&self, sum: u128) -> u64 {
        product(reduced(sum), self.inverse)
    }
}

/// A number of 1 to [`PRIME`] that is this one modulo [`PRIME`]; 0 for 0. The number has 122 bits at most.
fn reduced(number: u128) -> u64 {
    // 2^61 is 1 modulo the prime, so the bits from the 61st on are added to the lower bits.
    let sum = (number & u128::from(PRIME)) as u64 + (number >> PRIME.count_ones()) as u64;
    if sum > PRIME { sum - PRIME } else { sum }
}

/// The product modulo [`PRIME`] of two numbers of 0 to [`PRIME`], as [`reduced`] has it.
fn product(a: u64, b: u64) -> u64 {
    reduced(u128::from(a) * u128::from(b))
}

/// The number whose product with this one is 1 modulo [`PRIME`], by Fermat's little theorem; 0 for 0.
fn inverse(number: u64) -> u64 {
    let (mut power, mut result) = (number, 1);
    let exponent = PRIME - 2;
    for bit in 0..u64::BITS - exponent.leading_zeros() {
        if exponent >> bit & 1 == 1 {
            result = product(result, power);
        }
        power = product(power, power);
    }
    result
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn inverses_are_inverse() {
        for number in [1, 2, 3, 12345, PRIME - 1, PRIME / 3] {
            assert_eq!(product(number, inverse(number)), 1);
        }
    }

    #[test]
    fn reduced_numbers_are_remainders() {
        let prime = u128::from(PRIME);
        let numbers = [1, prime - 1, prime, prime + 1, 2 * prime, prime << 53, prime * prime, (1 << 122) - 1];
        for number in numbers {
            assert_eq!(u128::from(reduced(number)) % prime, number % prime);
            assert!((1..=PRIME).contains(&reduced(number)));
        }
        assert_eq!(reduced(0), 0);
    }

    /// By rank the identities of the first column, which is one of categories.
    fn identities(rows: &[(f64, f64, u32, f64)]) -> Vec<u32> {
        let x = Array2::from_shape_fn((rows.len(), 2), |(row, column)| [rows[row].0, rows[row].1][column]);
        let data = Dataset::from_dense(x.view(), &Runtime::unstoppable()).unwrap().with_categories(&[9, 0]).unwrap();
        let (classes, weights): (Vec<u32>, Vec<f64>) = rows.iter().map(|row| (row.2, row.3)).unzip();
        let target = Target::classification(&classes, &[2], Some(&weights)).unwrap();
        let identified = data.identified(&target, None, &Runtime::unstoppable()).unwrap();
        let of_ranks = identified.identities(0).unwrap();
        (0..of_ranks.len() as u32).map(|rank| of_ranks[rank as usize]).collect()
    }

    #[test]
    fn neither_order_nor_copies_nor_rows_of_weight_0_show() {
        // Categories 0 and 1 differ by their numbers alone, 2 by its class, 3 by a weight.
        let rows = [(0.0, 1.0, 0, 1.0), (1.0, 2.0, 0, 1.0), (2.0, 1.0, 1, 1.0), (3.0, 1.0, 0, 2.0), (0.0, 5.0, 1, 2.0)];
        let expected = identities(&rows);
        let mut backwards = rows;
        backwards.reverse();
        assert_eq!(identities(&backwards), expected);
        let twice: Vec<_> = rows.iter().flat_map(|&row| vec![(row.0, row.1, row.2, 1.0); row.3 as usize]).collect();
        assert_eq!(identities(&twice), expected);
        let mut more = vec![(1.0, 7.0, 1, 0.0), (0.0, 3.0, 0, 0.0)];
        more.extend_from_slice(&rows);
        assert_eq!(identities(&more), expected);
        assert_eq!(identities(&rows.map(|row| (row.0, row.1, row.2, row.3 * 3.0))), expected);
        // Other codes, one of them unused: the categories keep their identities.
        let recoded = rows.map(|row| ([4.0, 0.0, 3.0, 1.0][row.0 as usize], row.1, row.2, row.3));
        let by_code = identities(&recoded);
        assert_eq!([by_code[3], by_code[0], by_code[2], by_code[1]].to_vec(), expected);
    }
}
