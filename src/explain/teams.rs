//! The visit of a tree by eight rows side by side.
//!
//! Here a register has a number for each of eight rows; in [`kernel`](super::kernel) it has one for each of
//! eight points. The results differ by the order of sums alone. At a split, the factors of each row must be
//! chosen first, which costs more than in `kernel`. In return a whole register is added to the results, where
//! `kernel` sums up eight points for each row and adds one number. So this way pays where there are many
//! results, which do not fit in a cache (`teams_from`).

use super::kernel::{Contributions, EXPLANATION};
use super::lanes::{Lanes, ZERO, plus, times};
use super::plan::{Plan, PlanSplit};
use super::quadrature::{LANES, Points, errors_of};
use super::steps::{Child, LeafGroup, PlanStep, Steps, has_subtree};
use super::turns::Turns;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};

/// Rows that are visited side by side: a vector register of doubles.
pub const ROWS: usize = 8;

/// One number for each of eight points and each row.
type Block = [Lanes; LANES];

/// Steps between two looks at the stop flag, while no contributions wait.
const STEPS_PER_LOOK: usize = 256;
/// Contributions that wait in a cache until they are handed over together.
const WAITING: usize = 160;

/// The buffers of a thread that visits trees with eight rows at a time.
#[derive(Default)]
pub struct TeamScratch {
    /// By feature, a bit for each row: it goes along all splits of the path on the feature.
    along: Vec<u8>,
    /// By split, `along` of its feature at the split.
    at_split: Vec<u8>,
    /// By depth and eight points, the product of the factors of the path.
    products: Vec<Block>,
    /// By place, value and eight points: the sum over the leaves below of the products of their
    /// factors, times their values. Values that no leaf below has are not kept.
    sums: Vec<Block>,
    /// Of the split that is closed, by side and eight points.
    edges: [Edge; 2],
    /// Contributions that wait to be handed over, in the order of the steps and of [`LeafGroup::present`].
    waiting: Vec<Lanes>,
}

/// An edge to a child, by eight points.
#[derive(Default)]
struct Edge {
    /// The factors that make contributions of the sums of the child.
    gains: Vec<Block>,
    /// The products of the child if it is a leaf.
    leaf: Vec<Block>,
}

impl TeamScratch {
    /// Adds the contributions of the features in the leaves of a group for the rows whose bits are
    /// set; the other rows of the team get zeros added.
    pub fn visit(
        &mut self,
        (plan, group): (&Plan, &LeafGroup),
        rule: &[Points],
        turns: &Turns,
        rows: u64,
        to: &mut Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let n = rule.len();
        resize(&mut self.sums, group.n_places * plan.n_values * n)?;
        for edge in &mut self.edges {
            for blocks in [&mut edge.gains, &mut edge.leaf] {
                resize(blocks, n)?;
            }
        }
        let Self { along, at_split, products, sums, edges, waiting } = self;
        let way = TeamWay::new((along, at_split, products), (plan, group), rule, turns, rows as u8)?;
        // A visit that was interrupted has left some.
        waiting.clear();
        let mut visit = TeamVisit { way, plan, group, sums, edges, waiting };
        let mut steps = group.steps();
        loop {
            runtime.check_interrupt()?;
            let followed = steps.clone();
            let n_steps = run(Level::widest(), &mut visit, &mut steps);
            if n_steps == 0 {
                return Ok(());
            }
            visit.hand_over(followed.take(n_steps), to);
        }
    }

    /// The numbers of points that rows need for the leaves of a group, as
    /// [`kernel::KernelScratch::needed_points`](super::kernel::Scratch::needed_points) finds them.
    pub fn needed_points(
        &mut self,
        (plan, group): (&Plan, &LeafGroup),
        bounding: &Points,
        turns: &Turns,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<usize>> {
        let rows = u8::MAX >> (ROWS - turns.n_rows);
        let Self { along, at_split, products, .. } = self;
        let bounding = [*bounding];
        let mut way = TeamWay::new((along, at_split, products), (plan, group), &bounding, turns, rows)?;
        let errors = errors_of(group.n_points);
        let mut needed = [0; ROWS];
        let mut steps = group.steps();
        while bound(Level::widest(), &mut way, &mut steps, &group.tolerances, &errors, &mut needed) {
            runtime.check_interrupt()?;
        }
        let needed = needed[..turns.n_rows].iter();
        Ok(needed.map(|n| ((n + 1) * LANES).min(group.n_points)).collect())
    }
}

/// Makes room for `n` items.
fn resize(items: &mut Vec<Block>, n: usize) -> Result<()> {
    if items.len() < n {
        *items = memory::filled(EXPLANATION, [ZERO; LANES], n)?;
    }
    Ok(())
}

/// The way of the rows through the tree.
struct TeamWay<'a> {
    splits: &'a [PlanSplit],
    /// The points of a rule.
    rule: &'a [Points],
    go_left: &'a [u64],
    along: &'a mut [u8],
    at_split: &'a mut [u8],
    products: &'a mut [Block],
}

