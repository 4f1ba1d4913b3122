//! Dropout: a round is grown as if some of the rounds before it were not there, and then shares with them
//! what they have added (K. V. Rashmi, R. Gilad-Bachrach, "DART: dropouts meet multiple additive regression
//! trees", AISTATS 2015).

use std::sync::Arc;

use super::leaves::RowsByNode;
use super::{Rounds, leaves_of};
use crate::error::Result;
use crate::rng::NodeKey;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;

/// The rounds that are dropped while another one is grown.
pub struct Dropped {
    /// Ascending.
    rounds: Vec<usize>,
    /// What their leaves add to the sums.
    sums: Vec<f64>,
}

impl Dropped {
    /// The part of what its leaves would add that is left to the new round.
    pub fn share(&self) -> f64 {
        1.0 / (self.rounds.len() + 1) as f64
    }
}

impl Rounds {
    /// Drops rounds by the chance that the settings name, and at least one of those that there are.
    /// `seed` is that of a tree of the round to come.
    pub(super) fn drop_rounds(&mut self, seed: u64, runtime: &Runtime<'_>) -> Result<Dropped> {
        let n_raw = self.settings.objective.n_raw();
        let rate = self.settings.dropout_rate;
        let n_rounds = if rate > 0.0 { self.members.len() / n_raw } else { 0 };
        let rounds = choose_rounds(seed, n_rounds, rate);
        if rounds.is_empty() {
            return Ok(Dropped { rounds, sums: Vec::new() });
        }
        let mut sums = vec![0.0; self.sums.len()];
        for &round in &rounds {
            for tree in 0..n_raw {
                let dropped = self.members[round * n_raw + tree].tree.unpack()?;
                let by_node = RowsByNode::new(&self.data, &dropped, runtime)?;
                for node in leaves_of(&dropped) {
                    for &row in by_node.of(node) {
                        sums[row as usize * n_raw + tree] += dropped.nodes().value[node];
                    }
                }
            }
        }
        self.sums.iter_mut().zip(&sums).for_each(|(sum, dropped)| *sum -= dropped);
        self.predict_raw(runtime)?;
        Ok(Dropped { rounds, sums })
    }

    /// Puts dropped rounds back, with what the new round leaves to them.
    pub(super) fn put_back(&mut self, dropped: &Dropped) -> Result<()> {
        let n_raw = self.settings.objective.n_raw();
        let share = 1.0 - dropped.share();
        self.sums.iter_mut().zip(&dropped.sums).for_each(|(sum, dropped)| *sum += share * dropped);
        for member in dropped.rounds.iter().flat_map(|&round| round * n_raw..(round + 1) * n_raw) {
            let tree = self.members[member].tree.unpack()?;
            let values = tree.nodes().value.iter().map(|value| share * value).collect();
            let packed = PackedTree::new(&tree.with_numbers(values, 1)?, self.target.weight_unit());
            self.members[member].tree = Arc::new(packed);
        }
        Ok(())
    }
}

/// Draws each of some rounds by a chance, and one of them if that draws none.
fn choose_rounds(seed: u64, n_rounds: usize, rate: f64) -> Vec<usize> {
    let draws = NodeKey::root(seed, 0).dropout();
    let mut rounds: Vec<usize> = (0..n_rounds).filter(|&round| draws.is_below(rate, round as u64)).collect();
    if rounds.is_empty() && n_rounds > 0 {
        rounds.push(draws.below(n_rounds as u64, n_rounds as u64) as usize);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::choose_rounds;

    #[test]
    fn rounds_are_dropped_by_their_chance() {
        assert!(choose_rounds(1, 0, 0.5).is_empty());
        let mut counts = [0; 4];
        for seed in 0..4000 {
            let none_by_chance = choose_rounds(seed, 4, 1e-9);
            assert_eq!(none_by_chance.len(), 1);
            counts[none_by_chance[0]] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        let n_dropped: usize = (0..1000).map(|seed| choose_rounds(seed, 20, 0.3).len()).sum();
        assert!((5800..6200).contains(&n_dropped), "{n_dropped}");
    }
}
