//! How fast stored text is searched, on one core: reading packs back, opening them, comparing digests and
//! looking for the pattern.

use std::io::Write as _;
use std::time::Instant;

use lacuna_core::{Command, Contract, NewSpan, Open, SessionKey, SpanKind};
use lacuna_engine::{Among, Bounds, Journal, Options, Pattern, Request};

use crate::Failure;
use crate::sample::span_of;

/// Bytes of one append.
const COMMAND: usize = 1 << 20;
/// How often each pattern is looked for; the fastest counts, since others use the machine too.
const ROUNDS: usize = 5;

/// Measures and prints.
pub(crate) fn run(megabytes: usize, span_bytes: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let journal = Journal::open(folder.path(), Options::default())?;
    let open = Open {
        window_tokens: 1_000_000_000,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: Default::default(),
    };
    send(&journal, Command::Open(open))?;
    let each = (COMMAND / span_bytes).clamp(1, 1_000);
    let (mut seed, begun) = (0, Instant::now());
    while seed * span_bytes < megabytes << 20 {
        let spans = (0..each).map(|n| span((seed + n) as u64, span_bytes)).collect();
        send(&journal, Command::Append { spans })?;
        seed += each;
    }
    say(&format!("{seed} spans of {span_bytes} bytes recorded in {:.1?}", begun.elapsed()));
    let literal = |text: &str| Pattern::Literal(text.to_owned());
    let regex = |text: &str| regex::bytes::Regex::new(text).map(Pattern::Regex);
    let patterns = [
        ("a literal that is nowhere", literal("xyzzy-4711")),
        ("a literal whose beginnings are everywhere", literal("the service returned nothing")),
        ("a regex that is nowhere", regex(r"req-[0-9a-f]{8}-\d+")?),
        ("a regex without a literal in it", regex(r"[0-9]{3}\.[0-9]{3}")?),
    ];
    for (what, pattern) in patterns {
        let mut best: f64 = 0.0;
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let found = journal.search(&session()?, &pattern, Among::All, Bounds::places(50))?;
            bytes = found.bytes;
            best = best.max(found.bytes as f64 / 1e6 / begun.elapsed().as_secs_f64());
            if found.spans as usize != seed || !found.unsearchable.is_empty() {
                return Err(format!("{what}: {} of {seed} spans searched", found.spans).into());
            }
        }
        say(&format!("{what}: {:.0} MB, {best:.0} MB/s", bytes as f64 / 1e6));
    }
    Ok(())
}

fn span(seed: u64, bytes: usize) -> NewSpan {
    let text = crate::text::text(seed, bytes);
    NewSpan { kind: SpanKind::ToolResult, in_window: false, ..span_of(text.as_bytes()) }
}

fn session() -> Result<SessionKey, Failure> {
    Ok(SessionKey { tenant: "bench".parse()?, session: "text".parse()? })
}

fn send(journal: &Journal, command: Command) -> Result<(), Failure> {
    journal.execute(Request {
        session: session()?,
        principal: "bench".parse()?,
        command_id: None,
        expected_version: None,
        command,
    })?;
    Ok(())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
