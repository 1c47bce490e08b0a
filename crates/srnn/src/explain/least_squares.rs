//! Linear least squares in double precision: centred normal equations with a ridge, by Cholesky
//! decomposition.

/// The vector x of a data point, and the number y to predict from it.
pub(super) type DataPoint<'a> = (&'a [f64], f64);

/// The means of x and y.
pub(super) struct Means {
    pub x: Vec<f64>,
    pub y: f64,
}

pub(super) fn means(points: &[DataPoint]) -> Means {
    let count = points.len().max(1) as f64;
    let mut x = vec![0.0; points.first().map_or(0, |point| point.0.len())];
    for (values, _) in points {
        x.iter_mut().zip(*values).for_each(|(sum, value)| *sum += value);
    }
    x.iter_mut().for_each(|sum| *sum /= count);
    Means { x, y: points.iter().map(|point| point.1).sum::<f64>() / count }
}

/// The weights w and the intercept b that minimise `mean (w·x + b − y)² + ridge·s·‖w‖²`, with s the
/// mean variance of the components of x, so that `ridge` has no unit. `None` if a number is not
/// finite.
pub(super) fn ridge(points: &[DataPoint], means: &Means, ridge: f64) -> Option<(Vec<f64>, f64)> {
    let (d, count) = (means.x.len(), points.len() as f64);
    let (mut a, mut b, mut x) = (vec![0.0; d * d], vec![0.0; d], vec![0.0; d]);
    for (values, y) in points {
        for j in 0..d {
            x[j] = values[j] - means.x[j];
            b[j] += x[j] * (y - means.y) / count;
            for i in 0..=j {
                a[j * d + i] += x[j] * x[i] / count;
            }
        }
    }
    let variance = (0..d).map(|j| a[j * d + j]).sum::<f64>() / d as f64;
    // If nothing varies, any positive number makes the weights 0.
    let added = if variance > 0.0 { ridge * variance } else { 1.0 };
    (0..d).for_each(|j| a[j * d + j] += added);
    let weights = solve(a, b)?;
    let at_means: f64 = weights.iter().zip(&means.x).map(|(w, x)| w * x).sum();
    Some((weights, means.y - at_means))
}

/// Solves `A z = b` for a symmetric positive definite A `[D,D]`, of which the lower half is read.
/// `None` if a pivot is not positive.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let d = b.len();
    for j in 0..d {
        for i in 0..=j {
            let known: f64 = (0..i).map(|k| a[j * d + k] * a[i * d + k]).sum();
            let rest = a[j * d + i] - known;
            a[j * d + i] = match i == j {
                true if rest > 0.0 => rest.sqrt(),
                true => return None,
                false => rest / a[i * d + i],
            };
        }
    }
    for j in 0..d {
        let known: f64 = (0..j).map(|k| a[j * d + k] * b[k]).sum();
        b[j] = (b[j] - known) / a[j * d + j];
    }
    for j in (0..d).rev() {
        let known: f64 = (j + 1..d).map(|k| a[k * d + j] * b[k]).sum();
        b[j] = (b[j] - known) / a[j * d + j];
    }
    b.iter().all(|value| value.is_finite()).then_some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_with_a_known_answer_is_solved() {
        // A = L·Lᵀ with L = [[2,0,0],[1,3,0],[−1,2,1]], z = (1, −2, 3).
        let a = vec![4.0, f64::NAN, f64::NAN, 2.0, 10.0, f64::NAN, -2.0, 5.0, 6.0];
        let z = solve(a, vec![-6.0, -3.0, 6.0]).unwrap();
        assert!(z.iter().zip([1.0, -2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{z:?}");
        assert_eq!(solve(vec![1.0, 0.0, 1.0, 1.0], vec![1.0, 1.0]), None);
    }

    #[test]
    fn points_on_a_plane_give_the_plane() {
        let xs: Vec<[f64; 2]> = (0..20).map(|i| [(i % 7) as f64, (i % 5) as f64 - 2.0]).collect();
        let points: Vec<DataPoint> =
            xs.iter().map(|x| (&x[..], 3.0 * x[0] - 0.5 * x[1] + 7.0)).collect();
        let (w, b) = ridge(&points, &means(&points), 1e-12).unwrap();
        assert!((w[0] - 3.0).abs() < 1e-9 && (w[1] + 0.5).abs() < 1e-9 && (b - 7.0).abs() < 1e-9);
    }

    #[test]
    fn equal_columns_share_the_weight_and_constant_ones_get_none() {
        let xs: Vec<[f64; 3]> = (0..9).map(|i| [i as f64, i as f64, 4.0]).collect();
        let points: Vec<DataPoint> = xs.iter().map(|x| (&x[..], 2.0 * x[0])).collect();
        let (w, b) = ridge(&points, &means(&points), 1e-9).unwrap();
        assert!((w[0] - 1.0).abs() < 1e-6 && (w[1] - 1.0).abs() < 1e-6, "{w:?}");
        assert!(w[2] == 0.0 && b.abs() < 1e-6, "{w:?} {b}");
        let still = [(&[4.0][..], 1.0), (&[4.0][..], 2.0)];
        assert_eq!(ridge(&still, &means(&still), 1e-9), Some((vec![0.0], 1.5)));
    }

    #[test]
    fn numbers_that_are_not_finite_have_no_fit() {
        let points = [(&[1.0][..], 1.0), (&[f64::NAN][..], 2.0)];
        assert_eq!(ridge(&points, &means(&points), 1e-9), None);
    }
}
