//! How often predicted risks order pairs of rows as the times of their events do (Harrell et al.,
//! "Evaluating the yield of medical tests", Journal of the American Medical Association 247, 1982).

use super::{RadixSort, SortKey};
use crate::error::Result;
use crate::runtime::Runtime;

/// Numbers of comparable pairs of rows: an event, and a row that is still at risk after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Concordance {
    /// The row of the event has the higher risk.
    pub concordant: u64,
    /// The other row has.
    pub discordant: u64,
    /// The risks are equal.
    pub tied_risk: u64,
    /// The other row is censored at the time of the event. These pairs count above, too.
    pub tied_time: u64,
}

/// Counts the pairs of rows. Risks that differ by at most `tolerance` are equal. No number may be NaN.
/// O(n log n): rows join a tree of sums over risks in the order of their times, from the last to the first.
pub fn concordance(
    events: &[bool],
    times: &[f64],
    risks: &[f64],
    tolerance: f64,
    runtime: &Runtime<'_>,
) -> Result<Concordance> {
    let rows_of = |is_event: bool| (0..times.len() as u32).filter(move |&row| events[row as usize] == is_event);
    // At equal times, censored rows come first: they outlive the events. Negative zeros are zeros.
    let keyed = |row: u32| ((0.0 - times[row as usize]).key(), events[row as usize], row);
    let mut order: Vec<(u64, bool, u32)> = rows_of(false).chain(rows_of(true)).map(keyed).collect();
    RadixSort::default().sort(&mut order, |item| item.0, || runtime.check_interrupt())?;
    let order: Vec<u32> = order.into_iter().map(|(_, _, row)| row).collect();
    let mut sorted: Vec<u64> = risks.iter().map(|risk| risk.key()).collect();
    RadixSort::default().sort(&mut sorted, |key| key, || runtime.check_interrupt())?;
    let sorted: Vec<f64> = sorted.into_iter().map(f64::from_key).collect();
    let mut counts = PrefixCounts::new(sorted.len());
    let mut found = Concordance::default();
    let mut n_joined = 0;
    for group in order.chunk_by(|&a, &b| times[a as usize] == times[b as usize]) {
        let n_censored = group.partition_point(|&row| !events[row as usize]);
        let (censored, died) = group.split_at(n_censored);
        let place = |risk: f64| sorted.partition_point(|&other| other < risk);
        for &row in censored {
            runtime.check_in_turn(row as usize)?;
            counts.add(place(risks[row as usize]));
        }
        n_joined += n_censored as u64;
        for &row in died {
            runtime.check_in_turn(row as usize)?;
            let risk = risks[row as usize];
            let below = counts.sum(sorted.partition_point(|&other| risk - other > tolerance));
            let up_to = counts.sum(sorted.partition_point(|&other| other - risk <= tolerance));
            found.concordant += below;
            found.tied_risk += up_to - below;
            found.discordant += n_joined - up_to;
            found.tied_time += n_censored as u64;
        }
        for &row in died {
            runtime.check_in_turn(row as usize)?;
            counts.add(place(risks[row as usize]));
        }
        n_joined += died.len() as u64;
    }
    Ok(found)
}

/// Counts by place; the counts of the first `n` places can be summed for any `n` (Fenwick, "A new data
/// structure for cumulative frequency tables", Software: Practice and Experience 24, 1994).
struct PrefixCounts(Vec<u64>);

impl PrefixCounts {
    fn new(n: usize) -> Self {
        Self(vec![0; n + 1])
    }

    fn add(&mut self, place: usize) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node] += 1;
            node += node & node.wrapping_neg();
        }
    }

    /// The count of the first `n` places.
    fn sum(&self, n: usize) -> u64 {
        let (mut node, mut sum) = (n, 0);
        while node > 0 {
            sum += self.0[node];
            node &= node - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pairs_are_counted_as_a_loop_over_all_of_them_does(
            rows in proptest::collection::vec((any::<bool>(), 0..8u32, 0..12u32), 0..60),
            tolerance in prop_oneof![Just(0.0), Just(0.25), Just(0.3)],
        ) {
            let events: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let times: Vec<f64> = rows.iter().map(|row| f64::from(row.1) * 0.5).collect();
            let risks: Vec<f64> = rows.iter().map(|row| f64::from(row.2) * 0.25 - 1.0).collect();
            let mut expected = Concordance::default();
            for i in (0..rows.len()).filter(|&i| events[i]) {
                for j in 0..rows.len() {
                    let is_tied = times[j] == times[i] && !events[j];
                    if !(times[j] > times[i] || is_tied) {
                        continue;
                    }
                    expected.tied_time += u64::from(is_tied);
                    if (risks[i] - risks[j]).abs() <= tolerance {
                        expected.tied_risk += 1;
                    } else if risks[i] > risks[j] {
                        expected.concordant += 1;
                    } else {
                        expected.discordant += 1;
                    }
                }
            }
            let found = concordance(&events, &times, &risks, tolerance, &Runtime::unstoppable());
            prop_assert_eq!(found, Ok(expected));
        }
    }
}
