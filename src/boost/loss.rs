//! The losses that boosting lowers: values, negative gradients, and what a leaf adds to the raw
//! predictions of its rows. Formulas and limits are scikit-learn's, half the squared error and half the
//! deviance included, so that trees are comparable.

/// A loss as a function of a target and of its raw predictions, one for each tree of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Half the squared error.
    SquaredError,
    /// Half the squared error of the logarithm of a time. A time that is negative (or minus zero) is
    /// censored: it has no error where a later time is predicted.
    SquaredErrorOfLogs,
    /// The absolute error.
    AbsoluteError,
    /// Squared for small residuals and absolute for others; what is small is the quantile of this level of
    /// all absolute residuals (Friedman 2001, section 4.4).
    Huber {
        /// Between 0 and 1.
        level: f64,
    },
    /// The pinball loss, lowest at the quantile of this level.
    Quantile {
        /// Between 0 and 1.
        level: f64,
    },
    /// Half the deviance of a variance in proportion to this power of the mean, whose logarithm is
    /// predicted: 1 for counts (Poisson), 2 for gamma distributions, between for sums of gammas
    /// (Tweedie), above 2 for heavier tails.
    Deviance {
        /// At least 1.
        power: f64,
    },
    /// The log loss of two classes, 0 and 1; the raw prediction is the logit of class 1.
    LogLoss,
    /// The log loss of classes, numbered from 0 on, with a raw prediction for each.
    LogLossOfClasses {
        /// At least 3.
        n_classes: usize,
    },
    /// The exponential loss of two classes, which `AdaBoost` lowers.
    Exponential,
}

/// Denominators below this are taken for 0, and then a leaf adds nothing.
const LEAST_DENOMINATOR: f64 = 1e-150;

impl Loss {
    /// The raw predictions of a row, and the trees of a round.
    pub fn n_raw(self) -> usize {
        if let Self::LogLossOfClasses { n_classes } = self { n_classes } else { 1 }
    }

    /// The loss of a row.
    pub fn value(self, y: f64, raw: &[f64], delta: f64) -> f64 {
        let z = raw[0];
        match self {
            Self::SquaredError => 0.5 * (y - z) * (y - z),
            Self::SquaredErrorOfLogs => 0.5 * error_of_log(y, z).powi(2),
            Self::AbsoluteError => (y - z).abs(),
            Self::Huber { .. } => {
                let distance = (y - z).abs();
                if distance <= delta { 0.5 * distance * distance } else { delta * (distance - 0.5 * delta) }
            }
            Self::Quantile { level } => {
                if y >= z {
                    level * (y - z)
                } else {
                    (1.0 - level) * (z - y)
                }
            }
            Self::Deviance { power: 1.0 } => z.exp() - y * z,
            Self::Deviance { power: 2.0 } => z + y * (-z).exp(),
            Self::Deviance { power } => {
                ((2.0 - power) * z).exp() / (2.0 - power) - y * ((1.0 - power) * z).exp() / (1.0 - power)
            }
            Self::LogLoss => log_1p_exp(z) - y * z,
            Self::LogLossOfClasses { .. } => {
                let largest = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                largest + raw.iter().map(|z| (z - largest).exp()).sum::<f64>().ln() - raw[y as usize]
            }
            Self::Exponential => y * (-z).exp() + (1.0 - y) * z.exp(),
        }
    }

    /// Whether [`parts_of_log_loss`](Self::parts_of_log_loss) has the loss.
    pub fn is_log_loss(self) -> bool {
        matches!(self, Self::LogLoss | Self::LogLossOfClasses { .. })
    }

    /// The log loss of a row as a number less the logarithm of a share, given the negative gradients, so that
    /// it takes no exponential function, and a sum of losses few logarithms. The share is that of the class
    /// with the largest raw prediction, so it is not near 0.
    pub fn parts_of_log_loss(self, y: f64, raw: &[f64], pull: impl Fn(usize) -> f64) -> (f64, f64) {
        if raw.len() == 1 {
            // Of the class of the row it is 1 less the distance.
            let distance = pull(0).abs();
            return (raw[0].max(0.0) - y * raw[0], distance.max(1.0 - distance));
        }
        let largest = (1..raw.len()).fold(0, |largest, class| if raw[class] > raw[largest] { class } else { largest });
        let is_class = f64::from(u8::from(largest == y as usize));
        (raw[largest] - raw[y as usize], is_class - pull(largest))
    }

