//! The visit of a tree by a batch of rows, for eight points.

use super::lanes::{Lanes, ZERO, plus, times};
use super::plan::{Plan, PlanSplit};
use super::quadrature::{LANES, Points, errors_of};
use super::steps::{Child, LeafGroup, PlanStep, Steps, has_subtree};
use super::turns::{Turns, all_rows};
use crate::bitset::ones;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};

/// The buffers of a thread that visits trees with batches of rows.
#[derive(Default)]
pub struct KernelScratch {
    routes: Routes,
    /// By place, row and value: the sum over the leaves below of the products of their factors,
    /// times their values. Values that no leaf below has are not kept.
    sums: Vec<Lanes>,
    /// Contributions at the split that is closed, point by point, by row and value.
    gains: Vec<Lanes>,
    /// By feature on the path, the slope of its factor over the factor for a row that goes along.
    slopes: Vec<Lanes>,
    /// By feature, how many splits on the path are on it.
    n_above: Vec<u32>,
    /// The features of the path.
    path: Vec<u32>,
}

/// The routes of a batch of rows through a tree.
#[derive(Default)]
struct Routes {
    /// By feature, a bit for each row: it goes along all splits of the path on the feature.
    along: Vec<u64>,
    /// By split, `along` of its feature at the split.
    at_split: Vec<u64>,
    /// By depth and row, the product of the factors of the path.
    products: Vec<Lanes>,
}

impl Routes {
    /// The way of some rows through the splits of a group, from the root.
    fn way<'a>(
        &'a mut self,
        plan: &'a Plan,
        group: &LeafGroup,
        points: &'a Points,
        turns: &'a Turns,
        rows: u64,
    ) -> Result<KernelWay<'a>> {
        let n_rows = turns.n_rows;
        self.along.clear();
        self.along.resize(plan.features.len(), rows);
        self.at_split.resize(plan.splits.len().max(self.at_split.len()), 0);
        grow(&mut self.products, group.n_depths * n_rows)?;
        self.products[..n_rows].fill([1.0; LANES]);
        let Self { along, at_split, products } = self;
        let go_left = &turns.go_left;
        Ok(KernelWay { splits: &plan.splits, points, n_rows, rows, go_left, along, at_split, products })
    }
}

impl KernelScratch {
    /// Adds the contributions of the features in the leaves of a group, at some points, for the
    /// rows whose bits are set.
    pub fn visit(
        &mut self,
        (plan, group): (&Plan, &LeafGroup),
        points: &Points,
        turns: &Turns,
        rows: u64,
        to: &mut Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        self.slopes.resize(plan.features.len().max(self.slopes.len()), ZERO);
        // A visit that was interrupted has left some.
        self.n_above.clear();
        self.n_above.resize(plan.features.len(), 0);
        self.path.clear();
        grow(&mut self.sums, group.n_places * turns.n_rows * plan.n_values)?;
        grow(&mut self.gains, turns.n_rows * plan.n_values)?;
        let mut visit = KernelVisit {
            way: self.routes.way(plan, group, points, turns, rows)?,
            group,
            n_values: plan.n_values,
            sums: &mut self.sums,
            gains: &mut self.gains,
            points,
            slopes: &mut self.slopes,
            n_above: &mut self.n_above,
            path: &mut self.path,
            to: Contributions { all: &mut *to.all, ..*to },
        };
        let (level, mut steps) = (Level::widest(), group.steps());
        let mut rest = true;
        while rest {
            runtime.check_interrupt()?;
            rest = if to.of_pairs {
                run::<PAIRS>(level, &mut visit, &mut steps)
            } else {
                run::<SINGLE>(level, &mut visit, &mut steps)
            };
        }
        Ok(())
    }

