//! `summarize`, `audit`, `contradict`, `resolve`: the summary contract.

use std::path::Path;

use anstream::println;
use lacuna_wire::session::{
    AuditReplyBody, AuditRequest, ContradictReply, ContradictRequest, FindingBody, OmittedBody,
    RemarkBody, ResolveRequest, SummarizeReply, SummarizeRequest, VersionReply,
};

use super::{Context, read_input};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::{count, excerpt, faint, heading, plain, table, verdict};

/// Findings that a table shows.
const FINDINGS: usize = 20;
/// Identifiers left out that a verdict shows; `explain` shows more.
const SHOWN: usize = 10;

pub(super) fn summarize(context: &Context<'_>, args: args::Summarize) -> Result<Exit, Failure> {
    let from_input = |path: &Path| path.as_os_str() == "-";
    if from_input(&args.file) && args.claims.as_deref().is_some_and(from_input) {
        return Err(Failure::Usage(
            "the text and its claims cannot both come from standard input: name a file for one of \
             them"
                .into(),
        ));
    }
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
    let rejected = reply.status == "rejected";
    if !context.global.json {
        show(&reply);
    }
    Ok(if rejected { Exit::Rejected } else { Exit::Done })
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

fn show(reply: &SummarizeReply) {
    println!(
        "{} {}, depth {}, at version {}",
        heading(&reply.handle),
        verdict(&reply.status),
        reply.depth,
        reply.version
    );
    show_findings(&reply.findings, reply.findings_omitted);
    if reply.omitted_total > 0 {
        println!("it leaves out {} identifiers of what it covers:", reply.omitted_total);
        println!("{}", omitted_table(&reply.omitted_identifiers, SHOWN));
    }
    match reply.status.as_str() {
        "rejected" => match &reply.fallback {
            Some(fallback) => println!(
                "no attempt is left; the mechanical way out: lacuna prune {}",
                fallback.directive.spans.join(" ")
            ),
            None if reply.fallback_omitted => println!(
                "no attempt is left, and the mechanical way out is longer than a message: prune \
                 the spans in parts, or take what lacuna suggest says"
            ),
            None => println!(
                "{} attempts over these spans are left; the next one may use the same id",
                reply.attempts_left
            ),
        },
        "needs_audit" => println!(
            "others may prune with it now; you may once another principal has read its spans \
             (expand --purpose audit) and said: lacuna audit {} pass",
            reply.summary
        ),
        _ => println!("to put it in their place: lacuna prune … --replace-with {}", reply.summary),
    }
}

/// Prints findings, one a line; `omitted`: those that the reply has no room for.
pub(super) fn show_findings(findings: &[FindingBody], omitted: u64) {
    let rows = findings.iter().take(FINDINGS).map(|finding| {
        let claim = finding.claim.map(|claim| format!("claim {claim}")).unwrap_or_default();
        let span = finding.span.clone().unwrap_or_default();
        vec![finding.code.clone(), claim, span, plain(&finding.message)]
    });
    if !findings.is_empty() {
        println!("{}", table(&["finding", "", "span", "what to change"], &[], rows.collect()));
    }
    let more = findings.len().saturating_sub(FINDINGS) as u64 + omitted;
    if more > 0 {
        println!("… and {} more findings", count(more));
    }
}

/// Identifiers left out, as a table.
pub(super) fn omitted_table(omitted: &[OmittedBody], most: usize) -> String {
    const WIDTH: usize = 60;
    let rows = omitted.iter().take(most).map(|omitted| {
        vec![excerpt(&omitted.text, WIDTH), omitted.kind.clone(), omitted.span.clone()]
    });
    table(&["left out", "kind", "span"], &[], rows.collect())
}

pub(super) fn audit(context: &Context<'_>, args: args::Audit) -> Result<Exit, Failure> {
    let request = AuditRequest {
        summary: args.summary,
        verdict: args.verdict,
        findings: args.findings.into_iter().map(RemarkBody::Sentence).collect(),
        command_id: command_id(),
        ..AuditRequest::default()
    };
    let reply: AuditReplyBody = context.ask("audit", &request)?;
    if !context.global.json {
        println!("summary {}, at version {}", verdict(&reply.status), reply.version);
        show_findings(&reply.findings, reply.findings_omitted);
        let said = match reply.counts {
            true => "your verdict counts until you give another; a fail of anybody wins",
            false => "your audit does not count",
        };
        println!("{}", faint(said));
    }
    Ok(if reply.counts { Exit::Done } else { Exit::Rejected })
}
