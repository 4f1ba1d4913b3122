//! The visit of a tree by eight rows side by side.

use super::plan::{Child, Coefficients, Group, Plan, Split, Step};
use super::quadrature::{LANES, Points};
use crate::data::rows::{Row, for_each_row};
use crate::error::Result;
use crate::memory;
use crate::simd::{Level, vectorized};

/// Rows that are visited side by side: a vector register of doubles.
pub const ROWS: usize = 8;
/// Most rows of a batch: the bits of a word.
pub const MOST_ROWS: usize = 64;

/// One number for each of some rows.
type Lanes = [f64; ROWS];

/// Some points, and the coefficients of all splits at them.
pub struct Rule {
    points: Vec<Points>,
    /// By split and by [`LANES`] points.
    coefficients: Vec<Coefficients>,
}

impl Rule {
    /// The coefficients of all splits of a tree at some points.
    pub fn new(splits: &[Split], points: Vec<Points>) -> Self {
        let coefficients =
            splits.iter().flat_map(|split| points.iter().map(move |at| Coefficients::new(split, at))).collect();
        Self { points, coefficients }
    }

    fn n_points(&self) -> usize {
        self.points.len() * LANES
    }

    /// The coefficients of a split.
    fn of(&self, split: usize) -> &[Coefficients] {
        &self.coefficients[split * self.points.len()..][..self.points.len()]
    }
}

/// What memory is asked for.
const EXPLANATION: &str = "the explanation of rows";

/// Up to [`ROWS`] rows of a batch that are visited together.
#[derive(Debug, Clone, Copy)]
pub struct Team {
    rows: [u8; ROWS],
    n: usize,
}

impl Team {
    /// The rows whose bits are set, in their order, in teams.
    pub fn of(mut bits: u64) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let mut team = Self { rows: [0; ROWS], n: 0 };
            while bits != 0 && team.n < ROWS {
                team.rows[team.n] = bits.trailing_zeros() as u8;
                team.n += 1;
                bits &= bits - 1;
            }
            (team.n > 0).then_some(team)
        })
    }

    /// The numbers of the rows in the batch.
    pub fn rows(&self) -> &[u8] {
        &self.rows[..self.n]
    }

    /// The bits of the rows, in their places in the team.
    fn gather(&self, word: u64) -> u8 {
        self.rows().iter().enumerate().fold(0, |bits, (lane, row)| bits | ((word >> row & 1) as u8) << lane)
    }

    fn all(&self) -> u8 {
        u8::MAX >> (ROWS - self.n)
    }

    /// The block of the results that has these rows, if they are in it as they are here.
    fn block(&self) -> Option<usize> {
        let first = usize::from(self.rows[0]);
        let are_alike = self.rows().iter().enumerate().all(|(lane, &row)| usize::from(row) == first + lane);
        (first.is_multiple_of(ROWS) && are_alike).then_some(first / ROWS)
    }
}

/// The bits of the first `n` rows.
pub fn all_rows(n: usize) -> u64 {
    u64::MAX >> (MOST_ROWS - n)
}

/// What a thread needs to visit trees with batches of rows.
#[derive(Default)]
pub struct Scratch {
    /// By split, a bit for each row of the batch: it goes left.
    go_left: Vec<u64>,
    routes: Routes,
    /// By place, value and point: the sum over the leaves below of the products of their factors,
    /// times their values. Values that no leaf below has are not kept.
    sums: Vec<Lanes>,
    /// Of the split that is closed, by point: the products of each child that is a leaf, the gains of
    /// each child, and those of a value.
    edges: [Vec<Lanes>; 5],
    /// By feature of the tree and value, the contributions in a visit; zeros between visits. Those of a
    /// tree stay in a cache that those of the forest do not fit in.
    gathered: Vec<Lanes>,
    /// By feature on the path and by point, the slope of its factor over the factor.
    slopes: Vec<Lanes>,
    /// By feature, how many splits on the path are on it.
    n_above: Vec<u32>,
    /// The features of the path.
    path: Vec<u32>,
}

/// The routes of a team through a tree; bits stand for its rows.
#[derive(Default)]
struct Routes {
    /// By split, which rows go left.
    left: Vec<u8>,
    /// By feature, which rows go along all splits of the path on the feature.
    along: Vec<u8>,
    /// By split, `along` of its feature at the split.
    at_split: Vec<u8>,
    /// By depth and point, the product of the factors of the path.
    products: Vec<Lanes>,
}

