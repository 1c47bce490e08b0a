//! Who does the work: the calling thread, or a pool.

use super::simd;
use rayon::prelude::*;

/// The threads of an engine.
pub struct Workers {
    /// `None`: this thread does the work.
    pool: Option<rayon::ThreadPool>,
}

impl Workers {
    /// So many, at least one.
    pub fn new(threads: usize) -> Workers {
        let pool = (threads > 1).then(|| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
            builder.build().expect("the system gives threads")
        });
        Workers { pool }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Maps `work` over items; results in the items' order.
    pub fn map<A: Sync, B: Send>(&self, items: &[A], work: impl Fn(&A) -> B + Sync) -> Vec<B> {
        let work = |item: &A| simd::without_denormals(|| work(item));
        match &self.pool {
            None => items.iter().map(work).collect(),
            Some(pool) => pool.install(|| items.par_iter().map(work).collect()),
        }
    }

    /// Does `work` on pieces of `size` numbers, told which piece it is.
    pub fn on_pieces(
        &self,
        all: &mut [f32],
        size: usize,
        work: impl Fn(usize, &mut [f32]) + Sync + Send,
    ) {
        match &self.pool {
            Some(pool) if size < all.len() => pool.install(|| {
                all.par_chunks_mut(size).enumerate().for_each(|(i, piece)| work(i, piece));
            }),
            _ => all.chunks_mut(size.max(1)).enumerate().for_each(|(i, piece)| work(i, piece)),
        }
    }
}
