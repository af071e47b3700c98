//! `history`, `explain`.

use anstream::println;
use lacuna_client::EventBody;
use lacuna_wire::session::{
    CauseBody, ExplainReply, ExplainRequest, HistoryReply, HistoryRequest, SummaryBody, ThenBody,
};
use serde_json::Value;

use super::{Context, cause, rests_on};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{count, excerpt, good, heading, plain, table, verdict, warning};

pub(super) fn history(context: &Context<'_>, args: &args::History) -> Result<Exit, Failure> {
    let session = context.session()?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut request = HistoryRequest { from_version: Some(args.from.max(1)), ..Default::default() };
    let mut events = Vec::new();
    let last = loop {
        request.limit = Some(left.min(1_000));
        let mut page: HistoryReply = context.backend.session(session, "history", &request)?;
        left -= page.events.len() as u64;
        request.from_version = Some(page.next_version);
        let ends = page.events.is_empty() || left == 0;
        if context.global.json {
            events.append(&mut page.events);
        } else if !page.events.is_empty() {
            let rows = page.events.iter().map(row).collect();
            let header = ["version", "seq", "at", "by", "event", ""];
            println!("{}", table(&header, &[0, 1], rows));
        }
        if ends {
            break page;
        }
    };
    if context.global.json {
        context.print_json(&HistoryReply { events, ..last })?;
    } else {
        println!("{}", rests_on(&last.evidence, None));
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
pub(super) fn gist(event: &EventBody) -> String {
    let text = |name: &str| event.fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let count = |name: &str| event.fields.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let number = |name: &str| event.fields.get(name).and_then(Value::as_u64).unwrap_or(0);
    match event.kind.as_str() {
        "span-recorded" => format!("{} {} {}", text("handle"), text("role"), text("span_kind")),
        "summary-recorded" => {
            format!("{} covers {} spans: {}", text("handle"), count("covers"), text("status"))
        }
        "summary-audited" => {
            let counts = if text("status") == "accepted" { "" } else { ", does not count" };
            format!("{} {}{counts}", text("summary"), text("verdict"))
        }
        "alert-raised" => format!("{}: {}", text("alert"), text("message")),
        "prune-executed" => {
            let with = text("replace_with");
            let with = if with.is_empty() { String::new() } else { format!(" by {with}") };
            format!("{} {} spans{with}", text("directive"), count("spans"))
        }
        "prune-rejected" => format!("{} {}: {}", text("directive"), text("reason"), text("advice")),
        "lossy-committed" => {
            let cause = event.fields.get("cause").cloned().unwrap_or_default();
            let cause: CauseBody = serde_json::from_value(cause).unwrap_or_default();
            format!("{} spans, {}: {}", count("spans"), cause.kind, cause::under(&cause))
        }
        "policy-set" => format!("{} with {} rules", text("policy"), count("rules")),
        "hold-placed" | "hold-released" => format!("{}: {}", text("hold"), text("reason")),
        "notice-given" => {
            let times = event.fields.get("spans").and_then(Value::as_array).into_iter().flatten();
            let first = times.filter_map(|span| span["erases_at"].as_str()).min();
            let first = first.unwrap_or_default();
            format!("{} {} spans, the first goes at {first}", text("run"), count("spans"))
        }
        "run-opened" => {
            let policy = if text("policy").is_empty() { "no policy" } else { text("policy") };
            format!("{} under {policy} up to seq {}", text("run"), number("cut"))
        }
        "run-closed" => format!(
            "{} {}: removed {}, noticed {}, deferred {}, held {}",
            text("run"),
            text("status"),
            event.fields.get("removed").and_then(|removed| removed["spans"].as_u64()).unwrap_or(0),
            number("noticed"),
            number("deferred"),
            number("held"),
        ),
        "window-receipted" => {
            let discrepant = event.fields.get("discrepancy").and_then(Value::as_bool);
            let sent = if discrepant == Some(true) { ": something else was sent" } else { "" };
            format!("{} version {}{sent}", text("receipt"), number("window_version"))
        }
        "session-forked" => format!("from {} at version {}", text("from"), number("from_version")),
        "contradiction-noted" | "contradiction-resolved" => text("contradiction").to_owned(),
        _ => format!("{} {}", text("span"), text("purpose")).trim().to_owned(),
    }
}

pub(super) fn explain(context: &Context<'_>, args: args::Explain) -> Result<Exit, Failure> {
    let session = context.session()?;
    let at = args.at.map(|at| at.0);
    let mut request = ExplainRequest { span: args.span, at, ..ExplainRequest::default() };
    let mut reply: ExplainReply = context.backend.session(session, "explain", &request)?;
    request.at = None;
    while let Some(next) = reply.next {
        request.from = Some(next);
        let page: ExplainReply = context.backend.session(session, "explain", &request)?;
        reply.next = page.next;
        reply.story.extend(page.story);
    }
    request.from = None;
    let mut next = reply.summary.as_ref().and_then(|summary| summary.omitted_next);
    while let (Some(from), true, Some(summary)) = (next, args.all, &mut reply.summary) {
        request.omitted_from = Some(from);
        let page: ExplainReply = context.backend.session(session, "explain", &request)?;
        let Some(page) = page.summary else { break };
        if page.omitted_identifiers.is_empty() {
            break;
        }
        summary.omitted_identifiers.extend(page.omitted_identifiers);
        (next, summary.omitted_next) = (page.omitted_next, page.omitted_next);
    }
    let known = reply.handle.is_some();
    if context.global.json {
        context.print_json(&reply)?;
    } else {
        let name = reply.handle.as_ref().unwrap_or(&reply.span);
        println!("{} {}", heading(name), verdict(&reply.outcome));
        let rows = reply.story.iter().map(|entry| {
            // Why stands below what: side by side both would be too narrow to read.
            let why = entry.why.as_ref().map(|why| format!("\n— {}", plain(why)));
            let what = plain(&entry.what) + &why.unwrap_or_default();
            vec![entry.version.to_string(), entry.at.clone(), entry.by.clone(), what]
        });
        println!("{}", table(&["version", "at", "by", "what"], &[0], rows.collect()));
        if let Some(then) = &reply.then {
            show_then(then);
        }
        if let Some(summary) = &reply.summary {
            show_summary(summary, args.all);
        }
        println!("{}", rests_on(&reply.evidence, None));
    }
    Ok(if known { Exit::Done } else { Exit::Lost })
}

/// Prints how a span stood at a moment, and whether it could have been recovered then.
fn show_then(then: &ThenBody) {
    println!();
    let could = if then.recoverable {
        good("could be recovered")
    } else {
        warning("could not be recovered")
    };
    println!("{} {}: {could}", heading(&then.at), verdict(&then.outcome));
    println!("{}", plain(&then.why));
    if let Some(cause) = &then.cause {
        println!("cause: {}", cause::sentence(cause));
    }
    if let Some(erases_at) = &then.erases_at {
        println!("its removal was announced for {erases_at}");
    }
    if then.recoverable {
        let until =
            then.durable_until.as_deref().map_or("for ever".into(), |at| format!("until {at}"));
        println!("its copy was to be kept {until}");
    }
    if !then.holds.is_empty() {
        println!("held by {}", then.holds.join(", "));
    }
    println!("{}", rests_on(&then.evidence, Some(&then.at)));
}

/// Prints what a summary says and leaves out; `all`: every identifier.
fn show_summary(summary: &SummaryBody, all: bool) {
    const SHOWN: usize = 100;
    println!();
    println!(
        "{}: {}, depth {}, over {} spans",
        heading("summary"),
        verdict(&summary.status),
        summary.depth,
        summary.covers
    );
    if summary.unreadable {
        println!("{}: what it said is not known", warning("it cannot be read any more"));
        println!(
            "when it was written it kept {} of {} identifiers",
            summary.identifiers_kept, summary.identifiers
        );
        super::contract::show_findings(&summary.findings, summary.findings_omitted);
        return;
    }
    let claims = summary.claims.as_deref().unwrap_or_default();
    if !claims.is_empty() {
        let rows = claims.iter().map(|claim| {
            let sources: Vec<&str> =
                claim.sources.iter().map(|source| source.span.as_str()).collect();
            vec![claim.origin.clone(), excerpt(&claim.text, 80), sources.join(", ")]
        });
        println!("{}", table(&["origin", "claim", "sources"], &[], rows.collect()));
    }
    if summary.claims_omitted > 0 {
        println!("… and {} more claims", count(summary.claims_omitted));
    }
    super::contract::show_findings(&summary.findings, summary.findings_omitted);
    let left_out = summary.identifiers - summary.identifiers_kept;
    println!(
        "it keeps {} of {} identifiers and leaves {left_out} out",
        summary.identifiers_kept, summary.identifiers
    );
    let kinds = summary
        .kinds
        .iter()
        .map(|of| vec![of.kind.clone(), of.kept.to_string(), of.identifiers.to_string()]);
    if !summary.kinds.is_empty() {
        println!("{}", table(&["kind", "kept", "of"], &[1, 2], kinds.collect()));
    }
    let omitted = &summary.omitted_identifiers;
    let shown = if all { omitted.len() } else { omitted.len().min(SHOWN) };
    if shown > 0 {
        println!("{}", super::contract::omitted_table(omitted, shown));
    }
    let untold = u64::from(left_out).saturating_sub(shown as u64);
    if untold > 0 {
        println!("… and {untold} more: --all shows them");
    }
}
