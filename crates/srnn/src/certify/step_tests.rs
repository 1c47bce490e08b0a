//! The states of the reference engine lie in the enclosures of a step.

use super::error_model::ErrorModel;
use super::gru::RoundedForm;
use super::margin::{readout_margin, state_margin};
use super::network::EnclosedNetwork;
use super::random_networks::{KINDS, RandomNetwork, random_network};
use super::zonotope::{StateBox, Zonotope, step};
use crate::engine::Arithmetic;
use crate::engine::reference::NetworkState;
use crate::key::{Key, Rng};
use crate::model::Score;

/// Bound on the rounding error of a sum of a dozen products of numbers up to 1 in double precision.
const ROUNDING: f64 = 1e-14;
const POINTS: usize = 12;
const DIRECTIONS: usize = 50;
const DEPTH: usize = 3;

/// Whether a state can lie in c + Γξ: in no tested direction is it farther from c than the set.
/// Bounds that are NaN pass, here and below, because they prove nothing.
pub fn may_contain(set: &Zonotope, state: &[f64], rng: &mut Rng) -> bool {
    let n = state.len();
    (0..DIRECTIONS).all(|i| {
        let p: Vec<f64> = match i < n {
            true => (0..n).map(|j| (i == j) as u8 as f64).collect(),
            false => (0..n).map(|_| rng.normal()).collect(),
        };
        let dot = |v: &mut dyn Iterator<Item = f64>| p.iter().zip(v).map(|(p, v)| p * v).sum();
        let off: f64 = dot(&mut state.iter().zip(&set.centre).map(|(a, c)| a - c));
        let generators = &set.generators;
        let along = |g: usize| generators.entries(g).map(|(i, x, _)| p[i] * x).sum::<f64>();
        let reach: f64 = (0..generators.rows()).map(|g| along(g).abs()).sum();
        off.abs() <= reach + ROUNDING || reach.is_nan()
    })
}

/// Whether a state is in the box of the set, without tolerance.
pub fn is_in_box(set: &Zonotope, state: &[f64]) -> bool {
    state.iter().zip(&set.range).all(|(&a, range)| !(a.is_nan() || a < range.lo || a > range.hi))
}

/// Whether u is in its range, widened by its rounding.
pub fn is_u_enclosed(found: &RoundedForm, u: &[f64]) -> bool {
    let mut all = u.iter().zip(found.value.range.iter().zip(&found.error));
    all.all(|(&u, (range, &error))| !(u.is_nan() || u < range.lo - error || u > range.hi + error))
}

/// A network and the arithmetic of its enclosures.
struct StepTest<'a> {
    random: &'a RandomNetwork,
    network: EnclosedNetwork,
    arithmetic: Arithmetic,
}

impl StepTest<'_> {
    /// Steps a box and points of it along `word` and asserts that the enclosures contain the
    /// points.
    fn follow(&self, region: &StateBox, word: &[u32], rng: &mut Rng) {
        let errors = ErrorModel::of(self.arithmetic);
        let mut set = Zonotope::of_box(&self.network, region, errors);
        let mut points: Vec<NetworkState> =
            (0..POINTS).map(|_| self.random.state(&self.random.point_in(region, rng))).collect();
        self.assert_margins(&set, None, &points);
        for (t, &token) in word.iter().enumerate() {
            let stepped = step(&self.network, &set, token, errors);
            points = points.iter().map(|p| self.random.advance(&p.alpha.concat(), token)).collect();
            for (i, point) in points.iter().enumerate() {
                let place = || format!("{} {word:?} step {t} point {i}", self.random.name);
                let alpha = point.alpha.concat();
                assert!(is_in_box(&stepped.set, &alpha), "{}: box\n{region:?}", place());
                assert!(
                    may_contain(&stepped.set, &alpha, rng),
                    "{}: zonotope\n{region:?}",
                    place()
                );
                assert!(is_u_enclosed(&stepped.u, &point.u), "{}: u\n{region:?}", place());
            }
            set = stepped.set;
            self.assert_margins(&set, Some(&stepped.u), &points);
        }
    }

    /// Asserts that no point has a smaller margin than the bound of its set.
    fn assert_margins(&self, set: &Zonotope, u: Option<&RoundedForm>, points: &[NetworkState]) {
        let (network, errors) = (&self.network, ErrorModel::of(self.arithmetic));
        for class in 0..network.arch.classes {
            let least = match (network.classifies_steps(), u) {
                (true, Some(u)) => readout_margin(&network.head, u, class as u32, errors),
                (true, None) => continue,
                (false, _) => state_margin(network, set, class as u32, errors),
            };
            for point in points {
                let found = self.random.margin(point, class);
                assert!(found >= least, "{} class {class}: {found} < {least}", self.random.name);
            }
        }
    }
}

fn check_kinds(arithmetic: Arithmetic, number: u64) {
    for kind in 0..KINDS {
        let mut random = random_network(kind, number);
        let mut rng = Key::new(22).child("step", kind as u64).child("number", number).rng();
        let region = random.random_box(&mut rng);
        let word: Vec<u32> = (0..DEPTH).map(|_| rng.below(2) as u32).collect();
        let is_euclidean =
            random.model.arch.layers[0].centroids.is_some_and(|c| c.score == Score::Euclidean);
        if is_euclidean && number % 2 == 1 {
            random.put_centroid_at_u(&region.centre, word[0]);
        }
        let test =
            StepTest { network: EnclosedNetwork::new(&random.model), random: &random, arithmetic };
        test.follow(&region, &word, &mut rng);
    }
}

#[test]
fn points_of_boxes_stay_in_the_enclosures_for_three_steps_of_every_kind_of_network() {
    (0..6).for_each(|number| check_kinds(Arithmetic::F64, number));
}

#[test]
fn enclosures_for_single_precision_hold_the_exact_states_too() {
    (6..8).for_each(|number| check_kinds(Arithmetic::F32, number));
}

#[test]
fn the_start_token_leads_into_its_enclosure() {
    for kind in (0..KINDS).filter(|kind| kind >> 5 & 1 == 1) {
        let random = random_network(kind, 0);
        let network = EnclosedNetwork::new(&random.model);
        let start = random.model.arch.input.start().expect("a start token");
        let origin = Zonotope::origin(&network);
        let stepped = step(&network, &origin, start, ErrorModel::of(Arithmetic::F64));
        let state = random.advance(&origin.centre, start);
        assert!(is_in_box(&stepped.set, &state.alpha.concat()), "{}", random.name);
        assert!(is_u_enclosed(&stepped.u, &state.u), "{}", random.name);
    }
}

#[test]
fn enormous_weights_and_the_smallest_temperatures_give_wide_sets_and_no_panic() {
    for kind in 0..KINDS {
        let mut random = random_network(kind, 100);
        let mut rng = Key::new(23).child("wide", kind as u64).rng();
        let region = random.random_box(&mut rng);
        let large = [1e3, 1e9, 1e30][rng.below(3)];
        random.single.params.iter_mut().for_each(|p| *p *= large);
        random.model = random.single.to_f64();
        for arithmetic in [Arithmetic::F64, Arithmetic::F32] {
            let test = StepTest {
                network: EnclosedNetwork::new(&random.model),
                random: &random,
                arithmetic,
            };
            test.follow(&region, &[0, 1, 1, 0, 0, 1], &mut rng);
        }
    }
}
