//! What must hold after every command, whatever the test is about.

use std::collections::{BTreeMap, BTreeSet};

use lacuna_core::{
    Address, Command, Context, Contract, Entry, EntryKind, Event, Outcome, Prune, PruneReply,
    Recorded, Reply, SessionState, SpanId, SpanIndex, SummaryStatus, Verdict, decide, reply_again,
};

use crate::providers;
use crate::scenario::Scenario;

/// What stands behind the text of a summary that somebody has failed.
const FAILED: &str = "[failed an audit; do not rely on it]";

/// Holds one command's reply and its effect to every law. `from` is the index of its first event.
pub(crate) fn hold(
    after: &Scenario,
    before: Option<&SessionState>,
    command: &Command,
    context: &Context,
    reply: &Reply,
    from: usize,
) {
    let state = after.state();
    let events = &after.log[from..];
    numbers_have_no_gaps(&after.log, state);
    if !events.is_empty() {
        let facts = context.examination.as_ref();
        let retention = context.retention.as_deref();
        let again = reply_again(command, before, state, events, facts, retention);
        assert_eq!(again.as_ref(), Some(reply), "the reply again to {command:?}");
    }
    assert_eq!(version_of(reply), state.version, "the version in {reply:?}");
    match reply {
        Reply::Appended { budget, .. } | Reply::Restored { budget, .. } => {
            assert_eq!(*budget, state.budget(), "the budget in {reply:?}");
        }
        Reply::Pruned(reply) => {
            let Command::Prune(prune) = command else { panic!("{command:?} pruned") };
            let before = before.expect("a session that prunes is open");
            a_prune_says_what_it_does(before, state, prune, context, reply, events);
        }
        _ => {}
    }
    nobody_prunes_with_what_only_he_vouches_for(&after.log, state, from);
    window_is_whole(state);
    nothing_is_out_of_reach(state);
    ledger_is_whole(state);
    providers::accept(after);
}

fn version_of(reply: &Reply) -> u64 {
    match reply {
        Reply::Opened { version, .. }
        | Reply::Appended { version, .. }
        | Reply::Restored { version, .. }
        | Reply::Read { version }
        | Reply::DamageReported { version, .. }
        | Reply::Contradicted { version, .. }
        | Reply::Resolved { version }
        | Reply::PolicySet { version, .. }
        | Reply::HoldPlaced { version, .. }
        | Reply::HoldReleased { version, .. }
        | Reply::RunOpened { version, .. }
        | Reply::RunClosed { version, .. }
        | Reply::NoticeGiven { version, .. }
        | Reply::Removed { version, .. }
        | Reply::Adopted { version, .. }
        | Reply::Receipted { version, .. }
        | Reply::Forked { version, .. }
        | Reply::Closed { version, .. } => *version,
        Reply::Pruned(reply) => reply.version,
        Reply::Summarized(reply) => reply.version,
        Reply::Audited(reply) => reply.version,
    }
}

fn numbers_have_no_gaps(log: &[Recorded], state: &SessionState) {
    let versions: Vec<u64> = log.iter().map(|recorded| recorded.version).collect();
    assert_eq!(versions, (1..=log.len() as u64).collect::<Vec<_>>());
    let last = log.last().expect("the session was opened");
    assert_eq!((state.version, state.seq, state.at), (last.version, last.seq, last.at));
    assert_eq!(state.head, last.hash);
    for span in state.spans() {
        let recorded = &log[span.version as usize - 1];
        assert_eq!((recorded.seq, recorded.at), (span.seq, span.at), "{}", span.id);
    }
}

