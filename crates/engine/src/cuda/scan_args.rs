//! Arguments of the scan kernels, laid out as in `kernels/scan_args.cuh`.

use super::gpu::Address;

/// Rows of the sums that a block writes: biases of four gate blocks, the candidate's recurrent
/// bias, peepholes, and the gradient of W for an input of one number.
pub const SUM_BIAS: usize = 0;
pub const SUM_CANDIDATE: usize = 4;
pub const SUM_PEEPHOLE: usize = 5;
pub const SUM_INPUT: usize = 8;
pub const SUMS: usize = 12;
/// `count` rounded up to a multiple of 4, so that rows are aligned to 16 bytes.
pub fn round_up_4(count: usize) -> usize {
    count.next_multiple_of(4)
}

/// Number of loss terms of a layer: commitment, entropy, saturation, writing.
pub const LOSS_TERMS: usize = 4;

/// `LayerCoefficients` of `kernels/scan_args.cuh`: what may change with every update.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayerCoefficients {
    pub lambda: f32,
    pub inv_tau: f32,
    pub commitment: f32,
    pub entropy: f32,
    pub saturation: f32,
    pub writing: f32,
}

impl LayerCoefficients {
    /// The 32-bit words that are uploaded.
    pub fn words(&self) -> Vec<u32> {
        let LayerCoefficients { lambda, inv_tau, commitment, entropy, saturation, writing } = *self;
        [lambda, inv_tau, commitment, entropy, saturation, writing].map(f32::to_bits).to_vec()
    }
}

/// `ScanArgs` of `kernels/scan_args.cuh`: one layer, the rows of a batch, and the saved steps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanArgs {
    pub cell: i32,
    pub hard: i32,
    pub euclidean: i32,
    pub low_rank: i32,
    pub d: i32,
    pub k: i32,
    pub n: i32,
    pub ns: i32,
    pub ni: i32,
    pub rows: i32,
    pub end: i32,
    pub transition: i32,
    pub has_commitment: i32,
    pub has_entropy: i32,
    pub gate_penalty: i32,
    pub offsets: Address,
    pub order: Address,
    pub coefficients: Address,
    pub x: Address,
    pub places: Address,
    pub m: Address,
    pub candidate: Address,
    pub q_bias: Address,
    pub peephole: Address,
    pub s: Address,
    pub h_first: Address,
    pub c_first: Address,
    pub draws: Address,
    pub carry_in: Address,
    pub gates: Address,
    pub gru_state: Address,
    pub c: Address,
    pub u: Address,
    pub alpha: Address,
    pub h: Address,
    pub dh_out: Address,
    pub du_out: Address,
    pub dc_out: Address,
    pub out_stride: i64,
    pub out_every_step: i32,
    pub da_in: Address,
    pub da_state: Address,
    pub d_scores: Address,
    pub d_mixture: Address,
    pub sums: Address,
    pub loss_terms: Address,
}
