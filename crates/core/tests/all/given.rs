//! What sessions are given: spans, summaries and directives of the plainest kind, to be varied.

use std::collections::BTreeMap;

use lacuna_core::{
    Command, Content, Contract, Digest, NewSpan, Open, Origin, Prune, PruneMode, Role, SessionKey,
    SpanId, SpanKind, Summarize,
};

pub(crate) fn key() -> SessionKey {
    SessionKey { tenant: "acme".parse().unwrap(), session: "run-1".parse().unwrap() }
}

pub(crate) fn open_command() -> Command {
    Command::Open(Open {
        window_tokens: 10_000,
        reserve_ppm: 150_000,
        contract: Contract::Record,
        labels: BTreeMap::new(),
    })
}

pub(crate) fn id(text: &str) -> SpanId {
    text.parse().unwrap()
}

pub(crate) fn ids(texts: &[&str]) -> Vec<SpanId> {
    texts.iter().map(|text| id(text)).collect()
}

/// A user's message of 100 tokens.
pub(crate) fn span(name: &str) -> NewSpan {
    let text = format!("text of {name}");
    NewSpan {
        id: Some(id(name)),
        role: Role::User,
        origin: Origin::User,
        kind: SpanKind::Message,
        digest: Digest::of(text.as_bytes()),
        content: Content::Bytes(text.as_bytes().into()),
        media_type: "text/plain".into(),
        tokens: Some(100),
        hedged: false,
        pinned: false,
        turn: None,
        answers: None,
        contradicts: Vec::new(),
        supersedes: None,
        labels: BTreeMap::new(),
        source: None,
        in_window: true,
    }
}

/// Users' messages of 100 tokens each.
pub(crate) fn spans(names: &[&str]) -> Vec<NewSpan> {
    names.iter().map(|name| span(name)).collect()
}

/// A span with this content instead.
pub(crate) fn saying(name: &str, content: impl AsRef<[u8]>) -> NewSpan {
    let content = content.as_ref();
    NewSpan { digest: Digest::of(content), content: Content::Bytes(content.into()), ..span(name) }
}

pub(crate) fn assistant(name: &str) -> NewSpan {
    NewSpan { role: Role::Assistant, origin: Origin::Model, ..span(name) }
}

pub(crate) fn thinking(name: &str, content: &str) -> NewSpan {
    let kind = SpanKind::Thinking;
    NewSpan { role: Role::Assistant, origin: Origin::Model, kind, ..saying(name, content) }
}

pub(crate) fn call(name: &str) -> NewSpan {
    NewSpan {
        role: Role::Assistant,
        origin: Origin::Model,
        kind: SpanKind::ToolCall,
        ..saying(name, format!(r#"{{"name":"run","arguments":{{"command":"text of {name}"}}}}"#))
    }
}

pub(crate) fn result(name: &str, call: &str) -> NewSpan {
    NewSpan {
        role: Role::Tool,
        origin: Origin::Tool,
        kind: SpanKind::ToolResult,
        answers: Some(id(call)),
        ..span(name)
    }
}

pub(crate) fn withheld(name: &str) -> NewSpan {
    let digest = Digest::of(name.as_bytes());
    let content = Content::Withheld { digest, bytes: 9, reason: "a secret".into() };
    NewSpan { digest, content, ..span(name) }
}

/// A directive that drops these spans and consents to nothing.
pub(crate) fn drop_spans(spans: &[&str]) -> Prune {
    Prune {
        spans: ids(spans),
        mode: PruneMode::Drop,
        replace_with: None,
        accept_lossy: false,
        min_durability_ms: None,
        reason: None,
        dry_run: false,
    }
}

/// A directive that puts a summary into the place of these spans.
pub(crate) fn replace(spans: &[&str], summary: &str) -> Prune {
    Prune { mode: PruneMode::Summarize, replace_with: Some(id(summary)), ..drop_spans(spans) }
}

pub(crate) fn summary(name: &str, covers: &[&str]) -> Summarize {
    let text = format!("{name:-<100}");
    Summarize {
        id: Some(id(name)),
        covers: ids(covers),
        digest: Digest::of(text.as_bytes()),
        text,
        claims: Vec::new(),
    }
}
