//! `import` of what `export` has written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anstream::println;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::event::{SessionForked, SessionOpened, SpanRecorded, SummaryRecorded};
use lacuna_core::{Adopted, Cause, Event, SessionKey, SpanId, Storage};
use lacuna_wire::Code;
use lacuna_wire::journal::{AdoptReply, AdoptRequest, AdoptedBody};
use lacuna_wire::session::{EventLine, ExportReply, ExportRequest};
use serde_json::{Value, json};

use super::{FORMAT, Header, VERSION, event, line, payload};
use crate::args::{Global, Import};
use crate::backend::Backend;
use crate::failure::{Exit, Failure};
use crate::output::{self, count};

/// Events sent in one request.
const BATCH: usize = 500;
/// The longest line that is read: the largest content that is ever stored, escaped.
const LONGEST: u64 = 8 << 30;

/// Whether a file is an export of events.
pub(in crate::commands) fn is_export(path: &Path) -> bool {
    let mut begin = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut begin));
    let begin = String::from_utf8_lossy(&begin[..read.unwrap_or(0)]).replace(' ', "");
    begin.starts_with(&format!("{{\"format\":\"{FORMAT}\""))
}

/// Checks the whole file, then records it.
pub(in crate::commands) fn import(global: &Global, args: &Import) -> Result<Exit, Failure> {
    if args.files.len() > 1 && global.session.is_some() {
        return Err(Failure::Usage("--session names one session: give one file".into()));
    }
    let mut checked = Vec::new();
    for path in &args.files {
        if !is_export(path) {
            let why = format!("{} is no export of events: import it by itself", path.display());
            return Err(Failure::Usage(why));
        }
        checked.push((path, check(path)?));
    }
    let mut reports = Vec::new();
    let backend = match (&global.journal, args.dry_run) {
        (_, true) => None,
        (Some(folder), _) => Some(Backend::journal(folder, true, global)?),
        (None, _) => Some(Backend::nats(global)?),
    };
    for (path, header) in checked {
        let name = global.session.as_deref().unwrap_or(&header.session).to_owned();
        let new = match &backend {
            None => 0,
            Some(backend) => record(backend, path, &header, &name)?,
        };
        reports.push(json!({
            "session": name,
            "format": FORMAT,
            "journal": header.journal,
            "events": header.events,
            "recorded": new,
        }));
    }
    if let Some(backend) = backend {
        backend.close()?;
    }
    if global.json {
        println!("{}", json!({ "sessions": reports, "dry_run": args.dry_run }));
        return Ok(Exit::Done);
    }
    for report in &reports {
        let figure = |name: &str| count(report[name].as_u64().unwrap_or(0));
        let name = report["session"].as_str().unwrap_or_default();
        println!(
            "{name}: {} events of journal {}, each as it was recorded there; {} recorded here",
            figure("events"),
            report["journal"].as_str().unwrap_or_default(),
            figure("recorded")
        );
        if !args.dry_run {
            println!("look at it with: lacuna history -s {name}");
        }
    }
    if args.dry_run {
        println!("nothing was recorded: this was a dry run");
    }
    Ok(Exit::Done)
}

