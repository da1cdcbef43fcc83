//! Least squares in three unknowns.

/// Costs of the law: 1/λ, σ/λ and κ/λ. N/X(N) is linear in them.
pub(super) type Costs = [f64; 3];

/// Factors of the three costs at a load: N/X(N) is the sum of the products.
pub(super) fn row(load: f64) -> Costs {
    [1.0, load - 1.0, load * (load - 1.0)]
}

/// N/X(N), s: the time that each of N clients takes.
pub(super) fn time(costs: &Costs, load: f64) -> f64 {
    row(load).iter().zip(costs).map(|(factor, cost)| factor * cost).sum()
}

/// Minimise Σ (rowᵢ·costs − targetᵢ)².
#[derive(Clone, Debug, Default)]
pub(super) struct Squares {
    /// Sums of products of each two columns.
    products: [Costs; 3],
    /// Sums of products of each column with the targets.
    targets: Costs,
}

/// A diagonal entry this small, of columns of length 1, is rounding: the columns say the same.
const SINGULAR: f64 = 1e-12;

/// The unknown costs; all others are 0.
pub(super) type Free = [bool; 3];

impl Squares {
    pub(super) fn add(&mut self, row: &Costs, target: f64) {
        for (i, x) in row.iter().enumerate() {
            self.targets[i] += x * target;
            for (j, y) in row.iter().enumerate() {
                self.products[i][j] += x * y;
            }
        }
    }

    /// The costs with the least squares; `None` where the rows cannot tell them apart.
    pub(super) fn solve(&self, free: Free) -> Option<Costs> {
        self.solve_for(&self.targets, free)
    }

    /// The inverse of the products: the costs' covariance over the variance of a target.
    pub(super) fn inverse(&self) -> Option<[Costs; 3]> {
        let unit = |at: usize| {
            let mut unit = [0.0; 3];
            unit[at] = 1.0;
            unit
        };
        let column = |at| self.solve_for(&unit(at), [true; 3]);
        Some([column(0)?, column(1)?, column(2)?])
    }

    /// Gauss's elimination of the normal equations, columns first brought to length 1: N(N − 1) is large where 1 is not.
    fn solve_for(&self, targets: &Costs, free: Free) -> Option<Costs> {
        let length = |i: usize| self.products[i][i].sqrt();
        let (mut m, mut t) = ([[0.0; 3]; 3], [0.0; 3]);
        for i in 0..3 {
            if !free[i] {
                m[i][i] = 1.0;
                continue;
            }
            t[i] = targets[i] / length(i);
            for j in (0..3).filter(|&j| free[j]) {
                m[i][j] = self.products[i][j] / (length(i) * length(j));
            }
        }
        for i in 0..3 {
            // The matrix is positive definite, so no pivoting is needed; a value not above zero is rounding. (NaN is not above zero
            // either.)
            let sound = m[i][i] > SINGULAR;
            if !sound {
                return None;
            }
            let (pivot, of_pivot) = (m[i], t[i]);
            for j in i + 1..3 {
                let factor = m[j][i] / pivot[i];
                m[j].iter_mut().zip(&pivot).for_each(|(x, y)| *x -= factor * y);
                t[j] -= factor * of_pivot;
            }
        }
        for i in (0..3).rev() {
            let known: f64 = (i + 1..3).map(|j| m[i][j] * t[j]).sum();
            t[i] = (t[i] - known) / m[i][i];
        }
        let scaled = |i: usize| if free[i] { t[i] / length(i) } else { 0.0 };
        let costs = [scaled(0), scaled(1), scaled(2)];
        costs.iter().all(|cost| cost.is_finite()).then_some(costs)
    }

    /// The minimised value, without the constant Σ target².
    pub(super) fn value(&self, costs: &Costs) -> f64 {
        let quadratic: f64 = costs
            .iter()
            .zip(&self.products)
            .map(|(x, row)| x * row.iter().zip(costs).map(|(p, y)| p * y).sum::<f64>())
            .sum();
        let linear: f64 = costs.iter().zip(&self.targets).map(|(x, t)| x * t).sum();
        quadratic - 2.0 * linear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out() {
        let costs = [0.001, 0.000_05, 0.000_002];
        let mut squares = Squares::default();
        for load in [1.0, 2.0, 5.0, 9.0, 1_000.0] {
            squares.add(&row(load), time(&costs, load));
        }
        let found = squares.solve([true; 3]).unwrap();
        assert!(found.iter().zip(&costs).all(|(found, cost)| (found / cost - 1.0).abs() < 1e-6), "{found:?}");
        assert_eq!(squares.solve([true, false, false]).unwrap()[1..], [0.0, 0.0]);
    }

    #[test]
    fn the_inverse_is_one() {
        let mut squares = Squares::default();
        for load in [1.0, 2.0, 5.0, 9.0] {
            squares.add(&row(load), 1.0);
        }
        let inverse = squares.inverse().unwrap();
        for i in 0..3 {
            for (j, column) in inverse.iter().enumerate() {
                let product: f64 = (0..3).map(|k| squares.products[i][k] * column[k]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j} {product}");
            }
        }
    }

    #[test]
    fn two_loads_do_not_tell_three_costs() {
        let mut squares = Squares::default();
        for load in [1.0, 4.0, 1.0, 4.0] {
            squares.add(&row(load), 1.0);
        }
        assert_eq!(squares.solve([true; 3]), None);
        assert!(squares.solve([true, true, false]).is_some());
    }
}
