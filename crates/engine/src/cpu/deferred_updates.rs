//! Replays deferred updates of parameters whose gradient was zero, many at once, with the bits of
//! updates applied one by one.
//!
//! Such an update depends only on the parameter, its moments and the [`StepSize`]. Without a gradient
//! moments only decay, and steps shrink with them. So it is known beforehand when no later update can
//! change a parameter any more; from then on only its moments are decayed.

use crate::optimiser::{Moments, Optimiser, Rule, StepSize, Update};

/// Updates that some rows have not applied yet, the oldest first.
pub struct DeferredUpdates {
    rule: Rule,
    step_sizes: Vec<StepSize<f32>>,
    /// An upper bound of all rates and of all corrections of the mean.
    largest: StepSize<f32>,
}

/// Parameters that are replayed together.
const BLOCK: usize = 64;
/// Updates between two checks whether a block can still change.
const CHECK_INTERVAL: usize = 16;
/// A step of a larger moment could overflow.
const LARGEST_MOMENT: f32 = 1e20;
/// A step divided by a smaller epsilon could overflow, and so could a larger epsilon.
const LEAST_EPSILON: f64 = 1e-12;
const LARGEST_EPSILON: f64 = 1e20;
/// A step of less than this fraction of p leaves p unchanged: half the distance from p to its nearer
/// neighbour is at least 2⁻²⁵ of p.
const NEGLIGIBLE: f32 = 1.0 / (1 << 26) as f32;

/// Whether updates without a gradient may be deferred: they must depend only on the parameter and its
/// moments, and must not change a parameter that never applied a gradient.
pub fn allows_deferral(optimiser: &Optimiser) -> bool {
    let (memories, epsilon) = match optimiser.rule {
        Rule::RmsProp { decay, momentum, epsilon, .. } => ([decay, momentum], epsilon),
        Rule::Adam { beta1, beta2, epsilon } => ([beta1, beta2], epsilon),
        Rule::AdaDelta { decay, epsilon } => ([decay, decay], epsilon),
    };
    let decays = memories.iter().all(|memory| (0.0..1.0).contains(memory));
    let divides = (LEAST_EPSILON..LARGEST_EPSILON).contains(&epsilon);
    let shrinks = optimiser.l2 != 0.0 || optimiser.weight_decay != 0.0;
    !shrinks && optimiser.clip > 0.0 && decays && divides
}

/// Whether an update with this rate may be deferred. A rate of −0 would change a parameter of −0.
pub fn is_deferrable(rate: f64) -> bool {
    let rate = rate as f32;
    rate.is_finite() && rate.is_sign_positive()
}

/// Whether no update without a gradient changes these parameters: every moment is zero, and
/// subtracting zero leaves the parameter as it is.
pub fn is_unaffected<'a>(params: &[f32], mut moments: impl Iterator<Item = &'a [f32]>) -> bool {
    moments.all(|moment| moment.iter().all(|x| x.to_bits() == 0))
        && params.iter().all(|x| x.is_normal() || x.to_bits() & !SIGN == 0)
}

const SIGN: u32 = 1 << 31;

impl DeferredUpdates {
    /// An empty list.
    pub fn new(rule: Rule) -> DeferredUpdates {
        DeferredUpdates {
            rule,
            step_sizes: vec![],
            largest: StepSize { rate: 0.0, bias_corrections: [0.0; 2] },
        }
    }

    /// The number of deferred updates.
    pub fn count(&self) -> usize {
        self.step_sizes.len()
    }

    /// Appends an update.
    pub fn push(&mut self, update: &Update<f32>) {
        let (step_size, largest) = (update.step_size, &mut self.largest);
        largest.rate = largest.rate.max(step_size.rate);
        largest.bias_corrections[0] =
            largest.bias_corrections[0].max(step_size.bias_corrections[0]);
        self.step_sizes.push(step_size);
    }

    /// Removes all updates.
    pub fn clear(&mut self) {
        *self = DeferredUpdates::new(self.rule);
    }

    /// Applies all updates but the first `applied` to some parameters with their moments.
    // PERF: inlined, so that it is compiled for the vectors of its caller.
    #[inline(always)]
    pub fn replay(&self, applied: usize, params: &mut [f32], moments: Moments<'_, f32>) {
        let mut moments = moments.map(|moment| moment.chunks_mut(BLOCK));
        for params in params.chunks_mut(BLOCK) {
            let moments = moments.each_mut().map(|blocks| blocks.next().unwrap_or(&mut []));
            self.replay_block(&self.step_sizes[applied..], params, moments);
        }
    }

