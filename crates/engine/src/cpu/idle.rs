//! Updates of parameters whose gradient is zero, all that were missed at once, to the bits that
//! they would have one after the other.
//!
//! Such an update depends on nothing but the parameter, its moments and the [`Pace`]: without a
//! gradient moments only fade, and steps with them. What no update can move any more is therefore
//! known beforehand, and its moments fade without looking at it.

use crate::optimiser::{Moments, Optimiser, Pace, Rule, Update};

/// Updates that some parameters have missed, the oldest first.
pub struct Missed {
    rule: Rule,
    paces: Vec<Pace<f32>>,
    /// No rate and no correction of the mean is larger.
    largest: Pace<f32>,
}

/// Parameters of a row that are looked at together.
const BLOCK: usize = 64;
/// Updates made before it is looked again whether a block still moves.
const BETWEEN_LOOKS: usize = 16;
/// A step of a larger moment could overflow.
const LARGEST_MOMENT: f32 = 1e20;
/// So could one over a smaller epsilon; and a larger one itself.
const LEAST_EPSILON: f64 = 1e-12;
const LARGEST_EPSILON: f64 = 1e20;
/// A number that differs from p by less than this part of it rounds to p: half the distance to its
/// nearer neighbour, if p is a power of two, is 2⁻²⁵ of it.
const UNSEEN: f32 = 1.0 / (1 << 26) as f32;

/// Whether parameters without a gradient may wait for their updates: these must depend on nothing
/// but the parameter itself, and leave alone what never had a gradient.
pub fn may_wait(optimiser: &Optimiser) -> bool {
    let (memories, epsilon) = match optimiser.rule {
        Rule::RmsProp { decay, momentum, epsilon, .. } => ([decay, momentum], epsilon),
        Rule::Adam { beta1, beta2, epsilon } => ([beta1, beta2], epsilon),
        Rule::AdaDelta { decay, epsilon } => ([decay, decay], epsilon),
    };
    let fade = memories.iter().all(|memory| (0.0..1.0).contains(memory));
    let divides = (LEAST_EPSILON..LARGEST_EPSILON).contains(&epsilon);
    optimiser.l2 == 0.0 && optimiser.clip > 0.0 && fade && divides
}

/// Whether an update of this rate is one to wait for: minus zero would move minus zero.
pub fn is_plain(rate: f64) -> bool {
    let rate = rate as f32;
    rate.is_finite() && rate.is_sign_positive()
}

/// Whether no update without a gradient changes these: every moment is zero, and taking zero off a
/// parameter leaves it as it is.
pub fn are_still<'a>(params: &[f32], mut moments: impl Iterator<Item = &'a [f32]>) -> bool {
    moments.all(|moment| moment.iter().all(|x| x.to_bits() == 0))
        && params.iter().all(|x| x.is_normal() || x.to_bits() & !SIGN == 0)
}

const SIGN: u32 = 1 << 31;

impl Missed {
    /// None yet.
    pub fn new(rule: Rule) -> Missed {
        Missed { rule, paces: vec![], largest: Pace { rate: 0.0, fixes: [0.0; 2] } }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.paces.len()
    }

    /// One more.
    pub fn push(&mut self, update: &Update<f32>) {
        let (pace, largest) = (update.pace, &mut self.largest);
        largest.rate = largest.rate.max(pace.rate);
        largest.fixes[0] = largest.fixes[0].max(pace.fixes[0]);
        self.paces.push(pace);
    }

    /// Nobody has missed any.
    pub fn clear(&mut self) {
        *self = Missed::new(self.rule);
    }

    /// Makes all but the first `had` on some parameters with their moments.
    // PERF: inlined, so that it is compiled for the vectors of whoever calls it.
    #[inline(always)]
    pub fn make_up(&self, had: usize, params: &mut [f32], moments: Moments<'_, f32>) {
        let mut moments = moments.map(|moment| moment.chunks_mut(BLOCK));
        for params in params.chunks_mut(BLOCK) {
            let moments = moments.each_mut().map(|blocks| blocks.next().unwrap_or(&mut []));
            self.make_up_block(&self.paces[had..], params, moments);
        }
    }

