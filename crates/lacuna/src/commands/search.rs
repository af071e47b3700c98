//! `search`.

use anstream::println;
use lacuna_wire::session::{SearchReply, SearchRequest};

use super::Context;
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
    let reply: SearchReply = context.ask("search", &request)?;
    let exit = if reply.verdict == "found" { Exit::Done } else { Exit::Lost };
    if context.global.json {
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
    Ok(exit)
}
