//! `demo`: the failure that Lacuna makes impossible, four ways side by side.

use anstream::println;
use lacuna_wire::session::{
    AppendReply, AppendRequest, ExpandReply, ExpandRequest, OpenReply, OpenRequest, PruneReplyBody,
    PruneRequest, SpanBody, SummarizeReply, SummarizeRequest, WindowReply, WindowRequest,
};

use super::expired;
use super::guess::{self, Guess};
use super::story::{BLOCK, DIGEST, IDENTIFIER, spans};
use crate::args::Global;
use crate::backend::Backend;
use crate::failure::{Exit, Failure};
use crate::output::{excerpt, faint, good, heading, table, verdict};

const WINDOW_TOKENS: u64 = 16_000;
const QUESTION: &str = "Which request was charged twice? The provider wants its id.";

pub(super) fn run(global: &Global) -> Result<Exit, Failure> {
    // Kept until the end: dropping it removes the temporary journal.
    let (backend, _folder) = match &global.broker.nats {
        Some(_) => (Backend::nats(global)?, None),
        None => {
            let folder = tempfile::tempdir().map_err(Failure::io("making a temporary folder"))?;
            (Backend::journal(folder.path(), true, global)?, Some(folder))
        }
    };
    let demo = Demo { backend: &backend, suffix: suffix() };
    demo.tell(global)?;
    backend.close()?;
    Ok(Exit::Done)
}

/// Demo sessions of one daemon must not meet: it keeps everything.
fn suffix() -> String {
    let id = crate::backend::command_id().unwrap_or_default();
    let digest = blake3::hash(id.as_bytes()).to_hex();
    digest.as_str()[..8].to_owned()
}

pub(super) struct Demo<'a> {
    pub(super) backend: &'a Backend,
    pub(super) suffix: String,
}

/// How one telling ended.
pub(super) struct Ending {
    pub(super) case: &'static str,
    pub(super) asked: String,
    pub(super) window: String,
    pub(super) reply: ExpandReply,
    pub(super) text: String,
}