    /// The numbers of points that rows need for the leaves of a group: for each row of the batch the least
    /// multiple of [`LANES`] by which the errors are bounded as [`Plan`] wants them. The points are
    /// [`bounding_points`](super::quadrature::bounding_points).
    pub fn needed_points(
        &mut self,
        (plan, group): (&Plan, &LeafGroup),
        bounding: &Points,
        turns: &Turns,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<usize>> {
        let mut way = self.routes.way(plan, group, bounding, turns, all_rows(turns.n_rows))?;
        let errors = errors_of(group.n_points);
        let mut needed = vec![0u8; turns.n_rows];
        let mut steps = group.steps();
        while bound(Level::widest(), &mut way, &mut steps, &group.tolerances, &errors, &mut needed) {
            runtime.check_interrupt()?;
        }
        Ok(needed.into_iter().map(|n| ((usize::from(n) + 1) * LANES).min(group.n_points)).collect())
    }
}

/// Steps between two looks at the stop flag. A step may take some microseconds for each value.
const STEPS_PER_LOOK: usize = 256;

/// Where the contributions in a batch of rows are added up.
pub struct Contributions<'a> {
    /// By feature (or pair of features), value and row of the batch. Features are those of the tree, by
    /// number, where points are worked on side by side and no pairs are wanted; otherwise those of the
    /// forest.
    pub all: &'a mut [f64],
    /// Rows that there is room for.
    pub n_rows: usize,
    /// By feature of the tree: its number among the features of the forest.
    pub numbers: &'a [usize],
    /// Whether `all` is for pairs of features: row by row a square, with the features alone on the diagonal.
    /// The contributions of a pair are in two places, and to be added up.
    pub of_pairs: bool,
    /// Features of the forest.
    pub n_features: usize,
}

/// The name of the memory in errors.
pub const EXPLANATION: &str = "the explanation of rows";

/// Makes room for `n` items.
fn grow(items: &mut Vec<Lanes>, n: usize) -> Result<()> {
    if items.len() < n {
        *items = memory::filled(EXPLANATION, [0.0; LANES], n)?;
    }
    Ok(())
}

