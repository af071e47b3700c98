//! The verbs that change a session: parsed here, decided by the writer, answered when durable.

use lacuna_core::retention::hold_name;
use lacuna_core::{Command, Content, Digest, Reply, SessionKey};
use lacuna_engine::{Done, EngineError, Request};
use lacuna_wire::retention::{
    HoldReply, HoldRequest, PolicySetReply, PolicySetRequest, ReleaseReply, ReleaseRequest,
    policy_name,
};
use lacuna_wire::session::{
    AppendReply, AppendRequest, AuditReplyBody, AuditRequest, CloseReply, CloseRequest,
    ContradictReply, ContradictRequest, Identified, OpenReply, OpenRequest, PruneReplyBody,
    PruneRequest, ResolveRequest, RestoreReply, RestoreRequest, SummarizeReply, SummarizeRequest,
    VersionReply, contradiction_id, contradiction_number, span_ids,
};
use lacuna_wire::{WireError, fingerprint, parse};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Answer, Call, Responder};
use crate::error::wire_error;
use crate::fit::{cut, encode, fitting};
use crate::identity::stamp;
use crate::work::{Inner, Work};

/// Parses a command and prepares its way to the writer.
pub(crate) fn begin(call: &Call<'_>, key: SessionKey, inner: &Inner) -> Result<Work, WireError> {
    let body = call.body;
    let verb = call.subject.verb.as_str();
    let parsed = match verb {
        "open" => plain(body, |request: &OpenRequest| request.command())?,
        "append" => append(body, &key, inner)?,
        "prune" => plain(body, |request: &PruneRequest| request.command())?,
        "restore" => plain(body, |request: &RestoreRequest| request.command())?,
        "summarize" => plain(body, |request: &SummarizeRequest| request.command())?,
        "audit" => plain(body, |request: &AuditRequest| request.command())?,
        "contradict" => plain(body, |request: &ContradictRequest| {
            Ok(Command::Contradict { spans: span_ids(&request.spans)?, note: request.note.clone() })
        })?,
        "resolve" => plain(body, |request: &ResolveRequest| {
            Ok(Command::Resolve {
                contradiction: contradiction_number(&request.contradiction)?,
                note: request.note.clone(),
            })
        })?,
        _ => plain(body, |_: &CloseRequest| Ok(Command::Close))?,
    };
    prepare(call, key, parsed)
}

/// Prepares a command's way to the writer.
fn prepare(call: &Call<'_>, key: SessionKey, parsed: Parsed) -> Result<Work, WireError> {
    let verb = call.subject.verb.as_str();
    let command_id = stamp(parsed.command_id, || (parsed.fingerprint)(verb))?;
    let request = Request {
        session: key.clone(),
        principal: call.subject.principal.clone(),
        command_id,
        expected_version: parsed.expected_version,
        command: parsed.command,
    };
    let max_reply = call.max_reply;
    Ok(Work::Command(Box::new(move |inner, respond| {
        submit(inner, request, key, max_reply, respond);
    })))
}

/// Parses a command for the tenant's retention stream.
pub(crate) fn begin_tenant(call: &Call<'_>, key: SessionKey) -> Result<Work, WireError> {
    let body = call.body;
    let parsed = match call.subject.verb.as_str() {
        "policy-set" => plain(body, PolicySetRequest::command)?,
        "hold" => plain(body, HoldRequest::command)?,
        _ => plain(body, ReleaseRequest::command)?,
    };
    prepare(call, key, parsed)
}

struct Parsed {
    command: Command,
    command_id: Option<String>,
    expected_version: Option<u64>,
    fingerprint: Fingerprint,
}

/// The fingerprint of the request under a verb; made only where a `command_id` asks for it.
type Fingerprint = Box<dyn FnOnce(&str) -> [u8; 16] + Send>;

