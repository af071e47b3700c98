//! `salvage`: what can still be read of a damaged journal, written into a new one.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anstream::{eprintln, println};
use lacuna_core::{Adopted, Principal, SessionKey};
use lacuna_engine::{End, EngineError, Journal, Left, Options, Remains, Salvaged, VerifyOptions};
use serde_json::{Value, json};

use super::transfer;
use crate::args::{self, Global};
use crate::failure::{Exit, Failure};
use crate::output::{self, count, good, warning};

/// Where events go that the new journal could not take over, in its folder.
const LEFT: &str = "left-behind.jsonl";
/// Lies in its folder until all is taken over.
const UNFINISHED: &str = "salvage.unfinished";
/// Lines of one kind that are shown; `--json` has all.
const SHOWN: usize = 20;

pub(super) fn run(global: &Global, args: &args::Salvage) -> Result<Exit, Failure> {
    ready(&args.into)?;
    let principal = global.principal.parse();
    let principal = principal.map_err(|error| Failure::Usage(format!("--principal: {error}")))?;
    let mut bar = None;
    let remains = Remains::in_folder(&args.from, |at, of| {
        bar.get_or_insert_with(|| output::progress(of >> 20, "MiB looked through"))
            .set_position(at >> 20);
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let remains = remains?;
    let unfinished = args.into.join(UNFINISHED);
    let doing = format!("writing {}", unfinished.display());
    // As the journal makes its folder: there are contents in it.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&args.into)
        .and_then(|()| std::fs::write(&unfinished, remains.journal()))
        .map_err(Failure::io(&doing))?;
    let done = into(args, &remains, &principal);
    let (salvaged, faults, file) = done.inspect_err(|_| {
        let place = args.into.display();
        eprintln!("{}: {place} has only a part: remove it, and begin again", warning("unfinished"));
    })?;
    std::fs::remove_file(&unfinished)
        .map_err(Failure::io(format!("removing {}", unfinished.display())))?;
    let report = Report { args, remains: &remains, salvaged: &salvaged, faults: &faults, file };
    if global.json {
        println!("{}", report.json());
    } else {
        report.print();
    }
    Ok(if report.is_whole() { Exit::Done } else { Exit::Damaged })
}

/// That nothing lies in the folder for the new journal which belongs to another one.
fn ready(into: &Path) -> Result<(), Failure> {
    if into.join(UNFINISHED).exists() {
        return Err(Failure::Usage(format!(
            "{} has a part of what an earlier salvage has taken over, which did not end: remove it, or name \
             a new folder",
            into.display()
        )));
    }
    let entries = match std::fs::read_dir(into) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::io(format!("looking into {}", into.display()))(error)),
    };
    for entry in entries {
        let name = entry.map_err(Failure::io("looking into the new folder"))?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("journal.") || name == LEFT {
            let why = format!("there is a {name} in {}: name a new folder", into.display());
            return Err(Failure::Usage(why));
        }
    }
    Ok(())
}

