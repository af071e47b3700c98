//! Strategies for events of every kind with any values.

use lacuna_core::event::{
    AlertRaised, AuditNote, Cause, Check, ContradictionNoted, ContradictionResolved, Cost, Event,
    HoldPlaced, HoldReleased, Keep, LiveHandles, LossyCommitted, LostSpan, Match, NoticeGiven,
    Noticed, PolicySet, PruneExecuted, PruneRejected, PrunedSpan, Recorded, Rendering, Rule,
    RunClosed, RunEnd, RunOpened, RunTally, SessionForked, SessionOpened, Since, SpanRead,
    SpanRecorded, SpanRestored, StoredClaims, SummaryAudited, SummaryRecorded, SummaryStatus,
    WindowReceipted,
};
use lacuna_core::retention::Period;
use lacuna_core::{
    Alert, CommandStamp, Contract, Digest, DirectiveNo, Finding, FindingCode, Origin, PruneMode,
    Purpose, RejectReason, Role, SessionKey, SessionNo, Source, SpanId, SpanKind, Storage,
    Timestamp, TokensFrom,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

type Labels = std::collections::BTreeMap<String, String>;

fn id() -> impl Strategy<Value = SpanId> {
    "[A-Za-z0-9_.:-]{1,40}".prop_map(|text| text.parse().unwrap())
}

fn ids() -> impl Strategy<Value = Vec<SpanId>> {
    vec(id(), 0..6)
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn labels() -> impl Strategy<Value = Labels> {
    btree_map(text(), text(), 0..4)
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

prop_compose! {
    fn opened()(
        tenant in "[A-Za-z0-9_-]{1,64}",
        session in "[A-Za-z0-9_-]{1,64}",
        (window_tokens, reserve_ppm) in any::<(u64, u32)>(),
        contract in select(Contract::ALL),
        labels in labels(),
    ) -> Event {
        let key = SessionKey { tenant: tenant.parse().unwrap(), session: session.parse().unwrap() };
        Event::SessionOpened(SessionOpened { key, window_tokens, reserve_ppm, contract, labels })
    }
}

fn storage() -> impl Strategy<Value = Storage> {
    prop_oneof![
        Just(Storage::Journal),
        text().prop_map(|reason| Storage::Withheld { reason }),
        (text(), text()).prop_map(|(store, key)| Storage::External { store, key }),
    ]
}

prop_compose! {
    fn source()(
        format in text(),
        id in of(text()),
        parent in of(text()),
        time in of(text()),
    ) -> Source {
        Source { format, id, parent, time }
    }
}

prop_compose! {
    fn span()(
        (span, answers, supersedes) in (id(), of(id()), of(id())),
        (role, origin) in (select(Role::ALL), select(Origin::ALL)),
        (kind, tokens_from) in (select(SpanKind::ALL), select(TokensFrom::ALL)),
        (storage, media_type, labels) in (storage(), text(), labels()),
        (digest, source) in (digest(), of(source())),
        (bytes, tokens, turn) in any::<(u64, u32, Option<u64>)>(),
        (hedged, pinned, in_window) in any::<(bool, bool, bool)>(),
    ) -> Event {
        Event::SpanRecorded(SpanRecorded {
            span, role, origin, kind, storage, digest, bytes, media_type, tokens, tokens_from,
            hedged, pinned, turn, answers, supersedes, labels, source, in_window,
        })
    }
}

prop_compose! {
    fn finding()(
        code in select(FindingCode::ALL),
        (claim, at) in any::<(Option<u32>, Option<(u32, u32)>)>(),
        span in of(id()),
    ) -> Finding {
        Finding { code, claim, span, at }
    }
}

prop_compose! {
    fn summary()(
        (span, covers, digest) in (id(), ids(), digest()),
        (bytes, tokens, count, claim_bytes) in any::<(u64, u32, u32, u64)>(),
        (claim_digest, cites, asked) in (digest(), ids(), of(id())),
        (status, findings) in (select(SummaryStatus::ALL), vec(finding(), 0..4)),
        (depth, tag_tokens, identifiers, identifiers_kept) in any::<(u32, u32, u32, u32)>(),
    ) -> Event {
        let claims = StoredClaims { count, bytes: claim_bytes, digest: claim_digest };
        Event::SummaryRecorded(SummaryRecorded {
            span, covers, digest, bytes, tokens, claims, cites, asked, status, findings, depth,
            tag_tokens, identifiers, identifiers_kept,
        })
    }
}

prop_compose! {
    fn note()(
        (code, message, span) in (of(text()), of(text()), of(id())),
        claim in any::<Option<u32>>(),
    ) -> AuditNote {
        AuditNote { code, claim, span, message }
    }
}

prop_compose! {
    fn audited()(
        summary in id(),
        (pass, accepted) in any::<(bool, bool)>(),
        (findings, notes) in (vec(finding(), 0..4), vec(note(), 0..4)),
    ) -> Event {
        Event::SummaryAudited(SummaryAudited { summary, pass, accepted, findings, notes })
    }
}

prop_compose! {
    fn alert()(alert in select(Alert::ALL), spans in ids(), message in text()) -> Event {
        Event::AlertRaised(AlertRaised { alert, spans, message })
    }
}

prop_compose! {
    fn pruned()(
        (span, digest, why) in (id(), digest(), of(text())),
        (existence, addressability, provenance) in any::<(bool, bool, bool)>(),
        until in any::<Option<u64>>(),
    ) -> PrunedSpan {
        let check = Check { existence, addressability, provenance, why };
        PrunedSpan { span, digest, check, durable_until: until.map(Timestamp) }
    }
}

prop_compose! {
    fn executed()(
        (directive, accept_lossy, min_durability_ms) in any::<(u32, bool, Option<u64>)>(),
        (freed_tokens, kept, rewritten) in any::<(i64, u64, u64)>(),
        mode in select(PruneMode::ALL),
        spans in vec(pruned(), 0..4),
        (replace_with, reason, thinking_invalidated) in (of(id()), of(text()), ids()),
    ) -> Event {
        let cost = Cost {
            prefix_kept_tokens: kept, prefix_rewritten_tokens: rewritten, thinking_invalidated,
        };
        Event::PruneExecuted(PruneExecuted {
            directive: DirectiveNo(directive), mode, spans, replace_with, accept_lossy,
            min_durability_ms, reason, freed_tokens, cost,
        })
    }
}

prop_compose! {
    fn rejected()(
        (directive, accept_lossy) in any::<(u32, bool)>(),
        (mode, why) in (select(PruneMode::ALL), select(RejectReason::ALL)),
        spans in vec(pruned(), 0..4),
        (advice, concerned, replace_with, reason) in (text(), ids(), of(id()), of(text())),
    ) -> Event {
        Event::PruneRejected(PruneRejected {
            directive: DirectiveNo(directive), mode, spans, why, advice, concerned, replace_with,
            accept_lossy, reason,
        })
    }
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![
        (any::<u32>(), "[A-Za-z0-9_-]{1,64}").prop_map(|(directive, by)| Cause::Directive {
            directive: DirectiveNo(directive),
            by: by.parse().unwrap(),
        }),
        text().prop_map(|found| Cause::Damage { found }),
        (any::<(u32, u32)>(), text()).prop_map(|((run, policy), rule)| Cause::Retention {
            run,
            policy,
            rule
        }),
        ("[A-Za-z0-9_-]{1,64}", text())
            .prop_map(|(by, reason)| Cause::Erasure { by: by.parse().unwrap(), reason }),
    ]
}

fn lossy() -> impl Strategy<Value = Event> {
    let lost = (id(), digest(), any::<(u64, u32)>())
        .prop_map(|(span, digest, (bytes, tokens))| LostSpan { span, digest, bytes, tokens });
    (vec(lost, 0..4), cause(), any::<bool>()).prop_map(|(spans, cause, residue)| {
        Event::LossyCommitted(LossyCommitted { spans, cause, residue })
    })
}

prop_compose! {
    fn matches()(
        sessions in of(text()),
        origins in vec(select(Origin::ALL), 0..3),
        kinds in vec(select(SpanKind::ALL), 0..3),
        labels in labels(),
        pruned in any::<Option<bool>>(),
    ) -> Match {
        Match { sessions, origins, kinds, labels, pruned }
    }
}

prop_compose! {
    fn rule()(
        (id, matches) in (text(), matches()),
        period in of((any::<u64>().prop_map(Period), select(Since::ALL))),
        (forever, max_bytes, max_spans) in any::<(bool, Option<u64>, Option<u64>)>(),
        (notice, residue) in any::<(u64, bool)>(),
        live_handles in select(LiveHandles::ALL),
    ) -> Rule {
        let keep = Keep { forever, period, max_bytes, max_spans };
        Rule { id, matches, keep, notice: Period(notice), live_handles, residue }
    }
}

fn policy() -> impl Strategy<Value = Event> {
    (any::<u32>(), vec(rule(), 0..4))
        .prop_map(|(policy, rules)| Event::PolicySet(PolicySet { policy, rules }))
}

fn placed() -> impl Strategy<Value = Event> {
    (any::<u32>(), matches(), text())
        .prop_map(|(hold, matches, reason)| Event::HoldPlaced(HoldPlaced { hold, matches, reason }))
}

fn noticed() -> impl Strategy<Value = Event> {
    let noticed = (id(), text(), any::<u64>()).prop_map(|(span, rule, at)| Noticed {
        span,
        rule,
        erases_at: Timestamp(at),
    });
    (any::<(u32, u32)>(), vec(noticed, 0..4))
        .prop_map(|((run, policy), spans)| Event::NoticeGiven(NoticeGiven { run, policy, spans }))
}

fn opened_run() -> impl Strategy<Value = Event> {
    any::<(u32, u64, u64, u32, bool)>().prop_map(|(run, cut, now, policy, unlimited)| {
        let effective_now = Timestamp(now);
        Event::RunOpened(RunOpened { run, cut, effective_now, policy, unlimited })
    })
}

fn closed_run() -> impl Strategy<Value = Event> {
    let counts = any::<(u64, u64, u64, u64, u64)>();
    (any::<u32>(), select(RunEnd::ALL), counts).prop_map(|(run, end, counts)| {
        let (removed_spans, removed_bytes, noticed, deferred, held) = counts;
        let tally = RunTally { removed_spans, removed_bytes, noticed, deferred, held };
        Event::RunClosed(RunClosed { run, end, tally })
    })
}

fn receipted() -> impl Strategy<Value = Event> {
    let rendered = of((select(Rendering::ALL), digest()));
    (any::<(u32, u64, u32)>(), of(any::<u64>()), digest(), rendered, of(digest())).prop_map(
        |((receipt, window_version, entries), turn, entries_digest, rendered, sent_digest)| {
            Event::WindowReceipted(WindowReceipted {
                receipt,
                window_version,
                turn,
                entries,
                entries_digest,
                rendered,
                sent_digest,
            })
        },
    )
}

fn forked() -> impl Strategy<Value = Event> {
    let name = "[A-Za-z0-9_-]{1,64}";
    (name, name, name, any::<(u64, u64)>()).prop_map(|(tenant, own, parent, (number, at))| {
        let key = |name: String| SessionKey {
            tenant: tenant.parse().unwrap(),
            session: name.parse().unwrap(),
        };
        Event::SessionForked(SessionForked {
            key: key(own),
            parent: key(parent),
            parent_number: SessionNo(number),
            at,
        })
    })
}

/// One strategy for each kind, in the order of the registry.
pub(crate) fn kinds() -> Vec<BoxedStrategy<Event>> {
    let read = (id(), select(Purpose::ALL));
    let noted = (any::<u32>(), ids(), of(text()));
    let resolved = (any::<u32>(), text());
    vec![
        opened().boxed(),
        span().boxed(),
        summary().boxed(),
        executed().boxed(),
        rejected().boxed(),
        lossy().boxed(),
        id().prop_map(|span| Event::SpanRestored(SpanRestored { span })).boxed(),
        read.prop_map(|(span, purpose)| Event::SpanRead(SpanRead { span, purpose })).boxed(),
        noted
            .prop_map(|(contradiction, spans, note)| {
                Event::ContradictionNoted(ContradictionNoted { contradiction, spans, note })
            })
            .boxed(),
        resolved
            .prop_map(|(contradiction, note)| {
                Event::ContradictionResolved(ContradictionResolved { contradiction, note })
            })
            .boxed(),
        Just(Event::SessionClosed).boxed(),
        audited().boxed(),
        alert().boxed(),
        policy().boxed(),
        placed().boxed(),
        (any::<u32>(), text())
            .prop_map(|(hold, reason)| Event::HoldReleased(HoldReleased { hold, reason }))
            .boxed(),
        noticed().boxed(),
        opened_run().boxed(),
        closed_run().boxed(),
        receipted().boxed(),
        forked().boxed(),
    ]
}

/// An event of any kind.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    proptest::strategy::Union::new(kinds())
}

prop_compose! {
    /// Any event with any header.
    pub(crate) fn recorded(event: BoxedStrategy<Event>)(
        event in event,
        (seq, version, at, session) in any::<(u64, u64, u64, u64)>(),
        principal in "[A-Za-z0-9_-]{1,64}",
        command in of((vec(any::<char>(), 1..=128), any::<[u8; 16]>())),
        previous in digest(),
    ) -> Recorded {
        let command = command.map(|(id, request)| CommandStamp {
            id: id.into_iter().collect::<String>().parse().unwrap(),
            request,
        });
        Recorded {
            seq, version, at: Timestamp(at), session: SessionNo(session),
            principal: principal.parse().unwrap(), command, previous, hash: Digest::default(), event,
            imported: None,
        }
    }
}
