//! The steps of removing payloads and of publishing events, by name, for tests: each can be made the last
//! of the process, or be answered by something else that happens just then. Only builds with debug
//! assertions look.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The variable that names a step behind which the process ends as if it were killed:
/// `removal-committed`, or `removal-committed:3` for the third time.
pub const CRASH_AT: &str = "LACUNA_CRASH_AT";

/// Every step of a removal, in the order in which a run takes them.
pub const STEPS: &[&str] = &[
    "run-opened",
    "notice-given",
    "removal-prepared",
    "removal-committed",
    "slice-removed",
    "key-file-1",
    "key-file-2",
    "punctures-cleared",
    "run-closed",
];

/// Every step of publishing events, in the order in which each is taken: read from the journal, sent to
/// the broker, acknowledged by it, and the place written down.
pub const FEED_STEPS: &[&str] = &["feed-read", "feed-sent", "feed-acked", "feed-placed"];

type Hook = Box<dyn FnMut(&'static str)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Does some work; at each step that this very thread takes meanwhile, `hook` is called.
pub fn at_each_step<T>(hook: impl FnMut(&'static str) + 'static, work: impl FnOnce() -> T) -> T {
    HOOK.set(Some(Box::new(hook)));
    let done = work();
    HOOK.set(None);
    done
}

/// Says that this step was taken.
pub fn step_taken(name: &'static str) {
    if !cfg!(debug_assertions) {
        return;
    }
    debug_assert!(STEPS.contains(&name) || FEED_STEPS.contains(&name), "{name} is not listed");
    // Taken out while it runs: what it does may take steps, too.
    if let Some(mut hook) = HOOK.take() {
        hook(name);
        HOOK.set(Some(hook));
    }
    static WANTED: OnceLock<Option<(String, usize)>> = OnceLock::new();
    static PASSED: AtomicUsize = AtomicUsize::new(0);
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var(CRASH_AT).ok()?;
        let (name, times) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), times.parse().unwrap_or(1)))
    });
    if let Some((wanted, times)) = wanted
        && wanted == name
        && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *times
    {
        // No destructor runs, and no buffer is flushed.
        std::process::abort();
    }
}
