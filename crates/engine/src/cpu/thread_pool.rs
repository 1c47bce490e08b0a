//! The threads of an engine: the calling thread as worker 0, and threads that wait beside it.
//!
//! A training step of a small network takes one or two milliseconds. Waking a sleeping thread
//! would cost a good part of that. An idle worker therefore spins for a while before it sleeps:
//! first without a pause, then with a yield between two looks.

use super::simd::{self, SimdLevel};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an idle worker spins before it sleeps.
// PERF: longer than the serial part of a step. On two threads, against a pool whose threads sleep
// sooner: T=100, d=100, k=5: 1.91 ms, 2.00; 32×300 tokens out of 10,000: 83 ms, 100.
const SPIN_TIME: Duration = Duration::from_millis(1);

/// How long it spins without yielding.
// PERF: longer than the serial part of a step between two jobs.
const SPIN_WITHOUT_YIELD: Duration = Duration::from_micros(50);

/// An instruction set and the threads that run it.
#[derive(Clone, Copy)]
pub struct Executor<'a> {
    pub level: SimdLevel,
    pub pool: &'a ThreadPool,
}

/// The threads of an engine. The caller is worker 0.
pub struct ThreadPool {
    state: Arc<PoolState>,
    threads: Vec<JoinHandle<()>>,
}

/// What the caller and the threads share.
struct PoolState {
    slot: Mutex<PoolSlot>,
    /// A job was posted; for workers that sleep.
    posted: Condvar,
    /// The last worker has finished; for a caller that sleeps.
    finished: Condvar,
    /// Number of jobs posted so far. Idle workers poll it.
    generation: AtomicUsize,
    /// Workers that have not finished the current job. The caller polls it.
    running: AtomicUsize,
    // PERF: a thread increments `sleeping` before its last poll. A thread that posts a job
    // publishes it before it reads `sleeping`. So if no thread sleeps, none is notified, and no
    // lock is taken for that. `caller_sleeping` is used in the same way.
    /// Workers that sleep or are about to.
    sleeping: AtomicUsize,
    /// Whether the caller sleeps or is about to.
    caller_sleeping: AtomicBool,
}

#[derive(Default)]
struct PoolSlot {
    job: Option<PoolJob>,
    /// The payload of a worker's panic.
    panic: Option<Box<dyn std::any::Any + Send>>,
    shutdown: bool,
}