/// Takes over what there is; gives also what is wrong with the new journal, and where the rest stands.
fn into(
    args: &args::Salvage,
    remains: &Remains,
    principal: &Principal,
) -> Result<(Salvaged, Vec<String>, Option<PathBuf>), Failure> {
    let mut options = Options::default();
    // It was taken in once.
    options.limits.span_bytes = u64::MAX;
    let journal = Journal::open(&args.into, options)?;
    let bar = output::progress(remains.sessions().len() as u64, "sessions salvaged");
    let salvaged = lacuna_engine::salvage(remains, &journal, principal, |done| {
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let salvaged = salvaged?;
    let file = leave(remains, &salvaged, &args.into)?;
    let waiting = output::spinner("verifying the new journal");
    let verified = journal.verify(&VerifyOptions::default(), |_| {});
    waiting.finish_and_clear();
    let faults: Vec<String> = verified?.faults.into_iter().map(|fault| fault.what).collect();
    journal.close()?;
    Ok((salvaged, faults, file))
}

/// Writes the events that are left behind, with their contents, as `export` writes them.
fn leave(remains: &Remains, salvaged: &Salvaged, into: &Path) -> Result<Option<PathBuf>, Failure> {
    if salvaged.left.is_empty() {
        return Ok(None);
    }
    let path = into.join(LEFT);
    let doing = format!("writing {}", path.display());
    // There are contents in it.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut out = BufWriter::new(file.map_err(Failure::io(&doing))?);
    for left in &salvaged.left {
        let key = named(left);
        let mut failed = None;
        remains.events::<EngineError>(left.number, |found| {
            let known = found.recorded.version <= left.version && found.follows;
            // Of a fork only its own: the rest is its parent's.
            if known || found.recorded.session != left.number || failed.is_some() {
                return Ok(());
            }
            let content = remains.content(&found.recorded)?;
            let line = Adopted::new(found.recorded, found.stored, content)
                .map_err(|error| std::io::Error::other(error.to_string()))
                .and_then(|adopted| {
                    writeln!(out, "{}", transfer::left(remains.journal(), &key, &adopted))
                });
            failed = line.err();
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(Failure::io(&doing)(error));
        }
    }
    let file = out.into_inner().map_err(|error| Failure::io(&doing)(error.into_error()))?;
    file.sync_all().map_err(Failure::io(&doing))?;
    Ok(Some(path))
}

/// The session's name, or one that tells its number.
fn named(left: &Left) -> SessionKey {
    left.key.clone().unwrap_or_else(|| SessionKey {
        tenant: "unknown".parse().expect("it is a name"),
        session: format!("unknown-{}", left.number.0).parse().expect("it is a name"),
    })
}

struct Report<'a> {
    args: &'a args::Salvage,
    remains: &'a Remains,
    salvaged: &'a Salvaged,
    /// What is wrong with the new journal: nothing, unless this program is.
    faults: &'a [String],
    file: Option<PathBuf>,
}

impl Report<'_> {
    fn is_whole(&self) -> bool {
        let Salvaged { lost, left, .. } = self.salvaged;
        self.remains.end() == End::Known
            && lost.is_empty()
            && left.is_empty()
            && self.remains.gaps().is_empty()
            && self.faults.is_empty()
    }

    fn json(&self) -> Value {
        let Salvaged { sessions, events, contents, lost, left, forks } = self.salvaged;
        json!({
            "journal": self.remains.journal(),
            "into": self.args.into,
            "last_seq": self.remains.last(),
            "sessions": sessions,
            "events": events,
            "contents": contents,
            "forks": forks,
            "end": match self.remains.end() {
                End::Known => "known",
                End::LogMissing => "log_missing",
                End::Unknown => "unknown",
            },
            "missing_events": self.remains.gaps().iter().map(|(from, to)| json!({
                "from": from, "to": to,
            })).collect::<Vec<_>>(),
            "lost_contents": lost.iter().map(|(key, span)| json!({
                "tenant": key.tenant.as_str(), "session": key.session.as_str(), "span": span.as_str(),
            })).collect::<Vec<_>>(),
            "left_behind": left.iter().map(|left| json!({
                "tenant": named(left).tenant.as_str(),
                "session": named(left).session.as_str(),
                "saved_version": left.version,
                "events": left.events,
                "why": left.why,
            })).collect::<Vec<_>>(),
            "left_behind_file": self.file,
            "faults": self.faults,
        })
    }

    fn print(&self) {
        let Salvaged { sessions, events, contents, lost, left, forks } = self.salvaged;
        println!(
            "salvaged {} sessions with {} events and {} contents of journal {}, into {}",
            count(*sessions as u64),
            count(*events),
            count(*contents),
            self.remains.journal(),
            self.args.into.display(),
        );
        let gaps = self.remains.gaps().iter().map(|(from, to)| match from == to {
            true => format!("event {from} was not found"),
            false => format!("events {from} to {to} were not found"),
        });
        some(gaps);
        let last = count(self.remains.last());
        some(match self.remains.end() {
            End::Known => None,
            End::LogMissing => Some(format!(
                "the log that the database needs is missing, or not whole: what was acknowledged behind event \
                 {last} stood in it"
            )),
            End::Unknown => Some(format!(
                "the database cannot be asked: nobody can tell whether there was anything behind event {last}"
            )),
        }
        .into_iter());
        some(lost.iter().map(|(key, span)| {
            format!("{key}: the content of {span} is lost, as the session's last events say now")
        }));
        some(left.iter().map(|left| {
            let (key, events) = (named(left), count(left.events));
            format!("{key}: {events} events behind version {} are left: {}", left.version, left.why)
        }));
        some(self.faults.iter().map(|fault| format!("the new journal: {fault}")));
        if let Some(file) = &self.file {
            println!("what is left, contents with it, stands in {}", file.display());
        }
        if self.is_whole() {
            println!(
                "{}: nothing is missing up to event {}",
                good("ok"),
                count(self.remains.last())
            );
        }
        if *forks > 0 {
            println!(
                "{} forks are sessions of their own now: erase what they share with their parents in each",
                count(*forks as u64)
            );
        }
        println!("look at it with: lacuna sessions --journal {}", self.args.into.display());
    }
}

fn some(lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    for line in lines.iter().take(SHOWN) {
        println!("{} {}", warning("not saved"), output::plain(line));
    }
    if lines.len() > SHOWN {
        println!(
            "{} and {} more: see --json",
            warning("not saved"),
            count((lines.len() - SHOWN) as u64)
        );
    }
}
