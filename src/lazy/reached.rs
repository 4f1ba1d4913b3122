//! The leaves that query rows reach in a tree, and the cost of finding them.

use crate::error::Result;
use crate::memory;

/// The costs that the paper of Guillame-Bert & Dubrawski reports (figure 2 and table 3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Visits {
    /// Number of nodes visited. With one query row at a time, a node counts once per query row that
    /// visits it.
    pub n_nodes: u64,
    /// Sum of the numbers of training rows of the visited nodes.
    pub n_rows: u64,
    /// The largest number of words that the paper's recursive algorithm would hold at once. The
    /// algorithm holds one word per training row of each node on the path and of each followed
    /// child of these nodes, and four words per node of a tree that is stored.
    pub peak_words: u64,
}

impl Visits {
    /// Counts the visit of a node with `n_rows` training rows, while other nodes hold `held` words.
    pub(crate) fn visit(&mut self, n_rows: usize, held: u64) {
        self.n_nodes += 1;
        self.n_rows += n_rows as u64;
        self.peak_words = self.peak_words.max(held + n_rows as u64);
    }
}

impl std::ops::AddAssign for Visits {
    /// Adds the costs of a later traversal. The words of the two traversals are not held at once,
    /// so the peak is the higher of both.
    fn add_assign(&mut self, other: Self) {
        self.n_nodes += other.n_nodes;
        self.n_rows += other.n_rows;
        self.peak_words = self.peak_words.max(other.peak_words);
    }
}

/// The training rows of some leaves, with their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeafRows {
    /// The rows of leaf `i` end at position `ends[i]` and begin where the rows of leaf `i - 1` end.
    pub ends: Vec<usize>,
    /// Ids of the training rows, leaf by leaf.
    pub rows: Vec<u32>,
    /// The integer weight of each row.
    pub weights: Vec<u64>,
}

impl LeafRows {
    fn append(&mut self, other: Self) {
        let offset = self.rows.len();
        self.ends.extend(other.ends.into_iter().map(|end| offset + end));
        self.rows.extend(other.rows);
        self.weights.extend(other.weights);
    }

    /// The training rows of leaf number `leaf`, each with its weight.
    pub fn of(&self, leaf: u32) -> impl Iterator<Item = (u32, u64)> + Clone {
        let leaf = leaf as usize;
        let start = if leaf == 0 { 0 } else { self.ends[leaf - 1] };
        let range = start..self.ends[leaf];
        self.rows[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }
}

/// The leaves that the query rows reach, numbered in the order in which they were added.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// The number of the leaf that each query row reaches; 0 for a row that was not asked about.
    pub leaves: Vec<u32>,
    /// The predictions of the leaves, leaf by leaf.
    pub values: Vec<f64>,
    /// Distance of each leaf from the root.
    pub depths: Vec<u64>,
    /// The training rows of the leaves, if they were asked for.
    pub rows: Option<LeafRows>,
    /// The cost of finding the leaves.
    pub visits: Visits,
}

impl Reached {
    /// No leaf yet, for `n_query` rows.
    pub(crate) fn new(n_query: usize, rows: bool) -> Result<Self> {
        Ok(Self { leaves: memory::zeros("the leaves of rows", n_query)?, ..Self::empty(rows) })
    }

    /// No leaf and no query row.
    fn empty(rows: bool) -> Self {
        Self {
            leaves: Vec::new(),
            values: Vec::new(),
            depths: Vec::new(),
            rows: rows.then(LeafRows::default),
            visits: Visits::default(),
        }
    }

    /// Adds leaves with their query rows. None of these rows may have reached a leaf before.
    pub(crate) fn append(&mut self, found: Finds) {
        let mut start = 0;
        for (leaf, &end) in (self.depths.len() as u32..).zip(&found.ends) {
            for &row in &found.query_rows[start..end] {
                self.leaves[row as usize] = leaf;
            }
            start = end;
        }
        self.extend(found.leaves);
    }

    /// Adds the leaves of `other` and their cost, but no query rows.
    fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        self.depths.extend(other.depths);
        if let (Some(rows), Some(more)) = (&mut self.rows, other.rows) {
            rows.append(more);
        }
        self.visits += other.visits;
    }

    /// Adds to `sums` the `n_values` values of the leaf that each of `rows` reaches.
    pub(crate) fn add_values(&self, sums: &mut [f64], n_values: usize, rows: impl Iterator<Item = u32>) {
        for (sums, row) in sums.chunks_exact_mut(n_values).zip(rows) {
            let leaf = self.leaves[row as usize] as usize;
            let values = &self.values[leaf * n_values..][..n_values];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// The leaves that one task found, in this order, with the query rows that reach them.
#[derive(Debug)]
pub(crate) struct Finds {
    /// The query rows that reach leaf `i` end at position `ends[i]` of `query_rows`, and begin
    /// where the query rows of leaf `i - 1` end.
    ends: Vec<usize>,
    pub query_rows: Vec<u32>,
    n_values: usize,
    /// The leaves and the cost of finding them. The table of query rows in it is empty.
    pub leaves: Reached,
}

impl Finds {
    pub fn new(n_values: usize, rows: bool) -> Self {
        Self { ends: Vec::new(), query_rows: Vec::new(), n_values, leaves: Reached::empty(rows) }
    }

    /// Adds a leaf that these query rows reach. Returns the slice into which the caller writes what
    /// the leaf predicts.
    pub fn add(&mut self, query_rows: &[u32], depth: u64) -> &mut [f64] {
        self.query_rows.extend_from_slice(query_rows);
        self.ends.push(self.query_rows.len());
        self.leaves.depths.push(depth);
        let values = &mut self.leaves.values;
        let start = values.len();
        values.resize(start + self.n_values, 0.0);
        &mut values[start..]
    }

    /// Adds leaves that other query rows reach.
    pub fn append(&mut self, other: Self) {
        let offset = self.query_rows.len();
        self.ends.extend(other.ends.into_iter().map(|end| offset + end));
        self.query_rows.extend(other.query_rows);
        self.leaves.extend(other.leaves);
    }
}
