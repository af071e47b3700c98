//! `tail`: events as they are recorded.

use lacuna_client::{Client, ClientError, EventBody, Events};
use lacuna_codec::KINDS;
use lacuna_wire::Empty;
use lacuna_wire::journal::{EventsReply, EventsRequest, HeadReply};
use lacuna_wire::session::{HistoryReply, HistoryRequest};
use tokio::runtime::Runtime;

use super::{Context, forensics};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{caution, excerpt, faint, good, heading, print, warning};

/// The widest that what an event says is shown.
const GIST: usize = 100;

pub(super) fn tail(context: &Context<'_>, args: &args::Tail) -> Result<Exit, Failure> {
    known(&args.kinds)?;
    let mut printer = Printer::new(context.global.json, &args.kinds);
    match context.backend.broker() {
        Some((runtime, client)) => follow(context, args, runtime, client, &mut printer),
        None => {
            read(context, args, &mut printer)?;
            // Nobody else can write while this process holds the journal.
            let note =
                "the journal is open here alone, so nothing is added: follow a daemon, over NATS";
            anstream::eprintln!("{}", faint(note));
            Ok(Exit::Done)
        }
    }
}

/// Refuses kinds that no event is of.
pub(super) fn known(kinds: &[String]) -> Result<(), Failure> {
    for kind in kinds {
        if !KINDS.iter().any(|known| known.name == kind) {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let known = known.join(", ");
            return Err(Failure::Usage(format!("no event is of kind {kind:?}: there are {known}")));
        }
    }
    Ok(())
}

/// Follows a daemon until Ctrl-C, or until nobody reads what is printed.
fn follow(
    context: &Context<'_>,
    args: &args::Tail,
    runtime: &Runtime,
    client: &Client,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    runtime.block_on(async {
        let end = tokio::signal::ctrl_c();
        tokio::pin!(end);
        let mut events = tokio::select! {
            events = begin(context, args, client) => events?,
            _ = &mut end => return Ok(Exit::Done),
        };
        loop {
            let next = tokio::select! {
                next = events.next() => next,
                _ = &mut end => return Ok(Exit::Done),
            };
            match next {
                Ok(event) => {
                    if !printer.print(&event)? {
                        return Ok(Exit::Done);
                    }
                }
                Err(
                    error @ (ClientError::NoDaemon
                    | ClientError::Timeout { .. }
                    | ClientError::Connect(_)),
                ) => anstream::eprintln!("{}: {error}; waiting for it", caution("lacuna")),
                Err(error) => return Err(error.into()),
            }
        }
    })
}

async fn begin(
    context: &Context<'_>,
    args: &args::Tail,
    client: &Client,
) -> Result<Events, Failure> {
    let from = match args.from {
        Some(from) => from,
        None => {
            let head: HeadReply = client.journal("head", &Empty {}).await?;
            head.seq + 1
        }
    };
    Ok(match session(context, args) {
        None => client.subscribe(from).await?,
        Some(name) => {
            let session = client.session(name);
            session.subscribe(session.version_from(from).await?).await?
        }
    })
}

/// The session that is followed; none: the whole tenant.
fn session<'a>(context: &'a Context<'_>, args: &args::Tail) -> Option<&'a str> {
    context.global.session.as_deref().filter(|_| !args.all)
}

/// Prints what a journal holds that is opened directly.
fn read(
    context: &Context<'_>,
    args: &args::Tail,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let from = args.from.unwrap_or(1);
    let session = session(context, args);
    let mut next = if session.is_some() { 1 } else { from };
    loop {
        let (events, more) = match session {
            None => {
                let request = EventsRequest { from: Some(next), ..EventsRequest::default() };
                let page: EventsReply = context.backend.journal_verb("events", &request)?;
                next = page.next;
                (page.events, page.more)
            }
            Some(session) => {
                let request =
                    HistoryRequest { from_version: Some(next), ..HistoryRequest::default() };
                let page: HistoryReply = context.backend.session(session, "history", &request)?;
                next = page.next_version;
                let more = !page.events.is_empty();
                (page.events, more)
            }
        };
        for event in events.iter().filter(|event| event.seq >= from) {
            if !printer.print(event)? {
                return Ok(());
            }
        }
        if !more {
            return Ok(());
        }
    }
}

/// Prints an event a line: columns stand below each other, and widen where they must.
pub(super) struct Printer<'a> {
    json: bool,
    kinds: &'a [String],
    widths: [usize; 6],
    headed: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(json: bool, kinds: &'a [String]) -> Self {
        Self { json, kinds, widths: [8, 24, 12, 7, 10, 16], headed: false }
    }

    /// Prints an event if it is of a kind that is wanted. Says whether somebody still reads.
    pub(super) fn print(&mut self, event: &EventBody) -> Result<bool, Failure> {
        if !self.kinds.is_empty() && !self.kinds.contains(&event.kind) {
            return Ok(true);
        }
        let mut lines = String::new();
        if self.json {
            lines =
                serde_json::to_string(event).map_err(|error| Failure::Other(error.to_string()))?;
            lines.push('\n');
        } else {
            if !std::mem::replace(&mut self.headed, true) {
                let header = ["SEQ", "AT", "SESSION", "VERSION", "BY", "EVENT"].map(str::to_owned);
                lines += &heading(self.line(&header, "", |_| String::new()).trim_end());
                lines.push('\n');
            }
            let cells = [
                event.seq.to_string(),
                event.at.clone(),
                event.session.clone(),
                event.version.to_string(),
                event.principal.clone(),
                event.kind.clone(),
            ];
            lines += self.line(&cells, &excerpt(&forensics::gist(event), GIST), paint).trim_end();
            lines.push('\n');
        }
        print(&lines)
    }

    fn line(&mut self, cells: &[String; 6], gist: &str, paint: impl Fn(&str) -> String) -> String {
        /// The columns of numbers.
        const RIGHT: [usize; 2] = [0, 3];
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = self.widths[column].max(cell.chars().count());
            self.widths[column] = width;
            let space = " ".repeat(width - cell.chars().count());
            // The kind is coloured; its space is not part of it.
            let painted = if column == 5 { paint(cell) } else { String::new() };
            let cell = if painted.is_empty() { cell } else { &painted };
            match RIGHT.contains(&column) {
                true => line += &format!("{space}{cell}  "),
                false => line += &format!("{cell}{space}  "),
            }
        }
        line + gist
    }
}

/// Colours a kind by what it means for the window; nothing where it means nothing.
fn paint(kind: &str) -> String {
    match kind {
        "lossy-committed" | "prune-rejected" | "alert-raised" => warning(kind),
        "notice-given" => caution(kind),
        "span-restored" | "prune-executed" => good(kind),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_widen() {
        let mut printer = Printer::new(false, &[]);
        let cells = |seq: &str, session: &str| {
            let at = "2026-11-30T10:33:25.312Z";
            [seq, at, session, "1", "cli", "session-opened"].map(str::to_owned)
        };
        let first = printer.line(&cells("7", "run-7"), "x", |_| String::new());
        let long = printer.line(&cells("1234567890", "a-session-of-a-long-name"), "y", paint);
        let third = printer.line(&cells("8", "run-7"), "z", paint);
        assert!(first.starts_with("       7  2026-11-30T10:33:25.312Z  run-7"), "{first}");
        assert_eq!(long.find(" y"), third.find(" z"), "{long}\n{third}");
        assert!(third.find("session-opened") > first.find("session-opened"), "{first}\n{third}");
    }
}