    /// Sets `pulls[k]` to the negative gradient of the loss of a row by raw prediction `k`.
    pub fn pull(self, y: f64, raw: &[f64], delta: f64, pulls: &mut [f64]) {
        let z = raw[0];
        pulls[0] = match self {
            Self::SquaredError => y - z,
            Self::SquaredErrorOfLogs => error_of_log(y, z),
            Self::AbsoluteError => {
                if z > y {
                    -1.0
                } else {
                    1.0
                }
            }
            Self::Huber { .. } => (y - z).clamp(-delta, delta),
            Self::Quantile { level } => {
                if y >= z {
                    level
                } else {
                    level - 1.0
                }
            }
            Self::Deviance { power: 1.0 } => y - z.exp(),
            Self::Deviance { power: 2.0 } => y * (-z).exp() - 1.0,
            Self::Deviance { power } => y * ((1.0 - power) * z).exp() - ((2.0 - power) * z).exp(),
            Self::LogLoss if z > -37.0 => {
                let odds = (-z).exp();
                (y * odds - (1.0 - y)) / (1.0 + odds)
            }
            Self::LogLoss => y - z.exp(),
            Self::Exponential => y * (-z).exp() - (1.0 - y) * z.exp(),
            Self::LogLossOfClasses { .. } => {
                let largest = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mut total = 0.0;
                for (pull, z) in pulls.iter_mut().zip(raw) {
                    *pull = (z - largest).exp();
                    total += *pull;
                }
                for (class, pull) in pulls.iter_mut().enumerate() {
                    *pull = f64::from(u8::from(class == y as usize)) - *pull / total;
                }
                return;
            }
        };
    }

    /// What a leaf adds to raw prediction `tree` of its rows: the constant that lowers the loss of the rows
    /// most, or one step of Newton towards it. `rows` are the rows with a weight above 0.
    pub fn leaf_value(self, rows: &LeafRows<'_>, tree: usize, delta: f64) -> f64 {
        match self {
            Self::SquaredError | Self::SquaredErrorOfLogs => rows.mean_pull(),
            Self::AbsoluteError => rows.quantile(0.5, |row| rows.residual(row)),
            Self::Quantile { level } => rows.quantile(level, |row| rows.residual(row)),
            Self::Huber { .. } => {
                let median = rows.quantile(0.5, |row| rows.residual(row));
                median + rows.mean(|row| (rows.residual(row) - median).clamp(-delta, delta))
            }
            // The factor is Friedman's (2001, algorithm 6).
            Self::LogLossOfClasses { n_classes } => rows.newton((n_classes - 1) as f64 / n_classes as f64, |row| {
                self.curvature(rows.y[row], 0.0, rows.pull(row), tree)
            }),
            _ => rows.newton(1.0, |row| self.curvature(rows.y[row], rows.raw[row], rows.pull(row), tree)),
        }
    }

    /// Whether the second derivative is 1 for all rows.
    pub fn is_quadratic(self) -> bool {
        matches!(self, Self::SquaredError)
    }

    /// Whether [`curvature`](Self::curvature) is the second derivative.
    pub fn has_curvature(self) -> bool {
        !matches!(self, Self::AbsoluteError | Self::Huber { .. } | Self::Quantile { .. })
    }

    /// The second derivative of the loss by the raw prediction `raw` of tree number `tree`; 1 where there is
    /// none, as for absolute errors. `pull` is the negative gradient.
    pub fn curvature(self, y: f64, raw: f64, pull: f64, tree: usize) -> f64 {
        match self {
            Self::SquaredError | Self::AbsoluteError | Self::Huber { .. } | Self::Quantile { .. } => 1.0,
            Self::SquaredErrorOfLogs => f64::from(u8::from(!is_past(y, raw))),
            Self::Deviance { power: 1.0 } => y - pull,
            Self::Deviance { power: 2.0 } => pull + 1.0,
            Self::Deviance { power } => {
                (2.0 - power) * ((2.0 - power) * raw).exp() + (power - 1.0) * y * ((1.0 - power) * raw).exp()
            }
            Self::LogLoss => variance(y - pull),
            Self::LogLossOfClasses { .. } => variance(f64::from(u8::from(y as usize == tree)) - pull),
            Self::Exponential => pull.abs(),
        }
    }
}

