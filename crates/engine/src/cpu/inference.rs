//! Runs a model on a batch: its traces, and its loss.

use super::Cpu;
use super::cross_entropy::VECTOR_CLASSES;
use super::group::{BatchContext, Group, GroupBuffers, LossGroup, RowTrace, TraceGroup, groups};
use super::head::ReadoutSums;
use super::large_head::HeadSums;
use super::prepare::{LayerMode, copy_for_workers, prepare};
use super::row_states::collect;
use super::simd::SimdLevel;
use super::thread_pool::Executor;
use super::token_table::TokenInputs;
use crate::model::{Arch, Model};
use crate::objective::RegularisationWeights;
use crate::tokens::BatchTokens;
use crate::traits::loss_of_logits;
use crate::weights::EngineWeights;
use crate::{Batch, BatchLoss, Dropout, Fields, LayerTrace, Loss, Mode, Runner, Trace, Transition};
use std::convert::Infallible;

impl Runner<f32> for Cpu {
    type Error = Infallible;

    fn arch(&self) -> &Arch {
        &self.weights.arch
    }

    fn model(&self) -> Result<Model<f32>, Infallible> {
        Ok(self.weights.model())
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, Infallible> {
        let results = self.run_groups(batch, mode, |level, context, group, buffers| {
            level.run(TraceGroup { context, group, buffers, fields })
        });
        let (rows, states): (Vec<Vec<RowTrace>>, Vec<_>) = results.into_iter().unzip();
        let mut rows: Vec<RowTrace> = rows.into_iter().flatten().collect();
        rows.sort_by_key(|row| row.row);
        let arch = &self.weights.arch;
        let last = collect(arch, batch.rows(), states.into_iter().flatten());
        Ok(Trace { last, ..concatenate(rows, arch.layers.len()) })
    }

    // PERF: the logits of many classes stay in the buffers of a group (1,280 read-outs of 33,278 classes
    // and 300 units, two threads of an EPYC: 0.09 s, 1.42 s from a trace).
    fn loss(&mut self, batch: &Batch, mode: Mode) -> Result<BatchLoss, Infallible> {
        let classes = self.weights.arch.classes;
        if classes < VECTOR_CLASSES {
            let trace = self.trace(batch, mode, Fields::default())?;
            return Ok((loss_of_logits(batch, &trace.logits, classes), trace.last));
        }
        let results = self.run_groups(batch, mode, |level, context, group, buffers| {
            level.run(LossGroup { context, group, buffers })
        });
        let (losses, states): (Vec<ReadoutSums>, Vec<_>) = results.into_iter().unzip();
        let mut sums = ReadoutSums::default();
        losses.into_iter().for_each(|loss| sums.add(loss));
        let ReadoutSums { loss, correct, counted } = sums;
        let loss = Loss { total: loss, task: loss, correct, counted, ..Loss::default() };
        let last = collect(&self.weights.arch, batch.rows(), states.into_iter().flatten());
        Ok((loss, last))
    }
}

impl Cpu {
    /// Runs `work` on every group of a batch; the results are in the order of the groups.
    fn run_groups<A: Send>(
        &mut self,
        batch: &Batch,
        mode: Mode,
        work: impl Fn(SimdLevel, BatchContext<'_>, Group, &mut GroupBuffers) -> A + Sync,
    ) -> Vec<A> {
        self.pool.wake();
        self.batches += 1;
        let mut table = std::mem::take(&mut self.table);
        let mut head = std::mem::take(&mut self.head);
        let EngineWeights { arch, layout, state } = &self.weights;
        let tokens = BatchTokens::of(batch, arch.input.vocabulary());
        let executor = Executor { level: self.tuning.level, pool: &self.pool };
        let params = &state.params;
        let lambda = if mode.transition == Transition::Mixture { mode.lambda } else { 1.0 };
        let layer_mode = LayerMode { lambda, tau: mode.tau, start: batch.row_start(arch) };
        let embedding = &params[layout.embedding.clone()];
        let inputs = TokenInputs::new(arch, &tokens, embedding, &Dropout::NONE);
        let layers = prepare(arch, layout, params, &inputs, layer_mode, &mut table, executor);
        copy_for_workers(&layers, &mut self.layer_copies, &self.pool);
        head.assign(arch, layout, params, &self.pool);
        let context = BatchContext {
            arch,
            batch,
            tokens: &tokens,
            layers: &layers,
            table: table.read(),
            head: &head,
            head_sums: HeadSums::InChunks,
            mode,
            weights: RegularisationWeights::default(),
            margin: 0.0,
            dropout: Dropout::NONE.readout_mask(),
            total_weight: batch.total_weight(),
            recompute: self.tuning.recompute(),
        };
        let results = self.pool.map(&groups(arch, batch), |worker, &group| {
            self.with_worker_memory(worker, context, |context, buffers| {
                work(self.tuning.level, context, group, buffers)
            })
        });
        (self.table, self.head) = (table, head);
        results
    }
}

/// One trace of all rows, which are in order.
fn concatenate(rows: Vec<RowTrace>, layers: usize) -> Trace<f32> {
    let mut trace =
        Trace { layers: vec![LayerTrace::default(); layers], logits: vec![], last: vec![] };
    for row in rows {
        for (into, from) in trace.layers.iter_mut().zip(row.layers) {
            into.alpha.extend(from.alpha);
            into.u.extend(from.u);
            into.h.extend(from.h);
            into.c.extend(from.c);
        }
        trace.logits.extend(row.logits);
    }
    trace
}
