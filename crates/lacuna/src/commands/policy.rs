//! `policy set`, `policy get`, `policy evaluate`, `hold`, `release`: what is to be kept, and for how long.

use std::path::Path;

use anstream::println;
use lacuna_wire::retention::{
    AttributesBody, EvaluateReply, EvaluateRequest, HoldReply, HoldRequest, KeepBody, MatchBody,
    PolicyGetReply, PolicyGetRequest, PolicySetReply, PolicySetRequest, ReleaseReply,
    ReleaseRequest, RuleBody,
};
use serde::Deserialize;

use super::{Context, labels, read_input};
use crate::args;
use crate::backend::command_id;
use crate::failure::{Exit, Failure};
use crate::output::{caution, faint, good, heading, plain, table, warning};

pub(super) fn run(context: &Context<'_>, args: args::Policy) -> Result<Exit, Failure> {
    match args {
        args::Policy::Set(args) => set(context, &args),
        args::Policy::Get => get(context),
        args::Policy::Evaluate(args) => evaluate(context, args),
    }
}

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    rules: Vec<RuleBody>,
}

/// Reads rules from a file, or from standard input for `-`.
pub(super) fn read_rules(file: &Path) -> Result<Vec<RuleBody>, Failure> {
    let content = read_input(file)?;
    let bad = |error: String| {
        let name = match file.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        Failure::Usage(format!(
            "{name}: {}: a policy is {{\"rules\": […]}} or a list of rules; see lacuna policy set \
             --help",
            error.trim_end()
        ))
    };
    if file.extension().is_some_and(|extension| extension == "toml") {
        let text = std::str::from_utf8(&content).map_err(|error| bad(error.to_string()))?;
        let file: RulesFile = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
        return Ok(file.rules);
    }
    let is_list = content.trim_ascii_start().first() == Some(&b'[');
    let rules = match is_list {
        true => serde_json::from_slice(&content),
        false => serde_json::from_slice(&content).map(|file: RulesFile| file.rules),
    };
    rules.map_err(|error| bad(error.to_string()))
}

fn set(context: &Context<'_>, args: &args::PolicySet) -> Result<Exit, Failure> {
    let rules = read_rules(&args.file)?;
    let count = rules.len();
    let request =
        PolicySetRequest { rules, command_id: command_id(), ..PolicySetRequest::default() };
    let reply: PolicySetReply = context.ask_retention("policy-set", &request)?;
    if !context.global.json {
        let rules = if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") };
        println!("{} is in force with {rules}", heading(&reply.policy));
        println!("{}", faint("nothing was removed by that: lacuna plan tells what a run would do"));
    }
    Ok(Exit::Done)
}

fn get(context: &Context<'_>) -> Result<Exit, Failure> {
    let mut request = PolicyGetRequest::default();
    let mut reply: PolicyGetReply = context.backend.retention("policy-get", &request)?;
    while let Some(next) = reply.next.take() {
        request.after = Some(next);
        let page: PolicyGetReply = context.backend.retention("policy-get", &request)?;
        reply.holds.extend(page.holds);
        reply.next = page.next;
    }
    if context.global.json {
        context.print_json(&reply)?;
        return Ok(Exit::Done);
    }
    match (&reply.policy, &reply.set_by, &reply.set_at) {
        (Some(policy), Some(by), Some(at)) => {
            println!("{}, set by {by} at {at}", heading(policy));
        }
        (Some(policy), ..) => println!("{}", heading(policy)),
        (None, ..) => println!("no policy was ever set: everything is kept for ever"),
    }
    if let Some(run) = &reply.run {
        println!("{}: the run {run} goes on", caution("now"));
    }
    if !reply.rules.is_empty() {
        let rows = reply.rules.iter().map(rule_row).collect();
        let header = ["rule", "applies to", "keeps", "notice", "live handles"];
        println!("{}", table(&header, &[], rows));
        println!(
            "{}",
            faint("the first rule that matches decides; what none matches is kept for ever")
        );
    } else if reply.policy.is_some() {
        println!("it has no rule: everything is kept for ever");
    }
    if reply.holds.is_empty() {
        println!("no hold is in force");
    } else {
        let rows = reply.holds.iter().map(|hold| {
            vec![
                hold.hold.clone(),
                applies_to(&hold.matches),
                plain(&hold.reason),
                hold.placed_by.clone(),
                hold.placed_at.clone(),
            ]
        });
        println!("{}", table(&["hold", "holds", "why", "by", "since"], &[], rows.collect()));
    }
    Ok(Exit::Done)
}

