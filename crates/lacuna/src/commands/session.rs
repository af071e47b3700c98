//! `open`, `summarize`, `contradict`, `resolve`, `close`.

use anstream::println;
use lacuna_wire::session::{
    CloseReply, CloseRequest, ContradictReply, ContradictRequest, OpenReply, OpenRequest,
    ResolveRequest, SummarizeReply, SummarizeRequest, VersionReply,
};

use super::{Context, labels, read_input};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};

pub(super) fn open(context: &Context<'_>, args: &args::Open) -> Result<Exit, Failure> {
    let request = OpenRequest {
        window_tokens: args.window_tokens,
        reserve_ratio: args.reserve_ratio,
        contract: args.contract.clone(),
        labels: labels(&args.labels)?,
        // Opening twice is a no-op by itself.
        ..OpenRequest::default()
    };
    let reply: OpenReply = context.ask("open", &request)?;
    if !context.global.json {
        let word = if reply.duplicate { "was open already" } else { "is open" };
        println!("session {} {word}, at version {}", reply.session, reply.version);
    }
    Ok(Exit::Done)
}

pub(super) fn summarize(context: &Context<'_>, args: args::Summarize) -> Result<Exit, Failure> {
    let text = String::from_utf8(read_input(&args.file)?)
        .map_err(|_| Failure::Usage("the summary is not UTF-8".into()))?;
    let claims = match &args.claims {
        None => Vec::new(),
        Some(path) => serde_json::from_slice(&read_input(path)?)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?,
    };
    let request = SummarizeRequest {
        id: args.id,
        covers: args.covers,
        text,
        claims,
        command_id: command_id(),
        ..SummarizeRequest::default()
    };
    let reply: SummarizeReply = context.ask("summarize", &request)?;
    if !context.global.json {
        println!("{} {}, at version {}", reply.handle, reply.status, reply.version);
        println!("to put it in their place: lacuna prune … --replace-with {}", reply.summary);
    }
    Ok(if reply.status == "rejected" { Exit::Rejected } else { Exit::Done })
}

pub(super) fn contradict(context: &Context<'_>, args: args::Contradict) -> Result<Exit, Failure> {
    let request = ContradictRequest {
        spans: vec![args.a, args.b],
        note: args.note,
        command_id: command_id(),
        ..ContradictRequest::default()
    };
    let reply: ContradictReply = context.ask("contradict", &request)?;
    if !context.global.json {
        println!("{} is open: both spans stay in the window", reply.contradiction);
    }
    Ok(Exit::Done)
}

pub(super) fn resolve(context: &Context<'_>, args: args::Resolve) -> Result<Exit, Failure> {
    let request = ResolveRequest {
        contradiction: args.contradiction,
        note: args.note,
        command_id: command_id(),
        ..ResolveRequest::default()
    };
    let reply: VersionReply = context.ask("resolve", &request)?;
    if !context.global.json {
        println!("resolved, at version {}", reply.version);
    }
    Ok(Exit::Done)
}

pub(super) fn close(context: &Context<'_>) -> Result<Exit, Failure> {
    let reply: CloseReply = context.ask("close", &CloseRequest::default())?;
    if !context.global.json {
        let word = if reply.duplicate { "was closed already" } else { "is closed" };
        println!("the session {word}, at version {}", reply.version);
    }
    Ok(Exit::Done)
}