/// For each byte, eight masks: all ones where its bit is set. Read from a table, the compiler does
/// not treat some of the eight rows differently from the others.
static MASKS: [[u64; ROWS]; 256] = {
    let mut masks = [[0; ROWS]; 256];
    let mut at = 0;
    while at < 256 * ROWS {
        masks[at / ROWS][at % ROWS] = if ((at / ROWS) >> (at % ROWS)) & 1 == 1 { u64::MAX } else { 0 };
        at += 1;
    }
    masks
};

/// Which of three numbers each row has.
struct Choice {
    taken: &'static [u64; ROWS],
    left: &'static [u64; ROWS],
    off: &'static [u64; ROWS],
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl Choice {
    /// For an edge: rows that have gone along until here and take it, rows that leave the path
    /// here, and rows that have left it before.
    #[inline(always)]
    fn new(along: u8, way: u8) -> Self {
        let masks = |bits: u8| &MASKS[usize::from(bits)];
        Self { taken: masks(along & way), left: masks(along & !way), off: masks(!along) }
    }

    #[inline(always)]
    fn of(&self, taken: f64, left: f64, off: f64) -> Lanes {
        let [taken, left, off] = [taken, left, off].map(f64::to_bits);
        std::array::from_fn(|row| {
            f64::from_bits((taken & self.taken[row]) | (left & self.left[row]) | (off & self.off[row]))
        })
    }
}

/// What a [`TeamWay`] keeps between visits: `along`, `at_split` and `products` of [`TeamScratch`].
type Kept<'a> = (&'a mut Vec<u8>, &'a mut Vec<u8>, &'a mut Vec<Block>);

impl<'a> TeamWay<'a> {
    /// The way of some rows through the splits of a group, from the root.
    fn new(
        (along, at_split, products): Kept<'a>,
        (plan, group): (&'a Plan, &LeafGroup),
        rule: &'a [Points],
        turns: &'a Turns,
        rows: u8,
    ) -> Result<Self> {
        along.clear();
        along.resize(plan.features.len(), rows);
        at_split.resize(plan.splits.len().max(at_split.len()), 0);
        resize(products, group.n_depths * rule.len())?;
        products[..rule.len()].fill([[1.0; ROWS]; LANES]);
        Ok(Self { splits: &plan.splits, rule, go_left: &turns.go_left, along, at_split, products })
    }
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl TeamWay<'_> {
    /// The rows that go to a side.
    #[inline(always)]
    fn goes(&self, split: usize, side: usize) -> u8 {
        let left = self.go_left[split] as u8;
        if side == 0 { left } else { !left }
    }

    #[inline(always)]
    fn open(&mut self, split: usize) {
        self.at_split[split] = self.along[self.splits[split].feature as usize];
    }

    #[inline(always)]
    fn enter(&mut self, split: usize, side: usize, depth: usize) {
        let (along, way) = (self.at_split[split], self.goes(split, side));
        self.along[self.splits[split].feature as usize] = along & way;
        let n = self.rule.len();
        let (above, below) = self.products[depth * n..].split_at_mut(n);
        follow(self.rule, &self.splits[split], side, &Choice::new(along, way), above, below);
    }

    /// The products of a leaf below a split.
    #[inline(always)]
    fn reach(&self, split: usize, side: usize, depth: usize, choice: &Choice, leaf: &mut [Block]) {
        let above = &self.products[depth * self.rule.len()..];
        follow(self.rule, &self.splits[split], side, choice, above, leaf);
    }

    /// Back at a split that was opened, if it has a subtree.
    #[inline(always)]
    fn close(&mut self, split: usize, children: [Child; 2]) {
        if has_subtree(children) {
            self.along[self.splits[split].feature as usize] = self.at_split[split];
        }
    }
}

/// The products of a child, given the products of its parent.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn follow(rule: &[Points], split: &PlanSplit, side: usize, choice: &Choice, above: &[Block], below: &mut [Block]) {
    let share = split.share[side];
    for ((above, below), points) in above.iter().zip(below).zip(rule) {
        let taken = split.taken(side, points);
        let left = split.left(points).map(|left| left * share);
        for point in 0..LANES {
            let factor = choice.of(taken[point], left[point], share);
            below[point] = times(&above[point], &factor);
        }
    }
}

