//! `fork`, `receipt`.

use anstream::println;
use lacuna_wire::session::{ForkReply, ForkRequest, ReceiptReply, ReceiptRequest};

use super::{Context, read_input};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::{faint, warning};

pub(super) fn fork(context: &Context<'_>, args: args::Fork) -> Result<Exit, Failure> {
    let request = ForkRequest {
        from: args.from,
        at: args.at.map(|at| at.0),
        command_id: command_id(),
        ..ForkRequest::default()
    };
    let reply: ForkReply = context.ask("fork", &request)?;
    if !context.global.json {
        let word = if reply.duplicate { "was forked already" } else { "is a fork" };
        println!("session {} {word} of {} at version {}", reply.session, reply.from, reply.at);
        println!(
            "{}",
            faint("it shares the spans up to there; a payload goes for both or for none")
        );
    }
    Ok(Exit::Done)
}

pub(super) fn receipt(context: &Context<'_>, args: args::Receipt) -> Result<Exit, Failure> {
    let sent_digest = match &args.sent {
        Some(file) => Some(blake3::hash(&read_input(file)?).to_hex().to_string()),
        None => args.sent_digest,
    };
    let request = ReceiptRequest {
        turn: args.turn,
        rendered: args.rendered,
        sent_digest,
        at: args.at.map(|at| at.0),
        command_id: command_id(),
        ..ReceiptRequest::default()
    };
    let compared = request.sent_digest.is_some();
    let reply: ReceiptReply = context.ask("receipt", &request)?;
    let exit = if reply.discrepancy { Exit::Failed } else { Exit::Done };
    if context.global.json {
        return Ok(exit);
    }
    println!(
        "receipt {}: the window at version {}, {} entries",
        reply.receipt, reply.window_version, reply.entries
    );
    println!("entries   {}", reply.entries_digest);
    if let (Some(form), Some(digest)) = (&reply.rendered, &reply.rendered_digest) {
        println!("{form:<9} {digest}");
    }
    match (compared, reply.discrepancy) {
        (true, true) => println!(
            "{}: what was sent is not this window; that is recorded. See what the model should have \
             been shown with window --at receipt:{}",
            warning("discrepancy"),
            reply.receipt
        ),
        (true, false) => println!("{}", faint("what was sent is this window, byte for byte")),
        (false, _) => {}
    }
    Ok(exit)
}