fn plain<T>(
    body: &[u8],
    command: impl FnOnce(&T) -> Result<Command, WireError>,
) -> Result<Parsed, WireError>
where
    T: DeserializeOwned + Identified + Serialize + Send + 'static,
{
    let mut request: T = parse(body)?;
    let (command_id, expected_version) = request.take_identity();
    let command = command(&request)?;
    let fingerprint = Box::new(move |verb: &str| fingerprint(verb, &request, &[]));
    Ok(Parsed { command, command_id, expected_version, fingerprint })
}

fn append(body: &[u8], key: &SessionKey, inner: &Inner) -> Result<Parsed, WireError> {
    let mut request: AppendRequest = parse(body)?;
    let (command_id, expected_version) = request.take_identity();
    let mut spans = Vec::with_capacity(request.spans.len());
    for span in &mut request.spans {
        let span = span.take(|name| inner.uploads.content(name, key))?;
        if let Content::External { store, key, .. } = &span.content {
            inner.journal.stores().check(store, key).map_err(WireError::bad_request)?;
        }
        spans.push(span);
    }
    let digests: Vec<Digest> = spans.iter().map(|span| span.digest).collect();
    let fingerprint = Box::new(move |verb: &str| fingerprint(verb, &request, &digests));
    Ok(Parsed { command: Command::Append { spans }, command_id, expected_version, fingerprint })
}

fn submit(inner: &Inner, request: Request, key: SessionKey, max_reply: usize, respond: Responder) {
    let journal = inner.journal.id().to_owned();
    let callback = Box::new(move |answer: Result<Done, EngineError>| {
        let encode = Box::new(move || match answer {
            Ok(done) => reply(&done, &key, &journal, max_reply),
            Err(error) => Err(wire_error(error)),
        });
        respond(Answer { held: 0, encode });
    });
    inner.journal.hand_in(request, callback);
}

fn reply(done: &Done, key: &SessionKey, journal: &str, max: usize) -> Result<Vec<u8>, WireError> {
    let again = done.again;
    match &done.reply {
        Reply::Opened { version, opened_at, duplicate } => encode(&OpenReply {
            session: key.session.to_string(),
            version: *version,
            journal: journal.to_owned(),
            opened_at: opened_at.to_string(),
            duplicate: *duplicate || again,
        }),
        Reply::Appended { version, spans, budget } => append_reply(
            AppendReply {
                version: *version,
                spans: spans.iter().map(Into::into).collect(),
                spans_omitted: 0,
                budget: (*budget).into(),
                duplicate: again || spans.iter().all(|span| span.duplicate),
            },
            max,
        ),
        Reply::Summarized(reply) => {
            let mut body = SummarizeReply::from(reply.as_ref());
            body.duplicate = again;
            summarize_reply(body, max)
        }
        Reply::Audited(reply) => {
            let mut body = AuditReplyBody::from(reply.as_ref());
            body.duplicate = again;
            audit_reply(body, max)
        }
        Reply::Pruned(reply) => {
            let mut body = PruneReplyBody::from(reply.as_ref());
            body.duplicate = again;
            prune_reply(body, max)
        }
        Reply::Restored { version, restored, budget } => {
            let reply = RestoreReply {
                version: *version,
                restored: restored.iter().map(ToString::to_string).collect(),
                budget: (*budget).into(),
                duplicate: again,
            };
            encode(&reply)
        }
        Reply::Contradicted { contradiction, version } => encode(&ContradictReply {
            contradiction: contradiction_id(*contradiction),
            version: *version,
            duplicate: again,
        }),
        Reply::Resolved { version } | Reply::Read { version } => {
            encode(&VersionReply { version: *version, duplicate: again })
        }
        Reply::DamageReported { version, .. } => {
            encode(&VersionReply { version: *version, duplicate: again })
        }
        Reply::PolicySet { policy, version } => encode(&PolicySetReply {
            policy: policy_name(*policy).unwrap_or_default(),
            version: *version,
            duplicate: again,
        }),
        Reply::HoldPlaced { hold, version } => {
            encode(&HoldReply { hold: hold_name(*hold), version: *version, duplicate: again })
        }
        Reply::HoldReleased { hold, version } => {
            encode(&ReleaseReply { hold: hold_name(*hold), version: *version, duplicate: again })
        }
        // Answered where they are asked, and the runtime's own commands; no verb sends them through here.
        Reply::Receipted { version, .. }
        | Reply::Forked { version, .. }
        | Reply::RunOpened { version, .. }
        | Reply::RunClosed { version, .. }
        | Reply::NoticeGiven { version, .. }
        | Reply::Adopted { version, .. }
        | Reply::Removed { version, .. } => {
            encode(&VersionReply { version: *version, duplicate: again })
        }
        Reply::Closed { version, duplicate } => {
            encode(&CloseReply { version: *version, duplicate: *duplicate || again })
        }
    }
}