    #[inline(always)]
    fn replay_block(
        &self,
        step_sizes: &[StepSize<f32>],
        params: &mut [f32],
        moments: Moments<'_, f32>,
    ) {
        let [first, second, third] = moments;
        if !self.is_regular(params, [first, second, third]) {
            return self.apply_one_by_one(step_sizes, params, [first, second, third]);
        }
        match self.rule {
            Rule::RmsProp { decay, momentum, .. } => {
                decay_moments(first, decay as f32, step_sizes.len());
                decay_moments(third, decay as f32, step_sizes.len());
                self.replay_momentum(step_sizes, momentum as f32, params, second);
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                let done = self.replay_adam(step_sizes, epsilon as f32, params, [first, second]);
                decay_moments(first, beta1 as f32, step_sizes.len() - done);
                decay_moments(second, beta2 as f32, step_sizes.len() - done);
            }
            Rule::AdaDelta { decay, .. } => {
                decay_moments(first, decay as f32, step_sizes.len());
                decay_moments(second, decay as f32, step_sizes.len());
            }
        }
    }

    /// Whether updates without a gradient only shrink these numbers: no infinities, no NaN, no squares
    /// below zero, no parameters that a subtraction of zero would change.
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

    /// The updates one by one, with a gradient of zeros.
    #[inline(always)]
    fn apply_one_by_one(
        &self,
        step_sizes: &[StepSize<f32>],
        params: &mut [f32],
        moments: Moments<'_, f32>,
    ) {
        let (rule, [first, second, third]) = (self.rule, moments);
        for &step_size in step_sizes {
            let update = Update { rule, scale: 1.0, l2: 0.0, shrink: 1.0, step_size };
            update.apply(params, [first, second, third], &[0.0; BLOCK][..params.len()]);
        }
    }

    /// RMSprop, whose squares are decayed already.
    #[inline(always)]
    fn replay_momentum(
        &self,
        mut step_sizes: &[StepSize<f32>],
        momentum: f32,
        params: &mut [f32],
        velocities: &mut [f32],
    ) {
        while !step_sizes.is_empty() {
            let largest_step = |velocity: f32| self.largest.rate * velocity;
            if cannot_move(params, velocities, largest_step) {
                return decay_moments(velocities, momentum, step_sizes.len());
            }
            let (now, later) = step_sizes.split_at(step_sizes.len().min(CHECK_INTERVAL));
            for step_size in now {
                for (p, velocity) in params.iter_mut().zip(velocities.iter_mut()) {
                    *velocity = momentum * *velocity + 0.0;
                    *p -= step_size.rate * *velocity;
                }
            }
            step_sizes = later;
        }
    }

    /// Adam, until no parameter can change any more; returns the number of updates applied.
    #[inline(always)]
    fn replay_adam(
        &self,
        step_sizes: &[StepSize<f32>],
        epsilon: f32,
        params: &mut [f32],
        [means, squares]: [&mut [f32]; 2],
    ) -> usize {
        let StepSize { rate, bias_corrections: [fix, _] } = self.largest;
        let mut done = 0;
        while done < step_sizes.len() {
            // In the order of the update, so that no rounding makes a step larger than this.
            let largest_step = |mean: f32| rate * (mean * fix) / epsilon;
            if cannot_move(params, means, largest_step) {
                break;
            }
            let until = step_sizes.len().min(done + CHECK_INTERVAL);
            self.apply_one_by_one(&step_sizes[done..until], params, [means, squares, &mut []]);
            done = until;
        }
        done
    }
}

/// Whether no parameter can change any more. `largest_step` bounds a step by the size of the moment,
/// which only decays.
#[inline(always)]
fn cannot_move(params: &[f32], moments: &[f32], largest_step: impl Fn(f32) -> f32) -> bool {
    let pairs = params.iter().zip(moments);
    pairs.fold(true, |all, (p, moment)| all & (largest_step(moment.abs()) <= p.abs() * NEGLIGIBLE))
}

/// Decays moments, at most a block of them, as `updates` updates without a gradient do.
#[inline(always)]
fn decay_moments(moments: &mut [f32], keep: f32, updates: usize) {
    if updates == 0 || moments.is_empty() {
        return;
    }
    // PERF: of a constant length, so that it stays in registers.
    let mut block = [0.0; BLOCK];
    block[..moments.len()].copy_from_slice(moments);
    let mut left = updates;
    while left > 0 && block.iter().any(|&x| x != 0.0) {
        let now = left.min(CHECK_INTERVAL);
        for _ in 0..now {
            block.iter_mut().for_each(|x| *x *= keep);
        }
        left -= now;
    }
    // Every update adds a zero, which turns −0 into 0. To do this once at the end is the same.
    moments.iter_mut().zip(block).for_each(|(into, x)| *into = x + 0.0);
}

#[cfg(test)]
mod tests {
    use super::super::simd::{SimdLevel, without_denormals};
    use super::*;
    use crate::key::{Key, Rng};
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

