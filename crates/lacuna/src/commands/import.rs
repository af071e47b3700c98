//! `import`.

use std::path::{Path, PathBuf};

use anstream::println;
use lacuna_core::SpanId;
use lacuna_transcript::{Format, Session, SourceFile, Step, detect, import};
use lacuna_wire::Code;
use lacuna_wire::session::{
    AppendRequest, OpenReply, OpenRequest, PruneReplyBody, PruneRequest, SpanBody, SummarizeReply,
    SummarizeRequest,
};
use serde::Serialize;

use super::transfer;
use crate::args::{Global, Import};
use crate::backend::Backend;
use crate::failure::{Exit, Failure};
use crate::output::{self, count, faint, table};

/// Bytes of contents in one append. Larger batches only wait longer.
const BATCH_BYTES: u64 = 512 << 10;
/// Spans in one append: under the default limit.
const BATCH_SPANS: usize = 200;

pub(super) fn run(global: &Global, args: &Import) -> Result<Exit, Failure> {
    if args.files.iter().any(|path| transfer::is_export(path)) {
        return transfer::import(global, args);
    }
    let mut sessions = Vec::new();
    for path in &args.files {
        sessions.extend(read(path, &args.format)?);
    }
    if let Some(name) = &global.session {
        let [session] = sessions.as_mut_slice() else {
            return Err(Failure::Usage(format!(
                "--session names one session, but there are {} in these files",
                sessions.len()
            )));
        };
        session.name = name.parse().map_err(|error| Failure::Usage(format!("{error}")))?;
    }
    if args.dry_run {
        return report(global, &sessions, true);
    }
    let backend = match &global.journal {
        Some(folder) => Backend::journal(folder, true, global)?,
        None => Backend::nats(global)?,
    };
    let spans = sessions.iter().map(|session| session.report.spans).sum();
    let bar = output::progress(spans, "importing");
    for session in &sessions {
        record(&backend, session, args.window_tokens, &mut |spans| bar.inc(spans))?;
    }
    bar.finish_and_clear();
    backend.close()?;
    report(global, &sessions, false)
}

