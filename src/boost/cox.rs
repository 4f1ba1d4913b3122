//! Cox's partial likelihood, by which boosting learns the logarithms of relative hazards (D. R. Cox,
//! "Regression models and life-tables", Journal of the Royal Statistical Society B 34, 1972; of ties as
//! N. Breslow, "Covariance analysis of censored survival data", Biometrics 30, 1974; its gradient: G.
//! Ridgeway, "The state of boosting", Computing Science and Statistics 31, 1999).
//!
//! A target is the time of a row, negative (or minus zero) if it is censored.

use std::cmp::Ordering;

use crate::num::sort_by;

/// The rows by their times, which tell who is at risk when.
pub struct RiskSets {
    /// All rows, the latest times first.
    order: Vec<u32>,
}

/// The sums of a row over the events up to its time.
#[derive(Clone, Copy, Default)]
struct Exposure {
    /// Of the weight of the event over the weighted hazard of the rows at risk.
    first: f64,
    /// Of that weight over the square of the hazard.
    second: f64,
}

impl RiskSets {
    /// Sorts the rows. O(rows log(rows)).
    pub fn new(y: &[f64]) -> Self {
        let mut order: Vec<u32> = (0..y.len() as u32).collect();
        let time = |row: u32| y[row as usize].abs();
        sort_by(&mut order, |a, b| time(b).total_cmp(&time(a)).then(a.cmp(&b)));
        Self { order }
    }

    /// The negative logarithm of the partial likelihood of the rows that count, over their weight.
    pub fn mean_loss(&self, y: &[f64], raw: &[f64], weights: Option<&[f64]>, counts: impl Fn(usize) -> bool) -> f64 {
        let weight = |row: usize| if counts(row) { weights.map_or(1.0, |weights| weights[row]) } else { 0.0 };
        let highest = highest(raw);
        let (mut at_risk, mut sum, mut total) = (0.0, 0.0, 0.0);
        self.visit_times(y, |rows| {
            for &row in rows {
                let row = row as usize;
                at_risk += weight(row) * (raw[row] - highest).exp();
                total += weight(row);
            }
            for &row in rows {
                let row = row as usize;
                if is_event(y[row]) && weight(row) > 0.0 {
                    sum += weight(row) * (at_risk.ln() + highest - raw[row]);
                }
            }
        });
        sum / total
    }

    /// Sets `pulls` to the negative gradient of the loss of each row, per weight: whether it has an event,
    /// less the events that its relative hazard lets expect up to its time.
    pub fn pulls(&self, y: &[f64], raw: &[f64], weights: Option<&[f64]>, pulls: &mut [f64]) {
        self.visit_exposures(y, raw, weights, |row, hazard, exposure| {
            pulls[row] = f64::from(u8::from(is_event(y[row]))) - hazard * exposure.first;
        });
    }

    /// Sets `curvatures` to the second derivative of the loss by each raw prediction, per weight.
    pub fn curvatures(&self, y: &[f64], raw: &[f64], weights: Option<&[f64]>, curvatures: &mut [f64]) {
        self.visit_exposures(y, raw, weights, |row, hazard, exposure| {
            // Below 0 only for rows of a weight below 1 that are alone at risk.
            curvatures[row] = (hazard * exposure.first - hazard * hazard * exposure.second).max(0.0);
        });
    }

    /// Visits each row with its relative hazard, in units that its exposure has, too.
    fn visit_exposures(
        &self,
        y: &[f64],
        raw: &[f64],
        weights: Option<&[f64]>,
        mut visit: impl FnMut(usize, f64, Exposure),
    ) {
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let highest = highest(raw);
        let hazard = |row: usize| (raw[row] - highest).exp();
        // For each time, the latest first: its end in the order, and what its events add to exposures.
        let mut times: Vec<(usize, Exposure)> = Vec::new();
        let (mut at_risk, mut end) = (0.0, 0);
        self.visit_times(y, |rows| {
            let mut of_events = 0.0;
            for &row in rows {
                let row = row as usize;
                at_risk += weight(row) * hazard(row);
                of_events += if is_event(y[row]) { weight(row) } else { 0.0 };
            }
            end += rows.len();
            let first = if of_events > 0.0 { of_events / at_risk } else { 0.0 };
            let second = if of_events > 0.0 { first / at_risk } else { 0.0 };
            times.push((end, Exposure { first, second }));
        });
        let mut exposure = Exposure::default();
        for (place, &(end, added)) in times.iter().enumerate().rev() {
            exposure.first += added.first;
            exposure.second += added.second;
            let start = if place == 0 { 0 } else { times[place - 1].0 };
            for &row in &self.order[start..end] {
                visit(row as usize, hazard(row as usize), exposure);
            }
        }
    }