impl Routes {
    /// The way of a team through the splits of a group, from the root.
    fn way<'a>(&'a mut self, plan: &'a Plan, group: &Group, rule: &'a Rule, team: &Team) -> Result<Way<'a>> {
        let n_points = rule.n_points();
        self.along.clear();
        self.along.resize(plan.features.len(), team.all());
        self.at_split.resize(plan.splits.len().max(self.at_split.len()), 0);
        grow(&mut self.products, group.n_depths * n_points)?;
        self.products[..n_points].fill([1.0; ROWS]);
        let Self { left, along, at_split, products } = self;
        Ok(Way { splits: &plan.splits, rule, n_points, left, along, at_split, products })
    }
}

impl Scratch {
    /// Begins with a batch of rows.
    pub fn begin(&mut self, plan: &Plan) {
        self.go_left.clear();
        self.go_left.resize(plan.splits.len(), 0);
    }

    /// Says for a row of the batch which way it goes at each split.
    pub fn route(&mut self, plan: &Plan, number: usize, row: Row<'_>) {
        for_each_row!(row, |value| {
            for (bits, split) in self.go_left.iter_mut().zip(&plan.splits) {
                let node = split.node as usize;
                let goes_left = plan.tree.goes_left(node, value(plan.tree.nodes().feature[node] as u32));
                *bits |= u64::from(goes_left) << number;
            }
        });
    }

    /// Turns to a team of the batch; the ways of its rows must have been [told](Self::route).
    pub fn choose(&mut self, team: &Team) {
        self.routes.left.clear();
        match team.block() {
            Some(block) => self.routes.left.extend(self.go_left.iter().map(|bits| (bits >> (block * ROWS)) as u8)),
            None => self.routes.left.extend(self.go_left.iter().map(|&bits| team.gather(bits))),
        }
    }

    /// Adds the contributions of the features in the leaves of a group for the team that has been
    /// [chosen](Self::choose).
    pub fn visit(
        &mut self,
        plan: &Plan,
        group: &Group,
        rule: &Rule,
        team: &Team,
        to: &mut Contributions<'_>,
    ) -> Result<()> {
        let n_points = rule.n_points();
        grow(&mut self.sums, group.n_places * plan.n_values * n_points)?;
        for edge in &mut self.edges {
            grow(edge, n_points)?;
        }
        if to.of_pairs {
            grow(&mut self.slopes, plan.features.len() * n_points)?;
        } else {
            grow(&mut self.gathered, plan.features.len() * plan.n_values)?;
        }
        self.n_above.resize(plan.features.len().max(self.n_above.len()), 0);
        self.path.clear();
        let visit = Visit {
            way: self.routes.way(plan, group, rule, team)?,
            group,
            values: &plan.values,
            n_values: plan.n_values,
            sums: &mut self.sums,
            edges: self.edges.each_mut().map(|edge| &mut edge[..n_points]),
            gathered: &mut self.gathered,
            slopes: &mut self.slopes,
            n_above: &mut self.n_above,
            path: &mut self.path,
            team,
            block: team.block(),
            to: Contributions { all: &mut *to.all, ..*to },
        };
        if to.of_pairs {
            run::<PAIRS>(Level::widest(), visit);
        } else {
            run::<SINGLE>(Level::widest(), visit);
            self.hand_over(group, plan.n_values, team, to);
        }
        Ok(())
    }

    /// Adds the contributions of a team in a group to those of the forest.
    fn hand_over(&mut self, group: &Group, n_values: usize, team: &Team, to: &mut Contributions<'_>) {
        let block = team.block();
        for &feature in &group.features {
            let number = to.numbers[feature as usize];
            let of_feature = &mut self.gathered[feature as usize * n_values..][..n_values];
            for (value, gain) in of_feature.iter_mut().enumerate().filter(|(_, gain)| **gain != ZERO) {
                add(to, team, block, number * n_values + value, gain);
                *gain = ZERO;
            }
        }
    }

    /// The numbers of points that the rows of the team need for the leaves of a group: for each the
    /// least multiple of [`LANES`] by which the errors are bounded as [`Plan`] wants them. The rule is
    /// that of [`bounding_points`](super::quadrature::bounding_points), the errors those of
    /// [`errors_of`](super::quadrature::errors_of) the number of points of the group.
    pub fn needed_points(
        &mut self,
        plan: &Plan,
        group: &Group,
        bounding: &Rule,
        errors: &[[f64; LANES]],
        team: &Team,
    ) -> Result<[usize; ROWS]> {
        let way = self.routes.way(plan, group, bounding, team)?;
        let mut needed = [0; ROWS];
        bound(Level::widest(), way, &group.steps, &plan.tolerances, errors, &mut needed);
        Ok(needed.map(|n| ((n + 1) * LANES).min(group.n_points)))
    }
}

