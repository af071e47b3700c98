//! `plan`, `run`, `ledger`, `erase`: what goes, and what went.

use anstream::println;
use lacuna_wire::retention::{
    EraseReply, EraseRequest, LedgerReply, LedgerRequest, PlanReply, PlanRequest,
    PlannedSessionBody, RunReply, RunRequest,
};

use super::policy::read_rules;
use super::{Context, cause};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::{self, bytes, caution, count, faint, good, heading, plain, table, warning};

/// Sessions and summaries that a sentence names.
const NAMED: usize = 8;

pub(super) fn plan(context: &Context<'_>, args: &args::Plan) -> Result<Exit, Failure> {
    let mut request = PlanRequest {
        now: args.now.clone(),
        rules: args.rules.as_deref().map(read_rules).transpose()?,
        ..PlanRequest::default()
    };
    let waiting = output::spinner("looking at every session");
    let mut plan: PlanReply = context.backend.retention("plan", &request)?;
    // The pages of one plan go by one time; what happens between them may still show.
    request.now = Some(plan.effective_now.clone());
    while let Some(next) = plan.next.take() {
        request.after = Some(next);
        let page: PlanReply = context.backend.retention("plan", &request)?;
        plan.sessions.extend(page.sessions);
        plan.next = page.next;
    }
    waiting.finish_and_clear();
    if context.global.json {
        context.print_json(&plan)?;
        return Ok(Exit::Done);
    }
    show_plan(&plan, args);
    Ok(Exit::Done)
}

fn show_plan(plan: &PlanReply, args: &args::Plan) {
    let policy = match (&args.rules, &plan.policy) {
        (Some(file), _) => format!("the rules of {}", file.display()),
        (None, Some(policy)) => policy.clone(),
        (None, None) => "no policy, which keeps everything".into(),
    };
    println!("a run under {} that goes by {}", heading(&policy), plan.effective_now);
    if !plan.sessions.is_empty() {
        let rows = plan.sessions.iter().map(session_row).collect();
        let header =
            ["session", "remove", "notice", "wait", "defer", "hold", "more", "window", "rules"];
        println!("{}", table(&header, &[1, 2, 3, 4, 5, 6], rows));
    }
    if args.spans && !plan.sessions.is_empty() {
        println!();
        let rows = plan.sessions.iter().flat_map(span_rows).collect();
        let header = ["session", "span", "what", "rule", "bytes", "erases at"];
        println!("{}", table(&header, &[4], rows));
    }
    let removed = &plan.removed;
    println!(
        "it would remove {} spans ({}), announce {}, defer {}; {} are held",
        count(removed.spans),
        bytes(removed.bytes),
        count(plan.noticed),
        count(plan.deferred),
        count(plan.held),
    );
    let touched: Vec<&str> = plan
        .sessions
        .iter()
        .filter(|session| session.window)
        .map(|session| session.session.as_str())
        .collect();
    match touched.as_slice() {
        [] => println!("no window would change"),
        names => println!("{}: {}", caution("windows that would change"), named(names)),
    }
    meaning(plan.deferred, plan.held);
    let next = match (&args.rules, plan.over_limit) {
        (_, true) => {
            println!("{}: that is more than one run may remove", warning("over the limit"));
            "a run would stop and remove nothing; if the plan is right: lacuna run --unlimited"
        }
        (Some(_), _) => "to put these rules in force: lacuna policy set FILE, then lacuna run",
        (None, _) if removed.spans > 0 || plan.noticed > 0 => "to do it: lacuna run",
        _ => "a run would change nothing",
    };
    println!("{}", faint(next));
}

