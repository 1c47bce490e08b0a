//! What a scan reads: a layer's parameters in the form it needs, and what the input contributes.

use super::CudaError;
use super::device::{Address, Device, Grid, launch};
use super::layer::{Kernels, OnDevice, Reads, Shape};
use super::matrix::{Addend, Into, Job, Matrix};
use super::upload::Placed;
use crate::form::{Recurrence, state_blocks};

impl OnDevice {
    /// Parameters as the scan reads them: M `[n][ns·D]`, the candidate's matrix.
    pub fn prepare(
        &mut self,
        device: &Device,
        params: Address,
        form: Recurrence,
    ) -> Result<Vec<Job>, CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, blocks) = (layer.units, self.k(), layer.cell.blocks());
        let ns = state_blocks(layer.cell, form);
        let at = |range: &std::ops::Range<usize>| params + 4 * range.start as u64;
        let (r, s) = (at(&slots.w_hh), at(&slots.centroids));
        if form == Recurrence::Direct {
            let m = self.rooms.m.fit(device, d * ns * d)?;
            transpose(device, (ns * d, d), r, (m, ns * d))?;
            if ns < blocks {
                let candidate = self.rooms.candidate.fit(device, d * d)?;
                transpose(device, (d, d), r + 4 * (ns * d * d) as u64, (candidate, d))?;
            }
            return Ok(vec![]);
        }
        let m = Matrix::rows(self.rooms.m.fit(device, k * ns * d)?, ns * d);
        let (s_rows, r_columns) = (Matrix::rows(s, d), Matrix::rows(r, d).transposed());
        let mut jobs = vec![Job::new((k, d, blocks * d), s_rows, r_columns, m, Into::Place)];
        if ns > blocks {
            let block = Matrix { at: m.at + 4 * (blocks * d) as u64, ..m };
            jobs.push(Job::sum((k, d), [Addend::rows(s, d, d), Addend::NONE], block));
        }
        Ok(jobs)
    }

    /// The biases of the input's blocks: b_ih + b_hh, but for the candidate of a GRU, whose
    /// recurrent bias stays inside r∘(·).
    fn biases(&self, params: Address) -> [Addend; 2] {
        let Shape { layer, slots, .. } = &self.shape;
        if !layer.bias {
            return [Addend::NONE; 2];
        }
        let wide = layer.cell.blocks() * layer.units;
        let recurrent = if self.cell() == 1 { 2 * layer.units } else { wide };
        let at = |range: &std::ops::Range<usize>| params + 4 * range.start as u64;
        [Addend::to_all(at(&slots.b_ih), wide), Addend::to_all(at(&slots.b_hh), recurrent)]
    }

    /// What the input contributes: a row `[ni·D]` for every distinct token, or for every step; or its
    /// biases alone, where the scan multiplies by W.
    pub fn read(
        &mut self,
        device: &Device,
        params: Address,
        placed: &Placed,
        reads: Reads,
        kernels: &Kernels,
    ) -> Result<Job, CudaError> {
        let biases = self.biases(params);
        let Shape { layer, slots, width, .. } = &self.shape;
        let wide = layer.cell.blocks() * layer.units;
        if kernels.multiply_inputs() {
            let rows = layer.bias as usize;
            let bias = self.rooms.bias.fit(device, rows * wide)?;
            return Ok(Job::sum((rows, wide), biases, Matrix::rows(bias, wide)));
        }
        let (rows, from) = match reads {
            Reads::Tokens { embedding } => {
                (placed.distinct, Matrix::rows(embedding, *width).listed(placed.ids))
            }
            Reads::Vectors { at, .. } => (placed.steps, Matrix::rows(at, *width)),
        };
        let x = Matrix::rows(self.rooms.x.fit(device, rows * wide)?, wide);
        let w = Matrix::rows(params + 4 * slots.w_ih.start as u64, *width).transposed();
        Ok(Job::new((rows, *width, wide), from, w, x, Into::Place).plus(biases))
    }
}

/// `to[column][row] = from[row][column]`.
fn transpose(
    device: &Device,
    (rows, columns): (usize, usize),
    from: Address,
    (to, to_row): (Address, usize),
) -> Result<(), CudaError> {
    let grid =
        Grid { threads: (32, 8, 1), ..Grid::over(columns.div_ceil(32), rows.div_ceil(32), 1, 1) };
    launch!(device, &device.gpu.kernels.transpose, grid;
        from, rows as i32, columns as i32, to, to_row as i64)?;
    Ok(())
}
