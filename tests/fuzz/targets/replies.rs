//! Bodies of replies and events, as a client reads them: what is read is told again as something that reads
//! the same.
//!
//! Input: the verb with its group on a line, then the body.
#![no_main]

use lacuna_wire::journal as j;
use lacuna_wire::retention as r;
use lacuna_wire::session as s;
use lacuna_wire::{EventBody, MessageId, WireError};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (verb, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let Ok(verb) = std::str::from_utf8(verb) else { return };
    if let Some(error) = WireError::from_body(body) {
        assert_eq!(WireError::from_body(&error.body()).map(|e| e.code), Some(error.code));
    }
    match verb {
        "session.open" => reads::<s::OpenReply>(body),
        "session.append" => reads::<s::AppendReply>(body),
        "session.put-open" => reads::<s::PutOpenReply>(body),
        "session.put-chunk" => reads::<s::PutChunkReply>(body),
        "session.put-close" => reads::<s::PutCloseReply>(body),
        "session.prune" => reads::<s::PruneReplyBody>(body),
        "session.restore" => reads::<s::RestoreReply>(body),
        "session.expand" => reads::<s::ExpandReply>(body),
        "session.window" => reads::<s::WindowReply>(body),
        "session.search" => reads::<s::SearchReply>(body),
        "session.summarize" => reads::<s::SummarizeReply>(body),
        "session.audit" => reads::<s::AuditReplyBody>(body),
        "session.suggest" => reads::<s::SuggestReply>(body),
        "session.contradict" => reads::<s::ContradictReply>(body),
        "session.resolve" => reads::<s::VersionReply>(body),
        "session.durability" => reads::<s::DurabilityReply>(body),
        "session.tombstones" => reads::<s::TombstonesReply>(body),
        "session.history" => reads::<s::HistoryReply>(body),
        "session.explain" => reads::<s::ExplainReply>(body),
        "session.export" => reads::<s::ExportReply>(body),
        "session.diff" => reads::<s::DiffReply>(body),
        "session.receipt" => reads::<s::ReceiptReply>(body),
        "session.fork" => reads::<s::ForkReply>(body),
        "session.close" => reads::<s::CloseReply>(body),
        "retention.policy-set" => reads::<r::PolicySetReply>(body),
        "retention.policy-get" => reads::<r::PolicyGetReply>(body),
        "retention.evaluate" => reads::<r::EvaluateReply>(body),
        "retention.hold" => reads::<r::HoldReply>(body),
        "retention.release" => reads::<r::ReleaseReply>(body),
        "retention.plan" => reads::<r::PlanReply>(body),
        "retention.run" => reads::<r::RunReply>(body),
        "retention.ledger" => reads::<r::LedgerReply>(body),
        "retention.erase" => reads::<r::EraseReply>(body),
        "journal.head" => reads::<j::HeadReply>(body),
        "journal.verify" => reads::<j::VerifyReply>(body),
        "journal.checkpoint" => reads::<j::CheckpointReply>(body),
        "journal.adopt" => reads::<j::AdoptReply>(body),
        "journal.stats" => reads::<j::StatsReply>(body),
        "journal.events" => reads::<j::EventsReply>(body),
        "journal.sessions" => reads::<j::SessionsReply>(body),
        "journal.backup" => reads::<j::BackupReply>(body),
        "feed.event" => reads::<EventBody>(body),
        "feed.line" => reads::<s::EventLine>(body),
        "feed.checkpoint" => reads::<j::CheckpointSigned>(body),
        "feed.id" => id(body),
        _ => {}
    }
});

fn reads<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(reply) = serde_json::from_slice::<T>(body) else { return };
    let told = serde_json::to_string(&reply).expect("a reply is told as JSON");
    let read: T = serde_json::from_str(&told).expect("what was told can be read");
    assert_eq!(serde_json::to_string(&read).expect("a reply is told as JSON"), told);
}

fn id(body: &[u8]) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    if let Some(id) = MessageId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
}
