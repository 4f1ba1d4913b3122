use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::criterion::{Criterion, Visitor, visit};
use crate::data::Target;
use crate::error::Result;
use crate::params::CriterionKind;
use crate::runtime::Runtime;

/// A node at some places of the rows `samples`, and the ranks of its rows in a column.
struct Check<'a> {
    samples: &'a [u32],
    places: &'a [u8],
    ranks: &'a [u32],
}

fn assert_same(cut: &SmallCut, expected: &SmallCut) {
    assert_eq!((cut.weight, cut.score.to_bits()), (expected.weight, expected.score.to_bits()));
}

/// The cuts with missing values equal the cuts of ranks that put these rows last or first.
fn check_with_missing<C: Criterion>(criterion: &C, rows: &C::Small, ranks: &[u32], end: u32, missing: u32) {
    let first: Vec<u32> = ranks.iter().map(|&rank| if rank == missing { 0 } else { rank + 1 }).collect();
    let expected = [
        rows.cut_below(criterion, ranks, end),
        rows.cut_below(criterion, ranks, missing),
        rows.cut_below(criterion, &first, end + 1),
    ];
    for (cut, expected) in rows.cuts_with_missing(criterion, ranks, end, missing).iter().zip(expected) {
        assert_same(cut, &expected);
    }
}

/// Columns side by side have the scores of the cuts after each of the ranks `ends`. The last column does
/// not vary.
fn check_columns<C: Criterion>(
    criterion: &C,
    rows: &mut C::Small,
    level: Level,
    ranks: &[u32],
    (ends, scores): (&[u32], &[f64]),
    highest: f64,
) {
    let column = |rank, i| if i + 1 < COLUMNS { rank } else { 7 };
    let lanes: Vec<ByColumn<u32>> = ranks.iter().map(|&rank| std::array::from_fn(|i| column(rank, i))).collect();
    let mut lanes_scores = vec![[0.0; COLUMNS]; lanes.len()];
    let highest_of_all = rows.score_columns(criterion, level, &lanes, &mut lanes_scores);
    let expected = std::array::from_fn(|i| if i + 1 < COLUMNS { highest } else { f64::NEG_INFINITY });
    assert_eq!(highest_of_all, Some(expected));
    for (scores_of_row, rank) in lanes_scores.iter().zip(ranks) {
        let i = ends.binary_search(rank).unwrap();
        assert!(scores_of_row[..COLUMNS - 1].iter().all(|&score| score == scores[i]));
    }
}

/// A node of one row has the same impurity and value, whether it is entered or not.
fn check_row<C: Criterion>(criterion: &C, rows: &mut C::Small, place: u8, sample: u32) {
    let [mut value, mut expected] = [vec![-1.0; criterion.n_values()], vec![0.0; criterion.n_values()]];
    let impurity = rows.row_impurity(place);
    rows.write_row_value(criterion, place, sample, &mut value);
    rows.enter(criterion, &[place], &[sample]);
    rows.write_value(criterion, &[sample], &mut expected);
    assert_eq!(impurity.to_bits(), rows.impurity(criterion).to_bits());
    assert_eq!(rows.row_weight(place), rows.weight());
    assert_eq!(value, expected);
}