/// The lines of a file with their numbers.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<File>,
    number: u64,
    /// The version of the event that tells that the content of the last line is gone.
    gone: Option<u64>,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<(Self, Header), Failure> {
        let file = File::open(path).map_err(Failure::io(format!("reading {}", path.display())))?;
        let mut lines = Self { path, reader: BufReader::new(file), number: 0, gone: None };
        let first = lines.next()?.ok_or_else(|| lines.wrong("it is missing"))?;
        let header: Header =
            serde_json::from_str(&first).map_err(|error| lines.wrong(&error.to_string()))?;
        if header.format != FORMAT {
            return Err(lines.wrong("it is no export of events"));
        }
        if header.version > VERSION {
            let (found, known) = (header.version, VERSION);
            let why = format!(
                "its format is {found}, and this release reads up to {known}: use a newer one"
            );
            return Err(lines.wrong(&why));
        }
        Ok((lines, header))
    }

    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let doing = || format!("reading {}", self.path.display());
        let read = (&mut self.reader).take(LONGEST).read_line(&mut line);
        self.number += 1;
        Ok((read.map_err(Failure::io(doing()))? > 0).then_some(line))
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::Other(format!("{}, line {}: {why}", self.path.display(), self.number))
    }

    /// The next event, compared with itself: what can be read in the line is what its bytes say.
    fn event(&mut self, header: &Header, key: &SessionKey) -> Result<Option<Adopted>, Failure> {
        let Some(text) = self.next()? else { return Ok(None) };
        let read: EventLine =
            serde_json::from_str(&text).map_err(|error| self.wrong(&error.to_string()))?;
        self.gone = read.gone.as_ref().map(|gone| gone.version);
        let given = payload(&read).map_err(|why| self.wrong(&why))?;
        let adopted = event(&read.stored, given).map_err(|why| self.wrong(&why))?;
        let said = json!(line(header, key, &adopted, read.gone.clone()));
        let found: Value =
            serde_json::from_str(&text).map_err(|error| self.wrong(&error.to_string()))?;
        for (name, value) in said.as_object().into_iter().flatten() {
            // A line of another release may say more, or less.
            if let Some(other) = found.get(name).filter(|other| *other != value) {
                let short = |value: &Value| output::excerpt(&value.to_string(), 60);
                let (other, value) = (short(other), short(value));
                return Err(
                    self.wrong(&format!("{name} is {other}, and its stored form says {value}"))
                );
            }
        }
        Ok(Some(adopted))
    }
}

