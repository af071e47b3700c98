//! `diff`: what is different between two moments.

use anstream::println;
use lacuna_wire::session::{ChangeBody, ChangeCounts, DiffReply, DiffRequest, EndBody, StoodBody};

use super::{Context, budget_line, rests_on};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{caution, count, good, heading, plain, table, warning};

pub(super) fn diff(context: &Context<'_>, args: args::Diff) -> Result<Exit, Failure> {
    let session = context.session()?;
    let mut request = DiffRequest {
        from: args.from.map(|at| at.0),
        to: args.to.map(|at| at.0),
        ..DiffRequest::default()
    };
    let mut reply: DiffReply = context.backend.session(session, "diff", &request)?;
    if request.to.is_none() && reply.next.is_some() {
        // The pages behind are of the same moment.
        let version = Some(reply.to.version);
        request.to = Some(lacuna_wire::session::AtBody { version, ..Default::default() });
    }
    while let Some(next) = reply.next {
        request.skip = Some(next);
        let page: DiffReply = context.backend.session(session, "diff", &request)?;
        reply.next = page.next;
        reply.changes.extend(page.changes);
    }
    if context.global.json {
        context.print_json(&reply)?;
        return Ok(Exit::Done);
    }
    end("from", &reply.from);
    end("to", &reply.to);
    println!();
    if reply.changes.is_empty() {
        println!("nothing stands otherwise: {} spans as before", count(reply.counts.unchanged));
        return Ok(Exit::Done);
    }
    println!("{}", counted(&reply.counts));
    let rows = reply.changes.iter().map(|change| row(change).into()).collect();
    let header = ["span", "what", "before", "after", "tokens", "version", "by", "because"];
    println!("{}", table(&header, &[4, 5], rows));
    Ok(Exit::Done)
}

fn end(name: &str, end: &EndBody) {
    println!("{} {}", heading(&format!("{name:>4}")), rests_on(&end.evidence, Some(&end.at)));
    println!("     {} entries, {}", count(end.entries), budget_line(&end.budget));
}

/// How many spans changed in each way, in words.
pub(super) fn counted(counts: &ChangeCounts) -> String {
    let all = [
        (counts.entered, "entered"),
        (counts.recorded, "recorded aside"),
        (counts.left, "left"),
        (counts.returned, "returned"),
        (counts.lost, "lost"),
        (counts.scheduled, "scheduled for removal"),
        (counts.changed, "changed otherwise"),
        (counts.unchanged, "as before"),
    ];
    let told = all.iter().filter(|(number, _)| *number > 0);
    let told: Vec<String> =
        told.map(|(number, word)| format!("{} {word}", count(*number))).collect();
    told.join(", ")
}

/// How many spans changed.
pub(super) fn changed(counts: &ChangeCounts) -> u64 {
    let ChangeCounts { entered, recorded, left, returned, lost, scheduled, changed, .. } = counts;
    entered + recorded + left + returned + lost + scheduled + changed
}

/// Span, what, before, after, tokens, and of what made it so: version, by, because.
pub(super) fn row(change: &ChangeBody) -> [String; 8] {
    let what = match change.what.as_str() {
        "entered" | "returned" => good(&change.what),
        "lost" => warning(&change.what),
        "left" | "scheduled" => caution(&change.what),
        other => other.to_owned(),
    };
    let made_by = change.made_by.as_ref();
    let because = made_by.map(|made| match &made.why {
        Some(why) => format!("{} ({})", made.what, plain(why)),
        None => made.what.clone(),
    });
    [
        change.span.clone(),
        what,
        change.before.as_ref().map(stood).unwrap_or_default(),
        stood(&change.after),
        change.tokens.to_string(),
        made_by.map(|made| made.version.to_string()).unwrap_or_default(),
        made_by.map(|made| made.by.clone()).unwrap_or_default(),
        because.unwrap_or_else(|| "the tenant's retention".into()),
    ]
}

fn stood(stood: &StoodBody) -> String {
    let under = stood.under.as_ref().map(|under| format!(" {under}")).unwrap_or_default();
    format!("{}{under}, {}", stood.form, stood.state)
}