/// What a directive announces is what the fold does, and a dry run announces the same.
fn a_prune_says_what_it_does(
    before: &SessionState,
    after: &SessionState,
    prune: &Prune,
    context: &Context,
    reply: &PruneReply,
    events: &[Recorded],
) {
    let (old, new): (Vec<Entry>, Vec<Entry>) =
        (before.entries().collect(), after.entries().collect());
    if !prune.dry_run {
        let dry = Command::Prune(Prune { dry_run: true, ..prune.clone() });
        let dry = decide(Some(before), &dry, context).unwrap();
        assert_eq!(dry.events, Vec::<Event>::new());
        let expected = PruneReply { directive: None, version: before.version, ..reply.clone() };
        assert_eq!(dry.reply, Reply::Pruned(Box::new(expected)), "the dry run of {prune:?}");
    } else {
        assert_eq!(events, [], "a dry run records nothing");
        assert_eq!(before, after);
        return;
    }
    assert_eq!(reply.budget, after.budget(), "the budget after {prune:?}");
    let freed = before.budget().used_tokens as i64 - after.budget().used_tokens as i64;
    assert_eq!(reply.freed_tokens, freed, "freed by {prune:?}");
    if reply.verdict == Verdict::Rejected {
        assert_eq!(old, new, "{prune:?} was refused");
        return;
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new);
    let kept: u64 = same.map(|(old, _)| u64::from(old.tokens)).sum();
    assert_eq!(reply.cost.prefix_kept_tokens, kept, "the prefix that {prune:?} keeps");
    let rewritten = after.budget().used_tokens - kept;
    assert_eq!(reply.cost.prefix_rewritten_tokens, rewritten, "what {prune:?} has read anew");
}

/// From the events alone: whoever puts a summary into the place of spans under an enforced contract
/// is not its author, or somebody else has passed it; and nobody's last counting verdict is a fail.
fn nobody_prunes_with_what_only_he_vouches_for(
    log: &[Recorded],
    state: &SessionState,
    from: usize,
) {
    if state.contract == Contract::Record {
        return;
    }
    for recorded in &log[from..] {
        let Event::PruneExecuted(prune) = &recorded.event else { continue };
        let Some(summary) = &prune.replace_with else { continue };
        let mut author = None;
        let mut verdicts = BTreeMap::new();
        for earlier in &log[..from] {
            match &earlier.event {
                Event::SummaryRecorded(event) if event.span == *summary => {
                    assert_ne!(event.status, SummaryStatus::Rejected, "{summary} was refused");
                    assert_eq!(event.findings, [], "{summary} was not refused");
                    author = Some(&earlier.principal);
                }
                Event::SummaryAudited(event) if event.summary == *summary && event.accepted => {
                    verdicts.insert(&earlier.principal, event.pass);
                }
                _ => {}
            }
        }
        let author = author.expect("a summary that replaces spans was recorded");
        assert!(!verdicts.contains_key(author), "{author} audited {summary} of his own");
        assert!(verdicts.values().all(|pass| *pass), "{summary} failed: {verdicts:?}");
        let alone = recorded.principal == *author && verdicts.is_empty();
        assert!(!alone, "only {author} vouches for {summary}");
    }
}

/// Sizes add up, every span is shown at most once, and places follow the session's order.
fn window_is_whole(state: &SessionState) {
    let entries: Vec<Entry> = state.entries().collect();
    assert_eq!(entries.len(), state.window_len());
    let sum: u64 = entries.iter().map(|entry| u64::from(entry.tokens)).sum();
    let budget = state.budget();
    assert_eq!(budget.used_tokens, sum, "the sum of the entries' tokens");
    let usable = budget.window_tokens - budget.reserve_tokens;
    assert_eq!(budget.free_tokens, usable.saturating_sub(sum));
    assert_eq!(budget.over, sum > usable);
    let mut shown: BTreeMap<SpanIndex, EntryKind> = BTreeMap::new();
    for entry in &entries {
        for &index in &entry.spans {
            let name = &state.span(index).id;
            assert_eq!(shown.insert(index, entry.kind), None, "{name} is shown twice");
        }
        handles_lead_back(state, entry);
    }
    for (span, index) in state.spans().iter().zip(0..) {
        let expected = match (state.outcome(span), span.pruned_under(), shown.get(&index)) {
            (Outcome::Live, None, _) if span.is_summary() => Some(EntryKind::Summary),
            (Outcome::Live, None, _) => Some(EntryKind::Span),
            (Outcome::Recoverable, None, _) => None,
            (Outcome::Withheld, None, kind) => kind.map(|_| EntryKind::Span),
            // Behind a stub, or behind a summary.
            (Outcome::Recoverable, Some(_), kind) => kind.map(|_| EntryKind::Stub),
            // A span that never stood in the window leaves no gap there.
            (Outcome::Lossy, None, kind) => kind.map(|_| EntryKind::Tombstone),
            (Outcome::Lossy, Some(_), _) => Some(EntryKind::Tombstone),
            (outcome, directive, _) => panic!("{} is {outcome:?} under {directive:?}", span.id),
        };
        assert_eq!(shown.get(&index).copied(), expected, "how {} is shown", span.id);
    }
}

