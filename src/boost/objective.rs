//! What boosting lowers: a loss that is a sum over rows, or Cox's partial likelihood.

use super::by_rows;
use super::cox::RiskSets;
use super::loss::{LeafRows, Loss};
use crate::error::Result;
use crate::runtime::Runtime;

/// A product of shares below this is replaced by its logarithm, before another one makes it 0.
const LEAST_PRODUCT: f64 = 1e-200;

/// What boosting lowers.
pub enum Objective {
    /// The sum of a loss over the rows.
    Rows(Loss),
    /// The negative logarithm of Cox's partial likelihood.
    Cox(RiskSets),
}

/// The rows of training or of validation, and what is predicted for them.
#[derive(Clone, Copy)]
pub struct Predicted<'a> {
    /// The target of each row, or its class.
    pub y: &'a [f64],
    /// Raw predictions, row-major `(n_samples, n_raw)`.
    pub raw: &'a [f64],
    /// The weight of each row; `None` if all are 1.
    pub weights: Option<&'a [f64]>,
    /// The residual from which on Huber's loss is absolute.
    pub delta: f64,
}

/// Second derivatives.
pub enum Curvatures {
    /// The same for all rows.
    Same(f64),
    /// That of each row.
    Each(Vec<f64>),
}

impl Curvatures {
    #[inline]
    pub fn of(&self, row: usize) -> f64 {
        match self {
            Self::Same(curvature) => *curvature,
            Self::Each(curvatures) => curvatures[row],
        }
    }
}

impl Objective {
    /// The raw predictions of a row, and the trees of a round.
    pub fn n_raw(&self) -> usize {
        if let Self::Rows(loss) = self { loss.n_raw() } else { 1 }
    }

    /// Whether [`mean_loss`](Self::mean_loss) is quicker with negative gradients.
    pub fn has_loss_by_pulls(&self) -> bool {
        matches!(self, Self::Rows(loss) if loss.is_log_loss())
    }

    /// The weighted mean of the loss of the rows that count. `pulls` are the negative gradients, if they are
    /// known.
    pub fn mean_loss(&self, rows: Predicted<'_>, pulls: Option<&[Vec<f64>]>, counts: impl Fn(usize) -> bool) -> f64 {
        let Predicted { y, raw, weights, delta } = rows;
        let loss = match self {
            Self::Cox(risks) => return risks.mean_loss(y, raw, weights, counts),
            Self::Rows(loss) => loss,
        };
        if let Some(pulls) = pulls.filter(|_| loss.is_log_loss()) {
            return mean_log_loss(*loss, rows, pulls, counts);
        }
        let n_raw = loss.n_raw();
        let (mut total, mut sum) = (0.0, 0.0);
        for row in (0..y.len()).filter(|&row| counts(row)) {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            total += weight;
            sum += weight * loss.value(y[row], &raw[row * n_raw..][..n_raw], delta);
        }
        sum / total
    }

    /// For each tree of a round, the negative gradient of the loss of each row.
    pub fn pulls(&self, rows: Predicted<'_>, runtime: &Runtime<'_>) -> Result<Vec<Vec<f64>>> {
        let n_raw = self.n_raw();
        let mut pulls = vec![vec![0.0; rows.y.len()]; n_raw];
        let loss = match self {
            Self::Cox(risks) => {
                risks.pulls(rows.y, rows.raw, rows.weights, &mut pulls[0]);
                return Ok(pulls);
            }
            Self::Rows(loss) => *loss,
        };
        let size = by_rows::rows_per_part(rows.y.len(), runtime);
        let mut parts: Vec<Vec<&mut [f64]>> = Vec::new();
        parts.resize_with(rows.y.len().div_ceil(size), Vec::new);
        for of_tree in &mut pulls {
            of_tree.chunks_mut(size).zip(&mut parts).for_each(|(of_part, pulls)| pulls.push(of_part));
        }
        runtime.map(parts.into_iter().enumerate().collect(), |(part, mut pulls)| {
            let mut of_row = vec![0.0; n_raw];
            for at in 0..pulls[0].len() {
                let row = part * size + at;
                loss.pull(rows.y[row], &rows.raw[row * n_raw..][..n_raw], rows.delta, &mut of_row);
                pulls.iter_mut().zip(&of_row).for_each(|(pulls, &pull)| pulls[at] = pull);
            }
            Ok(())
        })?;
        Ok(pulls)
    }

