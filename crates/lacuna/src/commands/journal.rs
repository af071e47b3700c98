//! `sessions`, `head`, `backup`, `stats`.

use anstream::println;
use lacuna_wire::Empty;
use lacuna_wire::journal::{
    BackupReply, BackupRequest, FeedBody, HeadReply, ScrubBody, SessionsReply, SessionsRequest,
    StatsReply,
};

use super::Context;
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{bytes, count, table, warning};

pub(super) fn sessions(context: &Context<'_>) -> Result<Exit, Failure> {
    let mut names: Vec<String> = Vec::new();
    loop {
        let request = SessionsRequest { after: names.last().cloned(), limit: None };
        let page: SessionsReply = context.backend.journal_verb("sessions", &request)?;
        if page.sessions.is_empty() {
            break;
        }
        names.extend(page.sessions);
    }
    if context.global.json {
        context.print_json(&SessionsReply { sessions: names })?;
    } else if names.is_empty() {
        println!("no session was opened in tenant {} yet", context.global.tenant);
    } else {
        names.iter().for_each(|name| println!("{name}"));
    }
    Ok(Exit::Done)
}

pub(super) fn head(context: &Context<'_>) -> Result<Exit, Failure> {
    let reply: HeadReply = context.ask_journal("head", &Empty {})?;
    if !context.global.json {
        let rows = vec![vec![
            reply.journal.clone(),
            reply.seq.to_string(),
            reply.recorded_at.clone(),
            reply.head.clone(),
        ]];
        println!("{}", table(&["journal", "seq", "recorded", "head"], &[1], rows));
        for key in &reply.keys {
            println!("checkpoints are signed with {key}");
        }
    }
    Ok(Exit::Done)
}

pub(super) fn backup(context: &Context<'_>, args: &args::Backup) -> Result<Exit, Failure> {
    let request = BackupRequest { dir: args.dir.display().to_string() };
    let reply: BackupReply = context.ask_journal("backup", &request)?;
    if !context.global.json {
        println!(
            "{}: {} rows, {}, up to seq {}",
            reply.dir,
            count(reply.rows),
            bytes(reply.bytes),
            reply.seq
        );
        println!("check it with: lacuna verify --journal {}", reply.dir);
    }
    Ok(Exit::Done)
}

pub(super) fn stats(context: &Context<'_>) -> Result<Exit, Failure> {
    let reply: StatsReply = context.ask_journal("stats", &Empty {})?;
    if context.global.json {
        return Ok(Exit::Done);
    }
    let per_commit = reply.events.checked_div(reply.commits).unwrap_or(0);
    let rows = [
        ("journal", reply.journal.clone()),
        ("release", reply.release.clone()),
        ("up", format!("{} s", count(reply.uptime_seconds))),
        ("last seq", count(reply.seq)),
        ("sessions", count(reply.sessions)),
        ("file", bytes(reply.file_bytes)),
        ("blocks of events", count(reply.blocks)),
        ("packs of payloads", count(reply.packs)),
        ("snapshots", count(reply.snapshots)),
        ("commits since start", format!("{} ({per_commit} events each)", count(reply.commits))),
        ("commands waiting", count(reply.waiting)),
        ("sessions in memory", count(reply.cached_sessions)),
        ("uploads open", count(reply.uploads)),
        ("scrub", reply.scrub.as_ref().map_or_else(|| "off".into(), scrub)),
        ("feed", reply.feed.as_ref().map_or_else(|| "none without a daemon".into(), feed)),
    ];
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    println!("{}", table(&["what", "figure"], &[], rows));
    for problem in reply.feed.iter().flat_map(|feed| &feed.problems) {
        println!("{}: {problem}", warning("feed"));
    }
    Ok(Exit::Done)
}

fn feed(feed: &FeedBody) -> String {
    let published = format!("{}, published up to seq {}", feed.state, count(feed.published_seq));
    match feed.lag_events {
        0 => published,
        events => {
            format!("{published}; {} events behind, {} ms", count(events), count(feed.lag_ms))
        }
    }
}

fn scrub(scrub: &ScrubBody) -> String {
    let place = match (&scrub.round_started, &scrub.last_round_started) {
        (Some(_), _) => format!("at seq {} of {}", count(scrub.position), count(scrub.end)),
        (None, Some(last)) => format!("complete, begun {last}"),
        (None, None) => "not begun".into(),
    };
    let (whole, damaged) = (count(scrub.verified), count(scrub.damaged));
    format!("{place}; {whole} whole, {damaged} damaged, {} no answer", count(scrub.unanswered))
}
