//! `open`, `close`.

use anstream::println;
use lacuna_wire::session::{CloseReply, CloseRequest, OpenReply, OpenRequest};

use super::{Context, labels};
use crate::args;
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

pub(super) fn close(context: &Context<'_>) -> Result<Exit, Failure> {
    let reply: CloseReply = context.ask("close", &CloseRequest::default())?;
    if !context.global.json {
        let word = if reply.duplicate { "was closed already" } else { "is closed" };
        println!("the session {word}, at version {}", reply.version);
    }
    Ok(Exit::Done)
}