/// Where the contributions in a batch of rows are added up.
pub struct Contributions<'a> {
    /// In blocks of [`ROWS`] rows: by feature (or pair of features), value and row.
    pub all: &'a mut [f64],
    /// The number of those of a row.
    pub row_len: usize,
    /// By feature of the tree: its number among the features of the forest.
    pub numbers: &'a [usize],
    /// Whether they are those of pairs of features: a square, with those of the features alone on the
    /// diagonal. Those of a pair are in two places, and to be added up.
    pub of_pairs: bool,
    /// Features of the forest.
    pub n_features: usize,
}

/// Makes room for as many items.
fn grow(items: &mut Vec<Lanes>, n: usize) -> Result<()> {
    if items.len() < n {
        *items = memory::filled(EXPLANATION, ZERO, n)?;
    }
    Ok(())
}

/// The way of the rows through the tree.
struct Way<'a> {
    splits: &'a [Split],
    rule: &'a Rule,
    n_points: usize,
    left: &'a [u8],
    along: &'a mut [u8],
    at_split: &'a mut [u8],
    products: &'a mut [Lanes],
}

/// Which of three numbers each row has: masks of all ones or all zeros.
struct Choice {
    taken: [u64; ROWS],
    left: [u64; ROWS],
    off: [u64; ROWS],
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl Choice {
    /// For an edge: rows that have gone along until here and take it, rows that leave the path here,
    /// and rows that have left it before.
    #[inline(always)]
    fn new(along: u8, way: u8) -> Self {
        let mask = |bits: u8| std::array::from_fn(|row| 0u64.wrapping_sub(u64::from(bits >> row & 1)));
        Self { taken: mask(along & way), left: mask(along & !way), off: mask(!along) }
    }

    #[inline(always)]
    fn of(&self, taken: f64, left: f64, off: f64) -> Lanes {
        let [taken, left, off] = [taken, left, off].map(f64::to_bits);
        std::array::from_fn(|row| {
            f64::from_bits((taken & self.taken[row]) | (left & self.left[row]) | (off & self.off[row]))
        })
    }
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl Way<'_> {
    /// The rows that go to a side.
    #[inline(always)]
    fn goes(&self, split: usize, side: usize) -> u8 {
        if side == 0 { self.left[split] } else { !self.left[split] }
    }

    #[inline(always)]
    fn open(&mut self, split: usize) {
        self.at_split[split] = self.along[self.splits[split].feature as usize];
    }

    #[inline(always)]
    fn enter(&mut self, split: usize, side: usize, depth: usize) {
        let Split { feature, share, .. } = self.splits[split];
        let (along, way) = (self.at_split[split], self.goes(split, side));
        self.along[feature as usize] = along & way;
        let (choice, share) = (Choice::new(along, way), share[side]);
        let (above, below) = self.products.split_at_mut((depth + 1) * self.n_points);
        let above = above[depth * self.n_points..].chunks_exact(LANES);
        let below = below[..self.n_points].chunks_exact_mut(LANES);
        for ((above, below), at) in above.zip(below).zip(self.rule.of(split)) {
            for point in 0..LANES {
                let factor = choice.of(at.taken[side][point], at.left[point] * share, share);
                below[point] = times(&above[point], &factor);
            }
        }
    }

    /// The products of a leaf below a split.
    #[inline(always)]
    fn reach(&self, split: usize, side: usize, depth: usize, leaf: &mut [Lanes]) {
        let Split { feature, share, .. } = self.splits[split];
        let (choice, share) = (Choice::new(self.along[feature as usize], self.goes(split, side)), share[side]);
        let above = self.products[depth * self.n_points..][..self.n_points].chunks_exact(LANES);
        for ((above, leaf), at) in above.zip(leaf.chunks_exact_mut(LANES)).zip(self.rule.of(split)) {
            for point in 0..LANES {
                let factor = choice.of(at.taken[side][point], at.left[point] * share, share);
                leaf[point] = times(&above[point], &factor);
            }
        }
    }

    /// Back at a split that was opened, if it has a subtree.
    #[inline(always)]
    fn close(&mut self, split: usize, children: [Child; 2]) {
        if has_subtree(children) {
            self.along[self.splits[split].feature as usize] = self.at_split[split];
        }
    }
}

fn has_subtree(children: [Child; 2]) -> bool {
    children.iter().any(|child| matches!(child, Child::Subtree(_)))
}

/// A visit in progress.
struct Visit<'a> {
    way: Way<'a>,
    group: &'a Group,
    values: &'a [f64],
    n_values: usize,
    sums: &'a mut [Lanes],
    edges: [&'a mut [Lanes]; 5],
    gathered: &'a mut [Lanes],
    slopes: &'a mut [Lanes],
    n_above: &'a mut [u32],
    path: &'a mut Vec<u32>,
    team: &'a Team,
    /// The block of the results that has the rows of the team, if they are in it as they are here.
    block: Option<usize>,
    to: Contributions<'a>,
}

/// What is added up, as constants: contributions of features, or of pairs of them too.
const SINGLE: usize = 0;
const PAIRS: usize = 1;

vectorized! {
    fn run<const KIND: usize>(visit: Visit<'_>) {
        let mut visit = visit;
        for step in &visit.group.steps {
            visit.step::<KIND>(step);
        }
    }
}

vectorized! {
    fn bound(way: Way<'_>, steps: &[Step], tolerances: &[f64], errors: &[[f64; LANES]], needed: &mut [usize; ROWS]) {
        let mut way = way;
        let mut leaf_products = [ZERO; LANES];
        // The errors of the numbers of points that the rows are known to need.
        let mut present = [ZERO; LANES];
        let most = errors.len();
        let refresh = |needed: &[usize; ROWS], present: &mut [Lanes; LANES]| {
            for (ellipse, present) in present.iter_mut().enumerate() {
                *present = needed.map(|n| errors.get(n).map_or(0.0, |errors| errors[ellipse]));
            }
        };
        refresh(needed, &mut present);
        for step in steps {
            match *step {
                Step::Open { split } => way.open(split as usize),
                Step::Enter { split, side, depth } => way.enter(split as usize, side as usize, depth as usize),
                Step::Close { split, depth, children, .. } => {
                    let (split, depth) = (split as usize, depth as usize);
                    way.close(split, children);
                    for (side, child) in children.into_iter().enumerate() {
                        let Child::Leaf(leaf) = child else { continue };
                        way.reach(split, side, depth, &mut leaf_products);
                        let tolerance = tolerances[leaf as usize];
                        loop {
                            let mut least = [f64::INFINITY; ROWS];
                            for (product, error) in leaf_products.iter().zip(&present) {
                                let error = times(product, error);
                                least = std::array::from_fn(|row| if error[row] < least[row] { error[row] } else { least[row] });
                            }
                            let is_enough = least.map(|least| least <= tolerance);
                            if is_enough.iter().zip(&*needed).all(|(&is_enough, &n)| is_enough || n >= most) {
                                break;
                            }
                            for (needed, is_enough) in needed.iter_mut().zip(is_enough) {
                                *needed += usize::from(!is_enough && *needed < most);
                            }
                            refresh(needed, &mut present);
                        }
                    }
                }
            }
        }
    }
}

/// The kinds of children, as constants: a leaf; a subtree whose results are in the place of the
/// split, or in the one behind it.
const NOTHING: u8 = 0;
const LEAF: u8 = 1;
const FIRST: u8 = 2;
const SECOND: u8 = 3;

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl Visit<'_> {
    #[inline(always)]
    fn step<const KIND: usize>(&mut self, step: &Step) {
        match *step {
            Step::Open { split } => {
                self.way.open(split as usize);
                if KIND == PAIRS {
                    let feature = self.way.splits[split as usize].feature;
                    self.n_above[feature as usize] += 1;
                    if self.n_above[feature as usize] == 1 {
                        self.path.push(feature);
                    }
                }
            }
            Step::Enter { split, side, depth } => {
                let (split, side) = (split as usize, side as usize);
                self.way.enter(split, side, depth as usize);
                if KIND == PAIRS {
                    let Split { feature, before, share, .. } = self.way.splits[split];
                    self.set_slopes(feature as usize, before * share[side]);
                }
            }
            Step::Close { split, depth, place, children, present } => {
                let (split, depth, place) = (split as usize, depth as usize, place as usize);
                self.way.close(split, children);
                if KIND == PAIRS && has_subtree(children) {
                    let Split { feature, before, .. } = self.way.splits[split];
                    self.n_above[feature as usize] -= 1;
                    if self.n_above[feature as usize] == 0 {
                        self.path.pop();
                    }
                    self.set_slopes(feature as usize, before);
                }
                let sums = place * self.n_values * self.way.n_points;
                let leaves = children.map(|child| if let Child::Leaf(node) = child { node as usize } else { 0 });
                self.measure_edges(split, depth, children);
                let [left, right] = children.map(kind);
                let kinds = [[left, NOTHING], [NOTHING, right], [left, right]];
                let group = self.group;
                for (values, kinds) in group.present(present).into_iter().zip(kinds) {
                    let at = Closing { split, sums, leaves, values };
                    match kinds {
                        _ if values.is_empty() => {}
                        [LEAF, NOTHING] => self.close::<LEAF, NOTHING, KIND>(at),
                        [NOTHING, LEAF] => self.close::<NOTHING, LEAF, KIND>(at),
                        [LEAF, LEAF] => self.close::<LEAF, LEAF, KIND>(at),
                        [FIRST, NOTHING] => self.close::<FIRST, NOTHING, KIND>(at),
                        [NOTHING, FIRST] => self.close::<NOTHING, FIRST, KIND>(at),
                        [SECOND, NOTHING] => self.close::<SECOND, NOTHING, KIND>(at),
                        [NOTHING, SECOND] => self.close::<NOTHING, SECOND, KIND>(at),
                        [FIRST, LEAF] => self.close::<FIRST, LEAF, KIND>(at),
                        [LEAF, FIRST] => self.close::<LEAF, FIRST, KIND>(at),
                        [FIRST, SECOND] => self.close::<FIRST, SECOND, KIND>(at),
                        _ => self.close::<SECOND, FIRST, KIND>(at),
                    }
                }
            }
        }
    }