/// A visit in progress.
struct TeamVisit<'a> {
    way: TeamWay<'a>,
    plan: &'a Plan,
    group: &'a LeafGroup,
    sums: &'a mut [Block],
    edges: &'a mut [Edge; 2],
    waiting: &'a mut Vec<Lanes>,
}

vectorized! {
    /// Follows the steps until many contributions wait; returns how many were followed.
    fn run(visit: &mut TeamVisit<'_>, steps: &mut Steps<'_>) -> usize {
        let mut n_steps = 0;
        while visit.waiting.len() < WAITING
            && let Some(step) = steps.next()
        {
            visit.step(step);
            n_steps += 1;
        }
        n_steps
    }
}

vectorized! {
    /// Follows some steps; returns whether there may be more.
    fn bound(way: &mut TeamWay<'_>, steps: &mut Steps<'_>, tolerances: &[f64], errors: &[Lanes], needed: &mut [usize; ROWS]) -> bool {
        let mut leaf_products = [[ZERO; LANES]];
        // By ellipse and row: the error of the number of points that the row is known to need.
        let mut present = [ZERO; LANES];
        let refresh = |needed: &[usize; ROWS], present: &mut Block| {
            for (ellipse, present) in present.iter_mut().enumerate() {
                *present = needed.map(|n| errors.get(n).map_or(0.0, |errors| errors[ellipse]));
            }
        };
        refresh(needed, &mut present);
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
                        let along = way.along[way.splits[split].feature as usize];
                        let choice = Choice::new(along, way.goes(split, side));
                        way.reach(split, side, depth, &choice, &mut leaf_products);
                        loop {
                            let mut least = [f64::INFINITY; ROWS];
                            for (product, error) in leaf_products[0].iter().zip(&present) {
                                let error = times(product, error);
                                least = std::array::from_fn(|row| if error[row] < least[row] { error[row] } else { least[row] });
                            }
                            let is_short = least.map(|least| least > tolerances[leaf as usize]);
                            if is_short == [false; ROWS] {
                                break;
                            }
                            needed.iter_mut().zip(is_short).for_each(|(needed, is_short)| *needed += usize::from(is_short));
                            refresh(needed, &mut present);
                        }
                    }
                }
            }
        }
        true
    }
}

