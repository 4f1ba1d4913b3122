//! The first principal component of the class shares of categories: an order of categories for more
//! than two classes (Coppersmith, Hong & Hosking, "Partitioning nominal attributes in decision
//! trees", Data Mining and Knowledge Discovery 3, 1999).

use std::ops::Range;

use smallvec::SmallVec;

/// The number of steps of the power iteration: far more than it takes to tell most categories
/// apart.
const N_STEPS: usize = 16;

/// A number for each category, or for each class.
type Numbers = SmallVec<[f64; 16]>;

/// The weights of the classes of some categories. Only weights above 0 are kept, so there is at most one for
/// each row.
#[derive(Debug, Default)]
pub struct ClassWeights {
    /// Class by class: the categories that have the class, the weight of the class there, and its
    /// share of the category.
    categories: SmallVec<[u32; 64]>,
    weights: SmallVec<[f64; 64]>,
    shares: SmallVec<[f64; 64]>,
    /// For each class, the end of its weights.
    ends: SmallVec<[usize; 8]>,
    /// For each class its mean share, and its part of an axis.
    means: Numbers,
    axis: Numbers,
    /// For each category its weight, and its coordinate along the axis.
    totals: Numbers,
    coordinates: Numbers,
}

impl ClassWeights {
    /// Removes all classes, and keeps the memory.
    pub fn clear(&mut self) {
        self.categories.clear();
        self.weights.clear();
        self.ends.clear();
    }

    /// The number of classes that were pushed.
    pub fn n_classes(&self) -> usize {
        self.ends.len()
    }

    /// Adds a class, given its weight in each category, in the order of the categories.
    pub fn push_class(&mut self, weights: impl Iterator<Item = f64>) {
        for (category, weight) in (0..).zip(weights).filter(|&(_, weight)| weight > 0.0) {
            self.categories.push(category);
            self.weights.push(weight);
        }
        self.ends.push(self.weights.len());
    }

    /// The coordinate of each category along the first principal component of the categories' class
    /// shares. The method is power iteration, without making the covariance matrix. The start and
    /// the order of all operations are fixed, so that the bits are always the same. O(weights) per
    /// step.
    pub fn component(&mut self, n_categories: usize) -> &[f64] {
        self.begin(n_categories);
        for _ in 0..N_STEPS {
            self.project();
            if self.turn() {
                break;
            }
        }
        self.project();
        &self.coordinates
    }

    /// Computes shares and their means, and sets the first axis.
    fn begin(&mut self, n_categories: usize) {
        let Self { categories, weights, shares, ends, means, axis, totals, coordinates } = self;
        coordinates.resize(n_categories, 0.0);
        totals.clear();
        totals.resize(n_categories, 0.0);
        for (&category, weight) in categories.iter().zip(&*weights) {
            totals[category as usize] += weight;
        }
        let total: f64 = totals.iter().sum();
        let share = |(&category, weight): (&u32, &f64)| weight / totals[category as usize];
        shares.clear();
        shares.extend(categories.iter().zip(&*weights).map(share));
        means.clear();
        means.extend(classes(ends).map(|class| weights[class].iter().sum::<f64>() / total));
        // The parts of the first axis differ: along an axis of equal parts all categories have the
        // same coordinate, as class shares add up to 1.
        axis.clear();
        axis.extend((0..ends.len()).map(|class| 1.0 / (class + 1) as f64));
    }

    /// Computes the coordinates along the axis.
    fn project(&mut self) {
        let Self { categories, shares, ends, means, axis, coordinates, .. } = self;
        coordinates.fill(0.0);
        for (part, class) in axis.iter().zip(classes(ends)) {
            for (&category, share) in categories[class.clone()].iter().zip(&shares[class]) {
                coordinates[category as usize] += part * share;
            }
        }
        let center: f64 = axis.iter().zip(&*means).map(|(part, mean)| part * mean).sum();
        coordinates.iter_mut().for_each(|coordinate| *coordinate -= center);
    }

    /// Turns the axis to where the coordinates point. Returns whether it has come to rest.
    fn turn(&mut self) -> bool {
        let Self { categories, weights, ends, axis, coordinates, .. } = self;
        // The coordinates are centered, so the shares need not be.
        let part = |class: Range<usize>| -> f64 {
            let pairs = categories[class.clone()].iter().zip(&weights[class]);
            pairs.map(|(&category, weight)| weight * coordinates[category as usize]).sum()
        };
        let mut next: Numbers = classes(ends).map(part).collect();
        let largest =
            next.iter().fold(0.0, |largest: f64, part| if part.abs() > largest.abs() { *part } else { largest });
        if largest != 0.0 {
            // Dividing by the part that is largest in absolute value also fixes the sign.
            next.iter_mut().for_each(|part| *part /= largest);
        }
        let is_fixed = next == *axis;
        axis.copy_from_slice(&next);
        largest == 0.0 || is_fixed
    }
}

/// Where the weights of each class are, given their ends.
fn classes(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    std::iter::once(0).chain(ends.iter().copied()).zip(ends).map(|(start, &end)| start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_lie_along_the_direction_in_which_their_shares_differ() {
        let mut weights = ClassWeights::default();
        // The second and the third class change places from category to category; the first stays.
        weights.push_class([2.0, 2.0, 2.0, 2.0].into_iter());
        weights.push_class([8.0, 0.0, 2.0, 5.0].into_iter());
        weights.push_class([0.0, 8.0, 6.0, 3.0].into_iter());
        let coordinates = weights.component(4).to_vec();
        let slope = (coordinates[1] - coordinates[0]) / 0.8;
        for (category, share) in [(0, 0.0), (1, 0.8), (2, 0.6), (3, 0.3)] {
            assert!((coordinates[category] - coordinates[0] - slope * share).abs() < 1e-9, "{coordinates:?}");
        }
        assert!(slope.abs() > 1.0);
        weights.clear();
        weights.push_class([1.0, 1.0].into_iter());
        weights.push_class([1.0, 1.0].into_iter());
        weights.push_class([1.0, 1.0].into_iter());
        assert!(weights.component(2).iter().all(|&coordinate| coordinate.abs() < 1e-12));
    }
}
