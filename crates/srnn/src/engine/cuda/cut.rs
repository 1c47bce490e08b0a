//! The kernels for few centroids where the scan is cut into chunks of times (`chunks`).

use super::CudaError;
use super::chunks::Chunks;
use super::device::{Address, Device, Grid, begin, launch};
use super::few::{Compiled, Few};
use super::layer::OnDevice;
use super::many::{Sum, await_arrival, sums};
use super::matrix::{Job, Products};
use super::upload::Placed;
use std::ops::Range;

/// The tracks beside a scan backward: in one, gradients are summed by their tokens; in two, they become
/// those of W and of the tokens' embeddings.
const SUMMING: usize = 2;
const WEIGHING: usize = 3;
const EMBEDDING: usize = 4;

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

    /// The scan backward, with the sums it leaves (`left`) and their products (`jobs`): beside it,
    /// gradients are made of tokens that it has done with.
    #[allow(clippy::too_many_arguments)]
    pub fn few_backward_cut(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        embedding: Address,
        (few, grid, arguments): (&Compiled, Grid, Few),
        (left, jobs): (&[Sum], &[Job]),
    ) -> Result<(), CudaError> {
        let (cut, scan) = (placed.chunks, arguments.scan);
        let arrived = self.rooms.arrived.fit(device, cut.count)?;
        let arguments = Few { arrived, ..arguments.of_chunks(cut, &(0..cut.count)) };
        let tracks = [SUMMING, WEIGHING, EMBEDDING].map(|track| device.on(track));
        let [summing, weighing, listing] = &tracks;
        begin!(device, summing, &few.backward, grid; arguments)?;
        for i in (0..cut.count).rev() {
            // The first chunk in time is the last that is scanned.
            let processors = if i > 0 {
                await_arrival(summing, arrived + 4 * i as u64, placed.rows)?;
                cut.idle
            } else {
                summing.follow(device)?;
                device.gpu.processors
            };
            let (tokens, into) = (cut.tokens(i), cut.adds(i));
            let d_x = self.sum_tokens(summing, products, placed, &scan, tokens.clone())?;
            let w = self.w_of_tokens(both, placed, d_x, (embedding, tokens.clone(), into));
            let rows = self.embeddings_of_tokens(both, placed, d_x, (embedding, tokens));
            for (track, job) in [(weighing, w), (listing, rows)] {
                track.follow(summing)?;
                products.one_by_one(track, processors / 2, &[job])?;
            }
        }
        sums(device, left)?;
        products.make(device, jobs)?;
        tracks.iter().try_for_each(|track| device.follow(track))
    }
}

impl Few {
    /// The same for some chunks of times.
    fn of_chunks(self, cut: Chunks, chunks: &Range<usize>) -> Few {
        let times = cut.times + 4 * chunks.start as u64;
        Few { times, chunks: chunks.len() as i32, ..self }
    }
}