impl Visitor for Check<'_> {
    /// Whether the criterion has small statistics, and the numbers are small enough.
    type Output = bool;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<bool> {
        let Self { samples, places, ranks } = self;
        let Some(mut rows) = C::Small::new(criterion) else { return Ok(false) };
        let mut samples = samples.to_vec();
        let before = samples.clone();
        if !rows.load(criterion, &mut samples) {
            return Ok(false);
        }
        assert!(before.iter().all(|sample| samples.contains(sample)));
        let node: Vec<u32> = places.iter().map(|&place| samples[usize::from(place)]).collect();
        let totals = criterion.totals(&node);
        rows.enter(criterion, places, &node);
        assert_eq!(rows.weight(), criterion.weight(&totals));
        assert_eq!(rows.is_pure(criterion), criterion.is_pure(&totals));
        assert_eq!(rows.impurity(criterion).to_bits(), criterion.impurity(&totals).to_bits());
        let [mut value, mut expected] = [vec![-1.0; criterion.n_values()], vec![0.0; criterion.n_values()]];
        rows.write_value(criterion, &node, &mut value);
        criterion.write_value(&totals, &node, &mut expected);
        assert_eq!(value, expected);

        if criterion.forbids_cuts() && rows.is_pure(criterion) {
            // Such a node is not searched.
            return Ok(true);
        }
        rows.begin(criterion, places, &node, 1.0);
        check_row(criterion, &mut rows, places[0], node[0]);
        rows.enter(criterion, places, &node);
        let weights = places.iter().map(|&place| rows.row_weight(place));
        assert_eq!(weights.sum::<u64>(), rows.weight());
        let mut ends = ranks.to_vec();
        ends.sort_unstable();
        ends.dedup();
        let mut lasts = ends.clone();
        lasts.resize(lasts.len().next_multiple_of(LANES), *ends.last().unwrap());
        let mut scan = criterion.scan();
        // `None` for forbidden cuts.
        let proofs: Vec<Option<C::Proof>> = ends[..ends.len() - 1]
            .iter()
            .map(|&end| {
                let mut pushed = criterion.begin(&totals, &mut scan);
                for (&sample, _) in node.iter().zip(ranks).filter(|&(_, &rank)| rank <= end) {
                    criterion.push(&totals, &mut scan, &mut pushed, sample);
                }
                let is_forbidden = criterion.score(&totals, &scan, pushed).is_nan();
                (!is_forbidden).then(|| criterion.proof(&scan, pushed))
            })
            .collect();
        // Cuts after the lower ranks once more, with the rows of the highest rank on the left.
        let missing = *ends.last().unwrap();
        let mut below = ends[..ends.len() - 1].to_vec();
        below.resize(below.len().next_multiple_of(LANES), below.last().copied().unwrap_or_default());
        if ends.len() == 1 {
            // A column that does not vary is not searched.
            return Ok(true);
        }
        let rows_are_rough = rows.scores_columns();
        let moved: Vec<u32> = ranks.iter().map(|&rank| if rank == missing { 0 } else { rank }).collect();
        for level in Level::supported() {
            let below = below.as_chunks().0;
            let mut scores = vec![[0.0; LANES]; below.len()];
            let highest = rows.score_cuts(criterion, level, &moved, below, &mut scores);
            let mut again = scores.clone();
            rows.score_cuts(criterion, level, ranks, below, &mut again);
            // Doubles in lanes are added up in another order.
            let are_alike = |a: f64, b: f64| a == b || rows_are_rough && (a - b).abs() <= highest * 1e-9;
            let highest_again = rows.score_again(criterion, level, &moved, below, &mut again);
            assert!(are_alike(highest_again, highest));
            assert!(scores.as_flattened().iter().zip(again.as_flattened()).all(|(&a, &b)| are_alike(a, b)));
            let cuts = below.as_flattened().iter().zip(scores.as_flattened()).enumerate();
            for (i, (&last, _)) in cuts.filter(|&(_, (_, &score))| score > f64::NEG_INFINITY) {
                assert_same(&rows.scored_cut(criterion, i, &moved, last), &rows.cut_below(criterion, &moved, last + 1));
            }

            let mut scores = vec![[0.0; LANES]; lasts.len() / LANES];
            let highest = rows.score_cuts(criterion, level, ranks, lasts.as_chunks().0, &mut scores);
            let scores = scores.as_flattened();
            assert_eq!(highest, scores.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            assert!(scores[proofs.len()..].iter().all(|&score| score == f64::NEG_INFINITY));
            let cut = |i: usize| rows.scored_cut(criterion, i, ranks, ends[i]);
            let cuts: Vec<SmallCut> = (0..proofs.len()).map(cut).collect();
            let are_rounded = rows.scores_columns();
            let compare = |i: usize, j: usize| {
                rows.compare(&cuts[i], &cuts[j], || {
                    rows.compare_below(criterion, (ranks, ends[i] + 1), (ranks, ends[j] + 1))
                })
            };
            for (i, a) in cuts.iter().enumerate() {
                assert!(are_rounded || a.score.to_bits() == scores[i].to_bits());
                let is_best = (0..cuts.len()).all(|j| compare(i, j) != Ordering::Less);
                assert!(!is_best || scores[i] >= rows.least_close(highest));
                let mut worse = (0..cuts.len()).filter(|&j| compare(i, j) != Ordering::Less);
                assert!(worse.all(|j| scores[i] >= rows.least_to_win(cuts[j].score)));
                assert_same(a, &rows.cut_below(criterion, ranks, ends[i] + 1));
                if ends[i] + 1 < missing {
                    check_with_missing::<C>(criterion, &rows, ranks, ends[i] + 1, missing);
                }
                assert!(a.score <= rows.most_score() * (1.0 + MARGIN) + rows.absolute());
                assert_eq!(a.score == f64::NEG_INFINITY, proofs[i].is_none());
                let Some(proof) = &proofs[i] else { continue };
                for (j, other) in proofs.iter().enumerate().filter_map(|(j, other)| Some((j, other.as_ref()?))) {
                    assert_eq!(compare(i, j), criterion.compare(&totals, proof, other));
                }
            }

            if rows.scores_columns() && ranks.len() <= FEW_ROWS {
                check_columns::<C>(criterion, &mut rows, level, ranks, (&ends, scores), highest);
            }
        }
        Ok(true)
    }
}

