//! Which folds hold a row of a node out.

/// For each row, the folds that hold the row out.
#[derive(Debug)]
pub struct HeldOut {
    /// For each row: 0 if no fold holds it out; the number of the fold plus 1 if one fold does; the
    /// number of a list with the bit [`IS_LIST`] if several do.
    pub(crate) tags: Vec<u32>,
    /// The folds that hold out the row of each list.
    lists: Vec<Vec<u32>>,
}

/// The bit of a tag that says that the other bits are the number of a list.
pub(crate) const IS_LIST: u32 = 1 << 31;

impl HeldOut {
    /// For `n_samples` rows; none is held out yet.
    pub fn new(n_samples: usize) -> Self {
        Self { tags: vec![0; n_samples], lists: Vec::new() }
    }

    /// Records that a fold holds these rows out.
    pub fn insert(&mut self, fold: usize, samples: &[u32]) {
        let fold = fold as u32;
        for &sample in samples {
            let tag = &mut self.tags[sample as usize];
            if *tag == 0 {
                *tag = fold + 1;
            } else if *tag & IS_LIST != 0 {
                self.lists[(*tag ^ IS_LIST) as usize].push(fold);
            } else {
                self.lists.push(vec![*tag - 1, fold]);
                *tag = IS_LIST | (self.lists.len() - 1) as u32;
            }
        }
    }

    /// Records that no fold holds any row out. `samples` must have all rows that were held out.
    pub fn clear<'a>(&mut self, samples: impl Iterator<Item = &'a [u32]>) {
        samples.flatten().for_each(|&sample| self.tags[sample as usize] = 0);
        self.lists.clear();
    }

    /// Whether a fold has a row, that is, does not hold it out.
    #[inline]
    pub(crate) fn is_in(&self, fold: usize, sample: u32) -> bool {
        let tag = self.tags[sample as usize];
        if tag & IS_LIST == 0 { tag != fold as u32 + 1 } else { !self.list(tag).contains(&(fold as u32)) }
    }

    #[inline]
    pub(crate) fn list(&self, tag: u32) -> &[u32] {
        &self.lists[(tag ^ IS_LIST) as usize]
    }
}
