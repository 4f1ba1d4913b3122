//! How often predicted risks order pairs of rows as the times of their events do (Harrell et al.,
//! "Evaluating the yield of medical tests", Journal of the American Medical Association 247, 1982).

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
pub fn concordance(events: &[bool], times: &[f64], risks: &[f64], tolerance: f64) -> Concordance {
    let mut order: Vec<u32> = (0..times.len() as u32).collect();
    // At equal times, censored rows come first: they outlive the events.
    let key = |&row: &u32| (-times[row as usize], events[row as usize]);
    order.sort_unstable_by(|a, b| {
        let ((time, event), (other_time, other_event)) = (key(a), key(b));
        time.total_cmp(&other_time).then(event.cmp(&other_event))
    });
    let mut sorted: Vec<f64> = risks.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut counts = PrefixCounts::new(sorted.len());
    let mut found = Concordance::default();
    let mut n_joined = 0;
    for group in order.chunk_by(|&a, &b| times[a as usize] == times[b as usize]) {
        let n_censored = group.partition_point(|&row| !events[row as usize]);
        let (censored, died) = group.split_at(n_censored);
        let place = |risk: f64| sorted.partition_point(|&other| other < risk);
        for &row in censored {
            counts.add(place(risks[row as usize]));
        }
        n_joined += n_censored as u64;
        for &row in died {
            let risk = risks[row as usize];
            let below = counts.sum(sorted.partition_point(|&other| risk - other > tolerance));
            let up_to = counts.sum(sorted.partition_point(|&other| other - risk <= tolerance));
            found.concordant += below;
            found.tied_risk += up_to - below;
            found.discordant += n_joined - up_to;
            found.tied_time += n_censored as u64;
        }
        for &row in died {
            counts.add(place(risks[row as usize]));
        }
        n_joined += died.len() as u64;
    }
    found
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
            prop_assert_eq!(concordance(&events, &times, &risks, tolerance), expected);
        }
    }
}