proptest! {
    #[test]
    fn small_statistics_agree_with_scans(
        (numbers, ranks, weights, is_in) in (2..=MAX_ROWS).prop_flat_map(|n| (
            vec(-1000..1000i32, n),
            vec(1..41u32, n),
            prop_oneof![Just(None), vec((1..4u8).prop_map(f64::from), n).prop_map(Some), vec(0.1..9f64, n).prop_map(Some), vec((0..40i32).prop_map(|e| 1.1 * 2f64.powi(e)), n).prop_map(Some)],
            vec(any::<bool>(), n),
        )),
        step in prop::sample::select(vec![1, 300, 900]),
        n_classes in 2..9u32,
        outlier in prop::sample::select(vec![0.0, 1e9, 1e14]),
        n_outputs in 1..4usize,
        likes_zero in any::<bool>(),
        is_count in any::<bool>(),
    ) {
        let n = numbers.len();
        let n_classes: Vec<u32> = (0..n_outputs as u32).map(|output| n_classes + output).collect();
        let class = |v: i32| (0..).zip(&n_classes).map(move |(output, n)| (v.unsigned_abs() >> output) / 7 % n);
        let classes: Vec<u32> = numbers.iter().flat_map(|&v| class(v)).collect();
        // An outlier, which may be in the node or not, squeezes all other targets.
        let value = |(i, &v): (usize, &i32)| if i == 0 { outlier } else { f64::from(v / step) + 0.1 };
        // The targets have scales of their own.
        let row = |cell| (0..n_outputs).map(move |output| value(cell) * (1 + 7 * output) as f64);
        let values: Vec<f64> = numbers.iter().enumerate().flat_map(row).collect();
        let fraction = if is_count { 0.0 } else { 0.1 };
        let count = |&v: &i32| {
            let count = (v / step).max(i32::from(!likes_zero));
            f64::from(count) + if count > 0 { fraction } else { 0.0 }
        };
        let row = |v| (0..n_outputs).map(move |output| count(v) * [1.0, 0.25, 64.0][output]);
        let counts: Vec<f64> = numbers.iter().flat_map(row).collect();
        let samples: Vec<u32> = (0..n as u32).collect();
        let mut places: Vec<u8> = (0..n).filter(|&i| is_in[i]).map(|i| i as u8).collect();
        if places.len() < 2 {
            places = vec![0, 1];
        }
        let ranks = &ranks[..places.len()];
        for kind in [CriterionKind::Gini, CriterionKind::SquaredError, CriterionKind::Poisson] {
            let target = match kind {
                CriterionKind::SquaredError => Target::regression(&values, n_outputs, weights.as_deref()),
                CriterionKind::Poisson => Target::regression(&counts, n_outputs, weights.as_deref()),
                _ => Target::classification(&classes, &n_classes, weights.as_deref()),
            };
            let check = Check { samples: &samples, places: &places, ranks };
            let is_small = visit(kind, &target.unwrap(), check, &Runtime::unstoppable()).unwrap();
            // Rows of weight 1 always weigh little enough; numbers may be too large.
            prop_assert!(is_small || kind != CriterionKind::Gini || weights.is_some());
        }
    }
}
