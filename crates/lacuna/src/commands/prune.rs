//! `prune`, `restore`, `suggest`.

use anstream::println;
use lacuna_wire::session::{
    PruneReplyBody, PruneRequest, PrunedBody, RestoreReply, RestoreRequest, SuggestReply,
    SuggestRequest,
};

use super::{Context, budget_line};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::{heading, plain, table, verdict};

/// Spans of a suggestion that are named.
const LISTED: usize = 12;
/// Spans that a listing shows before it only counts them.
const SHOWN: usize = 40;

pub(super) fn prune(context: &Context<'_>, args: args::Prune) -> Result<Exit, Failure> {
    let request = PruneRequest {
        spans: args.spans,
        mode: args.mode,
        replace_with: args.replace_with,
        accept_lossy: args.accept_lossy.then_some(true),
        min_durability: args.min_durability,
        reason: args.reason,
        dry_run: args.dry_run.then_some(true),
        command_id: command_id(),
        ..PruneRequest::default()
    };
    let reply: PruneReplyBody = context.ask("prune", &request)?;
    if !context.global.json {
        show(&reply);
    }
    Ok(if reply.status == "rejected" { Exit::Rejected } else { Exit::Done })
}

/// Prints a verdict.
pub(super) fn show(reply: &PruneReplyBody) {
    let reason = reply.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    println!("{} {}{reason}", heading(&reply.directive), verdict(&reply.status));
    if let Some(advice) = &reply.advice {
        println!("{}", plain(advice));
    }
    let fails = |span: &&PrunedBody| {
        let check = &span.check;
        !(check.existence && check.addressability && check.provenance)
    };
    // Refused for another rule, the checks of its spans say nothing.
    let refused = reply.status == "rejected";
    let told: Vec<&PrunedBody> =
        reply.spans.iter().filter(|span| !refused || fails(span)).collect();
    let rows = told.iter().take(SHOWN).map(|span| {
        let check = &span.check;
        let mark = |holds| if holds { "yes" } else { "NO" }.to_owned();
        vec![
            span.handle.clone().unwrap_or_else(|| span.id.clone()),
            verdict(&span.status),
            mark(check.existence),
            mark(check.addressability),
            mark(check.provenance),
            check.why.as_deref().map(plain).unwrap_or_default(),
        ]
    });
    let header = ["span", "verdict", "exists", "addressable", "provenance", ""];
    if !told.is_empty() {
        println!("{}", table(&header, &[], rows.collect()));
    }
    let left = told.len().saturating_sub(SHOWN) as u64 + reply.spans_omitted;
    if left > 0 {
        println!("… and {left} more");
    }
    let cost = &reply.cost;
    if reply.status != "rejected" {
        println!(
            "frees {} tokens; {} of the prefix stay cached, {} are read anew",
            reply.freed_tokens, cost.prefix_kept_tokens, cost.prefix_rewritten_tokens
        );
    }
    println!("{}", budget_line(&reply.budget));
}

pub(super) fn restore(context: &Context<'_>, args: args::Spans) -> Result<Exit, Failure> {
    let request =
        RestoreRequest { spans: args.spans, command_id: command_id(), ..RestoreRequest::default() };
    let reply: RestoreReply = context.ask("restore", &request)?;
    if !context.global.json {
        match reply.restored.as_slice() {
            [] => println!("they stood in the window already"),
            restored => println!("back in the window: {}", restored.join(", ")),
        }
        println!("{}", budget_line(&reply.budget));
    }
    Ok(Exit::Done)
}

pub(super) fn suggest(context: &Context<'_>, args: &args::Suggest) -> Result<Exit, Failure> {
    let request = SuggestRequest { free_tokens: args.free_tokens, ..SuggestRequest::default() };
    let reply: SuggestReply = context.ask("suggest", &request)?;
    let most = reply.candidates.iter().map(|candidate| candidate.freed_tokens).max().unwrap_or(0);
    let enough = u64::try_from(most).is_ok_and(|most| most >= args.free_tokens);
    if !context.global.json {
        for candidate in &reply.candidates {
            let cost = &candidate.cost;
            println!(
                "{}: frees {} tokens; the provider reads {} anew{}",
                heading(&format!("{} spans", candidate.spans.len())),
                candidate.freed_tokens,
                cost.prefix_rewritten_tokens,
                match cost.thinking_invalidated.len() {
                    0 => String::new(),
                    spans => format!(", and may refuse {spans} spans of signed reasoning"),
                }
            );
            match candidate.spans.len() {
                spans if spans > LISTED => println!(
                    "  {} … {} more; --json lists them",
                    candidate.spans[..LISTED].join(" "),
                    spans - LISTED
                ),
                _ => println!("  lacuna prune {}", candidate.spans.join(" ")),
            }
        }
        match (reply.candidates.as_slice(), enough) {
            ([], _) => println!("nothing may leave the window now"),
            (_, false) => println!("that is all that may leave: {most} tokens"),
            _ => {}
        }
        println!("{}", budget_line(&reply.budget));
    }
    Ok(if enough { Exit::Done } else { Exit::Rejected })
}
