//! Recording spans: all or none.

use std::collections::{HashMap, HashSet};

use super::{AppendedSpan, Decision, Reply, bound};
use crate::event::{ContradictionNoted, SpanRecorded};
use crate::retention::{Facts, promise, promised};
use crate::{
    Budget, Content, Context, Event, Handle, NewSpan, Origin, Refusal, SessionState, SpanId,
    SpanKind, Storage, Timestamp, TokensFrom, estimate_tokens,
};

pub(super) fn decide(
    state: &SessionState,
    spans: &[NewSpan],
    context: &Context,
) -> Result<Decision, Refusal> {
    if spans.is_empty() {
        return Err(Refusal::BadRequest("spans is empty: give at least one".into()));
    }
    let limit = context.limits.spans_per_append;
    bound("spans in one append", spans.len(), limit, "split it into several appends")?;
    let mut batch = Batch::new(state, spans, context);
    for span in spans {
        batch.add(span)?;
    }
    let version = state.version + batch.events.len() as u64;
    let budget = Budget::at(state, state.budget().used_tokens + batch.added_tokens);
    Ok(Decision {
        events: batch.events,
        reply: Reply::Appended { version, spans: batch.replies, budget },
    })
}

/// The longest content that is withheld or kept in another store, in bytes: longer ones are mistakes.
const ELSEWHERE: u64 = 1 << 40;

/// The spans of one append so far: later ones may name earlier ones.
struct Batch<'a> {
    state: &'a SessionState,
    context: &'a Context,
    /// Ids that this append gives itself: none of them is assigned to another of its spans.
    named: HashSet<&'a SpanId>,
    new: HashMap<SpanId, &'a NewSpan>,
    /// Index into `replies` of each new span.
    answered: HashMap<SpanId, usize>,
    next_assigned: u64,
    next_contradiction: u32,
    added_tokens: u64,
    events: Vec<Event>,
    replies: Vec<AppendedSpan>,
}

impl<'a> Batch<'a> {
    fn new(state: &'a SessionState, spans: &'a [NewSpan], context: &'a Context) -> Self {
        Self {
            state,
            context,
            named: spans.iter().filter_map(|span| span.id.as_ref()).collect(),
            new: HashMap::new(),
            answered: HashMap::new(),
            next_assigned: state.next_assigned,
            next_contradiction: u32::try_from(state.contradictions.len()).unwrap_or(u32::MAX),
            added_tokens: 0,
            events: Vec::new(),
            replies: Vec::new(),
        }
    }

    fn add(&mut self, span: &'a NewSpan) -> Result<(), Refusal> {
        let limits = &self.context.limits;
        let stored = matches!(span.content, Content::Bytes(_));
        if stored && span.bytes() > limits.span_bytes {
            return Err(Refusal::TooLarge {
                what: "a span's content, in bytes",
                given: span.bytes(),
                limit: limits.span_bytes,
                advice: "split the content, or record it as withheld or external",
            });
        }
        if span.bytes() > ELSEWHERE {
            return Err(Refusal::TooLarge {
                what: "a span's content elsewhere, in bytes",
                given: span.bytes(),
                limit: ELSEWHERE,
                advice: "check the length",
            });
        }
        if span.origin == Origin::Summary || span.kind == SpanKind::Summary {
            return Err(Refusal::BadRequest("summaries are made with summarize".into()));
        }
        let labels = span.labels.iter().map(|(k, v)| k.len() + v.len()).sum();
        bound("labels, in bytes", labels, limits.label_bytes, "use fewer or shorter ones")?;
        bound("source, in bytes", source_bytes(span), limits.label_bytes, "shorten it")?;
        let places = place_bytes(span);
        bound("reason, store and key, in bytes", places, limits.remark_bytes, "shorten them")?;
        let most = limits.spans_per_directive;
        bound("spans in contradicts", span.contradicts.len(), most, "name fewer")?;
        if let Some(id) = &span.id
            && let Some(reply) = self.recorded_before(id, span)?
        {
            self.replies.push(reply);
            return Ok(());
        }
        self.check_references(span)?;
        let id = span.id.clone().unwrap_or_else(|| self.assign());
        let (tokens, tokens_from) = match span.tokens {
            Some(tokens) => (tokens, TokensFrom::Declared),
            None => (estimate_tokens(span.bytes()), TokensFrom::Estimated),
        };
        let seq = self.context.next_seq + self.events.len() as u64;
        if span.in_window {
            self.added_tokens += u64::from(tokens);
        }
        self.replies.push(AppendedSpan {
            id: id.clone(),
            seq,
            handle: Handle::new(&id, &span.digest),
            digest: span.digest,
            tokens,
            tokens_from,
            durable_until: match span.content {
                Content::Withheld { .. } => Some(self.context.now),
                Content::Bytes(_) => self.promised(span),
                Content::External { .. } => None,
            },
            duplicate: false,
        });
        self.events.push(Event::SpanRecorded(recorded(span, id.clone(), tokens, tokens_from)));
        for other in &span.contradicts {
            self.next_contradiction += 1;
            self.events.push(Event::ContradictionNoted(ContradictionNoted {
                contradiction: self.next_contradiction,
                spans: vec![id.clone(), other.clone()],
                note: None,
            }));
        }
        self.answered.insert(id.clone(), self.replies.len() - 1);
        self.new.insert(id, span);
        Ok(())
    }

