//! How a matrix is encoded.

/// The integers that stand for the values of a column of many values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ordinals {
    /// Ranks: dense, as bins of equal width want them.
    #[default]
    Ranks,
    /// The sort keys of the values where all are `f32`: no table has to be asked for a value or a
    /// threshold's place, which is what random thresholds need. Everything else holds as of ranks.
    Keys,
}

/// How the columns of a matrix are encoded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Encoding<'a> {
    /// The integers that stand for the values of numeric columns; for categorical ones they are always ranks.
    pub ordinals: Ordinals,
    /// By feature the number of its categories, 0 of a numeric one; nothing if all are numeric.
    pub n_categories: Option<&'a [u32]>,
}