fn session_row(session: &PlannedSessionBody) -> Vec<String> {
    let of = |what: &str| {
        let count = session.spans.iter().filter(|span| span.what == what).count();
        if count == 0 { String::new() } else { output::count(count as u64) }
    };
    let mut rules: Vec<String> = Vec::new();
    for span in &session.spans {
        let rule = plain(&span.rule);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let more = session.spans_omitted;
    vec![
        session.session.clone(),
        of("remove"),
        of("notice"),
        of("wait"),
        of("defer"),
        of("hold"),
        if more == 0 { String::new() } else { format!("+{}", count(more)) },
        if session.window { caution("changes") } else { "stays".into() },
        rules.join(", "),
    ]
}

fn span_rows(session: &PlannedSessionBody) -> impl Iterator<Item = Vec<String>> {
    session.spans.iter().map(|span| {
        vec![
            session.session.clone(),
            span.id.clone(),
            if span.what == "remove" { warning(&span.what) } else { span.what.clone() },
            plain(&span.rule),
            span.bytes.to_string(),
            span.erases_at.clone().unwrap_or_default(),
        ]
    })
}

/// The first of some names, and how many more there are.
fn named(names: &[&str]) -> String {
    match names.len().checked_sub(NAMED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// What it means that spans stay whose time is over, and what to do about it.
fn meaning(deferred: u64, held: u64) {
    if deferred > 0 {
        println!(
            "deferred: an open window still leads to them; close its session, or let the rule say \
             live_handles: commit"
        );
    }
    if held > 0 {
        println!("held: lacuna policy get lists the holds; lacuna release ends one");
    }
}

pub(super) fn run(context: &Context<'_>, args: &args::Run) -> Result<Exit, Failure> {
    if let Some(session) = context.session_by_flag() {
        return Err(Failure::Usage(format!(
            "a run concerns the whole tenant, not {session} alone: leave --session out, or let the \
             policy's rules name sessions"
        )));
    }
    let request = RunRequest {
        unlimited: args.unlimited.then_some(true),
        command_id: command_id(),
        ..RunRequest::default()
    };
    let waiting = output::spinner("running the policy");
    let reply = context.ask_retention::<RunReply>("run", &request);
    waiting.finish_and_clear();
    let reply = reply?;
    let over_limit = reply.status == "over_limit";
    if !context.global.json {
        show_run(&reply, over_limit);
    }
    Ok(if over_limit { Exit::Rejected } else { Exit::Done })
}

fn show_run(reply: &RunReply, over_limit: bool) {
    let status = if over_limit { warning("over the limit") } else { good(&reply.status) };
    let policy = match &reply.policy {
        Some(policy) => format!("under {policy}"),
        None => "without a policy: everything is kept for ever".into(),
    };
    println!("{} {status} {policy}, up to seq {}", heading(&reply.run), reply.cut);
    let rows = [
        ("removed", count(reply.removed.spans), bytes(reply.removed.bytes)),
        ("announced", count(reply.noticed), "goes with a later run".into()),
        ("deferred", count(reply.deferred), "an open window leads to it".into()),
        ("held", count(reply.held), "a hold keeps it".into()),
    ];
    let rows = rows.into_iter().map(|(what, spans, note)| vec![what.into(), spans, note]);
    println!("{}", table(&["what", "spans", ""], &[1], rows.collect()));
    meaning(reply.deferred, reply.held);
    let next = if over_limit {
        "nothing was removed: it would have been more than one run may. Look at lacuna plan; if it \
         is right: lacuna run --unlimited"
    } else if reply.removed.spans > 0 {
        "the keys of what went are destroyed; lacuna ledger lists it. Backups made before still \
         hold it"
    } else if reply.noticed > 0 {
        "lacuna plan tells when the announced removals come"
    } else if reply.deferred + reply.held > 0 {
        "nothing went"
    } else {
        "nothing was due"
    };
    println!("{}", faint(next));
}

pub(super) fn ledger(context: &Context<'_>, args: &args::Ledger) -> Result<Exit, Failure> {
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut whole = LedgerReply { entries: Vec::new(), next: args.from };
    let mut told = 0;
    while left > 0 {
        let request = LedgerRequest {
            from: whole.next,
            limit: args.limit.map(|_| left),
            ..LedgerRequest::default()
        };
        let page: LedgerReply = context.backend.retention("ledger", &request)?;
        let entries = page.entries.len() as u64;
        left = left.saturating_sub(entries);
        told += entries;
        whole.next = page.next;
        if context.global.json {
            whole.entries.extend(page.entries);
        } else if entries > 0 {
            println!("{}", ledger_table(&page));
        }
        if whole.next.is_none() {
            break;
        }
    }
    if context.global.json {
        context.print_json(&whole)?;
    } else if let Some(next) = whole.next {
        println!("{}", faint(&format!("there is more: lacuna ledger --from {next}")));
    } else if told == 0 {
        let since = args.from.map(|from| format!(" from entry {from} on")).unwrap_or_default();
        println!("nothing was lost in tenant {}{since}", context.global.tenant);
    }
    Ok(Exit::Done)
}

fn ledger_table(page: &LedgerReply) -> String {
    let rows = page.entries.iter().map(|entry| {
        let cause = &entry.cause;
        vec![
            entry.seq.to_string(),
            cause.at.clone(),
            entry.session.clone(),
            entry.span.clone(),
            cause.kind.clone(),
            cause.by.clone().unwrap_or_default(),
            cause::under(cause),
            entry.bytes.to_string(),
            entry.tokens.to_string(),
        ]
    });
    let header = ["seq", "at", "session", "span", "cause", "by", "under", "bytes", "tokens"];
    table(&header, &[0, 7, 8], rows.collect())
}

pub(super) fn erase(context: &Context<'_>, args: args::Erase) -> Result<Exit, Failure> {
    let session = context.session()?.to_owned();
    if args.spans.is_empty() && !args.all {
        return Err(Failure::Usage(format!(
            "name the spans to erase, or say --all for the whole session {session}"
        )));
    }
    let request = EraseRequest {
        session: session.clone(),
        spans: (!args.all).then_some(args.spans),
        reason: args.reason,
        command_id: command_id(),
        ..EraseRequest::default()
    };
    let waiting = output::spinner("erasing");
    let reply = context.ask_retention::<EraseReply>("erase", &request);
    waiting.finish_and_clear();
    let reply = reply?;
    if context.global.json {
        return Ok(Exit::Done);
    }
    let removed = &reply.removed;
    match removed.spans {
        0 => println!("nothing of that was kept any more: nothing changed"),
        spans => println!(
            "{}: {} spans of {session} ({}), at version {}",
            warning("erased"),
            count(spans),
            bytes(removed.bytes),
            reply.version
        ),
    }
    if !reply.summaries.is_empty() {
        let names: Vec<&str> = reply.summaries.iter().map(String::as_str).collect();
        println!(
            "{}: {} cover or cite what went, and are kept: erase them too if they tell of it",
            caution("summaries"),
            named(&names)
        );
    }
    if !reply.shared_with.is_empty() {
        let names: Vec<&str> = reply.shared_with.iter().map(String::as_str).collect();
        println!(
            "{}: {} had some of it in their windows, and lost it too",
            caution("shared"),
            named(&names)
        );
    }
    if !reply.elsewhere.is_empty() {
        let names: Vec<&str> = reply.elsewhere.iter().map(String::as_str).collect();
        println!(
            "{}: {} name a store outside the journal: erase them there too",
            caution("elsewhere"),
            named(&names)
        );
    }
    if removed.spans > 0 {
        println!("{}", faint("its keys are destroyed; backups made before still hold it"));
    }
    Ok(Exit::Done)
}