    /// Until when the copy of a new span lives.
    fn promised(&self, span: &NewSpan) -> Option<Timestamp> {
        let now = self.context.now;
        let facts = Facts {
            session: self.state.key.session.as_str(),
            session_labels: &self.state.labels,
            labels: &span.labels,
            origin: span.origin,
            kind: span.kind,
            recorded_at: now,
            pruned_at: (!span.in_window).then_some(now),
            closed_at: None,
        };
        promise(self.context.retention.as_deref(), &facts, None, now)
    }

    /// The reply for a span that this session or this append has recorded before, if the id is
    /// taken by the same content under the same attributes.
    fn recorded_before(
        &self,
        id: &SpanId,
        span: &NewSpan,
    ) -> Result<Option<AppendedSpan>, Refusal> {
        let conflict = || Refusal::SpanConflict(id.clone());
        if let Some(earlier) = self.new.get(id) {
            let same = earlier.digest == span.digest
                && (earlier.role, earlier.origin, earlier.kind)
                    == (span.role, span.origin, span.kind)
                && earlier.storage() == span.storage();
            let reply = self.answered.get(id).map(|&index| self.replies[index].clone());
            return match reply {
                Some(reply) if same => Ok(Some(AppendedSpan { duplicate: true, ..reply })),
                _ => Err(conflict()),
            };
        }
        let Some(earlier) = self.state.find(id) else { return Ok(None) };
        let same = earlier.digest == span.digest
            && (earlier.role, earlier.origin, earlier.kind) == (span.role, span.origin, span.kind)
            && earlier.storage == span.storage();
        if !same {
            return Err(conflict());
        }
        Ok(Some(AppendedSpan {
            id: id.clone(),
            seq: earlier.seq,
            handle: earlier.handle(),
            digest: earlier.digest,
            tokens: earlier.tokens,
            tokens_from: earlier.tokens_from,
            durable_until: match earlier.storage {
                Storage::Withheld { .. } => Some(earlier.at),
                Storage::Journal | Storage::External { .. } => {
                    let (retention, now) = (self.context.retention.as_deref(), self.context.now);
                    promised(self.state, earlier, retention, now)
                }
            },
            duplicate: true,
        }))
    }

    fn check_references(&self, span: &NewSpan) -> Result<(), Refusal> {
        let named = span.answers.iter().chain(&span.contradicts).chain(&span.supersedes);
        let unknown: Vec<SpanId> = named.filter(|id| self.kind_of(id).is_none()).cloned().collect();
        if !unknown.is_empty() {
            return Err(Refusal::UnknownSpan(unknown));
        }
        let Some(call) = &span.answers else { return Ok(()) };
        if span.kind != SpanKind::ToolResult {
            return Err(Refusal::BadRequest("only a tool_result answers a span".into()));
        }
        match self.kind_of(call) {
            Some(SpanKind::ToolCall) => Ok(()),
            _ => Err(Refusal::BadRequest(format!(
                "{call} is no tool_call: a tool_result answers a tool_call"
            ))),
        }
    }

    fn kind_of(&self, id: &SpanId) -> Option<SpanKind> {
        self.new.get(id).map(|span| span.kind).or_else(|| self.state.find(id).map(|s| s.kind))
    }

    fn assign(&mut self) -> SpanId {
        loop {
            let name = format!("s{}", self.next_assigned);
            self.next_assigned += 1;
            let id: SpanId = name.parse().expect("a letter and digits are a valid span id");
            // Those assigned before in this append have lower numbers.
            if self.state.index(&id).is_none() && !self.named.contains(&id) {
                return id;
            }
        }
    }
}

/// What a span says about where it stood before, in bytes.
fn source_bytes(span: &NewSpan) -> usize {
    let Some(source) = &span.source else { return 0 };
    let parts = [&source.id, &source.parent, &source.time];
    source.format.len() + parts.into_iter().flatten().map(String::len).sum::<usize>()
}

/// What it says about where its content is, in bytes.
fn place_bytes(span: &NewSpan) -> usize {
    match &span.content {
        Content::Bytes(_) => 0,
        Content::Withheld { reason, .. } => reason.len(),
        Content::External { store, key, .. } => store.len() + key.len(),
    }
}

fn recorded(span: &NewSpan, id: SpanId, tokens: u32, tokens_from: TokensFrom) -> SpanRecorded {
    SpanRecorded {
        span: id,
        role: span.role,
        origin: span.origin,
        kind: span.kind,
        storage: span.storage(),
        digest: span.digest,
        bytes: span.bytes(),
        media_type: span.media_type.clone(),
        tokens,
        tokens_from,
        hedged: span.hedged,
        pinned: span.pinned,
        turn: span.turn,
        answers: span.answers.clone(),
        supersedes: span.supersedes.clone(),
        labels: span.labels.clone(),
        source: span.source.clone(),
        in_window: span.in_window,
    }
}