/// What the logarithm of a time is above a raw prediction; 0 if a censored time is past.
fn error_of_log(y: f64, raw: f64) -> f64 {
    if is_past(y, raw) { 0.0 } else { y.abs().ln() - raw }
}

/// Whether the time is censored, and a later one is predicted.
fn is_past(y: f64, raw: f64) -> bool {
    y.is_sign_negative() && raw >= y.abs().ln()
}

fn variance(share: f64) -> f64 {
    share * (1.0 - share)
}

/// The logarithm of `1 + exp(x)`, without loss of digits or overflow (M. Mächler, "Accurately computing
/// log(1 - exp(-|a|))", 2012).
fn log_1p_exp(x: f64) -> f64 {
    if x <= -37.0 {
        x.exp()
    } else if x <= -2.0 {
        x.exp().ln_1p()
    } else if x <= 18.0 {
        (1.0 + x.exp()).ln()
    } else if x <= 33.3 {
        x + (-x).exp()
    } else {
        x
    }
}

/// The rows of a leaf that a tree was grown on, and what is known of all rows.
#[derive(Clone, Copy)]
pub struct LeafRows<'a> {
    /// Not empty, with weights above 0.
    pub rows: &'a [u32],
    /// The target of each row, or its class.
    pub y: &'a [f64],
    /// If there is one raw prediction for each row, that.
    pub raw: &'a [f64],
    /// The negative gradient of each row that the tree was grown by.
    pub pulls: &'a [f64],
    /// The weight of each row; `None` if all are 1.
    pub weights: Option<&'a [f64]>,
}

