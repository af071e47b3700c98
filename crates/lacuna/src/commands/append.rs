//! `append`.

use anstream::println;
use lacuna_wire::session::{AppendReply, AppendRequest, SpanBody, WithheldBody};

use super::{Context, budget_line, labels, read_input};
use crate::args::Append;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::table;

pub(super) fn run(context: &Context<'_>, args: Append) -> Result<Exit, Failure> {
    let content = read_input(&args.file)?;
    let spans = if args.spans_json {
        serde_json::from_slice(&content)
            .map_err(|error| Failure::Usage(format!("{}: {error}", args.file.display())))?
    } else {
        vec![span(args, content)?]
    };
    let request = AppendRequest { spans, command_id: command_id(), ..AppendRequest::default() };
    let reply = context.backend.append(context.session()?, request)?;
    if context.global.json {
        context.print_json(&reply)?;
    } else {
        show(&reply);
    }
    Ok(Exit::Done)
}

fn span(args: Append, content: Vec<u8>) -> Result<SpanBody, Failure> {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    let origin = args.origin.unwrap_or_else(|| {
        match args.role.as_str() {
            "assistant" => "model",
            "developer" => "system",
            other => other,
        }
        .to_owned()
    });
    let mut body = SpanBody {
        id: args.id,
        role: args.role,
        origin,
        kind: args.kind,
        media_type: args.media_type,
        tokens: args.tokens,
        hedged: args.hedged,
        pinned: args.pinned,
        turn: args.turn,
        answers: args.answers,
        contradicts: args.contradicts,
        labels: labels(&args.labels)?,
        in_window: true,
        ..SpanBody::default()
    };
    match (args.withhold, String::from_utf8(content)) {
        (Some(reason), content) => {
            let content = content.map_or_else(|error| error.into_bytes(), String::into_bytes);
            body.withheld = Some(WithheldBody {
                digest: blake3::hash(&content).to_hex().to_string(),
                bytes: content.len() as u64,
                reason,
            });
        }
        (None, Ok(text)) => body.content = Some(text),
        (None, Err(error)) => {
            body.content_b64 = Some(BASE64_STANDARD.encode(error.as_bytes()));
        }
    }
    Ok(body)
}

fn show(reply: &AppendReply) {
    let rows = reply.spans.iter().map(|span| {
        let note = if span.duplicate { "recorded before" } else { "recorded" };
        vec![
            span.handle.clone(),
            span.seq.to_string(),
            format!("{} ({})", span.tokens, span.tokens_from),
            span.durable_until.clone().unwrap_or_else(|| "for ever".into()),
            note.into(),
        ]
    });
    let header = ["handle", "seq", "tokens", "durable until", ""];
    println!("{}", table(&header, &[1, 2], rows.collect()));
    println!("{}", budget_line(&reply.budget));
}
