//! The threshold between two values, placed so that single and double precision agree on it.
//!
//! A model is often fitted to `f64` and asked in `f32`. A midpoint such as 4.800000000000001 may lie
//! between the double 4.8 and the float 4.8, and then the same row goes left in one precision and
//! right in the other. So a threshold is moved to the end of its rounding interval: the largest
//! double that rounds to some float. Every double then is at most the threshold exactly if its float
//! is. Values that `f32` holds exactly round to themselves, so a threshold between two of them stays
//! the plain midpoint, which is scikit-learn's.

/// The threshold between two neighbouring values, `low < high`; `x <= threshold` sends `low` left and
/// `high` right. Always `low <= threshold < high`.
///
/// The midpoint where `f32` holds both values, or rounds both to the same float. Elsewhere the largest
/// double that rounds to a float up to the midpoint of their floats: `x <= threshold` then decides for
/// every double `x` as scikit-learn, which rounds `x` and the values to `f32`, does. `low` stands for a
/// midpoint that does not separate the two.
#[inline]
pub fn mid_threshold(low: f64, high: f64) -> f64 {
    debug_assert!(low < high);
    let (below, above) = (low as f32, high as f32);
    if holds(low, below) && holds(high, above) || below >= above {
        return midpoint(low, high);
    }
    // A value beyond `f32` rounds to infinity, which has no midpoint.
    let [finite_below, finite_above] =
        [(low, below), (high, above)].map(|(value, float)| if float.is_finite() { f64::from(float) } else { value });
    settle(midpoint(finite_below, finite_above), below, above)
}

/// The threshold in the place of one that was drawn between two values: `low <= threshold < high`.
/// Moved as little as it takes for doubles and their floats to be decided alike, unless `f32` holds
/// both values or cannot tell them apart.
#[inline]
pub fn settled_threshold(threshold: f64, low: f64, high: f64) -> f64 {
    debug_assert!(low <= threshold && threshold < high);
    let (below, above) = (low as f32, high as f32);
    if holds(low, below) && holds(high, above) || below >= above {
        return threshold;
    }
    settle(threshold, below, above)
}

/// Whether a value is exactly this float.
#[inline]
fn holds(value: f64, float: f32) -> bool {
    f64::from(float) == value
}

/// The midpoint if it separates the two values, else `low`: rounding or overflow may make it useless.
#[inline]
fn midpoint(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    if low <= middle && middle < high { middle } else { low }
}

/// The largest double that rounds to a float of at most `threshold`, among the floats from `below` up to the
/// last one before `above`.
fn settle(threshold: f64, below: f32, above: f32) -> f64 {
    let nearest = threshold as f32;
    let floor = if f64::from(nearest) > threshold { nearest.next_down() } else { nearest };
    last_that_rounds_to(floor.clamp(below, above.next_down()))
}

/// The largest double that rounds to this float.
fn last_that_rounds_to(float: f32) -> f64 {
    // Doubles from 2^128 on certainly round to infinity.
    let end = 2f64.powi(128);
    let [here, next] = [float, float.next_up()].map(|float| f64::from(float).clamp(-end, end));
    let middle = here / 2.0 + next / 2.0;
    // The double in the middle rounds to the even float of the two.
    if float.to_bits().is_multiple_of(2) { middle } else { middle.next_down() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thresholds_separate() {
        assert_eq!(mid_threshold(1.0, 2.0), 1.5);
        let next = 1.0 + f64::EPSILON;
        assert_eq!(mid_threshold(1.0, next), 1.0);
        assert_eq!(mid_threshold(-f64::MAX, f64::MAX), 7.006_492_321_624_085e-46);
        assert_eq!(mid_threshold(f64::NEG_INFINITY, 0.0), f64::NEG_INFINITY);
        assert_eq!(mid_threshold(0.0, f64::INFINITY), 0.0);
        assert_eq!(mid_threshold(0.0, 5e-324), 0.0);
    }

    #[test]
    fn a_double_and_its_float_are_on_the_same_side() {
        // The midpoint of 4.7 and 4.9 is 4.800000000000001, below the float 4.8.
        let threshold = mid_threshold(4.7, 4.9);
        assert_eq!(4.8 <= threshold, f64::from(4.8f32) <= threshold);
        assert!((threshold - 4.8).abs() < 1e-6);
    }

    /// Values of all sizes, and neighbours of floats.
    fn values() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f32>().prop_map(f64::from),
            any::<f64>(),
            (-50i32..50).prop_map(|value| f64::from(value) / 10.0),
            (any::<f32>(), -2i64..=2)
                .prop_map(|(float, step)| f64::from_bits(f64::from(float).to_bits().wrapping_add_signed(step))),
            (any::<f32>(), -2i64..=2).prop_map(|(float, step)| {
                f64::from_bits(f64::from(float).midpoint(float.next_up().into()).to_bits().wrapping_add_signed(step))
            }),
        ]
        .prop_filter("a number", |value| !value.is_nan())
    }

    proptest! {
        #[test]
        fn doubles_and_floats_are_decided_alike(low in values(), high in values(), x in values(), position in 0.0..1.0) {
            let (low, high) = (low.min(high), low.max(high));
            prop_assume!(low < high);
            let drawn = if (high - low).is_finite() { low + (high - low) * position } else { low };
            prop_assume!(low <= drawn && drawn < high);
            let are_floats = [low, high].map(|value| holds(value, value as f32)) == [true; 2];
            let can_be_told = (low as f32) < high as f32;
            for threshold in [mid_threshold(low, high), settled_threshold(drawn, low, high)] {
                prop_assert!(low <= threshold && threshold < high);
                if can_be_told {
                    prop_assert!(f64::from(low as f32) <= threshold && threshold < f64::from(high as f32));
                }
                if can_be_told && !are_floats {
                    for x in [x, threshold, threshold.next_up(), low, high] {
                        prop_assert_eq!(x <= threshold, f64::from(x as f32) <= threshold, "{} {}", x, threshold);
                    }
                }
            }
        }
    }
}
