//! How many reads of one store may go on at a time, and how many of them hang.
//!
//! A read that its caller has given up goes on until the system lets go of it, which may be never. It
//! keeps its slot, so that the threads that hang are bounded; when all slots hang, nobody waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The slots of one store. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Slots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    taken: Mutex<Taken>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    /// The number of the next slot taken.
    next: u64,
    /// Those that are taken, and whether their callers have given them up.
    running: BTreeMap<u64, bool>,
}

/// A slot. It is free again when the work that holds it is done.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    number: u64,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, taken: Mutex::default(), free: Condvar::new() }))
    }

    /// Takes a slot; none if all hang, or if none becomes free before the deadline.
    pub(super) fn take(&self, deadline: Instant) -> Option<Slot> {
        let mut taken = self.0.taken.lock();
        while taken.running.len() >= self.0.most {
            let hopeless = taken.running.values().all(|&given_up| given_up);
            if hopeless || self.0.free.wait_until(&mut taken, deadline).timed_out() {
                return None;
            }
        }
        let number = taken.next;
        taken.next += 1;
        taken.running.insert(number, false);
        Some(Slot { slots: self.clone(), number })
    }

    /// Says that nobody waits any more for the work in this slot.
    pub(super) fn give_up(&self, number: u64) {
        if let Some(given_up) = self.0.taken.lock().running.get_mut(&number) {
            *given_up = true;
        }
        // Whoever waits for a slot looks again: the last hope may be gone.
        self.0.free.notify_all();
    }
}

impl Slot {
    /// Its number, to give it up by.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether nobody waits any more for what is done in it.
    pub(super) fn given_up(&self) -> bool {
        self.slots.0.taken.lock().running.get(&self.number).copied().unwrap_or(true)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.0.taken.lock().running.remove(&self.number);
        self.slots.0.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(30)
    }

    #[test]
    fn a_slot_comes_free_and_hanging_ones_keep_nobody_waiting() {
        let slots = Slots::new(2);
        let (a, b) = (slots.take(soon()).unwrap(), slots.take(soon()).unwrap());
        let begun = Instant::now();
        assert!(slots.take(soon()).is_none());
        assert!(begun.elapsed() >= Duration::from_millis(25), "one may still come free");
        slots.give_up(a.number());
        slots.give_up(b.number());
        assert!(a.given_up() && b.given_up());
        let far = Instant::now() + Duration::from_secs(60);
        assert!(slots.take(far).is_none(), "all hang: nobody waits");
        drop(a);
        assert!(slots.take(far).is_some());
    }
}
