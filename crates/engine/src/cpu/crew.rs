//! Threads that wait to work beside their caller.
//!
//! Training makes one step after the other, and a step of a small network takes a millisecond or
//! two: asking the system for a sleeping thread would cost a good part of that. So a hand that has
//! finished looks out for more work for a while before it sleeps; at first without a pause, then
//! between looks it lets others go first.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a hand looks out for work before it sleeps.
// PERF: longer than what a step does alone. On two threads, against a pool whose threads sleep
// sooner: T=100, d=100, k=5: 1.91 ms, 2.00; 32×300 tokens out of 10,000: 83 ms, 100.
const LOOK_OUT: Duration = Duration::from_millis(1);

/// How long it does so without letting others go first.
// PERF: longer than what a step does alone between two orders.
const KEEN: Duration = Duration::from_micros(50);

/// Threads that wait for work.
pub struct Crew {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What caller and hands see.
struct Shared {
    orders: Mutex<Orders>,
    /// A new order was given; for hands that sleep.
    given: Condvar,
    /// The last hand has finished; for a caller that sleeps.
    finished: Condvar,
    /// How many orders were given: what hands look at.
    count: AtomicUsize,
    /// Hands at work: what the caller looks at.
    at_work: AtomicUsize,
    // PERF: who sleeps says so before a last look, and who has something to tell changes what is
    // looked at before asking who sleeps: so nobody is called, nor a lock taken, where all are awake.
    /// Hands that sleep, or are about to.
    asleep: AtomicUsize,
    /// Whether the caller sleeps, or is about to.
    caller_sleeps: AtomicBool,
}

#[derive(Default)]
struct Orders {
    work: Option<Work>,
    /// What a hand that panicked said.
    panic: Option<Box<dyn std::any::Any + Send>>,
    leave: bool,
}

/// Work that is borrowed from a caller who waits for its end.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn(usize) + Sync + 'static));

// SAFETY: what is pointed at is `Sync`, so a reference to it may go to any thread; that it is
// still there is what `Crew::run` sees to.
unsafe impl Send for Work {}

impl Crew {
    /// So many hands.
    pub fn new(hands: usize) -> Crew {
        let shared = Arc::new(Shared {
            orders: Mutex::default(),
            given: Condvar::new(),
            finished: Condvar::new(),
            count: AtomicUsize::new(0),
            at_work: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            caller_sleeps: AtomicBool::new(false),
        });
        let hand = |number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve(number))
        };
        let threads = (1..=hands).map(hand).collect();
        Crew { shared, threads }
    }

    /// How many hands there are.
    pub fn hands(&self) -> usize {
        self.threads.len()
    }

    /// Wakes hands that sleep: an order will soon be given.
    pub fn rouse(&self) {
        self.shared.rouse();
    }

    /// Has the caller, as number 0, and every hand, from 1, do `work` once, and returns when all
    /// have.
    ///
    /// # Panics
    /// If one of them does.
    pub fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        let shared = &*self.shared;
        // SAFETY: only the lifetime is changed. Hands follow the pointer between the order and
        // their `at_work -= 1`, and `wait`, also on a panic, does not leave this function before
        // all of them have done that; nor does the next order come before.
        let pointer: *const (dyn Fn(usize) + Sync) = work;
        let work_of_hands = Work(unsafe {
            std::mem::transmute::<
                *const (dyn Fn(usize) + Sync),
                *const (dyn Fn(usize) + Sync + 'static),
            >(pointer)
        });
        {
            let mut orders = shared.orders();
            assert_eq!(shared.at_work.load(Ordering::Acquire), 0, "one order at a time");
            orders.work = Some(work_of_hands);
            shared.at_work.store(self.hands(), Ordering::Release);
        }
        shared.give();
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        shared.wait();
        let theirs = shared.orders().panic.take();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.orders().leave = true;
        self.shared.give();
        for thread in self.threads.drain(..) {
            thread.join().expect("a hand passes its panics on");
        }
    }
}

impl Shared {
    /// Nothing that panics happens under the lock.
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets hands see an order.
    fn give(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.rouse();
    }

    /// Has hands look out for an order.
    fn rouse(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            self.call(&self.given);
        }
    }

    /// Wakes those who sleep. Whoever is about to has the lock until he does.
    fn call(&self, sleepers: &Condvar) {
        drop(self.orders());
        sleepers.notify_all();
    }

    /// The life of a hand.
    fn serve(&self, number: usize) {
        let mut seen = 0;
        loop {
            let given = || self.count.load(Ordering::SeqCst) != seen;
            while !self.look_out(given) {
                self.asleep.fetch_add(1, Ordering::SeqCst);
                self.sleep_unless(&self.given, given);
                self.asleep.fetch_sub(1, Ordering::SeqCst);
            }
            seen = self.count.load(Ordering::SeqCst);
            let orders = self.orders();
            if orders.leave {
                return;
            }
            let work = orders.work.expect("an order says what is to be done");
            drop(orders);
            // SAFETY: the caller of `Crew::run` waits until `at_work` is 0, and this hand is
            // counted there until after its last use of the work.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { (*work.0)(number) }));
            if let Err(panic) = done {
                self.orders().panic = Some(panic);
            }
            let last = self.at_work.fetch_sub(1, Ordering::SeqCst) == 1;
            if last && self.caller_sleeps.load(Ordering::SeqCst) {
                self.call(&self.finished);
            }
        }
    }

    /// Waits for all hands.
    fn wait(&self) {
        let finished = || self.at_work.load(Ordering::SeqCst) == 0;
        while !self.look_out(finished) {
            self.caller_sleeps.store(true, Ordering::SeqCst);
            self.sleep_unless(&self.finished, finished);
            self.caller_sleeps.store(false, Ordering::SeqCst);
        }
    }

    /// Sleeps until called, unless it is `seen` that there is no need to.
    fn sleep_unless(&self, called: &Condvar, seen: impl Fn() -> bool) {
        let orders = self.orders();
        if !seen() {
            drop(called.wait(orders).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Looks for `seen` for a while; whether it was.
    fn look_out(&self, seen: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        loop {
            for _ in 0..64 {
                if seen() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let waited = begin.elapsed();
            if waited > LOOK_OUT {
                return false;
            }
            if waited > KEEN {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_works_once_an_order_awake_or_asleep() {
        let crew = Crew::new(3);
        for round in 0..200 {
            if round % 50 == 0 {
                std::thread::sleep(3 * LOOK_OUT);
            }
            let done = AtomicUsize::new(0);
            crew.run(&|number| {
                done.fetch_add(1 << (8 * number), Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 0x01_01_01_01);
        }
    }

    #[test]
    fn hands_that_are_roused_wake_without_an_order() {
        let crew = Crew::new(2);
        let becomes = |count: usize, meanwhile: &dyn Fn()| {
            let begin = Instant::now();
            while crew.shared.asleep.load(Ordering::SeqCst) != count {
                assert!(begin.elapsed() < Duration::from_secs(10), "never {count} asleep");
                meanwhile();
                std::thread::yield_now();
            }
        };
        becomes(2, &|| {});
        // Again and again: they fall asleep before a busy machine looks.
        becomes(0, &|| crew.rouse());
    }

    #[test]
    fn a_panic_of_any_hand_reaches_the_caller_and_the_crew_works_on() {
        let crew = Crew::new(2);
        for of_caller in [true, false] {
            let work = |number| assert!((number == 0) != of_caller, "on purpose");
            assert!(catch_unwind(AssertUnwindSafe(|| crew.run(&work))).is_err());
        }
        let done = AtomicUsize::new(0);
        crew.run(&|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 3);
    }
}
