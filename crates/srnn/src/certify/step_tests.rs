//! Where a token leads from a set: the reference's states lie in what the prover encloses.

use super::arithmetic::Errors;
use super::cell::Computed;
use super::decide::{lead, lead_of_states};
use super::network::Network;
use super::samples::{KINDS, Sample, sample};
use super::set::{Ball, Set, step};
use crate::engine::Arithmetic;
use crate::engine::reference::NetworkState;
use crate::key::{Key, Rng};
use crate::model::Score;

/// What double precision costs a sum of a dozen products of numbers up to 1.
const ROUNDING: f64 = 1e-14;
const POINTS: usize = 12;
const DIRECTIONS: usize = 50;
const DEPTH: usize = 3;

/// Whether a state can lie in c + Γξ: in no direction is it farther out than the set. Ends that are
/// no numbers, here and below, say nothing: with them nothing is proved.
pub fn reaches(set: &Set, state: &[f64], draw: &mut Rng) -> bool {
    let n = state.len();
    (0..DIRECTIONS).all(|i| {
        let p: Vec<f64> = match i < n {
            true => (0..n).map(|j| (i == j) as u8 as f64).collect(),
            false => (0..n).map(|_| draw.normal()).collect(),
        };
        let dot = |v: &mut dyn Iterator<Item = f64>| p.iter().zip(v).map(|(p, v)| p * v).sum();
        let off: f64 = dot(&mut state.iter().zip(&set.centre).map(|(a, c)| a - c));
        let reach: f64 = set
            .generators
            .chunks_exact(n)
            .map(|row| -> f64 { dot(&mut row.iter().copied()) })
            .map(f64::abs)
            .sum();
        off.abs() <= reach + ROUNDING || reach.is_nan()
    })
}

/// Whether a state is in the set's box, to the last bit.
pub fn is_in_box(set: &Set, state: &[f64]) -> bool {
    state.iter().zip(&set.range).all(|(&a, range)| !(a.is_nan() || a < range.lo || a > range.hi))
}

/// Whether u is in its range, widened by its rounding.
pub fn is_u_enclosed(found: &Computed, u: &[f64]) -> bool {
    let mut all = u.iter().zip(found.value.range.iter().zip(&found.error));
    all.all(|(&u, (range, &error))| !(u.is_nan() || u < range.lo - error || u > range.hi + error))
}

/// One network, one ball, one word.
struct Trial<'a> {
    sample: &'a Sample,
    network: Network,
    arithmetic: Arithmetic,
}

impl Trial<'_> {
    /// Follows points of a ball and the ball itself.
    fn follow(&self, ball: &Ball, word: &[u32], draw: &mut Rng) {
        let errors = Errors::of(self.arithmetic);
        let mut set = Set::of_ball(&self.network, ball, errors);
        let mut points: Vec<NetworkState> =
            (0..POINTS).map(|_| self.sample.state(&self.sample.point(ball, draw))).collect();
        self.judge(&set, None, &points);
        for (t, &token) in word.iter().enumerate() {
            let stepped = step(&self.network, &set, token, errors);
            points = points.iter().map(|p| self.sample.advance(&p.alpha.concat(), token)).collect();
            for (i, point) in points.iter().enumerate() {
                let place = || format!("{} {word:?} step {t} point {i}", self.sample.name);
                let alpha = point.alpha.concat();
                assert!(is_in_box(&stepped.set, &alpha), "{}: box\n{ball:?}", place());
                assert!(reaches(&stepped.set, &alpha, draw), "{}: zonotope\n{ball:?}", place());
                assert!(is_u_enclosed(&stepped.u, &point.u), "{}: u\n{ball:?}", place());
            }
            set = stepped.set;
            self.judge(&set, Some(&stepped.u), &points);
        }
    }

    /// No point is led by less than what is said of its set.
    fn judge(&self, set: &Set, u: Option<&Computed>, points: &[NetworkState]) {
        let (network, errors) = (&self.network, Errors::of(self.arithmetic));
        for class in 0..network.arch.classes {
            let least = match (network.reads_u_on_the_way(), u) {
                (true, Some(u)) => lead(&network.head, u, class as u32, errors),
                (true, None) => continue,
                (false, _) => lead_of_states(network, set, class as u32, errors),
            };
            for point in points {
                let found = self.sample.lead(point, class);
                assert!(found >= least, "{} class {class}: {found} < {least}", self.sample.name);
            }
        }
    }
}

fn try_kinds(arithmetic: Arithmetic, number: u64) {
    for kind in 0..KINDS {
        let mut sample = sample(kind, number);
        let mut draw = Key::new(22).child("step", kind as u64).child("number", number).rng();
        let ball = sample.ball(&mut draw);
        let word: Vec<u32> = (0..DEPTH).map(|_| draw.below(2) as u32).collect();
        let is_euclidean =
            sample.model.arch.layers[0].centroids.is_some_and(|c| c.score == Score::Euclidean);
        if is_euclidean && number % 2 == 1 {
            sample.put_centroid_at_u(&ball.centre, word[0]);
        }
        let trial = Trial { network: Network::new(&sample.model), sample: &sample, arithmetic };
        trial.follow(&ball, &word, &mut draw);
    }
}

#[test]
fn points_of_balls_stay_in_the_enclosures_for_three_steps_of_every_kind_of_network() {
    (0..6).for_each(|number| try_kinds(Arithmetic::F64, number));
}

#[test]
fn enclosures_for_single_precision_hold_the_exact_states_too() {
    (6..8).for_each(|number| try_kinds(Arithmetic::F32, number));
}

#[test]
fn the_start_token_leads_into_its_enclosure() {
    for kind in (0..KINDS).filter(|kind| kind >> 5 & 1 == 1) {
        let sample = sample(kind, 0);
        let network = Network::new(&sample.model);
        let start = sample.model.arch.input.start().expect("a start token");
        let origin = Set::origin(&network);
        let stepped = step(&network, &origin, start, Errors::of(Arithmetic::F64));
        let state = sample.advance(&origin.centre, start);
        assert!(is_in_box(&stepped.set, &state.alpha.concat()), "{}", sample.name);
        assert!(is_u_enclosed(&stepped.u, &state.u), "{}", sample.name);
    }
}

#[test]
fn enormous_weights_and_the_smallest_temperatures_give_wide_sets_and_no_panic() {
    for kind in 0..KINDS {
        let mut sample = sample(kind, 100);
        let mut draw = Key::new(23).child("wide", kind as u64).rng();
        let ball = sample.ball(&mut draw);
        let large = [1e3, 1e9, 1e30][draw.below(3)];
        sample.single.params.iter_mut().for_each(|p| *p *= large);
        sample.model = sample.single.to_f64();
        for arithmetic in [Arithmetic::F64, Arithmetic::F32] {
            let trial = Trial { network: Network::new(&sample.model), sample: &sample, arithmetic };
            trial.follow(&ball, &[0, 1, 1, 0, 0, 1], &mut draw);
        }
    }
}
