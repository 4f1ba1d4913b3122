//! Gauss-Legendre rules on the interval from 0 to 1, and how many points an integral needs.

use std::sync::LazyLock;

/// Points that are worked on together: a vector register of doubles.
pub const LANES: usize = 8;

/// Some points of a rule, with their weights. Unused lanes have weight 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points {
    /// Points between 0 and 1.
    pub at: [f64; LANES],
    /// By point, 1 less the point.
    pub rest: [f64; LANES],
    /// The weights of these points; the weights of all points of the rule add up to 1.
    pub weight: [f64; LANES],
    /// `-1 / rest`: what a feature that a row leaves gains for each of its leaves.
    pub gain_left: [f64; LANES],
}

impl Points {
    fn new(at: [f64; LANES], rest: [f64; LANES], weight: [f64; LANES]) -> Self {
        Self { at, rest, weight, gain_left: rest.map(|rest| -1.0 / rest) }
    }
}

/// The rule of `n` points, exact for polynomials up to degree `2 n - 1`, in groups of [`LANES`].
pub fn rule(n: usize) -> Vec<Points> {
    let points: Vec<[f64; 3]> = (0..n).map(|i| root(n, i)).collect();
    let group = |points: &[[f64; 3]]| {
        let lane = |part: usize, otherwise: f64| {
            std::array::from_fn(|lane| points.get(lane).map_or(otherwise, |point| point[part]))
        };
        Points::new(lane(0, 0.5), lane(1, 0.5), lane(2, 0.0))
    };
    points.chunks(LANES).map(group).collect()
}

/// Root number `i` of the Legendre polynomial of degree `n`, its complement to 1, and its weight,
/// all for the interval from 0 to 1. By Newton's method from a guess that is good to some digits.
fn root(n: usize, i: usize) -> [f64; 3] {
    let degree = n as f64;
    let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (degree + 0.5)).cos();
    let mut slope = 1.0;
    for _ in 0..100 {
        let (mut value, mut before) = (1.0, 0.0);
        for k in 0..n {
            let k = k as f64;
            (value, before) = (((2.0 * k + 1.0) * x * value - k * before) / (k + 1.0), value);
        }
        slope = degree * (x * value - before) / (x * x - 1.0);
        let step = value / slope;
        x -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    [(1.0 - x) / 2.0, f64::midpoint(1.0, x), 1.0 / ((1.0 - x * x) * slope * slope)]
}

/// Number of ellipses by which errors are bounded.
const N_ELLIPSES: usize = LANES;

/// Ellipses around the interval, from narrow to wide.
struct Ellipses {
    /// By ellipse, the greatest absolute value of its points; in the interval it is at most 1.
    radius: [f64; N_ELLIPSES],
    /// By how much [`LANES`] more points reduce the error.
    decay: [f64; N_ELLIPSES],
    /// The error without points, of a function that is at most 1 in the ellipse.
    error: [f64; N_ELLIPSES],
}

static ELLIPSES: LazyLock<Ellipses> = LazyLock::new(|| {
    // The logarithms of the sums of the half-axes.
    let exponents: [f64; N_ELLIPSES] = std::array::from_fn(|i| 0.03 * 1.85_f64.powi(i as i32));
    Ellipses {
        radius: exponents.map(|exponent| exponent.cosh().midpoint(1.0)),
        decay: exponents.map(|exponent| (-2.0 * LANES as f64 * exponent).exp()),
        error: exponents.map(|exponent| -32.0 / 15.0 / (-2.0 * exponent).exp_m1()),
    }
});

/// An upper bound of the error of quadrature for a product of linear factors.
///
/// A factor is `w + (1 - w) p` or `w (1 - p)`. The rule of `n` points errs for a function that is
/// analytic in an ellipse around the interval, with half-axes of sum `rho` relative to half its
/// length, by at most `64 / 15 M rho^-2n / (1 - rho^-2) / 2`, where `M` bounds the function in the
/// ellipse (Trefethen, "Is Gauss quadrature better than Clenshaw-Curtis?", 2008). `M` is at most
/// the product of bounds of the factors. The best of some ellipses is taken.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// The products of the bounds of the factors, for each ellipse; infinite ones are of no use.
    products: [f64; N_ELLIPSES],
}