/// The way of the rows through the tree.
struct KernelWay<'a> {
    splits: &'a [PlanSplit],
    points: &'a Points,
    n_rows: usize,
    /// A bit for each row that takes part.
    rows: u64,
    go_left: &'a [u64],
    along: &'a mut [u64],
    at_split: &'a mut [u64],
    products: &'a mut [Lanes],
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl KernelWay<'_> {
    /// Left and right: which rows go there.
    #[inline(always)]
    fn ways(&self, split: usize) -> [u64; 2] {
        [self.go_left[split], !self.go_left[split]]
    }

    #[inline(always)]
    fn open(&mut self, split: usize) {
        self.at_split[split] = self.along[self.splits[split].feature as usize];
    }

    #[inline(always)]
    fn enter(&mut self, split: usize, side: usize, depth: usize) {
        let PlanSplit { feature, share, .. } = self.splits[split];
        let (along, ways) = (self.at_split[split], self.ways(split));
        self.along[feature as usize] = along & ways[side];
        let (above, below) = self.products.split_at_mut((depth + 1) * self.n_rows);
        let above = &above[depth * self.n_rows..];
        // Factors are computed here and not kept: to read them takes as long.
        if along & ways[side] != 0 {
            let taken = self.splits[split].taken(side, self.points);
            for row in ones(along & ways[side]) {
                let row = row as usize;
                below[row] = times(&above[row], &taken);
            }
        }
        if along & ways[1 - side] != 0 {
            let left = times(&self.splits[split].left(self.points), &[share[side]; LANES]);
            for row in ones(along & ways[1 - side]) {
                let row = row as usize;
                below[row] = times(&above[row], &left);
            }
        }
        for row in ones(self.rows & !along) {
            let row = row as usize;
            below[row] = times(&above[row], &[share[side]; LANES]);
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

/// A visit in progress.
struct KernelVisit<'a> {
    way: KernelWay<'a>,
    group: &'a LeafGroup,
    n_values: usize,
    sums: &'a mut [Lanes],
    gains: &'a mut [Lanes],
    points: &'a Points,
    slopes: &'a mut [Lanes],
    n_above: &'a mut [u32],
    path: &'a mut Vec<u32>,
    to: Contributions<'a>,
}

/// Whether contributions of features are added up, or of pairs of features too, as constants of the loops.
const SINGLE: usize = 0;
const PAIRS: usize = 1;

vectorized! {
    /// Follows some steps; returns whether there may be more.
    fn run<const KIND: usize>(visit: &mut KernelVisit<'_>, steps: &mut Steps<'_>) -> bool {
        for _ in 0..STEPS_PER_LOOK {
            let Some(step) = steps.next() else { return false };
            visit.step::<KIND>(step);
        }
        true
    }
}

vectorized! {
    /// Follows some steps; returns whether there may be more.
    fn bound(way: &mut KernelWay<'_>, steps: &mut Steps<'_>, tolerances: &[f64], errors: &[Lanes], needed: &mut [u8]) -> bool {
        for _ in 0..STEPS_PER_LOOK {
            let Some(step) = steps.next() else { return false };
            match step {
                PlanStep::Open { split } => way.open(split as usize),
                PlanStep::Enter { split, side, depth } => way.enter(split as usize, side as usize, depth as usize),
                PlanStep::Close { split, depth, children, .. } => {
                    let (split, depth) = (split as usize, depth as usize);
                    way.close(split, children);
                    for (side, child) in children.into_iter().enumerate() {
                        let Child::Leaf(leaf) = child else { continue };
                        let PlanSplit { feature, share, .. } = way.splits[split];
                        let (along, ways) = (way.along[feature as usize], way.ways(split));
                        let taken = way.splits[split].taken(side, way.points);
                        let left = times(&way.splits[split].left(way.points), &[share[side]; LANES]);
                        for row in ones(way.rows) {
                            let row = row as usize;
                            let is_taken = ways[side] >> row & 1 != 0;
                            let factor = if along >> row & 1 == 0 {
                                [share[side]; LANES]
                            } else if is_taken {
                                taken
                            } else {
                                left
                            };
                            let product = times(&way.products[depth * way.n_rows + row], &factor);
                            let is_enough = |errors: &Lanes| {
                                let least = times(&product, errors).iter().fold(f64::INFINITY, |a, &b| a.min(b));
                                least <= tolerances[leaf as usize]
                            };
                            while errors.get(usize::from(needed[row])).is_some_and(|errors| !is_enough(errors)) {
                                needed[row] += 1;
                            }
                        }
                    }
                }
            }
        }
        true
    }
}

/// The kinds of children, as constants.
const NOTHING: u8 = 0;
const LEAF: u8 = 1;
const SUBTREE: u8 = 2;

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
#[allow(clippy::needless_range_loop, reason = "a value is in several arrays")]
impl KernelVisit<'_> {
    #[inline(always)]
    fn step<const KIND: usize>(&mut self, step: PlanStep) {
        match step {
            PlanStep::Open { split } => {
                self.way.open(split as usize);
                if KIND == PAIRS {
                    let feature = self.way.splits[split as usize].feature;
                    self.n_above[feature as usize] += 1;
                    if self.n_above[feature as usize] == 1 {
                        self.path.push(feature);
                    }
                }
            }
            PlanStep::Enter { split, side, depth } => {
                let (split, side) = (split as usize, side as usize);
                self.way.enter(split, side, depth as usize);
                if KIND == PAIRS {
                    let PlanSplit { feature, before, share, .. } = self.way.splits[split];
                    self.slopes[feature as usize] = slope(before * share[side], self.points);
                }
            }
            PlanStep::Close { split, depth, place, children, present } => {
                let (split, depth, place) = (split as usize, depth as usize, place as usize);
                self.way.close(split, children);
                if KIND == PAIRS && has_subtree(children) {
                    let PlanSplit { feature, before, .. } = self.way.splits[split];
                    self.n_above[feature as usize] -= 1;
                    if self.n_above[feature as usize] == 0 {
                        self.path.pop();
                    }
                    self.slopes[feature as usize] = slope(before, self.points);
                }
                let below = children.map(|child| match child {
                    Child::Nothing => 0,
                    Child::Leaf(leaf) => leaf as usize * self.n_values,
                    Child::Subtree(is_second) => (place + usize::from(is_second)) * self.way.n_rows * self.n_values,
                });
                let sums = place * self.way.n_rows * self.n_values;
                let [left, right] = children.map(kind);
                let kinds = [[left, NOTHING], [NOTHING, right], [left, right]];
                let group = self.group;
                for (values, kinds) in group.present(present, children).into_iter().zip(kinds) {
                    let at = KernelClosing { split, depth, sums, below, values };
                    match kinds {
                        _ if values.is_empty() => {}
                        [NOTHING, LEAF] => self.close::<NOTHING, LEAF, KIND>(at),
                        [NOTHING, SUBTREE] => self.close::<NOTHING, SUBTREE, KIND>(at),
                        [LEAF, NOTHING] => self.close::<LEAF, NOTHING, KIND>(at),
                        [LEAF, LEAF] => self.close::<LEAF, LEAF, KIND>(at),
                        [LEAF, SUBTREE] => self.close::<LEAF, SUBTREE, KIND>(at),
                        [SUBTREE, NOTHING] => self.close::<SUBTREE, NOTHING, KIND>(at),
                        [SUBTREE, LEAF] => self.close::<SUBTREE, LEAF, KIND>(at),
                        _ => self.close::<SUBTREE, SUBTREE, KIND>(at),
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn close<const LEFT: u8, const RIGHT: u8, const KIND: usize>(&mut self, at: KernelClosing<'_>) {
        let KernelClosing { split, depth, sums: start, below, values: present } = at;
        let PlanSplit { feature, share, .. } = self.way.splits[split];
        let (along, ways) = (self.way.along[feature as usize], self.way.ways(split));
        let n_values = self.n_values;
        let products = &self.way.products[depth * self.way.n_rows..];
        let values = [0, 1]
            .map(|side| if [LEFT, RIGHT][side] == LEAF { &self.group.values[below[side]..][..n_values] } else { &[] });
        let number = match KIND {
            PAIRS => self.to.numbers[feature as usize] * self.to.n_features,
            _ => feature as usize,
        };
        let place = |row: usize, number: usize, value: usize| (number * n_values + value) * self.to.n_rows + row;
        for way in 0..2 {
            if along & ways[way] == 0 {
                continue;
            }
            let (own, points) = (&self.way.splits[split], self.points);
            let mut gains = [own.gain_left(points); 2];
            gains[way] = own.gain_taken(way, points);
            let mut factors = [ZERO; 2];
            if LEFT == LEAF || RIGHT == LEAF {
                factors = [times(&own.left(points), &[share[1 - way]; LANES]); 2];
                factors[way] = own.taken(way, points);
            }
            for row in ones(along & ways[way]) {
                let row = row as usize;
                let leaf = |side: usize| times(&products[row], &factors[side]);
                let leaves = [if LEFT == LEAF { leaf(0) } else { ZERO }, if RIGHT == LEAF { leaf(1) } else { ZERO }];
                for value in present.iter().map(|&value| value as usize) {
                    let (mut sum, mut gain) = (ZERO, ZERO);
                    for (side, kind) in [LEFT, RIGHT].into_iter().enumerate() {
                        let below = match kind {
                            NOTHING => continue,
                            LEAF => times(&leaves[side], &[values[side][value]; LANES]),
                            _ => self.sums[below[side] + row * n_values + value],
                        };
                        sum = plus(&sum, &below);
                        gain = plus(&gain, &times(&below, &gains[side]));
                    }
                    self.sums[start + row * n_values + value] = sum;
                    if KIND == PAIRS {
                        let own = number + self.to.numbers[feature as usize];
                        self.to.all[place(row, own, value)] += total(&gain);
                        for &other in self.path.iter().filter(|&&other| other != feature) {
                            let is_along = self.way.along[other as usize] >> row & 1 != 0;
                            let slope = if is_along { self.slopes[other as usize] } else { self.points.gain_left };
                            let pair = number + self.to.numbers[other as usize];
                            self.to.all[place(row, pair, value)] += total(&times(&gain, &slope));
                        }
                    } else {
                        self.gains[row * n_values + value] = gain;
                    }
                }
            }
        }
        if KIND == SINGLE {
            // In a loop of its own: in the loop above the compiler would split all registers into halves.
            for row in ones(along) {
                let row = row as usize;
                for value in present.iter().map(|&value| value as usize) {
                    self.to.all[place(row, number, value)] += total(&self.gains[row * n_values + value]);
                }
            }
        }
        for row in ones(self.way.rows & !along) {
            let row = row as usize;
            for value in present.iter().map(|&value| value as usize) {
                let mut sum = ZERO;
                for (side, kind) in [LEFT, RIGHT].into_iter().enumerate() {
                    if kind == LEAF {
                        let leaf = times(&products[row], &[share[side]; LANES]);
                        sum = plus(&sum, &times(&leaf, &[values[side][value]; LANES]));
                    } else if kind == SUBTREE {
                        sum = plus(&sum, &self.sums[below[side] + row * n_values + value]);
                    }
                }
                self.sums[start + row * n_values + value] = sum;
            }
        }
    }
}

/// A split whose children are finished.
#[derive(Clone, Copy)]
struct KernelClosing<'a> {
    split: usize,
    depth: usize,
    /// Where the sums of the split begin.
    sums: usize,
    /// Where the children's values or sums begin.
    below: [usize; 2],
    /// The values that the children have.
    values: &'a [u32],
}

/// The slope of the factor of a row that goes along, over the factor.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn slope(w: f64, points: &Points) -> Lanes {
    points.at.map(|p| (1.0 - w) / (w + (1.0 - w) * p))
}

fn kind(child: Child) -> u8 {
    match child {
        Child::Nothing => NOTHING,
        Child::Leaf(_) => LEAF,
        Child::Subtree(_) => SUBTREE,
    }
}

/// The sum of all lanes, in the same order for all widths of registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
pub fn total(a: &Lanes) -> f64 {
    let four: [f64; 4] = std::array::from_fn(|lane| a[lane] + a[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
