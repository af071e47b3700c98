//! The commands, one function each; `run` is their table of contents.

mod append;
mod cause;
mod completions;
mod contract;
mod demo;
mod diff;
mod expired;
mod forensics;
mod guess;
mod import;
mod journal;
mod lineage;
mod look;
mod policy;
mod proof;
mod prune;
mod replay;
mod retention;
mod salvage;
mod search;
mod session;
mod story;
mod tail;
mod transfer;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::{Args, Command, Global};
use crate::backend::{Backend, decode};
use crate::failure::{Exit, Failure};

/// Runs the command that the arguments name.
pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let global = args.global;
    match args.command {
        Command::Serve(args) => return crate::serve::run(&global, &args),
        Command::Completions(args) => return completions::run(&args),
        Command::Demo => return demo::run(&global),
        Command::Import(args) => return import::run(&global, &args),
        Command::Salvage(args) => return salvage::run(&global, &args),
        _ => {}
    }
    if let Command::Verify(args) = &args.command
        && let Some(copy) = &args.copy
    {
        return proof::verify_copy(&global, copy, args);
    }
    let backend = Backend::open(&global, matches!(args.command, Command::Open(_)))?;
    let context = Context { backend: &backend, global: &global };
    let outcome = match args.command {
        Command::Open(args) => session::open(&context, &args),
        Command::Append(args) => append::run(&context, args),
        Command::Window(args) => look::window(&context, &args),
        Command::Prune(args) => prune::prune(&context, args),
        Command::Restore(args) => prune::restore(&context, args),
        Command::Expand(args) => look::expand(&context, args),
        Command::Summarize(args) => contract::summarize(&context, args),
        Command::Audit(args) => contract::audit(&context, args),
        Command::Suggest(args) => prune::suggest(&context, &args),
        Command::Contradict(args) => contract::contradict(&context, args),
        Command::Resolve(args) => contract::resolve(&context, args),
        Command::Durability(args) => look::durability(&context, args),
        Command::Tombstones(args) => look::tombstones(&context, args),
        Command::History(args) => forensics::history(&context, &args),
        Command::Tail(args) => tail::tail(&context, &args),
        Command::Replay(args) => replay::replay(&context, &args),
        Command::Search(args) => search::search(&context, args),
        Command::Explain(args) => forensics::explain(&context, args),
        Command::Diff(args) => diff::diff(&context, args),
        Command::Receipt(args) => lineage::receipt(&context, args),
        Command::Fork(args) => lineage::fork(&context, args),
        Command::Close => session::close(&context),
        Command::Export(args) => transfer::export(&context, &args),
        Command::Policy(args) => policy::run(&context, args),
        Command::Hold(args) => policy::hold(&context, args),
        Command::Release(args) => policy::release(&context, args),
        Command::Plan(args) => retention::plan(&context, &args),
        Command::Run(args) => retention::run(&context, &args),
        Command::Ledger(args) => retention::ledger(&context, &args),
        Command::Erase(args) => retention::erase(&context, args),
        Command::Sessions => journal::sessions(&context),
        Command::Head => journal::head(&context),
        Command::Verify(args) => proof::verify(&context, &args),
        Command::Checkpoint(args) => proof::checkpoint(&context, &args),
        Command::Backup(args) => journal::backup(&context, &args),
        Command::Stats => journal::stats(&context),
        Command::Serve(_)
        | Command::Completions(_)
        | Command::Demo
        | Command::Import(_)
        | Command::Salvage(_) => unreachable!("handled above"),
    };
    backend.close()?;
    outcome
}

/// What every command needs.
struct Context<'a> {
    backend: &'a Backend,
    global: &'a Global,
}

impl Context<'_> {
    /// The session that the arguments name.
    fn session(&self) -> Result<&str, Failure> {
        self.global.session.as_deref().ok_or_else(|| {
            Failure::Usage("name the session: --session NAME, or LACUNA_SESSION".into())
        })
    }

    /// The session that the command line itself names, rather than the environment.
    fn session_by_flag(&self) -> Option<&str> {
        let usual = std::env::var("LACUNA_SESSION").ok();
        self.global.session.as_deref().filter(|session| usual.as_deref() != Some(session))
    }

    /// Calls a session verb; with `--json` prints the reply as it came, and gives it typed.
    fn ask<R: DeserializeOwned>(&self, verb: &str, request: &impl Serialize) -> Result<R, Failure> {
        let body = self.backend.session_raw(self.session()?, verb, request)?;
        self.show_json(&body);
        decode(&body)
    }

    /// The same for a journal verb.
    fn ask_journal<R: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, Failure> {
        let body = self.backend.journal_raw(verb, request)?;
        self.show_json(&body);
        decode(&body)
    }

    /// The same for a retention verb.
    fn ask_retention<R: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, Failure> {
        let body = self.backend.retention_raw(verb, request)?;
        self.show_json(&body);
        decode(&body)
    }

    fn show_json(&self, body: &[u8]) {
        if self.global.json {
            anstream::println!("{}", String::from_utf8_lossy(body));
        }
    }

    /// Prints a reply that was put together from several, as one object.
    fn print_json(&self, reply: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string(reply).map_err(|error| Failure::Other(error.to_string()))?;
        anstream::println!("{text}");
        Ok(())
    }
}

/// Reads a file, or standard input for `-`.
fn read_input(file: &std::path::Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read as _;
    if file.as_os_str() == "-" {
        let mut content = Vec::new();
        std::io::stdin()
            .read_to_end(&mut content)
            .map_err(Failure::io("reading standard input"))?;
        return Ok(content);
    }
    std::fs::read(file).map_err(Failure::io(format!("reading {}", file.display())))
}

/// Reads labels written as key=value.
fn labels(pairs: &[String]) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    pairs
        .iter()
        .map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("{pair:?} is no label: write key=value")))?;
            Ok((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// A line about the budget.
fn budget_line(budget: &lacuna_wire::BudgetBody) -> String {
    let line = format!(
        "window {} of {} tokens, {} free, reserve {}",
        crate::output::count(budget.used_tokens),
        crate::output::count(budget.window_tokens),
        crate::output::count(budget.free_tokens),
        crate::output::count(budget.reserve_tokens),
    );
    if budget.over {
        format!("{line} — {}", crate::output::warning("it eats into the reserve"))
    } else {
        crate::output::faint(&line)
    }
}

/// A line about what an answer rests on; `as_of`: the moment, where it is one of the past.
fn rests_on(evidence: &lacuna_wire::EvidenceBody, as_of: Option<&str>) -> String {
    let head = evidence.head.get(..16).unwrap_or(&evidence.head);
    let line = format!(
        "rests on version {}, head {head}…, {} spans recorded, journal {}",
        evidence.version,
        crate::output::count(evidence.spans_recorded),
        evidence.journal
    );
    let then = as_of.map(|at| format!("as of {at}; ")).unwrap_or_default();
    crate::output::faint(&format!("{then}{line}"))
}
