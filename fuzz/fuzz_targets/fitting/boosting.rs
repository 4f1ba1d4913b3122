//! Boosting of a case: its losses, engines and draws are chosen by bytes.

use spinney::boost::{Draw, Loss, Objective, RiskSets, RoundLosses, Rounds, Settings};
use spinney::data::{Dataset, Target};
use spinney::error::Result;
use spinney::forest::Forest;
use spinney::params::{Bootstrap, Count, CriterionKind, ForestParams, TreeParams};
use spinney::runtime::Runtime;

use super::cases::Case;
use super::engine::common::{Y, noise};

/// What is boosted.
pub struct Boosting {
    /// By row, the target or the number of its class.
    y: Vec<f64>,
    kind: Kind,
    target: Target,
    params: ForestParams,
    n_rounds: usize,
    /// As in [`Settings`].
    l2: Option<f64>,
    max_bins: Option<usize>,
    dropout_rate: f64,
    has_bags: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Rows(Loss),
    Cox,
}

impl Boosting {
    /// The first output of a case; none if its weights or its numbers are refused.
    pub fn of(case: &Case) -> Option<Self> {
        let [.., way, rounds, loss] = case.choices;
        let (way, rounds, loss) = (usize::from(way), usize::from(rounds), usize::from(loss));
        let (y, kind): (Vec<f64>, Kind) = match &case.y {
            Y::Classes { values, n_classes } => {
                let y = values.iter().step_by(n_classes.len()).map(|&class| class.into()).collect();
                let of_two = [Loss::LogLoss, Loss::Exponential][loss % 2];
                let n_classes = n_classes[0] as usize;
                (y, Kind::Rows(if n_classes > 2 { Loss::LogLossOfClasses { n_classes } } else { of_two }))
            }
            Y::Numbers { values, n_outputs } => {
                let level = [0.5, 0.9, 0.25][loss / 16 % 3];
                let kinds = [
                    Kind::Rows(Loss::SquaredError),
                    Kind::Rows(Loss::AbsoluteError),
                    Kind::Rows(Loss::Huber { level }),
                    Kind::Rows(Loss::Quantile { level }),
                    Kind::Rows(Loss::Deviance { power: 1.0 }),
                    Kind::Rows(Loss::Deviance { power: 1.5 }),
                    Kind::Rows(Loss::Deviance { power: 2.0 }),
                    Kind::Rows(Loss::SquaredErrorOfLogs),
                    Kind::Cox,
                ];
                let kind = kinds[loss % kinds.len()];
                let number = |&value: &f64| match kind {
                    Kind::Rows(Loss::Deviance { .. }) => value.abs().clamp(0.5, 1e6),
                    // Some times are censored.
                    Kind::Cox | Kind::Rows(Loss::SquaredErrorOfLogs) => value.clamp(-1e6, 1e6) + 0.5,
                    Kind::Rows(_) => value,
                };
                (values.iter().step_by(*n_outputs).map(number).collect(), kind)
            }
        };
        let target = Target::regression(&y, 1, case.weights.as_deref()).ok()?;
        // The engine of second derivatives has bins of its own, and knows nothing of some parameters.
        let l2 = [None, None, Some(0.0), Some(1.0)][way % 4];
        let max_bins = l2.and([None, Some(255), Some(3)][way / 4 % 3]);
        let mut tree = TreeParams { criterion: CriterionKind::SquaredError, ..case.params.tree.clone() };
        if l2.is_some() || tree.interaction_cst.is_some() {
            tree.min_weight_fraction_leaf = 0.0;
            tree.min_samples_category = 1;
        }
        tree.min_impurity_decrease = 0.0;
        if !matches!(tree.min_samples_leaf, Count::Absolute(_)) {
            tree.min_samples_leaf = Count::Absolute(1);
        }
        if tree.max_depth.is_none() && way >= 128 {
            tree.max_depth = Some(3);
        }
        let params = ForestParams { first_tree: 0, bootstrap: Bootstrap::None, n_estimators: 1, ..case.params.clone() };
        Some(Self {
            y,
            kind,
            target,
            params: ForestParams { tree, ..params },
            n_rounds: 1 + rounds % 4,
            l2,
            max_bins,
            dropout_rate: [0.0, 0.0, 0.5][rounds / 4 % 3],
            has_bags: rounds >= 128,
        })
    }

    /// Whether raw predictions may leave the numbers: means are powers of them.
    pub fn may_overflow(&self) -> bool {
        matches!(self.kind, Kind::Rows(Loss::Deviance { .. }))
    }

    /// The trees, and the mean losses of all rounds.
    pub fn grow(&self, case: &Case, data: &Dataset, runtime: &Runtime<'_>) -> Result<(Forest, Vec<RoundLosses>)> {
        let n = self.y.len();
        let valid = self.params.check(n, case.x.ncols())?;
        let objective = match self.kind {
            Kind::Rows(loss) => Objective::Rows(loss),
            Kind::Cox => Objective::Cox(RiskSets::new(&self.y)),
        };
        let n_raw = objective.n_raw();
        let settings = Settings {
            objective,
            learning_rate: 0.3,
            l2: self.l2,
            max_bins: self.max_bins,
            dropout_rate: self.dropout_rate,
        };
        let zeros = vec![0.0; n * n_raw];
        let given = (data.clone(), self.target.clone());
        let start = (zeros.clone(), zeros);
        let mut rounds = Rounds::new(given, valid, settings, self.y.clone(), start, Vec::new(), runtime)?;
        let mut losses = Vec::new();
        for round in 0..self.n_rounds {
            let seeds: Vec<u64> = (0..n_raw).map(|tree| case.seed + (round * n_raw + tree) as u64).collect();
            let mut in_bag: Vec<bool> = (0..n).map(|row| noise(case.seed ^ round as u64, row) < 0.6).collect();
            // At least one row of positive weight.
            in_bag[self.target.weighted_samples()[0] as usize] = true;
            let draw = Draw { seeds: &seeds, in_bag: self.has_bags.then_some(&in_bag), has_losses: true };
            losses.push(rounds.advance(&draw, runtime)?);
        }
        Ok((Forest::new(rounds.take_members())?, losses))
    }
}