impl Demo<'_> {
    fn tell(&self, global: &Global) -> Result<(), Failure> {
        if !global.json {
            println!("{}", heading("Forty spans are recorded, a digest takes their place."));
            println!("{}", faint(&format!("digest: {}", excerpt(DIGEST, 96))));
        }
        let kept = self.with_payload(global)?;
        let lost = self.without_payload(global)?;
        let expired = expired::tell(self, global)?;
        let never = self.never_seen(&kept)?;
        let guess = guess::tell(self)?;
        let endings: Vec<Ending> =
            [Some(kept), Some(lost), expired, Some(never)].into_iter().flatten().collect();
        if global.json {
            let endings = endings.iter().map(|ending| {
                serde_json::json!({
                    "case": ending.case,
                    "asked": ending.asked,
                    "window": ending.window,
                    "answer": ending.reply,
                })
            });
            let endings: Vec<_> = endings.collect();
            let guess = serde_json::json!({
                "said": guess::SAID,
                "flat": guess.flat,
                "honest": guess.honest,
                "own_prune": guess.own_prune,
            });
            let told =
                serde_json::json!({ "question": QUESTION, "endings": endings, "guess": guess });
            println!("{told}");
            return Ok(());
        }
        println!();
        println!("{} {QUESTION}", heading("Five turns later:"));
        println!("{}", faint("the digest does not say; the model asks for what the window names"));
        println!();
        let rows = endings.iter().map(|ending| {
            vec![
                ending.case.to_owned(),
                excerpt(&ending.window, 48),
                format!("expand {}", ending.asked),
                verdict(&ending.reply.outcome),
                ending.text.clone(),
            ]
        });
        let header = ["case", "in the window", "asked", "answer", ""];
        println!("{}", table(&header, &[], rows.collect()));
        println!();
        println!("No two answers alike, none of them empty. {}", good("That is the point."));
        println!();
        show_guess(&guess);
        println!("next: lacuna import FILE --journal DIR, or lacuna serve");
        Ok(())
    }

    /// The payload is kept: the prune is reversible and the identifier is found.
    fn with_payload(&self, global: &Global) -> Result<Ending, Failure> {
        let session = self.record("kept", false)?;
        let reply = self.digest(&session, false)?;
        if !global.json {
            println!("payload kept:     prune is {}", verdict(&reply.status));
        }
        self.five_turns(&session)?;
        let window: WindowReply = self.ask(&session, "window", &WindowRequest::default())?;
        let entry = window.entries.iter().flatten().find(|entry| entry.kind == "summary");
        let handle = entry.and_then(|entry| entry.handle.clone()).unwrap_or_default();
        let text = entry.and_then(|entry| entry.text.clone()).unwrap_or_default();
        // The window names the directive; the directive lists its spans with their handles.
        let listed: ExpandReply = self.expand(&session, &handle)?;
        let block = listed.spans.iter().flatten().find(|span| span.id == BLOCK);
        let asked = block.map(|span| span.handle.clone()).unwrap_or_default();
        let mut found = self.expand(&session, &asked)?;
        let content = found.content.take().unwrap_or_default();
        let line = content.lines().find(|line| line.contains(IDENTIFIER)).unwrap_or_default();
        let text_found = format!("found: {}", excerpt(IDENTIFIER, 40));
        if line.is_empty() {
            return Err(Failure::Other("the demo's identifier was not found".into()));
        }
        Ok(Ending { case: "payload kept", asked, window: text, reply: found, text: text_found })
    }

    /// The payload was never stored: refused first, then lost with consent, and marked.
    fn without_payload(&self, global: &Global) -> Result<Ending, Failure> {
        let session = self.record("withheld", true)?;
        let refused = self.digest(&session, false)?;
        let lossy = self.digest(&session, true)?;
        if !global.json {
            println!(
                "payload withheld: prune is {} ({}), with accept_lossy {}",
                verdict(&refused.status),
                refused.reason.unwrap_or_default(),
                verdict(&lossy.status)
            );
        }
        self.five_turns(&session)?;
        let window: WindowReply = self.ask(&session, "window", &WindowRequest::default())?;
        let entry = window.entries.iter().flatten().find(|entry| entry.kind == "tombstone");
        let text = entry.and_then(|entry| entry.text.clone()).unwrap_or_default();
        let reply = self.expand(&session, BLOCK)?;
        let cause = reply.cause.as_ref();
        let told = cause.map_or_else(String::new, |cause| {
            let directive = cause.directive.as_deref().unwrap_or_default();
            let by = cause.by.as_deref().unwrap_or_default();
            format!("lost under {directive} by {by}: it existed, and is gone")
        });
        Ok(Ending {
            case: "payload withheld",
            asked: BLOCK.into(),
            window: text,
            reply,
            text: told,
        })
    }

    /// A name that was never seen is told apart from both.
    fn never_seen(&self, other: &Ending) -> Result<Ending, Failure> {
        let session = self.session("kept");
        let asked = "block_99".to_owned();
        let reply = self.expand(&session, &asked)?;
        let text = format!(
            "all {} spans considered, at version {}",
            reply.evidence.spans_recorded, reply.evidence.version
        );
        let window = other.window.clone();
        Ok(Ending { case: "never seen", asked, window, reply, text })
    }

    pub(super) fn record(&self, case: &str, withheld: bool) -> Result<String, Failure> {
        let session = self.session(case);
        let open = OpenRequest {
            window_tokens: WINDOW_TOKENS,
            contract: Some("record".into()),
            ..OpenRequest::default()
        };
        let _: OpenReply = self.ask(&session, "open", &open)?;
        let request = AppendRequest { spans: spans(withheld), ..AppendRequest::default() };
        let _: AppendReply = self.ask(&session, "append", &request)?;
        Ok(session)
    }

    pub(super) fn digest(
        &self,
        session: &str,
        accept_lossy: bool,
    ) -> Result<PruneReplyBody, Failure> {
        let all: Vec<String> = (1..=40).map(|number| format!("block_{number}")).collect();
        let request = SummarizeRequest {
            id: Some("digest".into()),
            covers: all.clone(),
            text: DIGEST.into(),
            ..SummarizeRequest::default()
        };
        let _: SummarizeReply = self.ask(session, "summarize", &request)?;
        let request = PruneRequest {
            spans: all,
            mode: Some("summarize".into()),
            replace_with: Some("digest".into()),
            accept_lossy: accept_lossy.then_some(true),
            reason: Some("the incident is understood".into()),
            ..PruneRequest::default()
        };
        self.ask(session, "prune", &request)
    }

    pub(super) fn five_turns(&self, session: &str) -> Result<(), Failure> {
        let turn = |turn: u64, role: &str, origin: &str, text: String| SpanBody {
            role: role.into(),
            origin: origin.into(),
            content: Some(text),
            turn: Some(turn),
            in_window: true,
            ..SpanBody::default()
        };
        let mut spans = Vec::new();
        for number in 6..=10 {
            let question = match number {
                10 => QUESTION.to_owned(),
                n => format!("Next step {n}: update the dashboard and report."),
            };
            spans.push(turn(number, "user", "user", question));
            if number < 10 {
                spans.push(turn(
                    number,
                    "assistant",
                    "model",
                    "Done, all panels are green.".into(),
                ));
            }
        }
        let request = AppendRequest { spans, ..AppendRequest::default() };
        let _: AppendReply = self.ask(session, "append", &request)?;
        Ok(())
    }

    pub(super) fn expand(&self, session: &str, handle: &str) -> Result<ExpandReply, Failure> {
        let request = ExpandRequest { handle: Some(handle.to_owned()), ..ExpandRequest::default() };
        self.ask(session, "expand", &request)
    }

    /// The name of a session of this demo.
    pub(super) fn session(&self, case: &str) -> String {
        format!("demo-{case}-{}", self.suffix)
    }

    pub(super) fn ask<R: serde::de::DeserializeOwned>(
        &self,
        session: &str,
        verb: &str,
        request: &impl serde::Serialize,
    ) -> Result<R, Failure> {
        self.backend.session(session, verb, request)
    }
}

fn show_guess(guess: &Guess) {
    println!("{} {}", heading("A guess stays a guess. The user:"), guess::SAID);
    let why = guess.flat.findings.first().map(|finding| finding.message.as_str());
    let rows = [
        ("claimed as user-said", &guess.flat.status, why.unwrap_or_default()),
        ("claimed as hedged", &guess.honest.status, "honest; its author still needs an auditor"),
        (
            "its author prunes with it",
            &guess.own_prune.status,
            guess.own_prune.advice.as_deref().unwrap_or_default(),
        ),
    ];
    let rows =
        rows.map(|(what, status, why)| vec![what.to_owned(), verdict(status), excerpt(why, 90)]);
    println!("{}", table(&["summary", "answer", ""], &[], rows.into()));
}
