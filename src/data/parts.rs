//! A data set as named arrays of bytes, and back: the sections of its file.
//!
//! `shape` has 64-bit integers: the number of rows, and of features; 1 if the data set is sparse; the bytes
//! of a value. `columns` has [`COLUMN`] bytes for each feature: where its values end in `values`, and its
//! entries in `samples` and `ranks` (64 bits each); the number of its ranks, its common rank (if sparse, the
//! rank of zero), and the number of its categories (32 bits each); the bytes of a rank, whether it is sparse,
//! whether it has missing values, and 0 (8 bits each). `values` has the tables. A dense data set has a
//! section `column/i` of ranks for each feature. A sparse one has its entries by column (`samples`, `ranks`)
//! and by row (`row_ends`, `features`, `row_ranks`).
//!
//! A file may be damaged or forged: all that the engine relies on is checked, in one pass over the cells.
//! Arrays are not copied.

use std::collections::HashMap;

use super::buffer::{Buffer, Plain};
use super::dense::{DenseColumn, DenseColumns, Ranks};
use super::encoding::Encoding;
use super::floats::Floats;
use super::sparse::{SparseColumns, SparseParts};
use super::values::ValueTable;
use super::{Columns, Dataset, check_shape};
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// The number of the format: the one that is written, and the newest that is read.
pub const DATASET_FORMAT: u32 = 1;
/// Bytes of a feature in the section `columns`.
const COLUMN: usize = 32;
/// Bytes of the section `shape`.
const SHAPE: usize = 32;

/// A named array of bytes.
pub type Part = (String, Buffer<u8>);

/// An item of the section `columns`, which describes a feature.
#[derive(Default)]
pub(super) struct Described {
    pub values_end: u64,
    pub entries_end: u64,
    pub n_ranks: u32,
    /// The common rank if dense, the rank of zero if sparse.
    pub rank: u32,
    pub n_categories: u32,
    pub width: u8,
    pub is_sparse: bool,
    pub has_missing: bool,
}

impl Described {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.values_end.to_le_bytes());
        bytes.extend(self.entries_end.to_le_bytes());
        bytes.extend([self.n_ranks, self.rank, self.n_categories].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend([self.width, self.is_sparse.into(), self.has_missing.into(), 0]);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let long = |at: usize| u64::from_bytes(&bytes[at..at + 8]);
        let word = |at: usize| u32::from_bytes(&bytes[at..at + 4]);
        let flag = |at: usize| (bytes[at] < 2).then_some(bytes[at] == 1);
        Some(Self {
            values_end: long(0)?,
            entries_end: long(8)?,
            n_ranks: word(16)?,
            rank: word(20)?,
            n_categories: word(24)?,
            width: bytes[28],
            is_sparse: flag(29)?,
            has_missing: flag(30).filter(|_| bytes[31] == 0)?,
        })
    }
}

impl Dataset {
    /// The data set as named arrays, which share its memory. Fails for keys, which are made of
    /// ranks when they are needed.
    pub fn parts(&self, runtime: &Runtime<'_>) -> Result<Vec<Part>> {
        let n_features = self.n_features() as u32;
        if (0..n_features).any(|feature| self.values.is_keyed(feature as usize)) || cfg!(target_endian = "big") {
            return Err(Error::InvalidArgument {
                name: "the data set",
                got: "keys, or a machine of other byte order".into(),
                expected: "ranks in little-endian order".into(),
            });
        }
        let (values, width) = self.values.bytes();
        let is_sparse = matches!(self.columns(), Columns::Sparse(_));
        let shape = [self.n_samples() as u64, self.n_features() as u64, is_sparse.into(), width];
        let shape: Vec<u8> = shape.into_iter().flat_map(u64::to_le_bytes).collect();
        let mut described = Vec::with_capacity(self.n_features() * COLUMN);
        let mut ends = (0, 0);
        for feature in 0..n_features {
            runtime.check_in_turn(feature as usize)?;
            ends.0 += self.n_ranks(feature) as u64;
            ends.1 += if is_sparse { self.column_entries(feature) as u64 } else { 0 };
            let (rank, width, is_sparse) = match self.columns() {
                Columns::Dense(columns) => columns.column(feature).outline(),
                Columns::Sparse(columns) => (columns.zero_rank(feature), columns.rank_width(), false),
            };
            let described_column = Described {
                values_end: ends.0,
                entries_end: ends.1,
                n_ranks: self.n_ranks(feature) as u32,
                rank,
                n_categories: self.n_categories().get(feature as usize).copied().unwrap_or(0),
                width,
                is_sparse,
                has_missing: self.missing_rank(feature).is_some(),
            };
            described_column.write(&mut described);
        }
        let mut parts: Vec<Part> =
            vec![("shape".into(), shape.into()), ("columns".into(), described.into()), ("values".into(), values)];
        match self.columns() {
            Columns::Dense(columns) => {
                for feature in 0..n_features {
                    runtime.check_in_turn(feature as usize)?;
                    let bytes = match &columns.column(feature).ranks {
                        Ranks::U8(ranks) => ranks.bytes(),
                        Ranks::U16(ranks) => ranks.bytes(),
                        Ranks::U32(ranks) => ranks.bytes(),
                    };
                    parts.push((format!("column/{feature}"), bytes));
                }
            }
            Columns::Sparse(columns) => parts.extend(columns.parts()),
        }
        Ok(parts)
    }

