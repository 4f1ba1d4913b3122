//! The correlation of the places of categories with targets, from sums over rows.

/// Rows of the same contents on one side: their weight, and the sum of their squared weights.
#[derive(Clone, Copy)]
pub(super) struct Mass {
    pub weight: f64,
    pub squares: f64,
}

/// Weighted sums over rows, for the correlation of a number that each category has with a number
/// that each row has.
pub(super) struct Correlation {
    /// By category: the weight of its rows, and the weighted sum of their numbers.
    pub weights: Vec<f64>,
    pub sums: Vec<f64>,
    pub totals: Totals,
}

/// The sums over all rows that do not depend on their categories.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    /// The sum of squared weights.
    weight_squares: f64,
    /// The weighted sum of squared numbers.
    squares: f64,
}

impl Totals {
    /// Adds a row.
    #[inline]
    pub fn add(&mut self, number: f64, Mass { weight, squares }: Mass) {
        self.weight_squares += squares;
        self.squares += weight * number * number;
    }
}

impl Correlation {
    pub fn new(n_categories: usize) -> Self {
        let zeros = || vec![0.0; n_categories];
        Self { weights: zeros(), sums: zeros(), totals: Totals::default() }
    }

    /// Adds a row to its category, but not to the totals.
    #[inline]
    pub fn add(&mut self, category: usize, number: f64, weight: f64) {
        self.weights[category] += weight;
        self.sums[category] += weight * number;
    }

    /// The correlation with the numbers of the categories, divided by the standard error that equally many
    /// uncorrelated rows would have; 0 if a number does not vary.
    pub fn n_errors(&self, of_categories: &[f64]) -> f64 {
        let coefficient = self.coefficient(of_categories);
        if coefficient == 0.0 {
            return 0.0;
        }
        coefficient * self.weights.iter().sum::<f64>() / self.totals.weight_squares.sqrt()
    }

    /// The correlation with the numbers of the categories; 0 if a number does not vary.
    pub fn coefficient(&self, of_categories: &[f64]) -> f64 {
        let weight: f64 = self.weights.iter().sum();
        let mean = self.sums.iter().sum::<f64>() / weight;
        let categories = || of_categories.iter().zip(&self.weights);
        let mean_of_categories = categories().map(|(number, weight)| number * weight).sum::<f64>() / weight;
        let variance = |(number, weight): (&f64, &f64)| weight * (number - mean_of_categories).powi(2);
        let products = categories().zip(&self.sums).map(|((number, weight), sum)| {
            // The numbers of the rows are centred too.
            (number - mean_of_categories) * (sum - weight * mean)
        });
        let scale = (categories().map(variance).sum::<f64>() * (self.totals.squares - weight * mean * mean)).sqrt();
        if scale > 0.0 { products.sum::<f64>() / scale } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_in_standard_errors() {
        let errors = |weights: [f64; 5]| {
            let mut sums = Correlation::new(4);
            let rows = [(0, 2.0), (1, 3.0), (2, 5.0), (3, 3.0), (3, 5.0)];
            for ((category, number), weight) in rows.into_iter().zip(weights) {
                sums.add(category, number, weight);
                sums.totals.add(number, Mass { weight, squares: weight * weight });
            }
            sums.n_errors(&[1.0, 2.0, 3.0, 4.0])
        };
        // The last two rows are one in the mean, but vary.
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 4.0], [2.0, 3.0, 5.0, 3.0, 5.0]);
        let centred = |numbers: [f64; 5]| numbers.map(|number| number - numbers.iter().sum::<f64>() / 5.0);
        let product = |a: [f64; 5], b: [f64; 5]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (centred(a), centred(b));
        let expected = product(a, b) / (product(a, a) * product(b, b)).sqrt() * 5.0f64.sqrt();
        assert!((errors([1.0; 5]) - expected).abs() < 1e-12);
        assert!((errors([7.0; 5]) - expected).abs() < 1e-12);
        assert!((errors([1.0, 1.0, 0.0, 0.0, 0.0]) - 2.0f64.sqrt()).abs() < 1e-12);
        // Numbers that do not vary; no rows.
        assert!(errors([0.0, 0.0, 1.0, 0.0, 1.0]).abs() < 1e-6 && errors([0.0, 1.0, 0.0, 1.0, 0.0]).abs() < 1e-6);
        assert_eq!(Correlation::new(4).n_errors(&[1.0; 4]), 0.0);
    }
}
