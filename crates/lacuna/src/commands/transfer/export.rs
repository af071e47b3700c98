//! `export`.

use std::io::{BufWriter, Seek as _, Write};
use std::path::Path;

use anstream::println;
use lacuna_core::SessionKey;
use lacuna_wire::session::{EventLine, ExportReply, ExportRequest, WindowRequest};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::super::Context;
use super::{FORMAT, Header, VERSION, base64, event, line, payload};
use crate::args::{self, ExportFormat};
use crate::failure::{Exit, Failure};
use crate::output::{self, bytes, count};

/// How often an export begins anew because the session went on meanwhile.
const ATTEMPTS: usize = 5;

pub(in crate::commands) fn export(
    context: &Context<'_>,
    args: &args::Export,
) -> Result<Exit, Failure> {
    let out = args.out.as_deref();
    // Beside its place, so that what stands there is replaced at once or not at all.
    let folder = out.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let temporary = match (out, folder) {
        (None, _) => NamedTempFile::new(),
        (Some(_), folder) => NamedTempFile::new_in(folder.unwrap_or(Path::new("."))),
    };
    let mut file = temporary.map_err(Failure::io("making a file for the export"))?;
    let what = match args.format {
        ExportFormat::Jsonl => events(context, args, &mut file)?,
        ExportFormat::OpenaiChat => request(context, args, "openai", &mut file)?,
        ExportFormat::Anthropic => request(context, args, "anthropic", &mut file)?,
    };
    let size = file.as_file().metadata().map_err(Failure::io("looking at the export"))?.len();
    let Some(out) = out else {
        file.rewind().map_err(Failure::io("reading the export"))?;
        let copied = std::io::copy(file.as_file_mut(), &mut std::io::stdout().lock());
        copied.map_err(Failure::io("writing the export"))?;
        return Ok(Exit::Done);
    };
    let doing = || format!("writing {}", out.display());
    file.as_file().sync_all().map_err(Failure::io(doing()))?;
    file.persist(out).map_err(|error| Failure::Io { doing: doing(), source: error.error })?;
    if context.global.json {
        println!("{}", json!({ "file": out, "bytes": size }));
    } else {
        println!("{what}, {}, in {}", bytes(size), out.display());
    }
    Ok(Exit::Done)
}

/// The request that a provider would get at a moment.
fn request(
    context: &Context<'_>,
    args: &args::Export,
    render: &str,
    file: &mut NamedTempFile,
) -> Result<String, Failure> {
    let request = WindowRequest {
        at: args.at.as_ref().map(|at| at.0.clone()),
        render: Some(render.to_owned()),
        content: Some(true),
        ..WindowRequest::default()
    };
    let reply = context.backend.window(context.session()?, &request)?;
    let messages = reply.messages.unwrap_or_default();
    let count = messages.len();
    let mut body = json!({ "messages": messages });
    if let Some(system) = reply.system.filter(|system| !system.is_empty()) {
        body["system"] = Value::Array(system);
    }
    if render == "anthropic" {
        // Without it that provider takes no request.
        body["max_tokens"] = args.max_tokens.unwrap_or(4_096).into();
    } else if let Some(most) = args.max_tokens {
        body["max_tokens"] = most.into();
    }
    if let Some(model) = &args.model {
        body["model"] = model.as_str().into();
    }
    writeln!(file, "{body:#}").map_err(Failure::io("writing the export"))?;
    Ok(format!("{count} messages at version {}", reply.version))
}

/// Every event of the session, as a journal can take it over.
fn events(
    context: &Context<'_>,
    args: &args::Export,
    file: &mut NamedTempFile,
) -> Result<String, Failure> {
    if args.at.is_some() || args.model.is_some() || args.max_tokens.is_some() {
        let why = "events are exported as a whole: --at, --model and --max-tokens go with requests";
        return Err(Failure::Usage(why.into()));
    }
    for _ in 0..ATTEMPTS {
        file.rewind().map_err(Failure::io("writing the export"))?;
        file.as_file().set_len(0).map_err(Failure::io("writing the export"))?;
        if let Some(events) = attempt(context, file)? {
            return Ok(format!("{} events", count(events)));
        }
    }
    Err(Failure::Other("the session goes on all the time: try again when it rests".into()))
}

/// Writes the file; none if the session went on meanwhile.
fn attempt(context: &Context<'_>, file: &mut NamedTempFile) -> Result<Option<u64>, Failure> {
    let session = context.session()?;
    let ask = |from: u64| -> Result<ExportReply, Failure> {
        let request = ExportRequest { from_version: Some(from), ..ExportRequest::default() };
        context.backend.session(session, "export", &request)
    };
    let mut page = ask(1)?;
    let header = Header {
        format: FORMAT.into(),
        version: VERSION,
        journal: page.journal.clone(),
        tenant: page.tenant.clone(),
        session: page.session.clone(),
        events: page.version,
        head: page.head.clone(),
    };
    let key = header.key().map_err(Failure::Other)?;
    let mut out = BufWriter::new(file);
    print(&mut out, &header)?;
    let bar = output::progress(header.events, "exporting");
    let mut next = 1;
    loop {
        for found in &page.events {
            if found.event.version != next {
                return Ok(None);
            }
            print(&mut out, &whole(context, session, &header, &key, found)?)?;
            next += 1;
            bar.inc(1);
        }
        if next > header.events {
            break;
        }
        if page.events.is_empty() {
            return Ok(None);
        }
        page = ask(next)?;
        if (page.version, &page.head) != (header.events, &header.head) {
            return Ok(None);
        }
    }
    bar.finish_and_clear();
    out.flush().map_err(Failure::io("writing the export"))?;
    Ok(Some(header.events))
}

/// The line of an event, with its payload however large it is.
fn whole(
    context: &Context<'_>,
    session: &str,
    header: &Header,
    key: &SessionKey,
    found: &EventLine,
) -> Result<EventLine, Failure> {
    let version = found.event.version;
    let broken = |why: String| Failure::Other(format!("event {version} came out wrong: {why}"));
    let payload = match found.payload_bytes {
        None => payload(found).map_err(broken)?,
        Some(_) => Some(in_parts(context, session, version)?),
    };
    let adopted = event(&found.stored, payload).map_err(broken)?;
    Ok(line(header, key, &adopted, found.gone.clone()))
}

fn in_parts(context: &Context<'_>, session: &str, version: u64) -> Result<Vec<u8>, Failure> {
    let mut payload = Vec::new();
    loop {
        let request = ExportRequest {
            payload_of: Some(version),
            offset: Some(payload.len() as u64),
            ..ExportRequest::default()
        };
        let part: ExportReply = context.backend.session(session, "export", &request)?;
        let more = base64("payload_b64", &part.payload_b64.unwrap_or_default());
        let more = more.map_err(Failure::Other)?;
        payload.extend_from_slice(&more);
        if payload.len() as u64 >= part.total_bytes.unwrap_or(0) {
            return Ok(payload);
        }
        if more.is_empty() {
            return Err(Failure::Other(format!("the content of event {version} ended early")));
        }
    }
}

fn print(out: &mut impl Write, line: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(line).map_err(|error| Failure::Other(error.to_string()))?;
    writeln!(out, "{text}").map_err(Failure::io("writing the export"))
}
