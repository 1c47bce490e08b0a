//! Loss and gradients of a batch.

use super::adjoint::compute_parameter_gradients;
use super::group::{BatchContext, Group, TrainGroup, groups};
use super::head::Readouts;
use super::large_head::{HeadSums, add_weight_gradients};
use super::prepare::{LayerMode, PreparedLayer, copy_for_workers, prepare};
use super::row_states::{GroupStates, collect};
use super::sums::{ChunkSums, PairwiseSum};
use super::thread_pool::Executor;
use super::token_table::{EmbeddingGradients, EmbeddingRows, TokenInputs};
use super::{Cpu, CpuTrainer};
use crate::objective::StepShare;
use crate::tokens::BatchTokens;
use crate::weights::EngineWeights;
use crate::{Batch, Gradients, LayerState, Loss, Mode, Regime, Transition};
use std::sync::Mutex;

/// A batch's gradients are summed in this many chunks (or as many as it has groups of rows).
const CHUNKS: usize = 8;

impl CpuTrainer {
    /// Loss and gradient of every parameter.
    pub(super) fn dense_gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f32> {
        let tokens = self.batch_tokens(batch);
        self.loss_and_gradients(batch, &tokens, regime, EmbeddingRows::All)
    }

    /// Loss and gradient, with the gradients of these rows of the embedding.
    pub(super) fn loss_and_gradients(
        &mut self,
        batch: &Batch,
        tokens: &BatchTokens,
        regime: &Regime,
        rows: EmbeddingRows,
    ) -> Gradients<f32> {
        let mut chunks = std::mem::take(&mut self.chunk_sums);
        let mut sum = std::mem::take(&mut self.batch_sum);
        let mut table = std::mem::take(&mut self.cpu.table);
        let mut values = std::mem::take(&mut self.gradient_buffer);
        let cpu = &mut self.cpu;
        cpu.batches += 1;
        let EngineWeights { arch, layout, state } = &cpu.weights;
        let executor = Executor { level: cpu.tuning.level, pool: &cpu.pool };
        let params = &state.params;
        let (lambda, tau, start) = (regime.lambda, regime.tau, batch.row_start(arch));
        let mode = LayerMode { lambda, tau, start };
        let embedding = &params[layout.embedding.clone()];
        let inputs = TokenInputs::new(arch, tokens, embedding, &regime.dropout);
        let layers = prepare(arch, layout, params, &inputs, mode, &mut table, executor);
        copy_for_workers(&layers, &mut cpu.layer_copies, &cpu.pool);
        let mut head = std::mem::take(&mut cpu.head);
        head.assign(arch, layout, params, &cpu.pool);
        let share = StepShare::of(batch, arch);
        let context = BatchContext {
            arch,
            batch,
            tokens,
            layers: &layers,
            table: table.read(),
            head: &head,
            head_sums: HeadSums::of(arch, batch, cpu.tuning.block_head_from),
            mode: Mode { transition: Transition::Mixture, lambda, tau },
            weights: share.weights(regime).to_f32(),
            margin: regime.margin as f32,
            dropout: regime.dropout.readout_mask(),
            total_weight: batch.total_weight(),
            recompute: cpu.tuning.recompute(),
        };
        self.last = cpu.sum_chunks(context, &mut chunks, &mut sum);
        let rows_len = rows.count(tokens, arch.input.vocabulary()) * arch.input.width();
        values.resize(rows_len + self.rest_layout.len, 0.0);
        let (d, params) = ((&sum.total.panels[..], sum.table()), &params[layout.embedding.len()..]);
        let (row_values, rest) = values.split_at_mut(rows_len);
        let into = (EmbeddingGradients { rows, values: row_values }, &mut *rest);
        compute_parameter_gradients(
            arch,
            &self.rest_layout,
            params,
            &inputs,
            &layers,
            d,
            executor,
            into,
        );
        let (rest, biases) = rest.split_at_mut(self.rest_layout.head_bias.start);
        // All rows of an embedding that is the classifier's weights have gradients.
        let weights = match arch.is_tied() {
            true => row_values,
            false => &mut rest[self.rest_layout.head_weight.clone()],
        };
        sum.total.head.add_gradients(arch, weights, biases);
        if context.head_sums == HeadSums::InBlocks {
            add_weight_gradients(arch, &groups_of(&mut chunks), weights, executor);
        }
        let loss = loss(&sum.total, &layers, share, regime);
        (self.chunk_sums, self.batch_sum) = (chunks, sum);
        (self.cpu.table, self.cpu.head) = (table, head);
        Gradients { loss, values }
    }
}

impl Cpu {
    /// The sums over all rows of a batch: of each chunk, then pairwise of the chunks. Returns the
    /// rows' last states.
    fn sum_chunks(
        &self,
        context: BatchContext<'_>,
        chunks: &mut Vec<Mutex<ChunkSums>>,
        sum: &mut PairwiseSum,
    ) -> Vec<LayerState> {
        let groups = groups(context.arch, context.batch);
        // Groups are dealt out in turn, so that every chunk has long rows and short ones.
        let count = CHUNKS.min(groups.len()).max(1);
        let groups_of = |i: usize| groups.iter().skip(i).step_by(count).copied().collect();
        let chunk_groups: Vec<(usize, Vec<Group>)> =
            (0..count).map(|i| (i, groups_of(i))).collect();
        chunks.resize_with(count.max(chunks.len()), Mutex::default);
        for unused in &mut chunks[count..] {
            unused.get_mut().expect("no worker panicked").groups.clear();
        }
        let states = self.pool.map(&chunk_groups, |worker, (i, groups)| {
            let sums = &mut *chunks[*i].lock().expect("one worker computes each chunk");
            sums.clear(&context, groups);
            self.with_worker_memory(worker, context, |context, buffers| {
                let mut states: Vec<GroupStates> = vec![];
                for (index, &group) in groups.iter().enumerate() {
                    let run = TrainGroup { context, group, buffers, sums, index };
                    states.extend(self.tuning.level.run(run));
                }
                states
            })
        });
        let chunks: Vec<&ChunkSums> = (chunks[..count].iter_mut())
            .map(|chunk| &*chunk.get_mut().expect("no worker panicked"))
            .collect();
        sum.compute(&chunks, &context, &self.pool);
        collect(context.arch, context.batch.rows(), states.into_iter().flatten())
    }
}

/// The groups of every chunk that has some.
fn groups_of(chunks: &mut [Mutex<ChunkSums>]) -> Vec<&[Readouts]> {
    let groups =
        chunks.iter_mut().map(|chunk| &*chunk.get_mut().expect("no worker panicked").groups);
    groups.filter(|groups| !groups.is_empty()).collect()
}

fn loss(sums: &ChunkSums, layers: &[PreparedLayer], share: StepShare, regime: &Regime) -> Loss {
    let mut loss = Loss {
        task: sums.readouts.loss,
        correct: sums.readouts.correct,
        counted: sums.readouts.counted,
        ..Loss::default()
    };
    for (terms, layer) in sums.regularisation.iter().zip(layers) {
        loss.commitment += share.stochastic * terms.commitment / layer.d as f64;
        loss.entropy += share.stochastic * terms.entropy;
        if regime.saturation != 0.0 {
            loss.saturation += share.all * terms.saturation / layer.d as f64;
        }
        if regime.writing != 0.0 {
            loss.writing += share.all * terms.writing / layer.d as f64;
        }
    }
    loss.with_total(regime)
}