impl LeafRows<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    fn pull(&self, row: usize) -> f64 {
        self.pulls[row]
    }

    fn residual(&self, row: usize) -> f64 {
        self.y[row] - self.raw[row]
    }

    /// The sums of weights and of weights times values.
    fn sums(&self, value: impl Fn(usize) -> f64) -> (f64, f64) {
        let Some(weights) = self.weights else {
            return (self.rows.len() as f64, self.rows.iter().fold(0.0, |sum, &row| sum + value(row as usize)));
        };
        self.rows.iter().fold((0.0, 0.0), |(total, sum), &row| {
            let weight = weights[row as usize];
            (total + weight, weight.mul_add(value(row as usize), sum))
        })
    }

    /// The mean of the negative gradient.
    pub fn mean_pull(&self) -> f64 {
        self.mean(|row| self.pull(row))
    }

    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        let (total, sum) = self.sums(value);
        sum / total
    }

    /// The mean of the negative gradient, times a factor, over the mean of a second derivative.
    fn newton(&self, factor: f64, curvature: impl Fn(usize) -> f64) -> f64 {
        let denominator = self.mean(curvature);
        if denominator.abs() < LEAST_DENOMINATOR {
            return 0.0;
        }
        factor * self.mean_pull() / denominator
    }

    /// The least value up to which the share of the weight is at least `level`. O(rows log(rows)), or O(rows)
    /// if all weights are 1.
    pub fn quantile(&self, level: f64, value: impl Fn(usize) -> f64) -> f64 {
        let share = 100.0 * level / 100.0;
        if self.weights.is_none() {
            let mut values: Vec<f64> = self.rows.iter().map(|&row| value(row as usize)).collect();
            let place = (share * values.len() as f64).ceil().max(1.0) as usize - 1;
            let place = place.min(values.len() - 1);
            return *values.select_nth_unstable_by(place, f64::total_cmp).1;
        }
        let mut values: Vec<(f64, f64)> =
            self.rows.iter().map(|&row| (value(row as usize), self.weight(row as usize))).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|&(_, weight)| weight).sum();
        let mut below = 0.0;
        for &(value, weight) in &values {
            below += weight;
            if below >= share * total {
                return value;
            }
        }
        values[values.len() - 1].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Loss, &[f64]); 11] = [
        (Loss::SquaredError, &[-2.0, 0.5, 3.0]),
        (Loss::SquaredErrorOfLogs, &[-2.0, 0.5, 3.0]),
        (Loss::AbsoluteError, &[-2.0, 0.5, 3.0]),
        (Loss::Huber { level: 0.9 }, &[-2.0, 0.5, 3.0]),
        (Loss::Quantile { level: 0.3 }, &[-2.0, 0.5, 3.0]),
        (Loss::Deviance { power: 1.0 }, &[0.0, 1.0, 7.0]),
        (Loss::Deviance { power: 2.0 }, &[0.1, 1.0, 7.0]),
        (Loss::Deviance { power: 1.5 }, &[0.0, 1.0, 7.0]),
        (Loss::LogLoss, &[0.0, 1.0]),
        (Loss::LogLossOfClasses { n_classes: 3 }, &[0.0, 1.0, 2.0]),
        (Loss::Exponential, &[0.0, 1.0]),
    ];

    #[test]
    fn pulls_are_negative_slopes() {
        for (loss, targets) in ALL {
            for &y in targets {
                for z in [-1.3, 0.4, 2.2] {
                    let raw: Vec<f64> = (0..loss.n_raw()).map(|k| z + 0.7 * k as f64).collect();
                    let mut pulls = vec![0.0; raw.len()];
                    loss.pull(y, &raw, 1.5, &mut pulls);
                    for k in 0..raw.len() {
                        let at = |step: f64| {
                            let mut raw = raw.clone();
                            raw[k] += step;
                            loss.value(y, &raw, 1.5)
                        };
                        let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                        assert!((pulls[k] + slope).abs() < 1e-7, "{loss:?} of {y} at {raw:?}: {} {slope}", pulls[k]);
                    }
                }
            }
        }
    }

    #[test]
    fn leaves_lower_the_loss() {
        let n = 40;
        let rows: Vec<u32> = (0..n).collect();
        for weights in [None, Some((0..n).map(|row| f64::from(1 + row % 3)).collect::<Vec<_>>())] {
            for (loss, targets) in ALL {
                let y: Vec<f64> = (0..n as usize).map(|row| targets[row * 7 % 5 % targets.len()]).collect();
                let n_raw = loss.n_raw();
                let start = vec![0.3; y.len() * n_raw];
                let mut pulls = vec![0.0; y.len() * n_raw];
                for ((&y, start), pulls) in y.iter().zip(start.chunks(n_raw)).zip(pulls.chunks_mut(n_raw)) {
                    loss.pull(y, start, 1.5, pulls);
                }
                let cost = |tree: usize, step: f64| -> f64 {
                    let one = |row: usize| {
                        let mut raw = start[row * n_raw..(row + 1) * n_raw].to_vec();
                        raw[tree] += step;
                        weights.as_ref().map_or(1.0, |weights| weights[row]) * loss.value(y[row], &raw, 1.5)
                    };
                    (0..y.len()).map(one).sum()
                };
                for tree in 0..n_raw {
                    let pulls: Vec<f64> = pulls.iter().skip(tree).step_by(n_raw).copied().collect();
                    let leaf = LeafRows { rows: &rows, y: &y, raw: &start, pulls: &pulls, weights: weights.as_deref() };
                    let value = loss.leaf_value(&leaf, tree, 1.5);
                    assert!(cost(tree, value) < cost(tree, 0.0), "{loss:?}, tree {tree}: {value}");
                }
            }
        }
    }

    #[test]
    fn quantiles_are_lower_ones() {
        let (y, raw, pulls) = ([5.0, 1.0, 4.0, 2.0, 3.0], [0.0; 5], [0.0; 5]);
        let quantile = |rows: &[u32], weights: Option<&[f64]>, level| {
            LeafRows { rows, y: &y, raw: &raw, pulls: &pulls, weights }.quantile(level, |row| y[row])
        };
        for (level, expected) in [(0.01, 1.0), (0.2, 1.0), (0.21, 2.0), (0.5, 3.0), (1.0, 5.0)] {
            assert_eq!(quantile(&[0, 1, 2, 3, 4], None, level), expected);
            assert_eq!(quantile(&[0, 1, 2, 3, 4], Some(&[2.0; 5]), level), expected);
        }
        assert_eq!(quantile(&[0, 1, 2], Some(&[1.0, 1.0, 3.0, 9.0, 9.0]), 0.5), 4.0);
    }
}
