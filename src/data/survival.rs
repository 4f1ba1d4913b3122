//! Targets that are times until an event, which may be censored.
//!
//! A time is censored if it is only known that no event came up to it. At one time, events come before
//! censorings: a sample that is censored at a time is still at risk there. Times are told apart exactly,
//! as doubles, and known by their ranks from then on; 0.0 and -0.0 are one time.

use std::sync::Arc;

use super::ranking::{number_cells, sort_cells};
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::num::{RadixSort, SortKey, round_ties_even, scale_by_power_of_two};
use crate::runtime::Runtime;

/// The most samples of a survival target: criteria keep the place of a sample's time and whether there is an
/// event in one `u32`.
pub const MAX_SAMPLES: usize = 1 << 31;
/// Fractional bits of a residual. A residual is below 2^6: the cumulative hazard is at most the harmonic
/// number of the total weight, which is below 2^52.
pub const RESIDUAL_BITS: u32 = 55;

/// The times and events of all samples.
///
/// Samples of weight 0 do not count: their ranks and residuals are 0, and the distinct times are the times of
/// the other samples.
#[derive(Debug, Clone)]
pub struct Survival {
    /// The time of each sample, as given.
    pub times: Arc<[f64]>,
    /// The event of each sample: 0 if the time is censored, else the number of the cause.
    pub events: Arc<[u32]>,
    /// The cause of the events that are predicted; `None` if events of any cause are. Events of other causes
    /// count as censored.
    pub cause: Option<u32>,
    /// The rank of each sample's time among the distinct times.
    pub ranks: Arc<[u32]>,
    /// The martingale residual of each sample, in units of 2^-[`RESIDUAL_BITS`]: 1 for an event, else 0,
    /// less the cumulative hazard of all samples up to the sample's time (Therneau, Grambsch, Fleming,
    /// "Martingale-based residuals for survival models", Biometrika 77, 1990).
    pub residuals: Arc<[i64]>,
    /// The distinct times of samples with a weight, ascending.
    pub distinct: Arc<[f64]>,
    /// For each distinct time, at how many distinct times from then on an event comes.
    pub n_event_times_from: Arc<[u32]>,
}

impl Survival {
    /// Encodes times and events. Fails if a time is below 0 or not finite, or if no sample of positive
    /// weight has an event. O(samples).
    pub(super) fn encode(
        (times, events): (&[f64], &[u32]),
        cause: Option<u32>,
        weights: &Weights,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let illegal =
            |got: String, expected: &str| Error::InvalidArgument { name: "y", got, expected: expected.into() };
        if let Some(bad) = times.iter().find(|time| !time.is_finite() || **time < 0.0) {
            return Err(illegal(format!("a time of {bad}"), "times that are finite and not below 0"));
        }
        let weighs = |sample: &usize| weights.is_positive(*sample);
        let has_event = |sample: usize| counts(events[sample], cause);
        if !(0..times.len()).any(|sample| has_event(sample) && weighs(&sample)) {
            let of = cause.map_or(String::new(), |cause| format!(" but for events of other causes than {cause}"));
            let got = format!("only censored times{of}");
            return Err(illegal(got, "at least one time that ends with an event"));
        }
        // Turns -0.0 into 0.0.
        let times: Arc<[f64]> = times.iter().map(|&time| time + 0.0).collect();
        let mut cells: Vec<_> =
            (0..times.len()).filter(weighs).map(|sample| times[sample].cell(sample as u32)).collect();
        sort_cells::<f64>(&mut cells, &mut RadixSort::default(), runtime)?;
        let mut ranks = vec![0; times.len()];
        let mut sums: Vec<TimeSums> = Vec::new();
        number_cells::<f64>(&cells, 0, |rank, cell| {
            let sample = f64::row_of(cell) as usize;
            ranks[sample] = rank;
            if rank as usize == sums.len() {
                sums.push(TimeSums { time: times[sample], all: 0, events: 0 });
            }
            let (sums, weight) = (&mut sums[rank as usize], weights.get(sample));
            sums.all += weight;
            sums.events += if has_event(sample) { weight } else { 0 };
        });
        runtime.check_interrupt()?;

        let mut at_risk: u64 = sums.iter().map(|sums| sums.all).sum();
        let mut hazard = 0.0;
        let hazards: Vec<i64> = sums
            .iter()
            .map(|sums| {
                hazard += sums.events as f64 / at_risk as f64;
                at_risk -= sums.all;
                fixed(hazard)
            })
            .collect();
        let residual = |sample: usize| {
            let hazard = hazards[ranks[sample] as usize];
            if weighs(&sample) { fixed(f64::from(u8::from(has_event(sample)))) - hazard } else { 0 }
        };
        let residuals = (0..times.len()).map(residual).collect();
        let mut n_event_times_from = vec![0; sums.len()];
        let mut n = 0;
        for (n_from, sums) in n_event_times_from.iter_mut().zip(&sums).rev() {
            n += u32::from(sums.events > 0);
            *n_from = n;
        }
        Ok(Self {
            events: events.into(),
            cause,
            ranks: ranks.into(),
            residuals,
            distinct: sums.iter().map(|sums| sums.time).collect(),
            n_event_times_from: n_event_times_from.into(),
            times,
        })
    }