    /// Sets the slopes of a feature on the path, the product of whose shares is `w`.
    #[inline(always)]
    fn set_slopes(&mut self, feature: usize, w: f64) {
        let choice = Choice::new(u8::MAX, self.way.along[feature]);
        let slopes = &mut self.slopes[feature * self.way.n_points..][..self.way.n_points];
        for (slopes, points) in slopes.chunks_exact_mut(LANES).zip(&self.way.rule.points) {
            for (slope, (p, rest)) in slopes.iter_mut().zip(points.at.iter().zip(&points.rest)) {
                *slope = choice.of((1.0 - w) / (w + (1.0 - w) * p), -1.0 / rest, 0.0);
            }
        }
    }

    /// Sets the products of the leaves among the children of a split, and the gains of all children.
    #[inline(always)]
    fn measure_edges(&mut self, split: usize, depth: usize, children: [Child; 2]) {
        let along = self.way.along[self.way.splits[split].feature as usize];
        for (side, child) in children.into_iter().enumerate() {
            if child == Child::Nothing {
                continue;
            }
            if let Child::Leaf(_) = child {
                self.way.reach(split, side, depth, self.edges[side]);
            }
            let choice = Choice::new(along, self.way.goes(split, side));
            let gains = self.edges[2 + side].chunks_exact_mut(LANES);
            for (gains, at) in gains.zip(self.way.rule.of(split)) {
                for (point, gain) in gains.iter_mut().enumerate() {
                    *gain = choice.of(at.gain_taken[side][point], at.gain_left[point], 0.0);
                }
            }
        }
    }

