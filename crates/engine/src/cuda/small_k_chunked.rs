//! Kernels for few centroids, with the scan split into chunks of time steps (`chunks`).

use super::CudaError;
use super::chunks::{COUNTERS, ChunkArgs};
use super::gpu::{
    Address, GpuStream, LaunchConfig, StreamId, launch, launch_with_completion_event,
};
use super::grouped::{SumOverBlocks, run_sums, wait_for_count};
use super::layer::{CudaLayer, ParamAddresses};
use super::matrix::{ChunkedLaunch, MatrixOps, ProductSpec};
use super::scan_args::ScanArgs;
use super::small_k::{SmallKArgs, SmallKKernels};
use super::upload::DeviceBatch;

impl CudaLayer {
    /// The forward scan, after the products `first`. The product `read` computes the rows of x
    /// beside the scan, in the order in which the scan needs them.
    pub fn small_k_forward_chunked(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        batch: &DeviceBatch,
        (first, read): (&[ProductSpec], ProductSpec),
        kernels: &SmallKKernels,
        args: SmallKArgs,
    ) -> Result<(), CudaError> {
        let config = LaunchConfig::linear(self.row_blocks(stream, batch), kernels.forward_threads);
        let chunks = self.chunk_args(stream, batch, &args.scan)?;
        let producer = stream.fork()?;
        let (idle, processors) = (batch.chunks.idle, stream.gpu.processors);
        let chunks = match ops.run_in_chunks(&producer, stream, idle, &read, chunks)? {
            ChunkedLaunch::Launched => {
                // PERF: G is launched after the rows of x, whose blocks would wait for it. It uses
                // only the multiprocessors of the scan, two blocks each.
                ops.in_sequence(stream, (processors - idle) / 2, first)?;
                chunks
            }
            ChunkedLaunch::Unsupported => {
                ops.run_all(stream, &[first, &[read]].concat())?;
                chunks.all_ready()
            }
        };
        launch!(stream, &kernels.forward, config; SmallKArgs { chunks, ..args })?;
        stream.join()
    }

    fn chunk_args(
        &mut self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        scan: &ScanArgs,
    ) -> Result<ChunkArgs, CudaError> {
        let counts = self.buffers.arrived.reserve(stream, COUNTERS)?;
        Ok(batch.chunks.args((scan.ni * scan.d) as usize, counts))
    }

    /// The backward scan, then its sums and products. Gradients of finished chunks of tokens are
    /// computed beside it.
    #[allow(clippy::too_many_arguments)]
    pub fn small_k_backward_chunked(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        batch: &DeviceBatch,
        embedding: Address,
        (kernels, config, args): (&SmallKKernels, LaunchConfig, SmallKArgs),
        (sums, products): (&[SumOverBlocks], &[ProductSpec]),
    ) -> Result<(), CudaError> {
        let (plan, scan) = (batch.chunks, args.scan);
        let chunks = self.chunk_args(stream, batch, &scan)?;
        let args = SmallKArgs { chunks, ..args };
        let branches = [StreamId::TokenSums, StreamId::InputWeights, StreamId::Embeddings]
            .map(|id| stream.on(id));
        let [token_sums, input_weights, embeddings] = &branches;
        launch_with_completion_event!(stream, token_sums, &kernels.backward, config; args)?;
        for i in (0..plan.count).rev() {
            // The first chunk in time is scanned last; then all multiprocessors are free.
            let processors = if i > 0 {
                wait_for_count(token_sums, chunks.rows_passed(i), batch.rows)?;
                plan.idle
            } else {
                token_sums.wait_for(stream)?;
                stream.gpu.processors
            };
            let (tokens, into) = (plan.tokens(i), plan.write_mode(i));
            let d_x = self.sum_token_grads(token_sums, ops, batch, &scan, tokens.clone())?;
            let w = self.token_w_grads(addresses, batch, d_x, (embedding, tokens.clone(), into));
            let rows = self.embedding_grads(addresses, batch, d_x, tokens);
            for (branch, product) in [(input_weights, w), (embeddings, rows)] {
                branch.wait_for(token_sums)?;
                ops.in_sequence(branch, processors / 2, &[product])?;
            }
        }
        run_sums(stream, sums)?;
        ops.run_all(stream, products)?;
        branches.iter().try_for_each(|branch| stream.wait_for(branch))
    }
}
