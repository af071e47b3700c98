//! `search`.

use anstream::println;
use lacuna_wire::session::{SearchReply, SearchRequest};

use super::{Context, rests_on};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{bytes, count, excerpt, plain, table, verdict};

pub(super) fn search(context: &Context<'_>, args: args::Search) -> Result<Exit, Failure> {
    const WIDTH: usize = 90;
    let (literal, regex) = match args.regex {
        true => (None, Some(args.pattern)),
        false => (Some(args.pattern), None),
    };
    let (among, limit) = (Some(args.among), args.limit);
    let request = SearchRequest { literal, regex, among, limit, ..SearchRequest::default() };
    let reply = all_parts(context, request)?;
    let exit = if reply.verdict == "found" { Exit::Done } else { Exit::Lost };
    if context.global.json {
        context.print_json(&reply)?;
        return Ok(exit);
    }
    if !reply.matches.is_empty() {
        let rows = reply.matches.iter().map(|found| {
            let place = found.offset.to_string();
            let words = excerpt(&found.excerpt, WIDTH);
            vec![found.handle.clone(), verdict(&found.state), place, words]
        });
        println!("{}", table(&["span", "state", "offset", ""], &[2], rows.collect()));
    }
    if reply.more {
        println!("there are more: raise --limit");
    }
    let scanned =
        format!("{} spans, {} searched", count(reply.scanned.spans), bytes(reply.scanned.bytes));
    match reply.verdict.as_str() {
        "found" => println!("{scanned}"),
        "absent" if reply.scanned.by_residue > 0 => println!(
            "absent: it is in no span that is kept here, and as whole words it was in none of {} that \
             were removed; {scanned}",
            count(reply.scanned.by_residue)
        ),
        "absent" => println!("absent: it is in no span that was ever recorded here; {scanned}"),
        _ => println!(
            "inconclusive: it was not found, but not every span can be searched; {scanned}"
        ),
    }
    let omitted = reply.unsearchable_omitted;
    if !reply.unsearchable.is_empty() {
        let rows = reply.unsearchable.iter();
        let rows = rows.map(|span| vec![span.span.clone(), plain(&span.cause)]);
        println!("{}", table(&["not searched", "why"], &[], rows.collect()));
    }
    if omitted > 0 {
        println!("and {} more spans", count(omitted));
    }
    println!("{}", rests_on(&reply.evidence, None));
    Ok(exit)
}

/// Searches until all spans are reached, or as many places are found as were asked for.
fn all_parts(context: &Context<'_>, mut request: SearchRequest) -> Result<SearchReply, Failure> {
    let session = context.session()?;
    let wanted = request.limit.unwrap_or(50);
    let mut whole: SearchReply = context.backend.session(session, "search", &request)?;
    while let Some(next) = whole.next.filter(|_| !whole.more) {
        request.from = Some(next);
        request.limit = Some(wanted.saturating_sub(whole.matches.len() as u64).max(1));
        let part: SearchReply = context.backend.session(session, "search", &request)?;
        whole.matches.extend(part.matches);
        whole.more = part.more;
        whole.scanned.spans += part.scanned.spans;
        whole.scanned.bytes += part.scanned.bytes;
        whole.scanned.by_residue += part.scanned.by_residue;
        whole.unsearchable.extend(part.unsearchable);
        whole.unsearchable_omitted += part.unsearchable_omitted;
        (whole.next, whole.not_reached) = (part.next, part.not_reached);
        whole.evidence = part.evidence;
    }
    let all = whole.unsearchable.is_empty() && whole.next.is_none();
    whole.verdict = match (whole.matches.is_empty(), all) {
        (false, _) => "found",
        (true, true) => "absent",
        (true, false) => "inconclusive",
    }
    .into();
    Ok(whole)
}