fn rule_row(rule: &RuleBody) -> Vec<String> {
    let residue = if rule.residue == Some(true) { ", leaves a residue" } else { "" };
    vec![
        plain(&rule.id),
        applies_to(&rule.matches),
        keeps(&rule.keep) + residue,
        rule.notice.clone().unwrap_or_else(|| "none".into()),
        rule.live_handles.clone().unwrap_or_else(|| "defer".into()),
    ]
}

/// What a rule or a hold applies to, in words.
fn applies_to(matches: &MatchBody) -> String {
    let mut words = Vec::new();
    if let Some(glob) = &matches.sessions {
        words.push(format!("sessions {}", plain(glob)));
    }
    if let Some(origins) = &matches.origins {
        words.push(format!("origin {}", origins.join(" or ")));
    }
    if let Some(kinds) = &matches.kinds {
        words.push(format!("kind {}", kinds.join(" or ")));
    }
    for (key, value) in matches.labels.iter().flatten() {
        words.push(format!("label {}={}", plain(key), plain(value)));
    }
    match matches.pruned {
        Some(true) => words.push("pruned".into()),
        Some(false) => words.push("not pruned".into()),
        None => {}
    }
    if words.is_empty() { "everything".into() } else { words.join(", ") }
}

/// How long a rule keeps something, in words.
fn keeps(keep: &KeepBody) -> String {
    if keep.forever == Some(true) {
        return "for ever".into();
    }
    let period = keep.period.as_ref().map(|period| {
        let since = keep.since.as_deref().unwrap_or("recorded");
        format!("{period} since {since}")
    });
    let spans = keep.max_spans.map(|spans| format!("the newest {spans} spans"));
    let bytes = keep.max_bytes.map(|bytes| format!("the newest {bytes} bytes"));
    let bounds: Vec<String> = [period, spans, bytes].into_iter().flatten().collect();
    bounds.join(", and only ")
}

fn evaluate(context: &Context<'_>, args: args::Evaluate) -> Result<Exit, Failure> {
    let session = context.session()?.to_owned();
    let attributes = match (&args.span, args.origin) {
        (None, Some(origin)) => Some(AttributesBody {
            origin,
            kind: args.kind,
            labels: (!args.labels.is_empty()).then(|| labels(&args.labels)).transpose()?,
            recorded_at: args.recorded_at,
            pruned: args.pruned.then_some(true),
            pruned_at: args.pruned_at,
            closed_at: args.closed_at,
        }),
        _ => None,
    };
    let request =
        EvaluateRequest { session, span: args.span, attributes, ..EvaluateRequest::default() };
    let reply: EvaluateReply = context.ask_retention("evaluate", &request)?;
    if !context.global.json {
        show_evaluated(&reply);
    }
    Ok(Exit::Done)
}

fn show_evaluated(reply: &EvaluateReply) {
    println!("{}", plain(&reply.why));
    if let Some(erases_at) = &reply.erases_at {
        println!("{}: its removal is announced for {erases_at}", caution("scheduled"));
    }
    match (reply.removable, reply.held_by.is_empty()) {
        (true, _) => println!("{}: its time is over and nothing keeps it", warning("removable")),
        (false, true) => println!("{}: no run removes it now", good("kept")),
        (false, false) => println!(
            "{}: whatever a rule says, it stays until {} released",
            good("held"),
            match reply.held_by.as_slice() {
                [one] => format!("{one} is"),
                several => format!("all of {} are", several.join(", ")),
            }
        ),
    }
}