/// A closure borrowed from a caller that waits until every worker has run it.
#[derive(Clone, Copy)]
struct PoolJob(*const (dyn Fn(usize) + Sync + 'static));

// SAFETY: the closure is `Sync`, so a reference to it may be sent to any thread. `ThreadPool::run`
// keeps it alive until no thread uses the pointer.
unsafe impl Send for PoolJob {}

impl ThreadPool {
    /// A pool of `threads` workers (at least one), the caller included.
    pub fn new(threads: usize) -> ThreadPool {
        let state = Arc::new(PoolState {
            slot: Mutex::default(),
            posted: Condvar::new(),
            finished: Condvar::new(),
            generation: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            caller_sleeping: AtomicBool::new(false),
        });
        let spawn = |worker| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || state.worker_loop(worker))
        };
        let threads = (1..threads.max(1)).map(spawn).collect();
        ThreadPool { state, threads }
    }

    /// The number of workers, the caller included.
    pub fn workers(&self) -> usize {
        1 + self.threads.len()
    }

    /// Wakes sleeping workers ahead of the next job.
    // PERF: a worker takes some 50 µs to wake, which the caller spends on serial work.
    pub fn wake(&self) {
        self.state.wake();
    }

    /// Maps `work(worker, item)` over `items`; the results are in the items' order.
    pub fn map<A: Sync, B: Send>(
        &self,
        items: &[A],
        work: impl Fn(usize, &A) -> B + Sync,
    ) -> Vec<B> {
        let results: Vec<Mutex<Option<B>>> = items.iter().map(|_| Mutex::default()).collect();
        self.for_each_index(items.len(), |worker, i| {
            let result = simd::without_denormals(|| work(worker, &items[i]));
            *results[i].lock().expect("each result has one writer") = Some(result);
        });
        let done = |result: Mutex<Option<B>>| {
            result.into_inner().ok().flatten().expect("every item was processed")
        };
        results.into_iter().map(done).collect()
    }

    /// Runs `work(i, chunk)` on the chunks of `size` numbers, i counting from 0.
    pub fn for_each_chunk(
        &self,
        all: &mut [f32],
        size: usize,
        work: impl Fn(usize, &mut [f32]) + Sync + Send,
    ) {
        let chunks = all.chunks_mut(size.max(1)).enumerate().collect();
        self.for_each(chunks, |(i, chunk)| work(i, chunk));
    }

    /// Runs `work` on each item.
    pub fn for_each<A: Send>(&self, items: Vec<A>, work: impl Fn(A) + Sync) {
        let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        self.for_each_index(items.len(), |_, i| {
            let item = items[i].lock().expect("each item has one taker").take();
            simd::without_denormals(|| work(item.expect("each item is taken once")));
        });
    }

    /// Runs two closures in parallel: the first on the caller, the second on worker 1. With one
    /// thread, the caller runs both in turn.
    pub fn join(&self, own: impl FnOnce() + Send, other: impl FnOnce() + Send) {
        if self.threads.is_empty() {
            return simd::without_denormals(|| {
                own();
                other();
            });
        }
        let (own, other) = (Mutex::new(Some(own)), Mutex::new(Some(other)));
        self.run(&|worker| match worker {
            0 => run_once(&own),
            1 => run_once(&other),
            _ => {}
        });
    }

    /// Runs `work(worker, i)` for every i below `count`.
    // PERF: each worker starts with the same range of indices in every step, so its cache still
    // holds their data. When its range is done it takes indices of the others.
    fn for_each_index(&self, count: usize, work: impl Fn(usize, usize) + Sync) {
        if self.threads.is_empty() || count <= 1 {
            return (0..count).for_each(|i| work(0, i));
        }
        let workers = self.workers();
        let start = |worker: usize| worker * count / workers;
        let next: Vec<AtomicUsize> = (0..workers).map(|w| AtomicUsize::new(start(w))).collect();
        self.run(&|worker| {
            for range in (0..workers).map(|w| (worker + w) % workers) {
                while let Some(i) = next_below(&next[range], start(range + 1)) {
                    work(worker, i);
                }
            }
        });
    }

    /// Runs `work(worker)` once on every worker and returns when all have finished.
    ///
    /// # Panics
    /// If `work` panics on any worker.
    fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        let state = &*self.state;
        // SAFETY: only the lifetime changes. Workers use the pointer between the post and their
        // `running -= 1`. `wait` returns only when all of them have done that, also after a panic.
        // The next job is posted only after that.
        let pointer: *const (dyn Fn(usize) + Sync) = work;
        let job = PoolJob(unsafe {
            std::mem::transmute::<
                *const (dyn Fn(usize) + Sync),
                *const (dyn Fn(usize) + Sync + 'static),
            >(pointer)
        });
        {
            let mut slot = state.lock_slot();
            assert_eq!(state.running.load(Ordering::Acquire), 0, "a pool runs one job at a time");
            slot.job = Some(job);
            state.running.store(self.threads.len(), Ordering::Release);
        }
        state.post();
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        state.wait();
        let theirs = state.lock_slot().panic.take();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.state.lock_slot().shutdown = true;
        self.state.post();
        for thread in self.threads.drain(..) {
            thread.join().expect("a worker catches its panics");
        }
    }
}

