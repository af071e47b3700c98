//! `window`, `expand`, `durability`, `tombstones`: looking without changing.

use std::collections::{HashSet, VecDeque};
use std::io::Write as _;

use anstream::println;
use lacuna_wire::session::{
    DurabilityReply, DurabilityRequest, EntryBody, ExpandReply, ExpandRequest, TombstonesReply,
    TombstonesRequest, WindowRequest,
};
use serde_json::{Value, json};

use super::{Context, budget_line, cause, rests_on};
use crate::args::{self, Render};
use crate::failure::{Exit, Failure};
use crate::output::{self, excerpt, faint, on_terminal, table, verdict};

pub(super) fn window(context: &Context<'_>, args: &args::Window) -> Result<Exit, Failure> {
    let render = match args.render {
        Render::Entries => "entries",
        Render::Text => "text",
        Render::Openai => "openai",
        Render::Anthropic => "anthropic",
    };
    let request = WindowRequest {
        at: args.at.as_ref().map(|at| at.0.clone()),
        render: Some(render.to_owned()),
        content: Some(!args.no_content),
        ..WindowRequest::default()
    };
    let reply = context.backend.window(context.session()?, &request)?;
    if context.global.json {
        context.print_json(&reply)?;
        return Ok(Exit::Done);
    }
    if let Some(text) = &reply.text {
        anstream::print!("{}", on_terminal(text));
    }
    if let Some(messages) = &reply.messages {
        let mut request = json!({ "messages": messages });
        if let Some(system) = &reply.system {
            request["system"] = Value::Array(system.clone());
        }
        let text = serde_json::to_string_pretty(&request)
            .map_err(|error| Failure::Other(error.to_string()))?;
        println!("{}", on_terminal(&text));
    }
    if let Some(entries) = &reply.entries {
        let rows = entries.iter().map(entry_row).collect();
        println!("{}", table(&["handle", "entry", "role", "tokens", "content"], &[3], rows));
        println!("version {}, {}", reply.version, budget_line(&reply.budget));
        println!("{}", rests_on(&reply.evidence, None));
    }
    Ok(Exit::Done)
}

/// Handle, entry, role, tokens and content, for people.
pub(super) fn entry_row(entry: &EntryBody) -> Vec<String> {
    const WIDTH: usize = 60;
    let name = entry.handle.clone().or_else(|| entry.id.clone()).unwrap_or_default();
    let kind = match &entry.span_kind {
        Some(kind) if entry.kind == "span" => kind.clone(),
        _ => entry.kind.clone(),
    };
    let since = entry.lost_since.as_ref();
    let since = since.map(|lost| format!("shown then, lost since: {}", cause::sentence(lost)));
    let text = entry.content.as_deref().or(since.as_deref()).or(entry.text.as_deref());
    vec![
        name,
        if entry.pinned { format!("{kind} pinned") } else { kind },
        entry.role.clone().unwrap_or_default(),
        entry.tokens.to_string(),
        text.map(|text| excerpt(text, WIDTH)).unwrap_or_default(),
    ]
}

pub(super) fn expand(context: &Context<'_>, args: args::Expand) -> Result<Exit, Failure> {
    let mut open: VecDeque<String> = args.handles.iter().cloned().collect();
    let several = args.handles.len() > 1 || args.behind;
    let (mut replies, mut seen, mut exit) = (Vec::new(), HashSet::new(), Exit::Done);
    while let Some(handle) = open.pop_front() {
        if !seen.insert(handle.clone()) {
            continue;
        }
        let (reply, one) = expand_one(context, &args, handle, several)?;
        if one != Exit::Done {
            exit = one;
        }
        let behind = reply.spans.iter().flatten().filter(|_| args.behind);
        // What nobody can read any more stands in the list of its summary.
        let readable = behind
            .filter(|span| matches!(span.outcome.as_str(), "live" | "recoverable" | "scheduled"));
        open.extend(readable.map(|span| span.handle.clone()));
        replies.push(reply);
    }
    if several && context.global.json {
        context.print_json(&json!({ "expanded": replies }))?;
    }
    Ok(exit)
}

/// Expands one handle and shows it; with `--json` and several of them it is only given back.
fn expand_one(
    context: &Context<'_>,
    args: &args::Expand,
    handle: String,
    several: bool,
) -> Result<(ExpandReply, Exit), Failure> {
    let request = ExpandRequest {
        handle: Some(handle.clone()),
        purpose: args.purpose.clone(),
        ..ExpandRequest::default()
    };
    let (mut reply, content) = context.backend.expand(context.session()?, &request)?;
    let found = matches!(reply.outcome.as_str(), "live" | "recoverable" | "scheduled");
    let exit = if found { Exit::Done } else { Exit::Lost };
    if args.raw && found {
        std::io::stdout().write_all(&content).map_err(Failure::io("writing to standard output"))?;
        return Ok((reply, exit));
    }
    let text = String::from_utf8(content);
    if context.global.json {
        if reply.total_bytes.is_some() {
            match text {
                Ok(text) => reply.content = Some(text),
                Err(error) => {
                    use base64::Engine as _;
                    let bytes = error.into_bytes();
                    reply.content_b64 = Some(base64::prelude::BASE64_STANDARD.encode(bytes));
                }
            }
        }
        if !several {
            context.print_json(&reply)?;
        }
        return Ok((reply, exit));
    }
    show_expanded(&handle, &reply, text.ok().as_deref());
    Ok((reply, exit))
}