pub(super) fn hold(context: &Context<'_>, args: args::Hold) -> Result<Exit, Failure> {
    // A hold on one session that holds all, or one on all that misses some: both are worth a question.
    if let (Some(session), None) = (&context.global.session, &args.sessions) {
        return Err(Failure::Usage(format!(
            "a hold names its sessions by a pattern: say --sessions {session} for this one, or \
             --sessions '*' for all"
        )));
    }
    let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
    let matches = MatchBody {
        sessions: args.sessions,
        origins: some(args.origins),
        kinds: some(args.kinds),
        labels: (!args.labels.is_empty()).then(|| labels(&args.labels)).transpose()?,
        pruned: args.pruned,
    };
    let holds = applies_to(&matches);
    let request = HoldRequest {
        matches,
        reason: args.reason,
        command_id: command_id(),
        ..HoldRequest::default()
    };
    let reply: HoldReply = context.ask_retention("hold", &request)?;
    if !context.global.json {
        let (hold, tenant) = (&reply.hold, &context.global.tenant);
        println!("{} holds in tenant {tenant}: {holds}", heading(hold));
        println!("{}", faint(&format!("to end it: lacuna release {hold} --reason …")));
    }
    Ok(Exit::Done)
}

pub(super) fn release(context: &Context<'_>, args: args::Release) -> Result<Exit, Failure> {
    let request = ReleaseRequest {
        hold: args.hold,
        reason: args.reason,
        command_id: command_id(),
        ..ReleaseRequest::default()
    };
    let reply: ReleaseReply = context.ask_retention("release", &request)?;
    if !context.global.json {
        println!("{} is released; nothing was removed by that", heading(&reply.hold));
        println!("{}", faint("lacuna plan tells what a run would do now"));
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str) -> Result<Vec<RuleBody>, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        read_rules(&file)
    }

    #[test]
    fn rules_are_read_from_objects_lists_and_toml() {
        let list = r#" [{"id":"a","match":{"origins":["tool"]},"keep":{"for":"30d"}}]"#;
        let object = format!("{{\"rules\":{list}}}");
        let toml =
            "[[rules]]\nid = \"a\"\nmatch = { origins = [\"tool\"] }\nkeep = { for = \"30d\" }\n";
        let rules = read("p.json", list).unwrap();
        assert_eq!((rules.len(), rules[0].id.as_str()), (1, "a"));
        assert_eq!(rules[0].keep.period.as_deref(), Some("30d"));
        assert_eq!(read("p.json", &object).unwrap(), rules);
        assert_eq!(read("p.toml", toml).unwrap(), rules);
        assert_eq!(read("p.json", "[]").unwrap(), []);
    }

    #[test]
    fn a_misspelled_field_is_refused_with_its_name() {
        for (name, content) in [
            ("p.json", r#"[{"id":"a","keep":{"fro":"30d"}}]"#),
            ("p.json", r#"{"rules":[{"id":"a","keep":{"fro":"30d"}}]}"#),
            ("p.toml", "[[rules]]\nid = \"a\"\nkeep = { fro = \"30d\" }\n"),
        ] {
            let failure = read(name, content).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains("fro"), "{failure}");
        }
        assert_eq!(read("p.json", "{}").unwrap_err().exit(), Exit::Usage);
        assert_eq!(read("p.json", "").unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn rules_are_told_in_words() {
        let rule = r#"[{"id":"a","match":{"sessions":"run-*","origins":["tool","model"],"pruned":true,
            "labels":{"case":"7"}},"keep":{"for":"30d","since":"pruned","max_spans":5}}]"#;
        let rules = read("p.json", rule).unwrap();
        assert_eq!(
            rule_row(&rules[0]),
            [
                "a",
                "sessions run-*, origin tool or model, label case=7, pruned",
                "30d since pruned, and only the newest 5 spans",
                "none",
                "defer"
            ]
        );
        assert_eq!(applies_to(&MatchBody::default()), "everything");
    }
}