    struct ReplayAll<'a> {
        updates: &'a DeferredUpdates,
        state: &'a mut [Vec<f32>],
    }

    impl WithSimd for ReplayAll<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let (params, moments) = self.state.split_first_mut().expect("parameters");
            self.updates.replay(1, params, moments_mut(moments));
        }
    }

    /// Sizes as in training, and now and then a special value.
    fn number(rng: &mut Rng, size: f64) -> f32 {
        const SPECIAL: [f32; 8] =
            [0.0, -0.0, 1e-40, -1e-42, f32::INFINITY, f32::NAN, 1e30, f32::MIN_POSITIVE];
        match rng.below(8_000) {
            n if n < 8 => SPECIAL[n],
            _ => (size * rng.normal() * 10f64.powf(rng.uniform(-6.0, 0.0))) as f32,
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
    fn state(rule: Rule, len: usize, rng: &mut Rng) -> Vec<Vec<f32>> {
        let mut state = vec![(0..len).map(|_| number(rng, 1.0)).collect::<Vec<f32>>()];
        for moment in 0..rule.moments() {
            let size = |x: f32| if squares(rule, moment) { x * x } else { x };
            state.push((0..len).map(|_| size(number(rng, 0.1))).collect());
        }
        state
    }

    fn random_updates(rule: Rule, count: usize, rng: &mut Rng) -> DeferredUpdates {
        let mut updates = DeferredUpdates::new(rule);
        for number in 0..count as u64 {
            let rate = if number % 7 == 0 { 0.0 } else { 1e-2 * rng.unit() };
            let step_size = StepSize::new(rule, rate, 1 + number / 2);
            updates.push(&Update { rule, scale: 0.1, l2: 0.0, shrink: 1.0, step_size });
        }
        updates
    }

    /// The bits; all NaNs are equal.
    fn bits(state: &[Vec<f32>]) -> Vec<u32> {
        let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        state.iter().flatten().map(bits).collect()
    }

    /// Asserts that a replay has the bits of updates applied one by one.
    fn check(updates: &DeferredUpdates, before: Vec<Vec<f32>>, level: SimdLevel) {
        let (rule, count) = (updates.rule, updates.count());
        let (mut at_once, mut one_by_one) = (before.clone(), before);
        level.run(ReplayAll { updates, state: &mut at_once });
        let (params, moments) = one_by_one.split_first_mut().expect("parameters");
        let zeros = vec![0.0; params.len()];
        for &step_size in &updates.step_sizes[1..] {
            let update = Update { rule, scale: 0.7, l2: 0.0, shrink: 1.0, step_size };
            update.apply(params, moments_mut(moments), &zeros);
        }
        let (at_once, one_by_one) = (bits(&at_once), bits(&one_by_one));
        let differs = at_once.iter().zip(&one_by_one).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{rule:?}, {count} updates on {level:?}");
    }

    #[test]
    fn a_replay_has_the_bits_of_updates_applied_one_by_one() {
        let mut rng = Key::new(1).rng();
        for rule in rules() {
            for level in SimdLevel::available() {
                for count in [1, 2, 17, 18, 100, 333, 4_000] {
                    for _ in 0..8 {
                        let updates = random_updates(rule, count, &mut rng);
                        let before = state(rule, 3 * BLOCK + 5, &mut rng);
                        check(&updates, before.clone(), level);
                        without_denormals(|| check(&updates, before, level));
                    }
                }
            }
        }
    }

    #[test]
    fn adams_early_bias_corrections_are_replayed() {
        let rule = Rule::Adam { beta1: 0.99, beta2: 0.999, epsilon: 1.0 };
        let updates = random_updates(rule, 1_000, &mut Key::new(2).rng());
        check(
            &updates,
            vec![vec![1.0; BLOCK], vec![1e-6; BLOCK], vec![0.0; BLOCK]],
            SimdLevel::best(),
        );
    }

    #[test]
    fn parameters_that_no_update_changes_are_recognised() {
        let zero = [0.0; 2];
        let still =
            |params: &[f32], moment: &[f32]| is_unaffected(params, [moment, &zero].into_iter());
        assert!(still(&[1.0, -0.0], &zero));
        assert!(!still(&[1.0, 1e-40], &zero), "it may be flushed to zero");
        assert!(!still(&[1.0, f32::INFINITY], &zero), "infinity times zero is NaN");
        assert!(!still(&[1.0, 2.0], &[0.0, -0.0]), "it becomes zero");
        assert!(!still(&[1.0, 2.0], &[0.0, 1e-40]));
    }

    #[test]
    fn rules_that_change_parameters_without_a_gradient_are_not_deferred() {
        let plain = Optimiser::new(Rule::ADAM, 1.0);
        assert!(allows_deferral(&plain));
        assert!(!allows_deferral(&Optimiser { l2: 1e-3, ..plain }));
        assert!(!allows_deferral(&Optimiser { weight_decay: 1e-3, ..plain }));
        assert!(!allows_deferral(&Optimiser { clip: 0.0, ..plain }));
        for epsilon in [0.0, 1e60, f64::INFINITY, f64::NAN] {
            let no_number = Rule::AdaDelta { decay: 0.9, epsilon };
            assert!(!allows_deferral(&Optimiser { rule: no_number, ..plain }), "{epsilon}");
        }
        assert!(is_deferrable(0.0) && is_deferrable(1e-3));
        assert!(!is_deferrable(-0.0) && !is_deferrable(1e60) && !is_deferrable(f64::NAN));
    }
}