    #[inline(always)]
    fn close<const LEFT: u8, const RIGHT: u8, const KIND: usize>(&mut self, at: Closing<'_>) {
        let Closing { split, sums, leaves, values: present } = at;
        let (n_values, n_points) = (self.n_values, self.way.n_points);
        let feature = self.way.splits[split].feature;
        let number = self.to.numbers[feature as usize];
        let [left_leaf, right_leaf, left_gains, right_gains, of_value] =
            self.edges.each_mut().map(|edge| &mut edge[..n_points]);
        let (left_leaf, right_leaf, left_gains, right_gains) = (&*left_leaf, &*right_leaf, &*left_gains, &*right_gains);
        let of_leaves = leaves.map(|node| &self.values[node * n_values..][..n_values]);
        // What a leaf with the value 1 contributes.
        let of_one = |leaf: &[Lanes], gains: &[Lanes]| {
            leaf.iter().zip(gains).fold(ZERO, |sum, (leaf, gain)| plus(&sum, &times(leaf, gain)))
        };
        let left_one = if LEFT == LEAF { of_one(left_leaf, left_gains) } else { ZERO };
        let right_one = if RIGHT == LEAF { of_one(right_leaf, right_gains) } else { ZERO };
        let (own, behind) = self.sums[sums..].split_at_mut(n_values * n_points);
        let is_only = LEFT == NOTHING || RIGHT == NOTHING;
        for value in present.iter().map(|&value| value as usize) {
            let own = &mut own[value * n_points..][..n_points];
            let behind =
                if LEFT == SECOND || RIGHT == SECOND { &behind[value * n_points..][..n_points] } else { left_leaf };
            let [left, right] = [of_leaves[0][value], of_leaves[1][value]];
            // Of even and of odd points, so that no addition waits for the one before.
            let mut chains = [ZERO; 2];
            for pair in (0..n_points).step_by(2) {
                for (turn, chain) in chains.iter_mut().enumerate() {
                    let point = pair + turn;
                    let first = own[point];
                    let sides = [(LEFT, left, left_leaf, left_gains), (RIGHT, right, right_leaf, right_gains)];
                    let (mut sum, mut at_point) = (ZERO, ZERO);
                    for (side, (kind, value, leaf, gains)) in sides.into_iter().enumerate() {
                        let below = match kind {
                            LEAF => times(&leaf[point], &[value; ROWS]),
                            FIRST => first,
                            SECOND => behind[point],
                            _ => continue,
                        };
                        sum = if side == 0 || is_only { below } else { plus(&sum, &below) };
                        if kind != LEAF || KIND == PAIRS {
                            at_point = plus(&at_point, &times(&below, &gains[point]));
                        }
                    }
                    if !is_only || (LEFT != FIRST && RIGHT != FIRST) {
                        own[point] = sum;
                    }
                    *chain = plus(chain, &at_point);
                    if KIND == PAIRS {
                        of_value[point] = at_point;
                    }
                }
            }
            let mut gain = plus(&chains[0], &chains[1]);
            if LEFT == LEAF && KIND == SINGLE {
                gain = plus(&gain, &times(&left_one, &[left; ROWS]));
            }
            if RIGHT == LEAF && KIND == SINGLE {
                gain = plus(&gain, &times(&right_one, &[right; ROWS]));
            }
            if KIND == SINGLE {
                let sum = &mut self.gathered[feature as usize * n_values + value];
                *sum = plus(sum, &gain);
                continue;
            }
            let mut add_pair = |other: u32, gain: &Lanes| {
                let pair = number * self.to.n_features + self.to.numbers[other as usize];
                add(&mut self.to, self.team, self.block, pair * n_values + value, gain);
            };
            add_pair(feature, &gain);
            for &other in self.path.iter().filter(|&&other| other != feature) {
                let slopes = &self.slopes[other as usize * n_points..][..n_points];
                let gain = of_value.iter().zip(slopes).fold(ZERO, |sum, (gain, slope)| plus(&sum, &times(gain, slope)));
                add_pair(other, &gain);
            }
        }
    }
}

