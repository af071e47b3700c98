//! `history`.

use anstream::println;
use lacuna_client::EventBody;
use lacuna_wire::session::{HistoryReply, HistoryRequest};
use serde_json::Value;

use super::Context;
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{excerpt, table};

pub(super) fn history(context: &Context<'_>, args: &args::History) -> Result<Exit, Failure> {
    let session = context.session()?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut whole = HistoryReply { events: Vec::new(), next_version: args.from.max(1) };
    while left > 0 {
        let request = HistoryRequest {
            from_version: Some(whole.next_version),
            limit: Some(left.min(1_000)),
            ..HistoryRequest::default()
        };
        let page: HistoryReply = context.backend.session(session, "history", &request)?;
        if page.events.is_empty() {
            break;
        }
        left -= page.events.len() as u64;
        whole.next_version = page.next_version;
        if context.global.json {
            whole.events.extend(page.events);
        } else {
            let rows = page.events.iter().map(row).collect();
            let header = ["version", "seq", "at", "by", "event", ""];
            println!("{}", table(&header, &[0, 1], rows));
        }
    }
    if context.global.json {
        context.print_json(&whole)?;
    }
    Ok(Exit::Done)
}

fn row(event: &EventBody) -> Vec<String> {
    const WIDTH: usize = 70;
    vec![
        event.version.to_string(),
        event.seq.to_string(),
        event.at.clone(),
        event.principal.clone(),
        event.kind.clone(),
        excerpt(&gist(event), WIDTH),
    ]
}

/// The fields that say most about an event.
fn gist(event: &EventBody) -> String {
    let text = |name: &str| event.fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let count = |name: &str| event.fields.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    match event.kind.as_str() {
        "span-recorded" => format!("{} {} {}", text("handle"), text("role"), text("span_kind")),
        "summary-recorded" => format!("{} covers {} spans", text("handle"), count("covers")),
        "prune-executed" => {
            let with = text("replace_with");
            let with = if with.is_empty() { String::new() } else { format!(" by {with}") };
            format!("{} {} spans{with}", text("directive"), count("spans"))
        }
        "prune-rejected" => format!("{} {}: {}", text("directive"), text("reason"), text("advice")),
        "lossy-committed" => {
            let cause = event.fields.get("cause").and_then(|cause| cause.get("kind"));
            let cause = cause.and_then(Value::as_str).unwrap_or_default();
            format!("{} spans, cause {cause}", count("spans"))
        }
        "contradiction-noted" | "contradiction-resolved" => text("contradiction").to_owned(),
        _ => format!("{} {}", text("span"), text("purpose")).trim().to_owned(),
    }
}