/// The kinds of children, as constants: a leaf; a subtree whose results are in the place of the
/// split, or in the one behind it.
const NOTHING: u8 = 0;
const LEAF: u8 = 1;
const FIRST: u8 = 2;
const SECOND: u8 = 3;

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl TeamVisit<'_> {
    #[inline(always)]
    fn step(&mut self, step: PlanStep) {
        match step {
            PlanStep::Open { split } => self.way.open(split as usize),
            PlanStep::Enter { split, side, depth } => self.way.enter(split as usize, side as usize, depth as usize),
            PlanStep::Close { split, depth, place, children, present } => {
                let split = split as usize;
                self.way.close(split, children);
                self.measure_edges(split, depth as usize, children);
                let [left, right] = children.map(kind);
                let kinds = [[left, NOTHING], [NOTHING, right], [left, right]];
                let group = self.group;
                for (values, kinds) in group.present(present, children).into_iter().zip(kinds) {
                    let at = TeamClosing { place: place as usize, leaves: children, values };
                    match kinds {
                        _ if values.is_empty() => {}
                        [LEAF, NOTHING] => self.close::<LEAF, NOTHING>(at),
                        [NOTHING, LEAF] => self.close::<NOTHING, LEAF>(at),
                        [LEAF, LEAF] => self.close::<LEAF, LEAF>(at),
                        [FIRST, NOTHING] => self.close::<FIRST, NOTHING>(at),
                        [NOTHING, FIRST] => self.close::<NOTHING, FIRST>(at),
                        [SECOND, NOTHING] => self.close::<SECOND, NOTHING>(at),
                        [NOTHING, SECOND] => self.close::<NOTHING, SECOND>(at),
                        [FIRST, LEAF] => self.close::<FIRST, LEAF>(at),
                        [LEAF, FIRST] => self.close::<LEAF, FIRST>(at),
                        [FIRST, SECOND] => self.close::<FIRST, SECOND>(at),
                        _ => self.close::<SECOND, FIRST>(at),
                    }
                }
            }
        }
    }

    /// Sets the gains of the children of a split, and the products of children that are leaves.
    #[inline(always)]
    fn measure_edges(&mut self, split: usize, depth: usize, children: [Child; 2]) {
        let along = self.way.along[self.way.splits[split].feature as usize];
        for (side, child) in children.into_iter().enumerate() {
            if child == Child::Nothing {
                continue;
            }
            let choice = Choice::new(along, self.way.goes(split, side));
            let Edge { gains, leaf } = &mut self.edges[side];
            for (gains, points) in gains.iter_mut().zip(self.way.rule) {
                let (own, points) = (&self.way.splits[split], points);
                let (taken, left) = (own.gain_taken(side, points), own.gain_left(points));
                for point in 0..LANES {
                    gains[point] = choice.of(taken[point], left[point], 0.0);
                }
            }
            if let Child::Leaf(_) = child {
                self.way.reach(split, side, depth, &choice, leaf);
            }
        }
    }

    #[inline(always)]
    fn close<const LEFT: u8, const RIGHT: u8>(&mut self, at: TeamClosing<'_>) {
        let (n_values, n) = (self.plan.n_values, self.way.rule.len());
        let of_leaves = at.leaves.map(|child| {
            let leaf = if let Child::Leaf(leaf) = child { leaf as usize * n_values } else { 0 };
            &self.group.values[leaf..][..n_values]
        });
        let [left_edge, right_edge] = &*self.edges;
        let (own, behind) = self.sums[at.place * n_values * n..].split_at_mut(n_values * n);
        let first = self.waiting.len();
        self.waiting.resize(first + at.values.len(), ZERO);
        let is_alone = LEFT == NOTHING || RIGHT == NOTHING;
        for block in 0..n {
            for (&value, contribution) in at.values.iter().zip(&mut self.waiting[first..]) {
                let value = value as usize;
                let place = value * n + block;
                let mut gains = [ZERO; LANES];
                for (point, gains) in gains.iter_mut().enumerate() {
                    let of_side = |kind: u8, edge: &Edge, value: f64| {
                        let below = match kind {
                            LEAF => times(&edge.leaf[block][point], &[value; ROWS]),
                            SECOND => behind[place][point],
                            _ => own[place][point],
                        };
                        (below, times(&below, &edge.gains[block][point]))
                    };
                    let (sum, gain) = if is_alone && RIGHT == NOTHING {
                        of_side(LEFT, left_edge, of_leaves[0][value])
                    } else if is_alone {
                        of_side(RIGHT, right_edge, of_leaves[1][value])
                    } else {
                        let left = of_side(LEFT, left_edge, of_leaves[0][value]);
                        let right = of_side(RIGHT, right_edge, of_leaves[1][value]);
                        (plus(&left.0, &right.0), plus(&left.1, &right.1))
                    };
                    // The sums of a subtree alone are in their place if that is the split's.
                    if !is_alone || (LEFT != FIRST && RIGHT != FIRST) {
                        own[place][point] = sum;
                    }
                    *gains = gain;
                }
                *contribution = plus(contribution, &total(&gains));
            }
        }
    }

    /// Adds the waiting contributions, which these steps have computed, to the contributions of the batch.
    ///
    /// The contributions of a large forest do not fit in a cache. While nothing else is done, the
    /// processor fetches many of them at once.
    fn hand_over(&mut self, steps: impl Iterator<Item = PlanStep>, to: &mut Contributions<'_>) {
        let all = to.all.as_chunks_mut::<ROWS>().0;
        let mut waiting = self.waiting.drain(..);
        for step in steps {
            let PlanStep::Close { split, present, children, .. } = step else { continue };
            let number = to.numbers[self.plan.splits[split as usize].feature as usize];
            let of_feature = &mut all[number * self.plan.n_values..][..self.plan.n_values];
            for values in self.group.present(present, children) {
                for (&value, gain) in values.iter().zip(&mut waiting) {
                    let sum = &mut of_feature[value as usize];
                    *sum = plus(sum, &gain);
                }
            }
        }
    }
}

/// A split whose children are finished.
#[derive(Clone, Copy)]
struct TeamClosing<'a> {
    place: usize,
    leaves: [Child; 2],
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

/// The sums over eight points, in the order of [`kernel`](super::kernel).
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
fn total(a: &Block) -> Lanes {
    let four: [Lanes; 4] = std::array::from_fn(|point| plus(&a[point], &a[point + 4]));
    plus(&plus(&four[0], &four[2]), &plus(&four[1], &four[3]))
}
