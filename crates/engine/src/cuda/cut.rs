//! The kernels for few centroids where the scan is cut into chunks of times (`chunks`).

use super::CudaError;
use super::chunks::{COUNTS, Chunked};
use super::device::{Address, Device, Grid, Track, begin, launch};
use super::few::{Compiled, Few};
use super::layer::OnDevice;
use super::many::{Sum, await_all, sums};
use super::matrix::{InChunks, Job, Products};
use super::scan::Scan;
use super::upload::Placed;

impl OnDevice {
    /// The scan forward, after what all of it waits for (`first`): the rows that it reads are made
    /// beside it, in the order in which it needs them.
    pub fn few_forward_cut(
        &mut self,
        device: &Device,
        products: &mut Products,
        placed: &Placed,
        (first, read): (&[Job], Job),
        few: &Compiled,
        arguments: Few,
    ) -> Result<(), CudaError> {
        let grid = Grid::of(self.row_blocks(device, placed), few.forward_threads);
        let chunks = self.chunked(device, placed, &arguments.scan)?;
        let making = device.fork()?;
        let (idle, processors) = (placed.chunks.idle, device.gpu.processors);
        let chunks = match products.in_chunks(&making, device, idle, &read, chunks)? {
            InChunks::Begun => {
                // PERF: G after the rows, whose blocks would wait for its own; it has the multiprocessors
                // of the scan alone, two blocks each.
                products.one_by_one(device, (processors - idle) / 2, first)?;
                chunks
            }
            InChunks::Never => {
                products.make(device, &[first, &[read]].concat())?;
                chunks.made()
            }
        };
        launch!(device, &few.forward, grid; Few { chunks, ..arguments })?;
        device.join()
    }

    fn chunked(
        &mut self,
        device: &Device,
        placed: &Placed,
        scan: &Scan,
    ) -> Result<Chunked, CudaError> {
        let counts = self.rooms.arrived.fit(device, COUNTS)?;
        Ok(placed.chunks.counted((scan.ni * scan.d) as usize, counts))
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
        let chunks = self.chunked(device, placed, &scan)?;
        let arguments = Few { chunks, ..arguments };
        let tracks =
            [Track::Summing, Track::Weighing, Track::Embedding].map(|track| device.on(track));
        let [summing, weighing, listing] = &tracks;
        begin!(device, summing, &few.backward, grid; arguments)?;
        for i in (0..cut.count).rev() {
            // The first chunk in time is the last that is scanned.
            let processors = if i > 0 {
                await_all(summing, chunks.through(i), placed.rows)?;
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
