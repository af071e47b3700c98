//! `verify` and `checkpoint`.

use std::io::Write as _;
use std::path::Path;

use anstream::println;
use lacuna_engine::NoteVerifier;
use lacuna_wire::Empty;
use lacuna_wire::journal::{
    CheckpointBody, CheckpointReply, HeadReply, VerifyReply, VerifyRequest,
};

use super::{Context, read_input};
use crate::args::{self, Global};
use crate::failure::{Exit, Failure};
use crate::output::{self, bytes, caution, count, faint, good, warning};

/// The largest file of checkpoints that is taken: it must fit into one request.
const LARGEST: usize = 512 << 10;

pub(super) fn verify(context: &Context<'_>, args: &args::Verify) -> Result<Exit, Failure> {
    let head: HeadReply = context.backend.journal_verb("head", &Empty {})?;
    let checkpoint = args.checkpoint.as_deref().map(notes).transpose()?;
    let keys = keys(&args.keys)?;
    let request = VerifyRequest { from: args.from, to: args.to, checkpoint, keys };
    let waiting = output::spinner(&format!("verifying a journal of {} events", count(head.seq)));
    let reply: VerifyReply = context.backend.journal_verb("verify", &request)?;
    waiting.finish_and_clear();
    if context.global.json {
        context.print_json(&reply)?;
    } else {
        let checked = &reply.checked;
        println!(
            "checked {} events in {} blocks, {} payloads ({}), {} snapshots against their fold",
            count(checked.events),
            count(checked.blocks),
            count(checked.payloads),
            bytes(checked.payload_bytes),
            count(checked.snapshots),
        );
        show(&reply);
        if reply.faults.is_empty() {
            println!("{}: chain, digests, payloads and projections fit together", good("ok"));
        }
    }
    Ok(if reply.ok { Exit::Done } else { Exit::Damaged })
}

/// Judges a copy of a journal's file; needs no daemon and no journal.
pub(super) fn verify_copy(
    global: &Global,
    copy: &Path,
    args: &args::Verify,
) -> Result<Exit, Failure> {
    let checkpoint = args.checkpoint.as_deref().map(notes).transpose()?.unwrap_or_default();
    let waiting = output::spinner(&format!("reading {}", copy.display()));
    let reply = lacuna_verbs::verify_copy(copy, &checkpoint, &keys(&args.keys)?)?;
    waiting.finish_and_clear();
    if global.json {
        println!("{}", serde_json::json!(reply));
    } else {
        let (events, blocks) = (count(reply.checked.events), count(reply.checked.blocks));
        println!("checked the chain of {events} events in {blocks} blocks; contents were not read");
        show(&reply);
    }
    Ok(if reply.ok { Exit::Done } else { Exit::Damaged })
}

fn show(reply: &VerifyReply) {
    for fault in &reply.faults {
        let seq = fault.seq.map(|seq| format!("seq {seq}: ")).unwrap_or_default();
        println!("{} {seq}{}", warning("fault"), fault.what);
    }
    for checkpoint in &reply.checkpoints {
        println!("{}", line(checkpoint));
    }
    if reply.checkpoints.iter().any(|checkpoint| !checkpoint.key_given && checkpoint.key.is_some())
    {
        let hint = "the keys lie beside the journal: whoever can write there could have signed anew. \
                    Keep the key that `lacuna head` shows elsewhere, and give it with --key";
        println!("{}", faint(hint));
    }
}

fn line(checkpoint: &CheckpointBody) -> String {
    let verdict = match checkpoint.verdict.as_str() {
        "extends" => good("extends"),
        word @ "key_unknown" => caution(word),
        word => warning(word),
    };
    let place = match (checkpoint.seq, &checkpoint.at) {
        (Some(seq), Some(at)) => format!("checkpoint at seq {}, {at}", count(seq)),
        _ => "checkpoint".into(),
    };
    format!("{place}: {verdict}: {}", output::plain(&checkpoint.message))
}

pub(super) fn checkpoint(context: &Context<'_>, args: &args::Checkpoint) -> Result<Exit, Failure> {
    let reply: CheckpointReply = context.ask_journal("checkpoint", &Empty {})?;
    let Some(out) = &args.out else {
        if !context.global.json {
            println!("{}", reply.note.trim_end());
        }
        return Ok(Exit::Done);
    };
    let doing = || Failure::io(format!("writing {}", out.display()));
    let mut file =
        std::fs::OpenOptions::new().append(true).create(true).open(out).map_err(doing())?;
    let behind = file.metadata().map_err(doing())?.len() > 0;
    let between = if behind { "\n" } else { "" };
    file.write_all(format!("{between}{}", reply.note).as_bytes()).map_err(doing())?;
    file.sync_all().map_err(doing())?;
    if !context.global.json {
        let (seq, out) = (count(reply.seq), out.display());
        println!("signed up to seq {seq}, into {out}");
        println!(
            "check the journal by it with: lacuna verify --checkpoint {out} --key {}",
            reply.key
        );
    }
    Ok(Exit::Done)
}

fn notes(file: &Path) -> Result<String, Failure> {
    let bytes = read_input(file)?;
    if bytes.len() > LARGEST {
        let (size, most) = (bytes.len() as u64, LARGEST as u64);
        return Err(Failure::Usage(format!(
            "{} is {}: at most {} of checkpoints are judged at once, give the newest",
            file.display(),
            self::bytes(size),
            self::bytes(most)
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::Usage(format!("{} is no text: give signed notes", file.display())))
}

/// Keys as they were given: themselves, or files with one a line.
fn keys(given: &[String]) -> Result<Vec<String>, Failure> {
    let mut keys = Vec::new();
    for (place, key) in (1..).zip(given) {
        let told = if key.contains('+') && !Path::new(key).exists() {
            vec![key.clone()]
        } else {
            let text =
                std::fs::read_to_string(key).map_err(Failure::io(format!("reading {key}")))?;
            let lines = text.lines().map(str::trim);
            lines.filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect()
        };
        if told.is_empty() {
            // Without a key the journal's own would be believed, which is what --key is there to avoid.
            return Err(Failure::Usage(format!("--key {key}: there is no key in this file")));
        }
        for key in &told {
            // What is wrong with it is said without showing it: it may be a secret one.
            key.parse::<NoteVerifier>().map_err(|error| {
                Failure::Usage(format!(
                    "--key number {place}: {error}; give the key that `lacuna head` shows"
                ))
            })?;
        }
        keys.extend(told);
    }
    Ok(keys)
}