    /// Whether [`curvatures`](Self::curvatures) are second derivatives.
    pub fn has_curvature(&self) -> bool {
        if let Self::Rows(loss) = self { loss.has_curvature() } else { true }
    }

    /// The second derivative of the loss of each row by its raw prediction number `tree`; 1 where there is
    /// none, as for absolute errors. `pulls` are the negative gradients.
    pub fn curvatures(
        &self,
        rows: Predicted<'_>,
        tree: usize,
        pulls: &[f64],
        runtime: &Runtime<'_>,
    ) -> Result<Curvatures> {
        let loss = match self {
            Self::Cox(risks) => {
                let mut curvatures = vec![0.0; pulls.len()];
                risks.curvatures(rows.y, rows.raw, rows.weights, &mut curvatures);
                return Ok(Curvatures::Each(curvatures));
            }
            Self::Rows(loss) if loss.is_quadratic() || !loss.has_curvature() => return Ok(Curvatures::Same(1.0)),
            Self::Rows(loss) => *loss,
        };
        let mut curvatures = vec![0.0; pulls.len()];
        by_rows::for_each_part(&mut curvatures, 1, runtime, |first, curvatures| {
            for (row, curvature) in (first..).zip(curvatures) {
                *curvature = loss.curvature(rows.y[row], rows.raw[row * loss.n_raw() + tree], pulls[row], tree);
            }
        })?;
        Ok(Curvatures::Each(curvatures))
    }

    /// What a leaf adds to raw prediction `tree` of its rows. `rows` are the rows with a weight above 0.
    ///
    /// In Cox's likelihood, leaves depend on each other through the rows at risk, so that there is no best
    /// constant of one leaf: it is the mean of the negative gradient, as in gradient descent.
    pub fn leaf_value(&self, rows: &LeafRows<'_>, tree: usize, delta: f64) -> f64 {
        match self {
            Self::Cox(_) => rows.mean_pull(),
            Self::Rows(loss) => loss.leaf_value(rows, tree, delta),
        }
    }
}

/// The weighted mean of a log loss of the rows that count. Of the product of many shares one logarithm is
/// taken.
fn mean_log_loss(loss: Loss, rows: Predicted<'_>, pulls: &[Vec<f64>], counts: impl Fn(usize) -> bool) -> f64 {
    let Predicted { y, raw, weights, .. } = rows;
    let n_raw = loss.n_raw();
    let (mut total, mut sum, mut product) = (0.0, 0.0, 1.0_f64);
    for row in (0..y.len()).filter(|&row| counts(row)) {
        let of_row = &raw[row * n_raw..][..n_raw];
        let (difference, share) = loss.parts_of_log_loss(y[row], of_row, |class| pulls[class][row]);
        if let Some(weights) = weights {
            total += weights[row];
            sum += weights[row] * (difference - share.ln());
        } else {
            total += 1.0;
            sum += difference;
            product *= share;
            if product < LEAST_PRODUCT {
                sum -= product.ln();
                product = 1.0;
            }
        }
    }
    (sum - product.ln()) / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_losses_by_gradients_are_the_same() {
        let runtime = Runtime::unstoppable();
        for (loss, n_classes) in [(Loss::LogLoss, 2), (Loss::LogLossOfClasses { n_classes: 5 }, 5)] {
            let (n, n_raw) = (3000, loss.n_raw());
            let y: Vec<f64> = (0..n).map(|row| f64::from(row % n_classes)).collect();
            // Near 0 and far from it, right and wrong.
            let raw: Vec<f64> = (0..n as usize * n_raw).map(|at| ((at * 37 % 101) as f64 - 50.0) * 0.9).collect();
            let weights: Vec<f64> = (0..n).map(|row| 0.5 + f64::from(row % 3)).collect();
            let objective = Objective::Rows(loss);
            for weights in [None, Some(&weights[..])] {
                let rows = Predicted { y: &y, raw: &raw, weights, delta: 0.0 };
                let pulls = objective.pulls(rows, &runtime).unwrap();
                for counts in [|_| true, |row| row % 7 == 0] {
                    let expected = objective.mean_loss(rows, None, counts);
                    let found = objective.mean_loss(rows, Some(&pulls), counts);
                    assert!((found - expected).abs() <= 1e-13 * expected, "{found} {expected}");
                }
            }
        }
    }
}