    /// The data set of named arrays that may come from anywhere. O(cells).
    pub fn from_parts(parts: &[Part], runtime: &Runtime<'_>) -> Result<Self> {
        // A dense data set has a part for each feature, so a linear search for each part would be quadratic.
        let by_name: HashMap<&str, &Buffer<u8>> = parts.iter().map(|(name, bytes)| (&name[..], bytes)).collect();
        let find = |name: &str| by_name.get(name).copied().ok_or_else(|| damaged(name, "it is not there"));
        let Head { n_samples, is_sparse, width, columns } = Head::read(find("shape")?, find("columns")?)?;
        let n_features = columns.len();
        let values = read_values(find("values")?, width, &columns)?;
        let n_sections = 3 + if is_sparse { SparseParts::<()>::NAMES.len() } else { n_features };
        if parts.len() != n_sections {
            return Err(damaged("table", "there are sections that a data set does not have"));
        }
        let stored = if is_sparse {
            let parts = SparseParts { n_samples, columns: &columns, find: &find };
            Columns::Sparse(SparseColumns::from_parts(&parts, runtime)?)
        } else {
            let features = (0..n_features).collect();
            let read = |feature: usize| {
                runtime.check_interrupt()?;
                let name = format!("column/{feature}");
                read_column(find(&name)?, &columns[feature], n_samples).map_err(|reason| damaged(&name, reason))
            };
            Columns::Dense(DenseColumns::new(runtime.map(features, read)?))
        };
        let n_categories: Vec<u32> = columns.iter().map(|column| column.n_categories).collect();
        let encoding = Encoding { n_categories: Some(&n_categories), ..Encoding::default() };
        let data = Self::new(n_samples, n_features, stored, values);
        data.coded(&encoding, runtime).map_err(|error| match error {
            Error::InvalidArgument { .. } => damaged("columns", &error.to_string()),
            error => error,
        })
    }
}

/// The contents of the sections `shape` and `columns`.
struct Head {
    n_samples: usize,
    is_sparse: bool,
    /// Bytes of a value.
    width: u64,
    columns: Vec<Described>,
}

impl Head {
    fn read(shape: &Buffer<u8>, columns: &Buffer<u8>) -> Result<Self> {
        let numbers = shape.numbers::<u64>().filter(|_| shape.len() == SHAPE);
        let shape = numbers.ok_or_else(|| damaged("shape", "its length is wrong"))?;
        let (is_sparse, width) = match (shape[2], shape[3]) {
            (is_sparse @ 0..=1, width @ (4 | 8)) => (is_sparse == 1, width),
            _ => return Err(damaged("shape", "a number is out of range")),
        };
        let [n_samples, n_features] = [shape[0], shape[1]].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        check_shape(n_samples, n_features).map_err(|error| damaged("shape", &error.to_string()))?;
        if Some(columns.len()) != n_features.checked_mul(COLUMN) {
            return Err(damaged("columns", "its length is not the number of features"));
        }
        let columns = columns.chunks_exact(COLUMN).map(Described::read).collect::<Option<_>>();
        let columns = columns.ok_or_else(|| damaged("columns", "a flag is neither 0 nor 1"))?;
        Ok(Self { n_samples, is_sparse, width, columns })
    }
}

/// The sections `shape`, `columns` and `values` of a data set that has the features of several data sets of
/// the same rows side by side, given the sections of these data sets. Ranks stay as they are; in a sparse
/// data set all take the width of the widest. O(features + values).
pub fn join_heads(heads: &[[Buffer<u8>; 3]], runtime: &Runtime<'_>) -> Result<[Vec<u8>; 3]> {
    let mut joined: Option<Head> = None;
    let mut tables = Vec::with_capacity(heads.len());
    for [shape, columns, values] in heads {
        runtime.check_interrupt()?;
        let mut head = Head::read(shape, columns)?;
        tables.push(read_floats(values, head.width)?);
        let Some(before) = &mut joined else {
            joined = Some(head);
            continue;
        };
        if (head.n_samples, head.is_sparse) != (before.n_samples, before.is_sparse) {
            return Err(damaged("shape", "it is of other rows, or of another storage"));
        }
        let ends = before.columns.last().map_or((0, 0), |last| (last.values_end, last.entries_end));
        for column in &mut head.columns {
            column.values_end = column.values_end.saturating_add(ends.0);
            column.entries_end = column.entries_end.saturating_add(ends.1);
        }
        before.columns.append(&mut head.columns);
    }
    let Head { n_samples, is_sparse, mut columns, .. } = joined.ok_or_else(|| damaged("shape", "it is not there"))?;
    if is_sparse {
        let width = columns.iter().map(|column| column.width).max().unwrap_or(1);
        for column in &mut columns {
            column.width = width;
        }
    }
    let (values, width): (Vec<u8>, u64) = match Floats::concat(&tables) {
        Floats::F32(values) => (values.into_iter().flat_map(f32::to_le_bytes).collect(), 4),
        Floats::F64(values) => (values.into_iter().flat_map(f64::to_le_bytes).collect(), 8),
    };
    let shape = [n_samples as u64, columns.len() as u64, is_sparse.into(), width];
    let mut described = Vec::with_capacity(columns.len() * COLUMN);
    for (turn, column) in columns.iter().enumerate() {
        runtime.check_in_turn(turn)?;
        column.write(&mut described);
    }
    Ok([shape.into_iter().flat_map(u64::to_le_bytes).collect(), described, values])
}

