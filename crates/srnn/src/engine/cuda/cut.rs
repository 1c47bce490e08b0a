//! The kernels for few centroids where the scan is cut into chunks of times (`chunks`).

use super::CudaError;
use super::chunks::Chunks;
use super::device::{Address, Device, Grid, launch};
use super::few::{Compiled, Few};
use super::layer::OnDevice;
use super::many::{Sum, sums};
use super::matrix::{Into, Job, Products};
use super::scan::{MEASURED, SUMS, Scan};
use super::upload::Placed;
use std::ops::Range;

impl OnDevice {
    /// The scan forward: beside each launch, rows are made that the next one reads. `first` is what all
    /// of them wait for, `read` makes the rows.
    pub fn few_forward_cut(
        &mut self,
        device: &Device,
        products: &mut Products,
        placed: &Placed,
        (first, read): (&[Job], Job),
        few: &Compiled,
        arguments: Few,
    ) -> Result<(), CudaError> {
        let cut = placed.chunks;
        let launches = cut.forward();
        // Chunk by chunk: more tiles than multiprocessors are idle would hold up the next scan.
        let rows = |i: usize| -> Vec<Job> {
            launches[i].clone().map(|chunk| read.of_rows(cut.tokens(chunk))).collect()
        };
        let grid = Grid::of(self.row_blocks(device, placed), few.forward_threads);
        products.make(device, &[first, &rows(0)].concat())?;
        let beside = device.fork()?;
        for (i, chunks) in launches.iter().enumerate() {
            // Up to the rows that were made beside the launch before.
            device.join()?;
            if i + 1 < launches.len() {
                products.one_by_one(&beside, cut.idle, &rows(i + 1))?;
            }
            launch!(device, &few.forward, grid; arguments.of_chunks(cut, chunks))?;
        }
        Ok(())
    }

    /// The scan backward: beside each chunk but the last, which is the first in time, gradients are made
    /// of tokens that the scan has done with.
    #[allow(clippy::too_many_arguments)]
    pub fn few_backward_cut(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        embedding: Address,
        (few, grid): (&Compiled, Grid),
        arguments: Few,
    ) -> Result<(), CudaError> {
        let (cut, scan) = (placed.chunks, arguments.scan);
        let numbers = placed.rows * (scan.k as usize + 2) * few.backward_threads;
        let carry = self.rooms.carry.fit(device, numbers)?;
        let arguments = Few { carry, ..arguments };
        for i in (0..cut.count).rev() {
            let left = arguments.leaving_after(i * grid.blocks.0 as usize);
            launch!(device, &few.backward, grid; left.of_chunks(cut, &(i..i + 1)))?;
            if i == 0 {
                break;
            }
            let beside = device.fork()?;
            let tokens = cut.tokens(i);
            let d_x = self.sum_tokens(&beside, products, placed, &scan, tokens.clone())?;
            let mut jobs = vec![];
            // That of the last but one comes with the last's: the scan would be done before it.
            if i > 1 {
                let into = if i + 1 == cut.count { Into::Place } else { Into::Sum };
                jobs.push(self.w_of_tokens(both, placed, d_x, (embedding, tokens.clone(), into)));
            }
            jobs.push(self.embeddings_of_tokens(both, placed, d_x, (embedding, tokens)));
            products.one_by_one(&beside, cut.idle, &jobs)?;
        }
        Ok(())
    }

    /// What is left after the scan backward: the gradients of the first chunk's tokens, those of W by the
    /// first two, `left` and then `jobs`.
    #[allow(clippy::too_many_arguments)]
    pub fn after_cut(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        embedding: Address,
        scan: &Scan,
        (left, jobs): (&[Sum], &[Job]),
    ) -> Result<(), CudaError> {
        let cut = placed.chunks;
        let into = if cut.count == 2 { Into::Place } else { Into::Sum };
        let d_x = self.sum_tokens(device, products, placed, scan, cut.tokens(0))?;
        let rows = self.embeddings_of_tokens(both, placed, d_x, (embedding, cut.tokens(0)));
        let w = self.w_of_tokens(both, placed, d_x, (embedding, 0..cut.tokens(1).end, into));
        // W where the other chunks' are made: they are added in order.
        let beside = device.fork()?;
        sums(&beside, left)?;
        products.one_by_one(&beside, device.gpu.processors, &[jobs, &[w]].concat())?;
        products.make(device, &[rows])?;
        device.join()
    }
}

impl Few {
    /// The same for some chunks of times.
    fn of_chunks(self, cut: Chunks, chunks: &Range<usize>) -> Few {
        let times = cut.times + 4 * chunks.start as u64;
        Few { times, chunks: chunks.len() as i32, ..self }
    }

    /// The same where the sums of so many blocks lie before.
    fn leaving_after(self, blocks: usize) -> Few {
        let (d, k) = (self.scan.d as usize, self.scan.k as usize);
        let after = |at: Address, each: usize| at + (blocks * each) as u64;
        let scan = Scan {
            sums: after(self.scan.sums, 4 * SUMS * d),
            measured: after(self.scan.measured, 8 * MEASURED),
            ..self.scan
        };
        let (d_m, d_s) = (after(self.d_m, 4 * k * 4 * d), after(self.d_s, 4 * k * d));
        Few { scan, d_m, d_s, ..self }
    }
}
