//! An encoded data set in the place of a matrix: growth on it needs no encoding, and predictions for it read
//! values from the tables.

use std::ops::Range;
use std::sync::Arc;

use super::dense::{Ordinals, Ranks};
use super::encoding::Encoding;
use super::floats::TableValue;
use super::matrix::Matrix;
use super::query::Query;
use super::row_group::RowEntries;
use super::rows::{Access, Rows};
use super::{Columns, Dataset};
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// Rows of a data set, as a matrix.
#[derive(Debug, Clone)]
pub struct EncodedMatrix {
    data: Dataset,
    /// The rows, in this order; nothing for all.
    rows: Option<Arc<[u32]>>,
    /// By feature, for predictions by trees that number categories in another way: the value that
    /// stands for each code. Empty for features whose codes are right, and no features if all are.
    codes: Arc<[Box<[f64]>]>,
}

impl EncodedMatrix {
    /// All rows of a data set, as a matrix.
    pub fn new(data: Dataset) -> Self {
        Self { data, rows: None, codes: Arc::default() }
    }

    /// The data set that this is rows of.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// These rows of the data set, whatever rows `self` has.
    pub fn with_rows(&self, rows: Vec<u32>) -> Result<Self> {
        self.data.check_rows(&rows)?;
        Ok(Self { rows: Some(rows.into()), ..self.clone() })
    }

    /// These rows, for trees that number categories in another way: `codes[feature][code]` is the
    /// value that stands for a code of this data set; empty for features that keep their values.
    pub fn with_codes(&self, codes: Vec<Box<[f64]>>) -> Result<Self> {
        let n_categories = self.data.n_categories();
        let is_legal = codes.len() == n_categories.len()
            && codes.iter().zip(&n_categories[..]).all(|(codes, &n)| codes.is_empty() || codes.len() == n as usize);
        if !is_legal {
            return Err(Error::ShapeMismatch {
                what: "codes",
                expected: "a value for each category".into(),
                got: format!("values of {} features", codes.len()),
            });
        }
        Ok(Self { codes: codes.into(), ..self.clone() })
    }

    /// For each feature the codes of the categories that these rows have, ascending; nothing for
    /// features that are numeric.
    pub fn present_codes(&self, runtime: &Runtime<'_>) -> Result<Vec<Option<Vec<u32>>>> {
        let present = |feature: u32| {
            let find = || -> Result<Vec<u32>> {
                let mut occurs = vec![false; self.data.n_ranks(feature)];
                for row in 0..self.n_rows() {
                    runtime.check_in_turn(row)?;
                    occurs[self.data.rank(feature, self.row(row)) as usize] = true;
                }
                let missing = self.data.missing_rank(feature);
                let ranks = (0..).zip(occurs).filter(|&(rank, occurs)| occurs && missing != Some(rank));
                Ok(ranks.map(|(rank, _)| self.data.value(feature, rank) as u32).collect())
            };
            self.data.is_categorical(feature).then(find).transpose()
        };
        (0..self.data.n_features() as u32).map(present).collect()
    }

    /// These rows as a data set of their own, see [`Dataset::take`].
    pub fn own_rows(&self, runtime: &Runtime<'_>) -> Result<Dataset> {
        self.rows.as_ref().map_or_else(|| Ok(self.data.clone()), |rows| self.data.take(rows, runtime))
    }

    fn n_rows(&self) -> usize {
        self.rows.as_ref().map_or(self.data.n_samples(), |rows| rows.len())
    }

    #[inline]
    fn row(&self, row: usize) -> u32 {
        self.rows.as_ref().map_or(row as u32, |rows| rows[row])
    }

    /// The value of a rank; NaN if it is missing.
    #[inline]
    fn value_of(&self, feature: u32, rank: u32) -> f64 {
        let value = self.data.value_or_nan(feature, rank);
        match self.codes.get(feature as usize) {
            Some(codes) if !codes.is_empty() && !value.is_nan() => codes[value as usize],
            _ => value,
        }
    }

    /// The entries of a row of a sparse data set.
    fn entries(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = match self.data.columns() {
            Columns::Dense(_) => None,
            Columns::Sparse(columns) => Some(columns.row(self.row(row))),
        };
        let entries =
            row.into_iter().flat_map(|row| (0..).zip(row.features).map(move |(at, &f)| (f, row.ranks.at(at))));
        entries.map(|(feature, rank)| (feature, self.value_of(feature, rank)))
    }
}

