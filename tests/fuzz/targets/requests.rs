//! Bodies of requests: what is read says the same again, and goes on to what is asked.
//!
//! Input: the verb with its group on a line, then the body.
#![no_main]

use std::fmt::Debug;

use lacuna_wire::journal as j;
use lacuna_wire::retention as r;
use lacuna_wire::session as s;
use lacuna_wire::{Empty, WireError, fingerprint, parse};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (verb, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let Ok(verb) = std::str::from_utf8(verb) else { return };
    match verb {
        "session.open" => commands(body, s::OpenRequest::command),
        "session.append" => reads::<s::AppendRequest>(body, append),
        "session.put-open" => reads::<s::PutOpenRequest>(body, |_| ()),
        "session.put-chunk" => reads::<s::PutChunkRequest>(body, |_| ()),
        "session.put-close" => reads::<s::PutCloseRequest>(body, |_| ()),
        "session.prune" => commands(body, s::PruneRequest::command),
        "session.restore" => commands(body, s::RestoreRequest::command),
        "session.expand" => reads::<s::ExpandRequest>(body, |_| ()),
        "session.window" => reads::<s::WindowRequest>(body, |_| ()),
        "session.search" => reads::<s::SearchRequest>(body, |_| ()),
        "session.summarize" => commands(body, s::SummarizeRequest::command),
        "session.audit" => commands(body, s::AuditRequest::command),
        "session.suggest" => reads::<s::SuggestRequest>(body, |_| ()),
        "session.contradict" => reads::<s::ContradictRequest>(body, |_| ()),
        "session.resolve" => reads::<s::ResolveRequest>(body, |_| ()),
        "session.durability" => reads::<s::DurabilityRequest>(body, |_| ()),
        "session.tombstones" => reads::<s::TombstonesRequest>(body, |_| ()),
        "session.history" => reads::<s::HistoryRequest>(body, |_| ()),
        "session.explain" => reads::<s::ExplainRequest>(body, |_| ()),
        "session.export" => reads::<s::ExportRequest>(body, |_| ()),
        "session.diff" => reads::<s::DiffRequest>(body, |_| ()),
        "session.receipt" => reads::<s::ReceiptRequest>(body, |request| {
            (request.rendering().ok(), request.sent().ok());
        }),
        "session.fork" => reads::<s::ForkRequest>(body, |_| ()),
        "session.close" => reads::<s::CloseRequest>(body, |_| ()),
        "retention.policy-set" => commands(body, r::PolicySetRequest::command),
        "retention.policy-get" => reads::<r::PolicyGetRequest>(body, |_| ()),
        "retention.evaluate" => reads::<r::EvaluateRequest>(body, |_| ()),
        "retention.hold" => commands(body, r::HoldRequest::command),
        "retention.release" => commands(body, r::ReleaseRequest::command),
        "retention.plan" => reads::<r::PlanRequest>(body, |_| ()),
        "retention.run" => reads::<r::RunRequest>(body, |_| ()),
        "retention.ledger" => reads::<r::LedgerRequest>(body, |_| ()),
        "retention.erase" => commands(body, r::EraseRequest::command),
        "journal.verify" => reads::<j::VerifyRequest>(body, |_| ()),
        "journal.adopt" => reads::<j::AdoptRequest>(body, |_| ()),
        "journal.events" => reads::<j::EventsRequest>(body, |_| ()),
        "journal.sessions" => reads::<j::SessionsRequest>(body, |_| ()),
        "journal.backup" => reads::<j::BackupRequest>(body, |_| ()),
        "journal.head" | "journal.checkpoint" | "journal.stats" => reads::<Empty>(body, |_| ()),
        _ => {}
    }
});

fn reads<T: Serialize + DeserializeOwned + PartialEq + Debug>(body: &[u8], go_on: impl Fn(T)) {
    let request: T = match parse(body) {
        Ok(request) => request,
        Err(error) => return refused(error),
    };
    let again = serde_json::to_vec(&request).expect("a request is told as JSON");
    let read: T = parse(&again).expect("what was told can be read");
    assert_eq!(fingerprint("", &read, &[]), fingerprint("", &request, &[]), "{read:?}");
    assert_eq!(read, request);
    go_on(request);
}

fn commands<T, C>(body: &[u8], command: impl Fn(&T) -> Result<C, WireError>)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    reads(body, |request: T| {
        if let Err(error) = command(&request) {
            refused(error);
        }
    });
}

/// A refusal always arrives, and the client reads it.
fn refused(error: WireError) {
    assert_eq!(WireError::from_body(&error.body()).as_ref(), Some(&error));
    let max = 1_024;
    assert!(error.within(max).body().len() <= max);
}

/// Spans that become spans of the domain, and come back.
fn append(mut request: s::AppendRequest) {
    for body in &mut request.spans {
        let span = match body.take(|name| Ok(name.as_bytes().into())) {
            Ok(span) => span,
            Err(error) => return refused(error),
        };
        let again = s::SpanBody::from_span(&span).take(|_| Err(WireError::bad_request("none")));
        assert_eq!(again.expect("a span can be told"), span);
    }
}
