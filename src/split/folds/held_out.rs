//! Which folds hold a row of a node out.

/// For each row, the lanes that hold the row out. A lane is one fold, or all folds that hold
/// nothing out.
#[derive(Debug)]
pub struct HeldOut {
    /// For each row: 0 if no lane holds it out; the number of the lane plus 1 if one lane does; the
    /// number of a list with the bit [`IS_LIST`] if several do.
    pub(crate) tags: Vec<u32>,
    /// The lanes that hold out the row of each list.
    lists: Vec<Vec<u32>>,
}

/// The bit of a tag that says that the other bits are the number of a list.
pub(crate) const IS_LIST: u32 = 1 << 31;

impl HeldOut {
    /// For `n_samples` rows, none of which is held out.
    pub fn new(n_samples: usize) -> Self {
        Self { tags: vec![0; n_samples], lists: Vec::new() }
    }

    /// Records that a lane holds these rows out.
    pub fn insert(&mut self, lane: usize, samples: &[u32]) {
        let lane = lane as u32;
        for &sample in samples {
            let tag = &mut self.tags[sample as usize];
            if *tag == 0 {
                *tag = lane + 1;
            } else if *tag & IS_LIST != 0 {
                self.lists[(*tag ^ IS_LIST) as usize].push(lane);
            } else {
                self.lists.push(vec![*tag - 1, lane]);
                *tag = IS_LIST | (self.lists.len() - 1) as u32;
            }
        }
    }

    /// Records that no lane holds any row out. `samples` must have all rows that were held out.
    pub fn clear<'a>(&mut self, samples: impl Iterator<Item = &'a [u32]>) {
        samples.flatten().for_each(|&sample| self.tags[sample as usize] = 0);
        self.lists.clear();
    }

    /// Whether a lane has a row, that is, does not hold it out.
    #[inline]
    pub(crate) fn is_in(&self, lane: usize, sample: u32) -> bool {
        let tag = self.tags[sample as usize];
        if tag & IS_LIST == 0 { tag != lane as u32 + 1 } else { !self.list(tag).contains(&(lane as u32)) }
    }

    #[inline]
    pub(crate) fn list(&self, tag: u32) -> &[u32] {
        &self.lists[(tag ^ IS_LIST) as usize]
    }
}
