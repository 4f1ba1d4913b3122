//! What query rows find in a tree, and what it took to find it.

/// The costs that the seed reports (its figure 2 and table 3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Visits {
    /// Nodes visited; a node that is visited for several rows one after the other counts each time.
    pub n_nodes: u64,
    /// Training rows of those.
    pub n_rows: u64,
    /// The most words that are held at once by the recursive algorithm: one per training row of each node on the path and
    /// of each of their children that is followed, and four per node of a tree that is stored.
    pub peak_words: u64,
}

impl Visits {
    /// A node is visited while nodes above it hold so many words.
    pub(crate) fn visit(&mut self, n_rows: usize, held: u64) {
        self.n_nodes += 1;
        self.n_rows += n_rows as u64;
        self.peak_words = self.peak_words.max(held + n_rows as u64);
    }
}

impl std::ops::AddAssign for Visits {
    /// One after the other: words are not held at once.
    fn add_assign(&mut self, other: Self) {
        self.n_nodes += other.n_nodes;
        self.n_rows += other.n_rows;
        self.peak_words = self.peak_words.max(other.peak_words);
    }
}

/// The training rows of leaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeafRows {
    /// Those of leaf `i` end at `ends[i]` and begin where those of the leaf before it end.
    pub ends: Vec<usize>,
    /// The rows.
    pub rows: Vec<u32>,
    /// Their shares of the leaf's weight.
    pub shares: Vec<f64>,
}

impl LeafRows {
    fn append(&mut self, other: Self) {
        let offset = self.rows.len();
        self.ends.extend(other.ends.into_iter().map(|end| offset + end));
        self.rows.extend(other.rows);
        self.shares.extend(other.shares);
    }

    /// The rows of a leaf with their shares.
    pub fn of(&self, leaf: u32) -> impl Iterator<Item = (u32, f64)> {
        let leaf = leaf as usize;
        let start = if leaf == 0 { 0 } else { self.ends[leaf - 1] };
        let range = start..self.ends[leaf];
        self.rows[range.clone()].iter().copied().zip(self.shares[range].iter().copied())
    }
}

/// The leaves that query rows reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// Of each query row, the number of its leaf among those reached.
    pub leaves: Vec<u32>,
    /// The values of the leaves, one after the other.
    pub values: Vec<f64>,
    /// Their distances from the root.
    pub depths: Vec<u64>,
    /// Their training rows, if asked for.
    pub rows: Option<LeafRows>,
    /// What it took.
    pub visits: Visits,
}

impl Reached {
    pub(crate) fn new(n_query: usize, rows: bool) -> Self {
        Self {
            leaves: vec![0; n_query],
            values: Vec::new(),
            depths: Vec::new(),
            rows: rows.then(LeafRows::default),
            visits: Visits::default(),
        }
    }

    /// Adds leaves that query rows reach who have reached none so far.
    pub(crate) fn append(&mut self, found: Finds) {
        let mut start = 0;
        for (leaf, &end) in (self.depths.len() as u32..).zip(&found.ends) {
            for &row in &found.query_rows[start..end] {
                self.leaves[row as usize] = leaf;
            }
            start = end;
        }
        self.values.extend(found.values);
        self.depths.extend(found.depths);
        if let (Some(rows), Some(more)) = (&mut self.rows, found.rows) {
            rows.append(more);
        }
        self.visits += found.visits;
    }
}

/// Leaves in the order in which they were found.
#[derive(Debug)]
pub(crate) struct Finds {
    /// The query rows that reach leaf `i` end at `ends[i]` and begin where those of the leaf before it end.
    ends: Vec<usize>,
    query_rows: Vec<u32>,
    n_values: usize,
    values: Vec<f64>,
    depths: Vec<u64>,
    /// Their training rows, if asked for.
    pub rows: Option<LeafRows>,
    /// What it took.
    pub visits: Visits,
}

impl Finds {
    pub fn new(n_values: usize, rows: bool) -> Self {
        Self {
            ends: Vec::new(),
            query_rows: Vec::new(),
            n_values,
            values: Vec::new(),
            depths: Vec::new(),
            rows: rows.then(LeafRows::default),
            visits: Visits::default(),
        }
    }

    /// Adds a leaf that these query rows reach; returns its value, to be written.
    pub fn add(&mut self, query_rows: &[u32], depth: u64) -> &mut [f64] {
        self.query_rows.extend_from_slice(query_rows);
        self.ends.push(self.query_rows.len());
        self.depths.push(depth);
        let start = self.values.len();
        self.values.resize(start + self.n_values, 0.0);
        &mut self.values[start..]
    }

    /// Adds leaves that others reach.
    pub fn append(&mut self, other: Self) {
        let offset = self.query_rows.len();
        self.ends.extend(other.ends.into_iter().map(|end| offset + end));
        self.query_rows.extend(other.query_rows);
        self.values.extend(other.values);
        self.depths.extend(other.depths);
        if let (Some(rows), Some(more)) = (&mut self.rows, other.rows) {
            rows.append(more);
        }
        self.visits += other.visits;
    }

    /// A query row that reaches the first leaf.
    pub fn first_row(&self) -> Option<u32> {
        self.query_rows.first().copied()
    }
}
