//! Small data, and damage to sections of bytes.
//!
//! A file has a checksum for each section, so whatever chance does to a file is found at once. The
//! targets damage the sections themselves, as someone would who can compute checksums.

use arbitrary::Arbitrary;
use ndarray::Array2;
use spinney::data::Dataset;

use crate::runtime::runtime;

/// A number, a number with missing values, and a category of five levels, encoded.
pub fn data() -> Dataset {
    let x = Array2::from_shape_fn((40, 3), |(row, column)| match column {
        0 => (row * 7 % 40) as f64 / 3.0,
        1 if row % 6 == 0 => f64::NAN,
        1 => (row * row % 23) as f64,
        _ => (row % 5) as f64,
    });
    let data = Dataset::from_dense(x.view(), &runtime()).expect("finite or missing");
    data.with_categories(&[0, 0, 5]).expect("codes below five")
}

/// A change of a section.
#[derive(Debug, Arbitrary)]
pub enum Damage {
    Replace { section: u8, at: u32, byte: u8 },
    Word { section: u8, at: u32, word: u64 },
    Cut { section: u8, to: u32 },
    Append { section: u8, bytes: Vec<u8> },
}

impl Damage {
    /// Does the damage to one of the sections.
    pub fn apply(&self, sections: &mut [Vec<u8>]) {
        let (Self::Replace { section, .. }
        | Self::Word { section, .. }
        | Self::Cut { section, .. }
        | Self::Append { section, .. }) = self;
        let number = usize::from(*section) % sections.len();
        let section = &mut sections[number];
        match self {
            &Self::Replace { at, byte, .. } => {
                let at = at as usize % section.len().max(1);
                section[at..].first_mut().into_iter().for_each(|old| *old = byte);
            }
            &Self::Word { at, word, .. } => {
                let at = at as usize % section.len().max(1) / 8 * 8;
                section[at..].iter_mut().zip(word.to_le_bytes()).for_each(|(old, new)| *old = new);
            }
            &Self::Cut { to, .. } => section.truncate(to as usize % (section.len() + 1)),
            Self::Append { bytes, .. } => section.extend(bytes),
        }
    }
}