pub(super) fn damaged(section: &str, reason: &str) -> Error {
    Error::Damaged { section: section.into(), reason: reason.into() }
}

fn read_floats(bytes: &Buffer<u8>, width: u64) -> Result<Floats> {
    let wrong = || damaged("values", "its length is wrong");
    Ok(if width == 4 {
        Floats::F32(bytes.numbers::<f32>().ok_or_else(wrong)?.to_vec())
    } else {
        Floats::F64(bytes.numbers::<f64>().ok_or_else(wrong)?.to_vec())
    })
}

/// The tables of values: ascending, and padded where values are missing.
fn read_values(bytes: &Buffer<u8>, width: u64, columns: &[Described]) -> Result<ValueTable> {
    let wrong = |reason| damaged("values", reason);
    let floats = read_floats(bytes, width)?;
    let value = |at: usize| match &floats {
        Floats::F32(values) => f64::from(values[at]),
        Floats::F64(values) => values[at],
    };
    let mut indptr = vec![0usize];
    for column in columns {
        let start = indptr[indptr.len() - 1];
        let end = usize::try_from(column.values_end).unwrap_or(usize::MAX);
        let n_ranks = column.n_ranks as usize;
        if end.checked_sub(start) != Some(n_ranks)
            || end > floats.len()
            || n_ranks == 0
            || column.rank >= column.n_ranks
        {
            return Err(damaged("columns", "the numbers of ranks contradict each other"));
        }
        let mut own = start..end;
        if column.has_missing {
            let is_padded = n_ranks >= 2 && value(start) == f64::NEG_INFINITY && value(end - 1) == f64::INFINITY;
            if !is_padded {
                return Err(wrong("a table is not padded for missing values"));
            }
            own = start + 1..end - 1;
        }
        let ascends = own.clone().skip(1).all(|at| value(at - 1) < value(at));
        if !ascends || own.clone().any(|at| value(at).is_nan()) {
            return Err(wrong("a table does not ascend"));
        }
        indptr.push(end);
    }
    if indptr[indptr.len() - 1] != floats.len() {
        return Err(wrong("there are values that no feature has"));
    }
    Ok(ValueTable::new(indptr, floats, columns.iter().map(|column| column.has_missing).collect()))
}

/// The ranks of a dense column, which its number of ranks bounds.
fn read_column(
    bytes: &Buffer<u8>,
    column: &Described,
    n_samples: usize,
) -> std::result::Result<DenseColumn, &'static str> {
    const LENGTH: &str = "its length is not the number of rows";
    fn numbers<R: Plain + Into<u32>>(
        bytes: &Buffer<u8>,
        column: &Described,
        n_samples: usize,
    ) -> std::result::Result<Buffer<R>, &'static str> {
        let ranks = bytes.numbers::<R>().filter(|ranks| ranks.len() == n_samples).ok_or(LENGTH)?;
        let (lowest, highest) = ranks.iter().fold((u32::MAX, 0), |(lowest, highest), &rank| {
            let rank: u32 = rank.into();
            (rank.min(lowest), rank.max(highest))
        });
        // Rank 0 is none of a value where values are missing.
        let is_legal = lowest >= u32::from(column.has_missing) && highest < column.n_ranks;
        if is_legal { Ok(ranks) } else { Err("a rank is out of range") }
    }
    let ranks = match column.width {
        1 if column.n_ranks <= 1 << 8 => Ranks::U8(numbers(bytes, column, n_samples)?),
        2 if column.n_ranks <= 1 << 16 => Ranks::U16(numbers(bytes, column, n_samples)?),
        4 if column.n_ranks < u32::MAX => Ranks::U32(numbers(bytes, column, n_samples)?),
        _ => return Err("its ranks have an impossible width"),
    };
    Ok(DenseColumn { ranks, common_rank: column.rank, n_ranks: column.n_ranks, is_sparse: column.is_sparse })
}
