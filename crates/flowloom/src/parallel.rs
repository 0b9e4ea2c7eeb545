//! Work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// How many threads to use: as many as are asked for, or as there are cores.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// A lock. A thread that panicked while it held one ends the work anyway.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` for `items` on `threads` threads, as long as `goes_on` with an item's place. What came of each, in their order.
pub fn at_once<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    goes_on: impl Fn(usize) -> bool + Sync,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        items.get(index).filter(|_| goes_on(index)).map(|item| (index, item))
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some((index, item)) = take() {
                    let result = work(item);
                    locked(&done).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [1, 3, 200] {
            assert!(at_once(threads, &items, |_| true, |item| item * 2).into_iter().eq((0..100).map(|item| item * 2)));
        }
        assert_eq!(at_once(1, &items, |index| index < 3, |item| *item), [0, 1, 2]);
    }
}
