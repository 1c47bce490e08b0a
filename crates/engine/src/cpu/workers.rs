//! Who does the work: the calling thread, and a crew that waits beside it.

use super::crew::Crew;
use super::simd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The threads of an engine.
pub struct Workers {
    /// `None`: this thread does the work alone.
    crew: Option<Crew>,
}

impl Workers {
    /// So many, at least one; the caller is one of them.
    pub fn new(threads: usize) -> Workers {
        Workers { crew: (threads > 1).then(|| Crew::new(threads - 1)) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        1 + self.crew.as_ref().map_or(0, Crew::hands)
    }

    /// Wakes those who sleep: there will soon be work.
    // PERF: waking takes them some 50 µs, which the caller spends on what it does alone.
    pub fn rouse(&self) {
        self.crew.iter().for_each(Crew::rouse);
    }

    /// Maps `work` over items; results in the items' order. It is told who does it, a number below
    /// [`Workers::count`].
    pub fn map<A: Sync, B: Send>(
        &self,
        items: &[A],
        work: impl Fn(usize, &A) -> B + Sync,
    ) -> Vec<B> {
        let results: Vec<Mutex<Option<B>>> = items.iter().map(|_| Mutex::default()).collect();
        self.each(items.len(), |worker, i| {
            let result = simd::without_denormals(|| work(worker, &items[i]));
            *results[i].lock().expect("one writes each") = Some(result);
        });
        let done = |result: Mutex<Option<B>>| {
            result.into_inner().ok().flatten().expect("every item was taken by someone")
        };
        results.into_iter().map(done).collect()
    }

    /// Does `work` on pieces of `size` numbers, told which piece it is.
    pub fn on_pieces(
        &self,
        all: &mut [f32],
        size: usize,
        work: impl Fn(usize, &mut [f32]) + Sync + Send,
    ) {
        let pieces = all.chunks_mut(size.max(1)).enumerate().collect();
        self.on_each(pieces, |(i, piece)| work(i, piece));
    }

    /// Does `work` on each of some things.
    pub fn on_each<A: Send>(&self, things: Vec<A>, work: impl Fn(A) + Sync) {
        let things: Vec<_> = things.into_iter().map(|thing| Mutex::new(Some(thing))).collect();
        self.each(things.len(), |_, i| {
            let thing = things[i].lock().expect("one takes each").take().expect("taken once");
            simd::without_denormals(|| work(thing));
        });
    }

    /// Does two things: the caller one, the same other worker in every step, if there is one, the
    /// other.
    pub fn both(&self, own: impl FnOnce() + Send, other: impl FnOnce() + Send) {
        let Some(crew) = &self.crew else {
            return simd::without_denormals(|| {
                own();
                other();
            });
        };
        let (own, other) = (Mutex::new(Some(own)), Mutex::new(Some(other)));
        crew.run(&|worker| match worker {
            0 => once(&own),
            1 => once(&other),
            _ => {}
        });
    }

    /// Does `work(worker, i)` for every i below `count`.
    // PERF: everyone begins with a stretch of his own, the same in every step, so that a cache
    // finds what it had; then he helps the others.
    fn each(&self, count: usize, work: impl Fn(usize, usize) + Sync) {
        let Some(crew) = self.crew.as_ref().filter(|_| count > 1) else {
            return (0..count).for_each(|i| work(0, i));
        };
        let workers = self.count();
        let begin = |worker: usize| worker * count / workers;
        let next: Vec<AtomicUsize> = (0..workers).map(|w| AtomicUsize::new(begin(w))).collect();
        crew.run(&|worker| {
            for stretch in (0..workers).map(|w| (worker + w) % workers) {
                while let Some(i) = below(&next[stretch], begin(stretch + 1)) {
                    work(worker, i);
                }
            }
        });
    }
}

/// Does what one worker does once.
fn once(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().expect("one takes it").take().expect("taken once");
    simd::without_denormals(work);
}

/// The next number below `end`, each given out once.
fn below(next: &AtomicUsize, end: usize) -> Option<usize> {
    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_items_order_whoever_works() {
        let items: Vec<usize> = (0..1000).collect();
        let squares: Vec<usize> = items.iter().map(|i| i * i).collect();
        for threads in [1, 2, 5] {
            let workers = Workers::new(threads);
            assert_eq!(workers.count(), threads);
            for _ in 0..100 {
                let found = workers.map(&items, |worker, &i| {
                    assert!(worker < threads);
                    i * i
                });
                assert_eq!(found, squares);
            }
        }
    }

    #[test]
    fn two_things_are_done_once_each_and_the_first_by_the_caller() {
        for threads in [1, 2, 3, 5] {
            let (workers, caller) = (Workers::new(threads), std::thread::current().id());
            for _ in 0..100 {
                let (mut own, mut other) = (vec![], vec![]);
                let here = || std::thread::current().id();
                workers.both(|| own.push(here()), || other.push(here()));
                assert_eq!(own, [caller]);
                assert_eq!(
                    other.iter().map(|&it| it == caller).collect::<Vec<_>>(),
                    [threads == 1]
                );
            }
        }
    }

    #[test]
    fn every_piece_is_worked_on_once() {
        for threads in [1, 3] {
            let mut numbers = vec![0.0; 1003];
            Workers::new(threads).on_pieces(&mut numbers, 10, |i, piece| {
                piece.iter_mut().for_each(|x| *x += 1.0 + i as f32);
            });
            assert!(numbers.iter().enumerate().all(|(at, &x)| x == 1.0 + (at / 10) as f32));
        }
    }
}