impl PoolState {
    /// Ignores poisoning: nothing panics while the lock is held.
    fn lock_slot(&self) -> MutexGuard<'_, PoolSlot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the job in the slot.
    fn post(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes sleeping workers.
    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            self.notify(&self.posted);
        }
    }

    /// Wakes the threads that wait on `condition`. A thread that is about to sleep holds the lock
    /// until it does, so it is not missed.
    fn notify(&self, condition: &Condvar) {
        drop(self.lock_slot());
        condition.notify_all();
    }

    /// Waits for jobs and runs them until shutdown.
    fn worker_loop(&self, worker: usize) {
        let mut seen = 0;
        loop {
            let posted = || self.generation.load(Ordering::SeqCst) != seen;
            while !self.spin_until(posted) {
                self.sleeping.fetch_add(1, Ordering::SeqCst);
                self.sleep_unless(&self.posted, posted);
                self.sleeping.fetch_sub(1, Ordering::SeqCst);
            }
            seen = self.generation.load(Ordering::SeqCst);
            let slot = self.lock_slot();
            if slot.shutdown {
                return;
            }
            let job = slot.job.expect("a post without shutdown has a job");
            drop(slot);
            // SAFETY: the caller of `ThreadPool::run` waits until `running` is 0, and this worker
            // is counted there until after its last use of the closure.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { (*job.0)(worker) }));
            if let Err(panic) = done {
                self.lock_slot().panic = Some(panic);
            }
            let last = self.running.fetch_sub(1, Ordering::SeqCst) == 1;
            if last && self.caller_sleeping.load(Ordering::SeqCst) {
                self.notify(&self.finished);
            }
        }
    }

    /// Waits until all workers have finished the job.
    fn wait(&self) {
        let finished = || self.running.load(Ordering::SeqCst) == 0;
        while !self.spin_until(finished) {
            self.caller_sleeping.store(true, Ordering::SeqCst);
            self.sleep_unless(&self.finished, finished);
            self.caller_sleeping.store(false, Ordering::SeqCst);
        }
    }

    /// Sleeps until `condition` is notified, unless `ready` holds already.
    fn sleep_unless(&self, condition: &Condvar, ready: impl Fn() -> bool) {
        let slot = self.lock_slot();
        if !ready() {
            drop(condition.wait(slot).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Polls `ready` for [`SPIN_TIME`]; returns whether it held.
    fn spin_until(&self, ready: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        loop {
            for _ in 0..64 {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let waited = begin.elapsed();
            if waited > SPIN_TIME {
                return false;
            }
            if waited > SPIN_WITHOUT_YIELD {
                std::thread::yield_now();
            }
        }
    }
}

/// Takes the closure out and runs it.
fn run_once(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().expect("one worker takes it").take().expect("taken once");
    simd::without_denormals(work);
}

/// The next index below `end`; each is returned once.
fn next_below(next: &AtomicUsize, end: usize) -> Option<usize> {
    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_runs_a_job_once_awake_or_asleep() {
        let pool = ThreadPool::new(4);
        for round in 0..200 {
            if round % 50 == 0 {
                std::thread::sleep(3 * SPIN_TIME);
            }
            let done = AtomicUsize::new(0);
            pool.run(&|worker| {
                done.fetch_add(1 << (8 * worker), Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 0x01_01_01_01);
        }
    }

    #[test]
    fn workers_wake_without_a_job() {
        let pool = ThreadPool::new(3);
        let wait_for_sleepers = |count: usize, meanwhile: &dyn Fn()| {
            let begin = Instant::now();
            while pool.state.sleeping.load(Ordering::SeqCst) != count {
                assert!(begin.elapsed() < Duration::from_secs(10), "never {count} asleep");
                meanwhile();
                std::thread::yield_now();
            }
        };
        wait_for_sleepers(2, &|| {});
        // Repeated: on a busy machine they fall asleep again before this thread looks.
        wait_for_sleepers(0, &|| pool.wake());
    }

    #[test]
    fn a_panic_of_any_worker_reaches_the_caller_and_the_pool_still_works() {
        let pool = ThreadPool::new(3);
        for of_caller in [true, false] {
            let work = |worker| assert!((worker == 0) != of_caller, "on purpose");
            assert!(catch_unwind(AssertUnwindSafe(|| pool.run(&work))).is_err());
        }
        let done = AtomicUsize::new(0);
        pool.run(&|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 3);
    }

    #[test]
    fn map_keeps_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let squares: Vec<usize> = items.iter().map(|i| i * i).collect();
        for threads in [1, 2, 5] {
            let pool = ThreadPool::new(threads);
            assert_eq!(pool.workers(), threads);
            for _ in 0..100 {
                let found = pool.map(&items, |worker, &i| {
                    assert!(worker < threads);
                    i * i
                });
                assert_eq!(found, squares);
            }
        }
    }

    #[test]
    fn join_runs_both_closures_once_and_the_first_on_the_caller() {
        for threads in [1, 2, 3, 5] {
            let (pool, caller) = (ThreadPool::new(threads), std::thread::current().id());
            for _ in 0..100 {
                let (mut own, mut other) = (vec![], vec![]);
                let here = || std::thread::current().id();
                pool.join(|| own.push(here()), || other.push(here()));
                assert_eq!(own, [caller]);
                assert_eq!(
                    other.iter().map(|&id| id == caller).collect::<Vec<_>>(),
                    [threads == 1]
                );
            }
        }
    }

    #[test]
    fn every_chunk_is_processed_once() {
        for threads in [1, 3] {
            let mut numbers = vec![0.0; 1003];
            ThreadPool::new(threads).for_each_chunk(&mut numbers, 10, |i, chunk| {
                chunk.iter_mut().for_each(|x| *x += 1.0 + i as f32);
            });
            assert!(numbers.iter().enumerate().all(|(at, &x)| x == 1.0 + (at / 10) as f32));
        }
    }
}
