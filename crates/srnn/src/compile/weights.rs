//! The weights of a compiled network.

use super::unit_count;
use crate::model::{Arch, Layout, Model};
use srnn_automata::{Moore, State, Symbol};
use std::ops::Range;

/// β: the pre-activation of a unit is at least β/2 from 0, up to the weight of other states.
const BETA: f32 = 24.0;
/// γ: the entries of centroids. The score of the next state exceeds all others by about 2γ.
const GAMMA: f32 = 6.0;
/// The bias that opens the reset gate and, negated, shuts the update gate.
const SATURATED: f32 = 40.0;
/// The logit of the class of a state; the other logits are its negation.
const LOGIT: f32 = 10.0;

/// The network of a minimal automaton.
pub fn model(automaton: &Moore<u32>, arch: Arch) -> Model<f32> {
    let layout = Layout::of(&arch);
    let mut params = vec![0.0; layout.len];
    let supports = supports(automaton);
    embed_tokens(automaton, &mut params[layout.embedding.clone()]);
    let slots = &layout.layers[0];
    read_tokens(automaton, &mut params[slots.w_ih.clone()]);
    set_biases(automaton, &mut params[slots.b_ih.clone()]);
    read_states(automaton, &supports, &mut params[slots.w_hh.clone()]);
    write_centroids(automaton, &supports, &mut params[slots.centroids.clone()]);
    let (weight, bias) = (layout.head_weight.clone(), layout.head_bias.clone());
    read_classes(automaton, &supports, &mut params, weight, bias);
    Model { arch, params }
}

/// Index of the unit of a transition.
fn unit(automaton: &Moore<u32>, state: State, symbol: Symbol) -> usize {
    state.index() * automaton.alphabet().len() + symbol.0 as usize
}

/// The unit of the start token; the constant unit follows it.
fn start_unit(automaton: &Moore<u32>) -> usize {
    automaton.state_count() * automaton.alphabet().len()
}

fn transitions(automaton: &Moore<u32>) -> impl Iterator<Item = (State, Symbol)> + '_ {
    let symbols = move |state| automaton.alphabet().symbols().map(move |symbol| (state, symbol));
    automaton.states().flat_map(symbols)
}

/// For each state, the units of the transitions that lead to it; the start token leads to the start
/// state.
fn supports(automaton: &Moore<u32>) -> Vec<Vec<usize>> {
    let mut supports = vec![vec![]; automaton.state_count()];
    for (state, symbol) in transitions(automaton) {
        supports[automaton.next(state, symbol).index()].push(unit(automaton, state, symbol));
    }
    supports[automaton.start().index()].push(start_unit(automaton));
    supports
}

/// One-hot: token x is the unit vector e_x; the start token comes last.
fn embed_tokens(automaton: &Moore<u32>, embedding: &mut [f32]) {
    let width = automaton.alphabet().len() + 1;
    (0..width).for_each(|token| embedding[token * width + token] = 1.0);
}

/// W `[3D,E]`: unit (q, x) reads x, the start unit reads the start token.
fn read_tokens(automaton: &Moore<u32>, w: &mut [f32]) {
    let symbols = automaton.alphabet().len();
    let (d, width) = (unit_count(automaton.state_count(), symbols), symbols + 1);
    for (state, symbol) in transitions(automaton) {
        let row = 2 * d + unit(automaton, state, symbol);
        w[row * width + symbol.0 as usize] = BETA;
    }
    w[(2 * d + start_unit(automaton)) * width + symbols] = BETA;
}

/// b_ih `[3D]`: r open, z shut, and the thresholds of the candidate.
fn set_biases(automaton: &Moore<u32>, bias: &mut [f32]) {
    let d = bias.len() / 3;
    bias[..d].fill(SATURATED);
    bias[d..2 * d].fill(-SATURATED);
    bias[2 * d..].fill(-1.5 * BETA); // Fires if state and symbol are both present.
    bias[2 * d + start_unit(automaton)] = -0.5 * BETA;
    bias[2 * d + start_unit(automaton) + 1] = 0.5 * BETA;
}

/// R `[3D,D]`: unit (q, x) reads "the state is q", the mean of h over the support of q, over γ.
fn read_states(automaton: &Moore<u32>, supports: &[Vec<usize>], r: &mut [f32]) {
    let d = unit_count(automaton.state_count(), automaton.alphabet().len());
    for (state, symbol) in transitions(automaton) {
        let row = 2 * d + unit(automaton, state, symbol);
        let support = &supports[state.index()];
        support.iter().for_each(|&j| r[row * d + j] = share(support, BETA));
    }
}

/// S `[K,D]`: γ on the support of a state, and γ times its size on the constant unit.
fn write_centroids(automaton: &Moore<u32>, supports: &[Vec<usize>], s: &mut [f32]) {
    let d = unit_count(automaton.state_count(), automaton.alphabet().len());
    for (centroid, support) in s.chunks_exact_mut(d).zip(supports) {
        support.iter().for_each(|&j| centroid[j] = GAMMA);
        centroid[start_unit(automaton) + 1] = GAMMA * support.len() as f32;
    }
}

/// The classifier: twice the logit for the class of the state, less the logit.
fn read_classes(
    automaton: &Moore<u32>,
    supports: &[Vec<usize>],
    params: &mut [f32],
    weight: Range<usize>,
    bias: Range<usize>,
) {
    let d = unit_count(automaton.state_count(), automaton.alphabet().len());
    params[bias].fill(-LOGIT);
    for state in automaton.states() {
        let support = &supports[state.index()];
        let row = weight.start + *automaton.output(state) as usize * d;
        support.iter().for_each(|&j| params[row + j] = share(support, 2.0 * LOGIT));
    }
}

/// The weight with which a support at γ sums to `total`.
fn share(support: &[usize], total: f32) -> f32 {
    total / (GAMMA * support.len() as f32)
}