/// Reads the whole file: every event follows the one before it, every content is what its event committed
/// to, and what is missing is accounted for.
fn check(path: &Path) -> Result<Header, Failure> {
    let (mut lines, header) = Lines::open(path)?;
    let key = header.key().map_err(|why| lines.wrong(&why))?;
    let bar = output::progress(header.events, "checking");
    let (mut events, mut session, mut head) = (0, None, lacuna_core::Digest::default());
    let mut opens = None;
    let mut missing: BTreeMap<SpanId, u64> = BTreeMap::new();
    let mut brought: BTreeSet<SpanId> = BTreeSet::new();
    while let Some(adopted) = lines.event(&header, &key)? {
        let recorded = adopted.recorded();
        events += 1;
        if recorded.version != events {
            let found = recorded.version;
            return Err(lines.wrong(&format!("event {found} stands where event {events} should")));
        }
        if let Event::SessionForked(fork) = &recorded.event
            && Some(fork.parent_number) == session
        {
            // What it shares with its parent was recorded there.
            session = Some(recorded.session);
        }
        if recorded.previous != head || *session.get_or_insert(recorded.session) != recorded.session
        {
            let why = "it does not follow the line before it: a line was changed, or taken out";
            return Err(lines.wrong(why));
        }
        if let Event::SpanRecorded(SpanRecorded { span, .. })
        | Event::SummaryRecorded(SummaryRecorded { span, .. }) = &recorded.event
            && adopted.payload().is_some()
        {
            brought.insert(span.clone());
        }
        match &recorded.event {
            Event::SessionOpened(SessionOpened { key, .. })
            | Event::SessionForked(SessionForked { key, .. }) => opens = Some(key.clone()),
            Event::SpanRecorded(e)
                if e.storage == Storage::Journal && adopted.payload().is_none() =>
            {
                missing.insert(e.span.clone(), lines.number);
            }
            Event::SummaryRecorded(e) if adopted.payload().is_none() => {
                missing.insert(e.span.clone(), lines.number);
            }
            Event::LossyCommitted(e)
                if !matches!(e.cause, Cause::Directive { .. })
                    && e.spans.iter().any(|lost| brought.contains(&lost.span)) =>
            {
                let why = "a content is in the file that is gone by this event: a line was changed";
                return Err(lines.wrong(why));
            }
            Event::LossyCommitted(e) => {
                missing.retain(|span, _| e.spans.iter().all(|lost| lost.span != *span));
            }
            _ => {}
        }
        head = recorded.hash;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some((span, line)) = missing.first_key_value() {
        lines.number = *line;
        return Err(lines.wrong(&format!(
            "the content of {span} is missing, and no event says that it is lost"
        )));
    }
    if let Some(other) = opens.filter(|opens| *opens != key) {
        lines.number = 1;
        return Err(lines.wrong(&format!("it is of {key}, and the events are of {other}")));
    }
    if (events, head.to_string()) != (header.events, header.head.clone()) {
        let why = format!(
            "the file ends after {events} events, and its first line says {}",
            header.events
        );
        return Err(lines.wrong(&why));
    }
    Ok(header)
}

/// Records the events that the session does not hold yet; says how many there were.
fn record(backend: &Backend, path: &Path, header: &Header, name: &str) -> Result<u64, Failure> {
    let there = held(backend, header, name)?;
    let (mut lines, _) = Lines::open(path)?;
    let key = header.key().map_err(|why| lines.wrong(&why))?;
    let bar = output::progress(header.events - there, "importing");
    let room = backend.room();
    let (mut batch, mut size, mut new) = (Vec::new(), 0, 0);
    let mut send = |batch: &mut Vec<AdoptedBody>| -> Result<(), Failure> {
        let sent = batch.len() as u64;
        let request = AdoptRequest {
            session: name.to_owned(),
            journal: header.journal.clone(),
            events: std::mem::take(batch),
            ..AdoptRequest::default()
        };
        let reply: AdoptReply = backend.journal_verb("adopt", &request)?;
        new += reply.adopted;
        bar.inc(sent);
        Ok(())
    };
    while let Some(adopted) = lines.event(header, &key)? {
        let version = adopted.recorded().version;
        // The last one that is there comes again: the journal compares it.
        if version < there {
            continue;
        }
        let mut body = AdoptedBody {
            stored: BASE64_STANDARD.encode(adopted.stored()),
            ..AdoptedBody::default()
        };
        if adopted.lacks_content() {
            // The file was gone through before: one of its events tells so.
            body.gone = lines.gone.or(Some(header.events));
        }
        if let Some(payload) = adopted.payload() {
            match backend.upload(name, payload, room / 4)? {
                Some(upload) => body.upload = Some(upload),
                None => body.payload_b64 = Some(BASE64_STANDARD.encode(payload)),
            }
        }
        let weight = body.stored.len() + body.payload_b64.as_ref().map_or(0, String::len) + 64;
        if !batch.is_empty() && (size + weight > room / 2 || batch.len() >= BATCH) {
            send(&mut batch)?;
            size = 0;
        }
        size += weight;
        batch.push(body);
        // Contents are uploaded into a session that is there.
        if version == 1 {
            send(&mut batch)?;
            size = 0;
        }
    }
    if !batch.is_empty() {
        send(&mut batch)?;
    }
    bar.finish_and_clear();
    Ok(new)
}

/// How many of the events the session holds already.
fn held(backend: &Backend, header: &Header, name: &str) -> Result<u64, Failure> {
    let request = ExportRequest { limit: Some(1), ..ExportRequest::default() };
    let taken = |why: &str| {
        Failure::Other(format!("session {name} {why}: import under another name with --session"))
    };
    match backend.session::<ExportReply>(name, "export", &request) {
        Ok(found) if found.journal != header.journal => Err(taken("is there, and is another one")),
        Ok(found) if (&found.tenant, &found.session) != (&header.tenant, &header.session) => {
            Err(taken("is there, and holds another session of that journal"))
        }
        Ok(found) if found.version > header.events => Err(taken("holds more than the file")),
        Ok(found) if found.version == header.events && found.head != header.head => {
            Err(taken("holds other events"))
        }
        Ok(found) => Ok(found.version),
        Err(Failure::Wire(error)) if error.code == Code::UnknownSession => Ok(0),
        Err(other) => Err(other),
    }
}