fn show_expanded(asked: &str, reply: &ExpandReply, text: Option<&str>) {
    let name = reply.handle.as_deref().unwrap_or(asked);
    println!("{} {}", output::heading(name), verdict(&reply.outcome));
    if reply.outcome == "never_recorded" {
        let evidence = &reply.evidence;
        println!(
            "no span of this name was ever recorded: all {} of the session were considered, \
             at version {}",
            evidence.spans_recorded, evidence.version
        );
        return;
    }
    if let (Some(role), Some(origin), Some(kind)) = (&reply.role, &reply.origin, &reply.kind) {
        let at = reply.recorded_at.as_deref().unwrap_or_default();
        let bytes = output::bytes(reply.bytes.unwrap_or(0));
        println!("{}", faint(&format!("{kind}, role {role}, origin {origin}, {bytes}, {at}")));
    }
    if let Some(tombstone) = &reply.tombstone {
        println!("{tombstone}");
    }
    if let Some(cause) = &reply.cause {
        println!("cause: {}", cause::sentence(cause));
    }
    if let Some(erases_at) = &reply.erases_at {
        println!(
            "its removal is announced for {erases_at}: restore it, or keep what you need of it"
        );
    }
    if let Some(spans) = &reply.spans {
        let rows = spans
            .iter()
            .map(|span| vec![span.handle.clone(), verdict(&span.outcome), span.tokens.to_string()]);
        println!("{}", table(&["span", "outcome", "tokens"], &[2], rows.collect()));
    }
    match text {
        Some("") if reply.total_bytes.is_none() => {}
        Some(text) => println!("{}", on_terminal(text)),
        None => println!("{}", faint("the content is binary: use --raw")),
    }
}

pub(super) fn durability(context: &Context<'_>, args: args::Durability) -> Result<Exit, Failure> {
    let mut request = DurabilityRequest {
        spans: (!args.spans.is_empty()).then_some(args.spans),
        at: args.at.map(|at| at.0),
        ..DurabilityRequest::default()
    };
    let session = context.session()?;
    let mut reply: DurabilityReply = context.backend.session(session, "durability", &request)?;
    while let Some(next) = reply.next {
        request.from = Some(next);
        let page: DurabilityReply = context.backend.session(session, "durability", &request)?;
        reply.next = page.next;
        reply.spans.extend(page.spans);
    }
    let lost = reply.spans.iter().any(|span| span.copies.is_empty());
    if context.global.json {
        context.print_json(&reply)?;
    } else {
        let rows = reply.spans.iter().map(|span| {
            let copies = span.copies.iter().map(|copy| match &copy.unanswered {
                None => copy.place.clone(),
                Some(_) => format!("{} (no answer)", copy.place),
            });
            let copies: Vec<String> = copies.collect();
            let verified = span.copies.iter().filter_map(|copy| copy.verified_at.clone()).max();
            let until = match (&span.durable_until, copies.is_empty()) {
                (Some(until), _) => until.clone(),
                (None, true) => String::new(),
                (None, false) => "for ever".into(),
            };
            vec![
                span.id.clone(),
                verdict(&span.state),
                copies.join(", "),
                verified.unwrap_or_default(),
                until,
                span.holds.join(", "),
                span.lost_since.as_ref().map(cause::sentence).unwrap_or_default(),
            ]
        });
        let since = reply.as_of.is_some();
        let header =
            ["span", "state", "copies", "verified", "durable until", "holds", "lost since"];
        let columns = if since { 7 } else { 6 };
        let rows = rows.map(|row: Vec<String>| row.into_iter().take(columns).collect());
        println!("{}", table(&header[..columns], &[], rows.collect()));
        println!("{}", rests_on(&reply.evidence, reply.as_of.as_deref()));
    }
    Ok(if lost { Exit::Lost } else { Exit::Done })
}

pub(super) fn tombstones(context: &Context<'_>, args: args::Tombstones) -> Result<Exit, Failure> {
    let session = context.session()?;
    let at = args.at.map(|at| at.0);
    let mut request = TombstonesRequest { at, ..TombstonesRequest::default() };
    let mut reply: TombstonesReply = context.backend.session(session, "tombstones", &request)?;
    while let Some(next) = reply.next {
        request.from = Some(next);
        let page: TombstonesReply = context.backend.session(session, "tombstones", &request)?;
        reply.next = page.next;
        reply.tombstones.extend(page.tombstones);
    }
    if context.global.json {
        context.print_json(&reply)?;
        return Ok(Exit::Done);
    }
    if reply.tombstones.is_empty() {
        let (was, can) = match reply.as_of {
            None => ("was", "can"),
            Some(_) => ("had been", "could"),
        };
        println!("nothing {was} lost: everything that was stored {can} be recovered");
        println!("{}", rests_on(&reply.evidence, reply.as_of.as_deref()));
        return Ok(Exit::Done);
    }
    let rows = reply.tombstones.iter().map(|entry| {
        let cause = &entry.cause;
        vec![
            entry.span.clone(),
            cause.at.clone(),
            cause.kind.clone(),
            cause.by.clone().unwrap_or_default(),
            cause::under(cause),
            entry.bytes.to_string(),
            entry.tokens.to_string(),
        ]
    });
    let header = ["span", "at", "cause", "by", "under", "bytes", "tokens"];
    println!("{}", table(&header, &[5, 6], rows.collect()));
    println!("{}", rests_on(&reply.evidence, reply.as_of.as_deref()));
    Ok(Exit::Done)
}