impl Bound {
    /// The bound of a product without factors.
    pub const ONE: Self = Self { products: [1.0; N_ELLIPSES] };

    /// The bound of this product with the factor `new` in place of `old`. A factor is given by its
    /// `w` and may be of either kind; without one, `old` is `None`.
    pub fn replaced(mut self, old: Option<f64>, new: f64) -> Self {
        for (product, &radius) in self.products.iter_mut().zip(&ELLIPSES.radius) {
            let factor = |w: f64| (w * radius).max(w + (1.0 - w) * radius);
            *product *= factor(new) / old.map_or(1.0, factor);
        }
        self
    }

    /// The least number of points, a multiple of [`LANES`] up to `most`, by which the error is at
    /// most `tolerance`.
    pub fn n_points(&self, tolerance: f64, most: usize) -> usize {
        let mut errors = ELLIPSES.error;
        errors.iter_mut().zip(&self.products).for_each(|(error, product)| *error *= product);
        (LANES..most)
            .step_by(LANES)
            .find(|_| {
                errors.iter_mut().zip(&ELLIPSES.decay).for_each(|(error, decay)| *error *= decay);
                errors.iter().any(|&error| error <= tolerance)
            })
            .unwrap_or(most)
    }
}

/// Stand-ins for points, with which the factors of splits become bounds of the factors in each of the
/// ellipses. A factor is bounded by its value at the point that is farthest out.
pub fn bounding_points() -> Points {
    Points::new(ELLIPSES.radius, ELLIPSES.radius, [0.0; LANES])
}

/// For each multiple of [`LANES`] below `most`: the errors by that number of points, of functions that are
/// at most 1 in the ellipses.
pub fn errors_of(most: usize) -> Vec<[f64; LANES]> {
    let decayed = |n: usize| std::array::from_fn(|i| ELLIPSES.error[i] * ELLIPSES.decay[i].powi((n / LANES) as i32));
    (LANES..most).step_by(LANES).map(decayed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(n: usize, f: impl Fn(f64, f64) -> f64) -> f64 {
        let of =
            |points: &Points| -> f64 { (0..LANES).map(|i| points.weight[i] * f(points.at[i], points.rest[i])).sum() };
        rule(n).iter().map(of).sum()
    }

    #[test]
    fn rules_are_exact_up_to_their_degree() {
        for n in [1, 2, 3, 8, 16, 24, 64, 456] {
            for degree in [0, 1, n, 2 * n - 1] {
                let expected = 1.0 / (degree as f64 + 1.0);
                // Powers multiply the rounding of points.
                let tolerance = 1e-13 + 2e-15 * degree as f64;
                let (found, mirrored) =
                    (integral(n, |p, _| p.powi(degree as i32)), integral(n, |_, rest| rest.powi(degree as i32)));
                assert!((found / expected - 1.0).abs() < tolerance, "{n} {degree} {found}");
                assert!((mirrored / expected - 1.0).abs() < tolerance, "{n} {degree} {mirrored}");
            }
        }
    }

    #[test]
    fn errors_are_within_their_bounds() {
        for (n_factors, w) in [(17, 0.999), (20, 0.5), (40, 0.9), (200, 0.99), (900, 0.999), (900, 0.99)] {
            let bound = (0..n_factors).fold(Bound::ONE, |bound, _| bound.replaced(None, w));
            for n in [8, 16, 24, 40, 80] {
                let found = integral(n, |_, rest| (w * rest).powi(n_factors));
                let expected = w.powi(n_factors) / (f64::from(n_factors) + 1.0);
                let error = (found - expected).abs().max(1e-300);
                assert!(bound.n_points(0.9 * error, 1000) > n || error < 1e-14, "{n_factors} {w} {n} {error}");
            }
            let n = bound.n_points(1e-13, 1000);
            let found = integral(n, |_, rest| (w * rest).powi(n_factors));
            let expected = w.powi(n_factors) / (f64::from(n_factors) + 1.0);
            assert!((found - expected).abs() <= 1e-13);
            assert!(n < 120, "{n}");
        }
    }
}