    #[inline(always)]
    fn make_up_block(&self, paces: &[Pace<f32>], params: &mut [f32], moments: Moments<'_, f32>) {
        let [first, second, third] = moments;
        if !self.is_regular(params, [first, second, third]) {
            return self.make_one_by_one(paces, params, [first, second, third]);
        }
        match self.rule {
            Rule::RmsProp { decay, momentum, .. } => {
                fade(first, decay as f32, paces.len());
                fade(third, decay as f32, paces.len());
                self.move_by_momentum(paces, momentum as f32, params, second);
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                let made = self.move_by_mean(paces, epsilon as f32, params, [first, second]);
                fade(first, beta1 as f32, paces.len() - made);
                fade(second, beta2 as f32, paces.len() - made);
            }
            Rule::AdaDelta { decay, .. } => {
                fade(first, decay as f32, paces.len());
                fade(second, decay as f32, paces.len());
            }
        }
    }

    /// Whether the numbers are such as updates without a gradient only make smaller: no infinities,
    /// no NaN, no squares below zero, no parameters that a subtraction of zero would change.
    #[inline(always)]
    fn is_regular(&self, params: &[f32], moments: Moments<'_, f32>) -> bool {
        let [first, second, third] = moments;
        let signed =
            |moment: &[f32]| moment.iter().fold(true, |all, x| all & (x.abs() <= LARGEST_MOMENT));
        let squares = |moment: &[f32]| {
            moment.iter().fold(true, |all, x| all & (x.to_bits() <= LARGEST_MOMENT.to_bits()))
        };
        let moments = match self.rule {
            Rule::RmsProp { .. } => squares(first) & signed(second) & signed(third),
            Rule::Adam { .. } => signed(first) & squares(second),
            Rule::AdaDelta { .. } => squares(first) & squares(second),
        };
        let (least, infinity) = (f32::MIN_POSITIVE.to_bits(), f32::INFINITY.to_bits());
        moments
            & params.iter().fold(true, |all, x| {
                let size = x.to_bits() & !SIGN;
                all & (((size >= least) & (size < infinity)) | (x.to_bits() == 0))
            })
    }

    /// The updates themselves, with a gradient of zeros.
    #[inline(always)]
    fn make_one_by_one(&self, paces: &[Pace<f32>], params: &mut [f32], moments: Moments<'_, f32>) {
        let (rule, [first, second, third]) = (self.rule, moments);
        for &pace in paces {
            let update = Update { rule, scale: 1.0, l2: 0.0, pace };
            update.apply(params, [first, second, third], &[0.0; BLOCK][..params.len()]);
        }
    }

    /// RMSprop, after its squares have faded.
    #[inline(always)]
    fn move_by_momentum(
        &self,
        mut paces: &[Pace<f32>],
        momentum: f32,
        params: &mut [f32],
        speeds: &mut [f32],
    ) {
        while !paces.is_empty() {
            let farthest = |speed: f32| self.largest.rate * speed;
            if are_unmoved(params, speeds, farthest) {
                return fade(speeds, momentum, paces.len());
            }
            let (now, later) = paces.split_at(paces.len().min(BETWEEN_LOOKS));
            for pace in now {
                for (p, speed) in params.iter_mut().zip(speeds.iter_mut()) {
                    *speed = momentum * *speed + 0.0;
                    *p -= pace.rate * *speed;
                }
            }
            paces = later;
        }
    }