    /// Whether a sample has an event that is predicted.
    #[inline]
    pub fn has_event(&self, sample: usize) -> bool {
        counts(self.events[sample], self.cause)
    }

    /// The martingale residual of a sample.
    pub(crate) fn residual(&self, sample: usize) -> f64 {
        scale_by_power_of_two(self.residuals[sample] as f64, -(RESIDUAL_BITS as i32))
    }

    /// The times and events of some samples, in this order.
    pub(super) fn list(&self, samples: &[u32]) -> (Vec<f64>, Vec<u32>) {
        samples.iter().map(|&sample| (self.times[sample as usize], self.events[sample as usize])).unzip()
    }

    /// The target of some samples, in this order. Ranks and residuals stay as they are here.
    pub(super) fn subset(&self, samples: &[u32]) -> Self {
        Self {
            times: gather(&self.times, samples),
            events: gather(&self.events, samples),
            ranks: gather(&self.ranks, samples),
            residuals: gather(&self.residuals, samples),
            ..self.clone()
        }
    }

    /// The target of a larger set of `n_samples` samples; these samples have the numbers `rows` there. All
    /// others are censored at the first time.
    pub(super) fn spread(&self, rows: &[u32], n_samples: usize) -> Self {
        Self {
            times: scatter(&self.times, rows, n_samples),
            events: scatter(&self.events, rows, n_samples),
            ranks: scatter(&self.ranks, rows, n_samples),
            residuals: scatter(&self.residuals, rows, n_samples),
            ..self.clone()
        }
    }
}

/// Whether an event is of the cause, or of any cause if there is none.
#[inline]
fn counts(event: u32, cause: Option<u32>) -> bool {
    cause.map_or(event > 0, |cause| event == cause)
}

/// The weight of the samples of one time; `events` is the part with an event.
struct TimeSums {
    time: f64,
    all: u64,
    events: u64,
}

fn fixed(residual: f64) -> i64 {
    round_ties_even(scale_by_power_of_two(residual, RESIDUAL_BITS as i32)) as i64
}

fn gather<T: Copy>(values: &[T], samples: &[u32]) -> Arc<[T]> {
    samples.iter().map(|&sample| values[sample as usize]).collect()
}

fn scatter<T: Copy + Default>(values: &[T], rows: &[u32], n_samples: usize) -> Arc<[T]> {
    let mut all = vec![T::default(); n_samples];
    rows.iter().zip(values).for_each(|(&row, &value)| all[row as usize] = value);
    all.into()
}

#[cfg(test)]
mod tests {
    use crate::data::Target;
    use crate::data::target::TargetValues;

    #[test]
    fn samples_without_weight_do_not_show() {
        let (times, events) = ([3.0, -0.0, 1.0, 0.0, 3.0, 9.0], [1, 2, 0, 0, 0, 1]);
        let weights = [1.0, 1.0, 0.0, 1.0, 2.0, 0.0];
        let target = Target::survival(&times, &events, Some(&weights)).unwrap();
        let TargetValues::Survival(survival) = target.values() else { panic!("times") };
        assert_eq!(survival.distinct[..], [0.0, 3.0]);
        assert_eq!(survival.ranks[..], [1, 0, 0, 0, 1, 0]);
        assert_eq!(survival.n_event_times_from[..], [2, 1]);
        // Hazards: 1 of 5 at 0, then 1 of 3.
        let expected = [1.0 - 0.2 - 1.0 / 3.0, 0.8, 0.0, -0.2, -0.2 - 1.0 / 3.0, 0.0];
        for (sample, expected) in expected.into_iter().enumerate() {
            assert!((survival.residual(sample) - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn illegal_targets_are_refused() {
        let message = |times: &[f64], events: &[u32], weights: Option<&[f64]>| {
            Target::survival(times, events, weights).unwrap_err().to_string()
        };
        for time in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(message(&[1.0, time], &[1, 0], None).starts_with("y must be times that are finite"));
        }
        assert!(message(&[1.0, 2.0], &[0, 0], None).contains("only censored times"));
        assert!(message(&[1.0, 2.0], &[0, 1], Some(&[1.0, 0.0])).contains("only censored times"));
        assert!(message(&[1.0, 2.0], &[1], None).contains("events"));
    }
}