/// Reads a file, or a folder of files that belong together.
pub(super) fn read(path: &Path, format: &str) -> Result<Vec<Session>, Failure> {
    let mut files = Vec::new();
    if path.is_dir() {
        collect(path, path, &mut files)?;
    } else {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        files.push(SourceFile { name, bytes: read_file(path)? });
    }
    let format = match format {
        "auto" => {
            let found = files.iter().find_map(|file| detect(&file.name, &file.bytes));
            found.ok_or_else(|| {
                let known: Vec<&str> = Format::ALL.iter().map(|format| format.word()).collect();
                Failure::Usage(format!(
                    "{} is in no format that is recognised: say which with --format ({})",
                    path.display(),
                    known.join(", ")
                ))
            })?
        }
        word => word.parse().map_err(|error| Failure::Usage(format!("{error}")))?,
    };
    import(format, &files).map_err(|error| Failure::Other(format!("{}: {error}", path.display())))
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), Failure> {
    let doing = || format!("reading {}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(Failure::io(doing()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(Failure::io(doing()))?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|ext| ext == "json" || ext == "jsonl") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push(SourceFile { name, bytes: read_file(&path)? });
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(Failure::io(format!("reading {}", path.display())))
}

/// Carries a session's steps out. Command ids follow from what is asked and span ids from the
/// source, so an import that broke off goes on where it stopped, and a transcript that has grown
/// adds only what is new.
pub(super) fn record(
    backend: &Backend,
    session: &Session,
    window_tokens: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    let name = session.name.as_str();
    let open = OpenRequest {
        window_tokens,
        // The transcript's agent wrote its summaries under no contract of ours.
        contract: Some("record".into()),
        labels: [("format".to_owned(), session.report.format.word().to_owned())].into(),
        ..OpenRequest::default()
    };
    let _: OpenReply = backend.session(name, "open", &open)?;
    for step in &session.steps {
        match step {
            Step::Append(spans) => {
                for batch in batches(spans) {
                    // Spans of these ids are recorded once, however often they are sent.
                    let request = AppendRequest {
                        spans: batch.iter().map(SpanBody::from_span).collect(),
                        ..AppendRequest::default()
                    };
                    backend.append(name, request).map_err(|error| conflict(error, name))?;
                    progress(batch.len() as u64);
                }
            }
            Step::Summarize { id: summary, covers, text, .. } => {
                let request = SummarizeRequest {
                    id: Some(summary.to_string()),
                    covers: covers.iter().map(ToString::to_string).collect(),
                    text: text.clone(),
                    ..SummarizeRequest::default()
                };
                let _: SummarizeReply = backend.session(name, "summarize", &request)?;
                progress(1);
            }
            Step::Prune { spans, replace_with, reason } => {
                let request = PruneRequest {
                    spans: spans.iter().map(ToString::to_string).collect(),
                    replace_with: replace_with.as_ref().map(ToString::to_string),
                    reason: Some(reason.clone()),
                    command_id: Some(prune_id(spans, replace_with.as_ref())),
                    ..PruneRequest::default()
                };
                prune(backend, name, &request)?;
            }
        }
    }
    Ok(())
}

/// The transcript's agent has pruned these; where the gate would not have let it, the spans stay in
/// the window and the rejection is on record.
fn prune(backend: &Backend, session: &str, request: &PruneRequest) -> Result<(), Failure> {
    let reply: PruneReplyBody = backend.session(session, "prune", request)?;
    if reply.status == "rejected" {
        let advice = reply.advice.unwrap_or_default();
        anstream::eprintln!(
            "{} {session}: the transcript pruned what the gate would keep: {advice}",
            output::warning("note")
        );
    }
    Ok(())
}

/// A conflict means that the session holds another transcript of the same name.
fn conflict(error: Failure, session: &str) -> Failure {
    match error {
        Failure::Wire(error) if error.code == Code::SpanConflict => Failure::Other(format!(
            "session {session} holds another transcript with the same ids ({}): import this one \
             under another name with --session",
            error.message
        )),
        other => other,
    }
}

/// The same prune of the same transcript has the same id.
fn prune_id(spans: &[SpanId], replace_with: Option<&SpanId>) -> String {
    let mut hasher = blake3::Hasher::new();
    for span in spans.iter().chain(replace_with) {
        hasher.update(span.as_str().as_bytes()).update(b" ");
    }
    format!("import-{}", &hasher.finalize().to_hex()[..32])
}

fn batches(spans: &[lacuna_core::NewSpan]) -> Vec<&[lacuna_core::NewSpan]> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (index, span) in spans.iter().enumerate() {
        let full = bytes + span.bytes() > BATCH_BYTES || index - start >= BATCH_SPANS;
        if full && index > start {
            batches.push(&spans[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += span.bytes();
    }
    if start < spans.len() {
        batches.push(&spans[start..]);
    }
    batches
}

fn report(global: &Global, sessions: &[Session], dry_run: bool) -> Result<Exit, Failure> {
    if global.json {
        #[derive(Serialize)]
        struct Line<'a> {
            session: &'a str,
            #[serde(flatten)]
            report: &'a lacuna_transcript::Report,
        }
        let lines: Vec<Line<'_>> = sessions
            .iter()
            .map(|session| Line { session: session.name.as_str(), report: &session.report })
            .collect();
        let value = serde_json::json!({ "sessions": lines, "dry_run": dry_run });
        println!("{value}");
        return Ok(Exit::Done);
    }
    let rows = sessions.iter().map(|session| {
        let report = &session.report;
        vec![
            session.name.to_string(),
            report.format.word().to_owned(),
            count(report.records),
            count(report.spans),
            count(report.in_window),
            count(report.raw.values().sum()),
            count(report.summaries),
            output::bytes(report.bytes),
        ]
    });
    let header =
        ["session", "format", "records", "spans", "in window", "raw", "summaries", "content"];
    println!("{}", table(&header, &[2, 3, 4, 5, 6, 7], rows.collect()));
    for session in sessions {
        let raw = &session.report.raw;
        if !raw.is_empty() {
            let kinds: Vec<String> =
                raw.iter().map(|(kind, n)| format!("{} {n}", output::plain(kind))).collect();
            println!("{}", faint(&format!("{}: kept raw: {}", session.name, kinds.join(", "))));
        }
        for note in &session.report.notes {
            println!("{}", faint(&format!("{}: {}", session.name, output::plain(note))));
        }
    }
    match (dry_run, sessions.first()) {
        (true, _) => println!("nothing was recorded: this was a dry run"),
        (false, Some(first)) => println!("look at it with: lacuna window -s {}", first.name),
        (false, None) => {}
    }
    Ok(Exit::Done)
}
