//! The backward pass of a layer.

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::gradients::InputWeightGrad;
use super::grouped::{SumOverBlocks, run_sums};
use super::layer::{
    CarriedVector, CudaLayer, LayerCall, LayerInput, LayerKernels, OutputGrads, ParamAddresses,
    backward_bytes,
};
use super::matrix::MatrixOps;
use super::scan_args::{LOSS_TERMS, SUMS, ScanArgs, round_up_4};
use super::stepwise::row_tiles;
use super::upload::DeviceBatch;

/// Numbers of blocks that write parameter sums, and loss terms.
#[derive(Clone, Copy)]
struct WriterBlocks {
    sums: usize,
    loss_terms: usize,
}

impl WriterBlocks {
    fn equal(blocks: usize) -> WriterBlocks {
        WriterBlocks { sums: blocks, loss_terms: blocks }
    }
}

impl CudaLayer {
    /// The backward pass: adds to the gradients and writes the loss terms of the layer to `report`
    /// `[LOSS_TERMS]`.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
        out: OutputGrads,
        report: Address,
    ) -> Result<(), CudaError> {
        let ParamAddresses { params, grads } = addresses;
        let kernels = self.kernels(stream, batch, layer_input, call)?;
        let carried = self.carried(&kernels, call);
        let mut scan = self.scan(stream, params, batch, layer_input, carried, call, 0)?;
        (scan.dh_out, scan.du_out, scan.dc_out) = (out.dh, out.du, out.dc);
        (scan.out_stride, scan.out_every_step) = (out.stride as i64, out.every_step as i32);
        if let LayerKernels::SmallK(small_k) = &*kernels {
            return self.small_k_backward(
                stream,
                ops,
                addresses,
                batch,
                layer_input,
                call,
                small_k,
                scan,
                report,
            );
        }
        let mixture_used =
            scan.k > 0 && (carried == CarriedVector::H || out.dh != 0 || scan.has_commitment != 0);
        // The cluster kernel handles gradients at last steps itself.
        let last = matches!(*kernels, LayerKernels::Cluster(_))
            && !out.every_step
            && scan.has_commitment == 0;
        let (rows_per_block, threads) = self.rows_per_block(stream, &scan);
        let blocks = match &*kernels {
            LayerKernels::Vanilla(_) => WriterBlocks::equal(self.row_blocks(stream, batch)),
            LayerKernels::Cluster(cluster) => {
                let clusters = cluster.clusters(stream, batch);
                WriterBlocks { sums: clusters, loss_terms: clusters * cluster.blocks() }
            }
            LayerKernels::Stepwise => WriterBlocks::equal(row_tiles(batch.rows)),
            LayerKernels::SmallK(_) | LayerKernels::Generic => {
                WriterBlocks::equal(batch.rows.div_ceil(rows_per_block))
            }
        };
        self.reserve_backward(stream, &mut scan, batch.steps, mixture_used && !last, blocks)?;
        match &*kernels {
            LayerKernels::Vanilla(vanilla) => {
                launch!(stream, &vanilla.backward, LaunchConfig::linear(blocks.sums, vanilla.threads); scan)?;
            }
            LayerKernels::Cluster(cluster) => {
                let args =
                    self.cluster_arguments(stream, params, batch, layer_input, call, scan)?;
                cluster.backward(stream, batch, args)?;
                if mixture_used && last {
                    self.last_step_centroid_grads(stream, ops, grads, batch, &scan)?;
                }
            }
            LayerKernels::Stepwise => self.stepwise_backward(stream, batch, &mut scan)?,
            LayerKernels::SmallK(_) | LayerKernels::Generic => {
                let config = LaunchConfig::linear(blocks.sums, threads)
                    .shared(backward_bytes(&scan, rows_per_block));
                self.check_shared(stream, config)?;
                let kernel = &stream.gpu.kernels.backward[(rows_per_block > 1) as usize];
                launch!(stream, kernel, config; scan)?;
            }
        }
        let input_weight_grad = match &*kernels {
            LayerKernels::Cluster(cluster) if cluster.sums_input_weights(self.shape.width) => {
                InputWeightGrad::ByScan
            }
            _ => InputWeightGrad::ByProduct,
        };
        let from = (batch, layer_input, input_weight_grad);
        self.finish_backward(stream, ops, addresses, from, (&scan, carried), blocks, report)
    }

    /// Runs the sums and products after the backward scan.
    #[allow(clippy::too_many_arguments)]
    fn finish_backward(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        (batch, layer_input, input_weight_grad): (&DeviceBatch, LayerInput, InputWeightGrad),
        (scan, carried): (&ScanArgs, CarriedVector),
        blocks: WriterBlocks,
        report: Address,
    ) -> Result<(), CudaError> {
        let mut sums = self.parameter_sums(addresses.grads, scan, blocks.sums, input_weight_grad);
        let loss_terms =
            SumOverBlocks::of_doubles(scan.loss_terms, blocks.loss_terms, LOSS_TERMS, report);
        sums.push(loss_terms);
        run_sums(stream, &sums)?;
        let mut products =
            self.recurrent_gradients(stream, ops, addresses, (scan, carried), batch.steps)?;
        if input_weight_grad == InputWeightGrad::ByProduct {
            let inputs = self.input_gradients(stream, ops, addresses, batch, scan, layer_input)?;
            products.extend(inputs);
        }
        ops.run_all(stream, &products)
    }

    /// Reserves the per-step gradients and the per-block sums of the backward scan.
    fn reserve_backward(
        &mut self,
        stream: &GpuStream,
        scan: &mut ScanArgs,
        steps: usize,
        mixture_used: bool,
        blocks: WriterBlocks,
    ) -> Result<(), CudaError> {
        let (d, k) = (scan.d as usize, scan.k as usize);
        let (ns, ni) = (scan.ns as usize, scan.ni as usize);
        let buffers = &mut self.buffers;
        scan.da_in = buffers.da_in.reserve(stream, steps * ni * d)?;
        scan.da_state =
            if scan.cell == 0 { 0 } else { buffers.da_state.reserve(stream, steps * ns * d)? };
        scan.d_scores = buffers.d_scores.reserve(stream, steps * round_up_4(k))?;
        scan.d_mixture =
            if mixture_used { buffers.d_mixture.reserve(stream, steps * d)? } else { 0 };
        scan.sums = buffers.sums.reserve(stream, blocks.sums * SUMS * d)?;
        scan.loss_terms = buffers.loss_terms.reserve(stream, blocks.loss_terms * LOSS_TERMS)?;
        Ok(())
    }
}