fn handles_lead_back(state: &SessionState, entry: &Entry) {
    let text = entry.text.as_deref();
    match entry.kind {
        EntryKind::Span => assert_eq!((text, &entry.handle, entry.pruned_tokens), (None, &None, 0)),
        EntryKind::Tombstone => {
            let name = &state.span(entry.spans[0]).id;
            let expected = format!("{name}: pruned, unrecoverable, contents unknown");
            assert_eq!((text, &entry.handle), (Some(expected.as_str()), &None));
        }
        EntryKind::Stub => {
            let handle = entry.handle.as_deref().expect("a stub holds a handle");
            assert!(text.is_some_and(|text| text.contains(handle)), "{text:?} hides {handle}");
            let reached = reached(state, handle);
            for index in &entry.spans {
                assert!(reached.contains(index), "{handle} does not lead to {index}");
            }
        }
        EntryKind::Summary => {
            let summary = state.span(entry.spans[0]);
            let replaced = state.replaced_by(summary);
            // A mark before it says that somebody failed it.
            let failed = summary.summary_status() == Some(SummaryStatus::Rejected);
            let (mark, text) = match text.and_then(|text| text.strip_prefix(FAILED)) {
                Some(rest) => (true, rest.strip_prefix('\n')),
                None => (false, text),
            };
            assert_eq!(mark, failed, "the mark of a failed audit on {}", summary.id);
            assert_eq!(text.is_none(), replaced.is_empty(), "{text:?} stands for {replaced:?}");
            assert_eq!(entry.handle.is_none(), replaced.is_empty());
            let count = format!(" {} spans replaced", replaced.len());
            assert!(text.is_none_or(|text| text.contains(&count)), "{text:?} is not {count:?}");
            for id in replaced {
                let directive = state.find(&id).and_then(|span| span.pruned_under()).unwrap();
                let handle = directive.to_string();
                assert!(text.is_some_and(|text| text.contains(&handle)), "{handle} of {id}");
                assert!(reached(state, &handle).contains(&state.index(&id).unwrap()));
            }
        }
    }
}

/// The spans that a handle leads to, looked up as a reader would.
fn reached(state: &SessionState, handle: &str) -> BTreeSet<SpanIndex> {
    match handle.parse().unwrap() {
        Address::Handle(handle) => {
            let span = state.find(&handle.span).expect("the handle's span is recorded");
            assert_eq!(span.digest.prefix(), handle.prefix);
            state.index(&handle.span).into_iter().collect()
        }
        Address::Directive(number) => {
            let directive = state.directive(number).expect("the handle's directive is recorded");
            assert!(directive.executed);
            directive.spans.iter().copied().collect()
        }
        Address::Span(span) => panic!("{span} is no handle"),
    }
}

/// What was pruned reversibly is found from the window, or the ledger says since when it is not.
fn nothing_is_out_of_reach(state: &SessionState) {
    let addressable = state.addressable();
    let lost: Vec<&SpanId> = state
        .spans()
        .iter()
        .filter(|span| span.pruned_under().is_some() && state.outcome(span) != Outcome::Lossy)
        .map(|span| &span.id)
        .filter(|id| !addressable.contains(id))
        .collect();
    assert_eq!(lost, Vec::<&SpanId>::new(), "pruned reversibly, and no handle leads to it");
}

fn ledger_is_whole(state: &SessionState) {
    let mut in_ledger: Vec<SpanIndex> = state.ledger().iter().map(|entry| entry.span).collect();
    in_ledger.sort_unstable();
    let lossy =
        state.spans().iter().zip(0..).filter(|(span, _)| state.outcome(span) == Outcome::Lossy);
    assert_eq!(in_ledger, lossy.map(|(_, index)| index).collect::<Vec<_>>(), "one entry each");
    for span in state.spans() {
        let entry = state.tombstone(span);
        assert_eq!(entry.is_some(), state.outcome(span) == Outcome::Lossy);
        if let Some(entry) = entry {
            assert_eq!(&state.span(entry.span).id, &span.id);
        }
    }
}
