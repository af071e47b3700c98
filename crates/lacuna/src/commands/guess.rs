//! The second story of the demo: a user's guess cannot become a fact, and nobody is author, auditor
//! and pruner at once.

use lacuna_wire::session::{
    AppendReply, AppendRequest, ClaimBody, ClaimSourceBody, OpenReply, OpenRequest, PruneReplyBody,
    PruneRequest, SpanBody, SummarizeReply, SummarizeRequest,
};

use super::demo::Demo;
use crate::failure::Failure;

/// What the user said.
pub(super) const SAID: &str = "I think the staging DB is on port 5433.";
const FACT: &str = "The staging DB is on port 5433.";
const TEXT: &str = "The user asked for a check of the staging DB.";

/// How the story went.
pub(super) struct Guess {
    /// The answer to the summary that makes a fact of it.
    pub(super) flat: SummarizeReply,
    /// The answer to the one that leaves it a guess.
    pub(super) honest: SummarizeReply,
    /// The answer to its author, who prunes with it before anybody else has looked.
    pub(super) own_prune: PruneReplyBody,
}

/// Tries to make the guess a fact, then summarises it as what it is.
pub(super) fn tell(demo: &Demo<'_>) -> Result<Guess, Failure> {
    let session = demo.session("guess");
    let open = OpenRequest { window_tokens: 16_000, ..OpenRequest::default() };
    let _: OpenReply = demo.ask(&session, "open", &open)?;
    let span = |id: &str, content: &str| SpanBody {
        id: Some(id.into()),
        role: "user".into(),
        origin: "user".into(),
        content: Some(content.into()),
        in_window: true,
        ..SpanBody::default()
    };
    let more =
        "Please look whether the nightly import can still reach it, and tell me what you find.";
    let request = AppendRequest {
        spans: vec![span("guess", SAID), span("task", more)],
        ..AppendRequest::default()
    };
    let _: AppendReply = demo.ask(&session, "append", &request)?;
    let flat: SummarizeReply = demo.ask(&session, "summarize", &summary("user-said"))?;
    let honest: SummarizeReply = demo.ask(&session, "summarize", &summary("hedged"))?;
    let request = PruneRequest {
        spans: vec!["guess".into(), "task".into()],
        mode: Some("summarize".into()),
        replace_with: Some(honest.summary.clone()),
        ..PruneRequest::default()
    };
    let own_prune: PruneReplyBody = demo.ask(&session, "prune", &request)?;
    let told = (flat.status.as_str(), honest.status.as_str(), own_prune.status.as_str());
    if told != ("rejected", "needs_audit", "rejected") {
        return Err(Failure::Other(format!("the guess was answered otherwise: {told:?}")));
    }
    Ok(Guess { flat, honest, own_prune })
}

fn summary(origin: &str) -> SummarizeRequest {
    let source = ClaimSourceBody { span: "guess".into(), quote: None };
    let claim = ClaimBody { text: FACT.into(), origin: origin.into(), sources: vec![source] };
    SummarizeRequest {
        id: Some("short".into()),
        covers: vec!["guess".into(), "task".into()],
        text: TEXT.into(),
        claims: vec![claim],
        ..SummarizeRequest::default()
    }
}
