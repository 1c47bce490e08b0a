//! Work on many cells, shared by the threads of the machine.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `of(0)` to `of(n − 1)`. The result does not depend on the number of threads.
pub fn parallel_map<T: Send>(n: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    map_on(thread::available_parallelism().map_or(1, usize::from), n, of)
}

fn map_on<T: Send>(threads: usize, n: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut results = vec![];
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return results;
            }
            results.push((i, of(i)));
        }
    };
    let mut results = thread::scope(|scope| {
        let others = threads.min(n).saturating_sub(1);
        let others: Vec<_> = (0..others).map(|_| scope.spawn(take)).collect();
        let mut results = take();
        for other in others {
            results.extend(other.join().expect("no item panics"));
        }
        results
    });
    results.sort_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_for_every_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            for n in [0, 1, 5, 100] {
                let squares: Vec<usize> = (0..n).map(|i| i * i).collect();
                assert_eq!(map_on(threads, n, |i| i * i), squares, "{threads} threads");
            }
        }
    }
}