    /// Visits the rows of each time, the latest first.
    fn visit_times(&self, y: &[f64], visit: impl FnMut(&[u32])) {
        let same = |a: &u32, b: &u32| y[*a as usize].abs().total_cmp(&y[*b as usize].abs()) == Ordering::Equal;
        self.order.chunk_by(same).for_each(visit);
    }
}

/// Whether the time of a row ends with an event.
fn is_event(y: f64) -> bool {
    y.is_sign_positive()
}

/// The highest raw prediction, which exponentials are taken below so that they do not overflow.
fn highest(raw: &[f64]) -> f64 {
    raw.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const Y: [f64; 9] = [3.0, -1.0, 2.0, 2.0, -2.0, 5.0, 1.0, -0.0, 3.0];
    const RAW: [f64; 9] = [0.2, -1.0, 0.7, 0.0, 1.1, -0.4, 0.3, 2.0, -0.6];
    const WEIGHTS: [f64; 9] = [1.0, 2.0, 1.0, 3.0, 0.0, 2.0, 1.0, 1.0, 2.0];

    /// The loss by its definition, over the sum of weights.
    fn loss_by_hand(raw: &[f64], weights: Option<&[f64]>) -> f64 {
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let mut sum = 0.0;
        for event in (0..Y.len()).filter(|&row| Y[row].is_sign_positive()) {
            let later = (0..Y.len()).filter(|&row| Y[row].abs() >= Y[event]);
            let hazard: f64 = later.map(|row| weight(row) * raw[row].exp()).sum();
            sum += weight(event) * (hazard.ln() - raw[event]);
        }
        sum / (0..Y.len()).map(weight).sum::<f64>()
    }

    #[test]
    fn losses_and_derivatives_are_those_of_the_definition() {
        let risks = RiskSets::new(&Y);
        for weights in [None, Some(&WEIGHTS[..])] {
            let total: f64 = (0..Y.len()).map(|row| weights.map_or(1.0, |weights| weights[row])).sum();
            let expected = loss_by_hand(&RAW, weights);
            assert!((risks.mean_loss(&Y, &RAW, weights, |_| true) - expected).abs() < 1e-12);
            let (mut pulls, mut curvatures) = ([0.0; 9], [0.0; 9]);
            risks.pulls(&Y, &RAW, weights, &mut pulls);
            risks.curvatures(&Y, &RAW, weights, &mut curvatures);
            for row in 0..Y.len() {
                let weight = weights.map_or(1.0, |weights| weights[row]);
                let at = |step: f64| {
                    let mut raw = RAW;
                    raw[row] += step;
                    total * loss_by_hand(&raw, weights)
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((weight * pulls[row] + slope).abs() < 1e-7, "row {row}: {} {slope}", pulls[row]);
                if weight == 1.0 {
                    let second = (at(1e-4) - 2.0 * at(0.0) + at(-1e-4)) / 1e-8;
                    assert!((curvatures[row] - second).abs() < 1e-6, "row {row}: {} {second}", curvatures[row]);
                }
            }
        }
    }

    #[test]
    fn large_raw_predictions_do_not_overflow() {
        let raw = RAW.map(|z| 900.0 + z);
        let (risks, mut pulls, mut expected) = (RiskSets::new(&Y), [0.0; 9], [0.0; 9]);
        risks.pulls(&Y, &raw, None, &mut pulls);
        risks.pulls(&Y, &RAW, None, &mut expected);
        assert!(pulls.iter().zip(expected).all(|(pull, expected)| (pull - expected).abs() < 1e-12));
    }
}