/// Adds contributions of the rows of a team.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn add(to: &mut Contributions<'_>, team: &Team, block: Option<usize>, number: usize, gain: &Lanes) {
    let (at, block_len) = (number * ROWS, to.row_len * ROWS);
    match block {
        // Rows that are not of the team gain nothing.
        Some(block) => {
            let sums = &mut to.all[block * block_len + at..][..ROWS];
            sums.iter_mut().zip(gain).for_each(|(sum, gain)| *sum += gain);
        }
        None => {
            for (&row, gain) in team.rows().iter().zip(gain) {
                let (block, row) = (usize::from(row) / ROWS, usize::from(row) % ROWS);
                to.all[block * block_len + at + row] += gain;
            }
        }
    }
}

/// A split whose children are finished.
#[derive(Clone, Copy)]
struct Closing<'a> {
    split: usize,
    /// Where its sums begin.
    sums: usize,
    /// The nodes of the children that are leaves.
    leaves: [usize; 2],
    /// The values that the children have.
    values: &'a [u32],
}

fn kind(child: Child) -> u8 {
    match child {
        Child::Nothing => NOTHING,
        Child::Leaf(_) => LEAF,
        Child::Subtree(false) => FIRST,
        Child::Subtree(true) => SECOND,
    }
}

const ZERO: Lanes = [0.0; ROWS];

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn times(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn plus(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}