/// The spans are recorded, whatever the reply weighs: what does not fit is counted.
fn append_reply(mut body: AppendReply, max: usize) -> Result<Vec<u8>, WireError> {
    let whole = encode(&body)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    let kept = fitting(&body.spans, max)?;
    body.spans_omitted = (body.spans.len() - kept) as u64;
    body.spans.truncate(kept);
    encode(&body)
}

/// The verdict always travels; of what is told beside it, as much as fits: the way out first, which
/// works only as a whole, then the findings, then what is left out.
fn summarize_reply(mut body: SummarizeReply, max: usize) -> Result<Vec<u8>, WireError> {
    let whole = encode(&body)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    let mut identifiers = std::mem::take(&mut body.omitted_identifiers);
    let mut findings = std::mem::take(&mut body.findings);
    body.findings_omitted = findings.len() as u64;
    let mut room = max.saturating_sub(encode(&body)?.len());
    if room == 0 && body.fallback.take().is_some() {
        body.fallback_omitted = true;
        room = max.saturating_sub(encode(&body)?.len());
    }
    body.findings_omitted = cut(&mut findings, room)?;
    body.findings = findings;
    // Their whole number is told anyway.
    cut(&mut identifiers, max.saturating_sub(encode(&body)?.len()))?;
    body.omitted_identifiers = identifiers;
    encode(&body)
}

/// As with summaries: the verdict always travels.
fn audit_reply(mut body: AuditReplyBody, max: usize) -> Result<Vec<u8>, WireError> {
    let whole = encode(&body)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    let mut findings = std::mem::take(&mut body.findings);
    body.findings_omitted = findings.len() as u64;
    let room = max.saturating_sub(encode(&body)?.len());
    body.findings_omitted = cut(&mut findings, room)?;
    body.findings = findings;
    encode(&body)
}

/// A directive over thousands of spans was carried out, whatever its reply weighs: what does not
/// fit is counted, and the spans that failed come first.
fn prune_reply(mut body: PruneReplyBody, max: usize) -> Result<Vec<u8>, WireError> {
    let whole = encode(&body)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    body.spans.sort_by_key(|span| {
        let check = &span.check;
        check.existence && check.addressability && check.provenance
    });
    let all = std::mem::take(&mut body.spans);
    let concerned = std::mem::take(&mut body.concerned);
    body.concerned = concerned.into_iter().take(100).collect();
    body.cost.thinking_invalidated.truncate(1_000);
    let rest = encode(&body)?.len();
    let kept = fitting(&all, max.saturating_sub(rest))?;
    body.spans_omitted = (all.len() - kept) as u64;
    body.spans = all;
    body.spans.truncate(kept);
    let cut = encode(&body)?;
    if cut.len() <= max {
        return Ok(cut);
    }
    // A broker with a tiny limit: the verdict itself always travels.
    body.spans_omitted += body.spans.len() as u64;
    body.spans.clear();
    body.concerned.clear();
    body.cost.thinking_invalidated.clear();
    body.advice = body.advice.map(|advice| advice.chars().take(200).collect());
    encode(&body)
}
