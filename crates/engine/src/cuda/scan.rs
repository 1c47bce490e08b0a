//! The arguments of the scan kernels, as `kernels/scan.cuh` lays them out.

use super::device::Address;

/// Rows of sums a block leaves: biases of four blocks, the candidate's recurrent bias, peepholes, and
/// what weighs an input of one number.
pub const SUM_BIAS: usize = 0;
pub const SUM_CANDIDATE: usize = 4;
pub const SUM_PEEPHOLE: usize = 5;
pub const SUM_INPUT: usize = 8;
pub const SUMS: usize = 12;
/// Numbers of a row that begins at a multiple of 16 bytes: products read it by fours.
pub fn by_fours(count: usize) -> usize {
    count.next_multiple_of(4)
}

/// Commitment, entropy, saturation, writing.
pub const MEASURED: usize = 4;

/// What may change with every update: `Press` of `kernels/scan.cuh`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Press {
    pub lambda: f32,
    pub inv_tau: f32,
    pub commitment: f32,
    pub entropy: f32,
    pub saturation: f32,
    pub writing: f32,
}

impl Press {
    /// As it travels.
    pub fn words(&self) -> Vec<u32> {
        let Press { lambda, inv_tau, commitment, entropy, saturation, writing } = *self;
        [lambda, inv_tau, commitment, entropy, saturation, writing].map(f32::to_bits).to_vec()
    }
}

/// One layer, the rows of a batch, and what is kept of each step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
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
    pub commits: i32,
    pub weighs_entropy: i32,
    pub presses: i32,
    pub offsets: Address,
    pub order: Address,
    pub press: Address,
    pub x: Address,
    pub places: Address,
    pub m: Address,
    pub candidate: Address,
    pub q_bias: Address,
    pub peephole: Address,
    pub s: Address,
    pub draws: Address,
    pub carry_in: Address,
    pub gates: Address,
    pub extra: Address,
    pub c: Address,
    pub u: Address,
    pub alpha: Address,
    pub h: Address,
    pub dh_out: Address,
    pub du_out: Address,
    pub dc_out: Address,
    pub out_stride: i64,
    pub out_every: i32,
    pub da_in: Address,
    pub da_state: Address,
    pub d_scores: Address,
    pub d_mixture: Address,
    pub sums: Address,
    pub measured: Address,
}