impl Matrix for EncodedMatrix {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.data.n_features())
    }

    fn n_stored(&self) -> usize {
        match (self.data.columns(), &self.rows) {
            (Columns::Dense(_), _) => self.n_rows().saturating_mul(self.data.n_features()),
            (Columns::Sparse(columns), None) => columns.nnz(),
            (Columns::Sparse(columns), Some(rows)) => rows.iter().map(|&row| columns.row_nnz(row)).sum(),
        }
    }

    fn encode(&self, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
        let has_keys = encoding.ordinals == Ordinals::Keys && !self.data.has_categories();
        let data = if has_keys { self.data.take_keys(self.rows.as_deref(), runtime)? } else { self.own_rows(runtime)? };
        let wanted = encoding.n_categories.filter(|wanted| wanted.iter().any(|&n| n > 0)).unwrap_or_default();
        if wanted != &data.n_categories()[..] || !self.codes.is_empty() {
            return Err(Error::InvalidArgument {
                name: "n_categories",
                got: "others".into(),
                expected: "the numbers of categories of the data set".into(),
            });
        }
        Ok(data)
    }

    fn rows(&self) -> Result<&dyn Rows> {
        Ok(self)
    }

    fn query(&self, _runtime: &Runtime<'_>) -> Result<Box<dyn Query + '_>> {
        Ok(Box::new(self.clone()))
    }
}

impl Query for EncodedMatrix {
    fn shape(&self) -> (usize, usize) {
        Matrix::shape(self)
    }

    #[inline]
    fn value(&self, row: u32, feature: u32) -> f64 {
        self.value_of(feature, self.data.rank(feature, self.row(row as usize)))
    }

    fn gather(&self, feature: u32, rows: &[u32], values: &mut Vec<f64>) {
        values.clear();
        values.extend(rows.iter().map(|&row| self.value(row, feature)));
    }
}

impl Rows for EncodedMatrix {
    fn shape(&self) -> (usize, usize) {
        Matrix::shape(self)
    }

    fn access(&self) -> Access<'_> {
        // Entries are all cells whose value is not 0.
        let keeps_zeros = self.codes.iter().all(|codes| codes.first().is_none_or(|&code| code == 0.0));
        match self.data.columns() {
            Columns::Sparse(_) if keeps_zeros => Access::Entries(self),
            _ => Access::Asked(self),
        }
    }

    fn copy(&self, rows: Range<usize>, cells: &mut [f64]) {
        let n_features = self.data.n_features();
        for feature in 0..n_features as u32 {
            let cells = cells.iter_mut().skip(feature as usize).step_by(n_features);
            match self.data.columns() {
                Columns::Sparse(_) => {
                    rows.clone().zip(cells).for_each(|(row, cell)| *cell = self.value(row as u32, feature));
                }
                Columns::Dense(columns) => match &columns.column(feature).ranks {
                    Ranks::U8(ranks) => self.copy_column(feature, ranks, rows.clone(), cells),
                    Ranks::U16(ranks) => self.copy_column(feature, ranks, rows.clone(), cells),
                    Ranks::U32(ranks) => self.copy_column(feature, ranks, rows.clone(), cells),
                },
            }
        }
    }
}

impl EncodedMatrix {
    /// Copies some rows of a dense column. What depends on the column alone is asked once.
    fn copy_column<'c, R: Copy + Into<u32>>(
        &self,
        feature: u32,
        ranks: &[R],
        rows: Range<usize>,
        cells: impl Iterator<Item = &'c mut f64>,
    ) {
        let cells = cells.zip(rows.map(|row| ranks[self.row(row) as usize].into()));
        let (values, at) = (&self.data.values, feature as usize);
        let has_codes = self.codes.get(at).is_some_and(|codes| !codes.is_empty());
        if has_codes || values.is_keyed(at) {
            cells.for_each(|(cell, rank)| *cell = self.value_of(feature, rank));
        } else if let Some(table) = values.of::<f32>(at) {
            self.look_up(feature, table, cells);
        } else if let Some(table) = values.of::<f64>(at) {
            self.look_up(feature, table, cells);
        }
    }

    /// Sets cells to the values of ranks, given the table of the feature.
    fn look_up<'c, V: TableValue>(&self, feature: u32, table: &[V], cells: impl Iterator<Item = (&'c mut f64, u32)>) {
        let missing = self.data.missing_rank(feature);
        for (cell, rank) in cells {
            *cell = if Some(rank) == missing { f64::NAN } else { table[rank as usize].widen() };
        }
    }
}

impl RowEntries for EncodedMatrix {
    fn n_entries(&self, row: usize) -> usize {
        match self.data.columns() {
            Columns::Dense(_) => 0,
            Columns::Sparse(columns) => columns.row(self.row(row)).features.len(),
        }
    }

    fn copy_row(&self, row: usize, entries: &mut Vec<(u32, f64)>) {
        entries.extend(self.entries(row));
    }

    /// A data set has one entry for a cell.
    fn merge(&self, _sum: f64, value: f64) -> f64 {
        value
    }
}