    /// Adam, until nothing moves any more; how many updates were made.
    #[inline(always)]
    fn move_by_mean(
        &self,
        paces: &[Pace<f32>],
        epsilon: f32,
        params: &mut [f32],
        [means, squares]: [&mut [f32]; 2],
    ) -> usize {
        let Pace { rate, fixes: [fix, _] } = self.largest;
        let mut made = 0;
        while made < paces.len() {
            // In the order of the update, so that no rounding makes a step longer than this.
            let farthest = |mean: f32| rate * (mean * fix) / epsilon;
            if are_unmoved(params, means, farthest) {
                break;
            }
            let until = paces.len().min(made + BETWEEN_LOOKS);
            self.make_one_by_one(&paces[made..until], params, [means, squares, &mut []]);
            made = until;
        }
        made
    }
}

/// Whether no parameter moves, neither by its moment nor by what will be left of it later, where a
/// step is at most `farthest` of the moment's size.
#[inline(always)]
fn are_unmoved(params: &[f32], moments: &[f32], farthest: impl Fn(f32) -> f32) -> bool {
    let pairs = params.iter().zip(moments);
    pairs.fold(true, |all, (p, moment)| all & (farthest(moment.abs()) <= p.abs() * UNSEEN))
}

/// What `updates` updates without a gradient leave of moments, a block at most.
#[inline(always)]
fn fade(moments: &mut [f32], keep: f32, updates: usize) {
    if updates == 0 || moments.is_empty() {
        return;
    }
    // PERF: of a length that is known, so that it stays in registers.
    let mut block = [0.0; BLOCK];
    block[..moments.len()].copy_from_slice(moments);
    let mut left = updates;
    while left > 0 && block.iter().any(|&x| x != 0.0) {
        let now = left.min(BETWEEN_LOOKS);
        for _ in 0..now {
            block.iter_mut().for_each(|x| *x *= keep);
        }
        left -= now;
    }
    // Every update adds a zero, which makes minus zero zero: so does the last alone.
    moments.iter_mut().zip(block).for_each(|(into, x)| *into = x + 0.0);
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Level, without_denormals};
    use super::*;
    use crate::key::{Key, Stream};
    use crate::optimiser::moments_mut;
    use pulp::{Simd, WithSimd};

    fn rules() -> Vec<Rule> {
        let rms =
            |momentum, centred| Rule::RmsProp { decay: 0.9, momentum, epsilon: 1e-6, centred };
        let adam = |beta1, beta2, epsilon| Rule::Adam { beta1, beta2, epsilon };
        vec![
            Rule::ADAM,
            adam(0.3, 0.5, 1e-3),
            rms(0.0, false),
            rms(0.9, true),
            rms(0.999, false),
            Rule::AdaDelta { decay: 0.999, epsilon: 1e-6 },
        ]
    }

    struct MakeUp<'a> {
        missed: &'a Missed,
        state: &'a mut [Vec<f32>],
    }

    impl WithSimd for MakeUp<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let (params, moments) = self.state.split_first_mut().expect("parameters");
            self.missed.make_up(1, params, moments_mut(moments));
        }
    }

    /// Sizes as in training, and now and then something that is not.
    fn number(stream: &mut Stream, size: f64) -> f32 {
        const STRANGE: [f32; 8] =
            [0.0, -0.0, 1e-40, -1e-42, f32::INFINITY, f32::NAN, 1e30, f32::MIN_POSITIVE];
        match stream.below(8_000) {
            n if n < 8 => STRANGE[n],
            _ => (size * stream.normal() * 10f64.powf(stream.uniform(-6.0, 0.0))) as f32,
        }
    }

    fn squares(rule: Rule, moment: usize) -> bool {
        match rule {
            Rule::RmsProp { .. } => moment == 0,
            Rule::Adam { .. } => moment == 1,
            Rule::AdaDelta { .. } => true,
        }
    }

    /// Parameters, then moments.
    fn state(rule: Rule, len: usize, stream: &mut Stream) -> Vec<Vec<f32>> {
        let mut state = vec![(0..len).map(|_| number(stream, 1.0)).collect::<Vec<f32>>()];
        for moment in 0..rule.moments() {
            let size = |x: f32| if squares(rule, moment) { x * x } else { x };
            state.push((0..len).map(|_| size(number(stream, 0.1))).collect());
        }
        state
    }

    fn missed(rule: Rule, count: usize, stream: &mut Stream) -> Missed {
        let mut missed = Missed::new(rule);
        for number in 0..count as u64 {
            let rate = if number % 7 == 0 { 0.0 } else { 1e-2 * stream.unit() };
            let pace = Pace::new(rule, rate, 1 + number / 2);
            missed.push(&Update { rule, scale: 0.1, l2: 0.0, pace });
        }
        missed
    }

    /// Bits, but for which NaN it is.
    fn bits(state: &[Vec<f32>]) -> Vec<u32> {
        let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        state.iter().flatten().map(bits).collect()
    }

    /// Whether what is made up for has the bits of updates made one by one.
    fn check(missed: &Missed, before: Vec<Vec<f32>>, level: Level) {
        let (rule, count) = (missed.rule, missed.count());
        let (mut at_once, mut one_by_one) = (before.clone(), before);
        level.run(MakeUp { missed, state: &mut at_once });
        let (params, moments) = one_by_one.split_first_mut().expect("parameters");
        let zeros = vec![0.0; params.len()];
        for &pace in &missed.paces[1..] {
            let update = Update { rule, scale: 0.7, l2: 0.0, pace };
            update.apply(params, moments_mut(moments), &zeros);
        }
        let (at_once, one_by_one) = (bits(&at_once), bits(&one_by_one));
        let differs = at_once.iter().zip(&one_by_one).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{rule:?}, {count} updates on {level:?}");
    }

    #[test]
    fn what_is_made_up_for_has_the_bits_of_updates_made_one_by_one() {
        let mut stream = Key::new(1).stream();
        for rule in rules() {
            for level in Level::available() {
                for count in [1, 2, 17, 18, 100, 333, 4_000] {
                    for _ in 0..8 {
                        let missed = missed(rule, count, &mut stream);
                        let before = state(rule, 3 * BLOCK + 5, &mut stream);
                        check(&missed, before.clone(), level);
                        without_denormals(|| check(&missed, before, level));
                    }
                }
            }
        }
    }

    #[test]
    fn what_adams_later_corrections_leave_alone_its_early_ones_move() {
        let rule = Rule::Adam { beta1: 0.99, beta2: 0.999, epsilon: 1.0 };
        let missed = missed(rule, 1_000, &mut Key::new(2).stream());
        check(&missed, vec![vec![1.0; BLOCK], vec![1e-6; BLOCK], vec![0.0; BLOCK]], Level::best());
    }

    #[test]
    fn what_no_update_moves_is_told_from_what_one_does() {
        let zero = [0.0; 2];
        let still = |params: &[f32], moment: &[f32]| are_still(params, [moment, &zero].into_iter());
        assert!(still(&[1.0, -0.0], &zero));
        assert!(!still(&[1.0, 1e-40], &zero), "it may be flushed to zero");
        assert!(!still(&[1.0, f32::INFINITY], &zero), "infinity times zero is NaN");
        assert!(!still(&[1.0, 2.0], &[0.0, -0.0]), "it becomes zero");
        assert!(!still(&[1.0, 2.0], &[0.0, 1e-40]));
    }

    #[test]
    fn rules_that_move_what_has_no_gradient_do_not_wait() {
        let plain = Optimiser { rule: Rule::ADAM, clip: 1.0, l2: 0.0 };
        assert!(may_wait(&plain));
        assert!(!may_wait(&Optimiser { l2: 1e-3, ..plain }));
        assert!(!may_wait(&Optimiser { clip: 0.0, ..plain }));
        for epsilon in [0.0, 1e60, f64::INFINITY, f64::NAN] {
            let no_number = Rule::AdaDelta { decay: 0.9, epsilon };
            assert!(!may_wait(&Optimiser { rule: no_number, ..plain }), "{epsilon}");
        }
        assert!(is_plain(0.0) && is_plain(1e-3));
        assert!(!is_plain(-0.0) && !is_plain(1e60) && !is_plain(f64::NAN));
    }
}
