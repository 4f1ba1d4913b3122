//! Which folds hold a row of a node out.

/// Which lanes hold a row out.
#[derive(Debug)]
pub struct HeldOut {
    /// By row: 0 for none, one more than the lane for one, or a list with the highest bit set.
    pub(crate) tags: Vec<u32>,
    lists: Vec<Vec<u32>>,
}

/// The tag is the number of a list.
pub(crate) const IS_LIST: u32 = 1 << 31;

impl HeldOut {
    /// Nothing is held out of so many rows.
    pub fn new(n_samples: usize) -> Self {
        Self { tags: vec![0; n_samples], lists: Vec::new() }
    }

    /// A lane holds these rows out.
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

    /// Nobody holds these rows out, which are all that anybody did.
    pub fn clear<'a>(&mut self, samples: impl Iterator<Item = &'a [u32]>) {
        samples.flatten().for_each(|&sample| self.tags[sample as usize] = 0);
        self.lists.clear();
    }

    /// Whether a lane does not hold a row out.
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
