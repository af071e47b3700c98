//! Payloads of real text: this project's own sources and documents, cut into pieces.

use std::path::Path;

use lacuna_core::{
    Command, Content, Contract, Digest, NewSpan, Open, Origin, Role, SessionKey, SpanKind,
};
use lacuna_engine::{Journal, Request};

use crate::Failure;

/// Spans that a session takes before the next one begins: agents' windows do not grow for ever.
pub(crate) const SESSION: u64 = 2_000;
/// Sessions that are written to in turn.
pub(crate) const SIDE_BY_SIDE: u64 = 16;

/// The pieces, none like the other.
pub(crate) struct Sample {
    text: Vec<String>,
}

impl Sample {
    /// Cuts the text files of this checkout into pieces of `bytes` each, at character boundaries.
    pub(crate) fn read(bytes: usize) -> Result<Self, Failure> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut all = String::new();
        for part in ["README.md", "crates", "schemas", "ops"] {
            collect(&root.join(part), &mut all)?;
        }
        let mut text = Vec::with_capacity(all.len() / bytes + 1);
        let mut rest = all.as_str();
        while rest.len() > bytes {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(bytes));
            text.push(piece.to_owned());
            rest = behind;
        }
        if text.is_empty() {
            return Err(
                "there is no text beside this program's sources: run it in a checkout".into()
            );
        }
        // Neighbours in a file are not neighbours in a journal.
        let mut shuffled = Vec::with_capacity(text.len());
        let mut at = 0;
        while !text.is_empty() {
            at = (at + 7_919) % text.len();
            shuffled.push(text.swap_remove(at));
        }
        Ok(Self { text: shuffled })
    }

    /// A piece; the same one for the same number.
    pub(crate) fn piece(&self, number: u64) -> &str {
        &self.text[(number % self.text.len() as u64) as usize]
    }

    /// How many different ones there are.
    pub(crate) fn len(&self) -> u64 {
        self.text.len() as u64
    }

    /// A tool's message with this piece for content.
    pub(crate) fn span(&self, number: u64) -> NewSpan {
        span_of(self.piece(number).as_bytes())
    }
}

/// A tool's message in the window, with nothing but its content.
pub(crate) fn span_of(content: &[u8]) -> NewSpan {
    NewSpan {
        id: None,
        role: Role::Tool,
        origin: Origin::Tool,
        kind: SpanKind::Message,
        digest: Digest::of(content),
        content: Content::Bytes(content.into()),
        media_type: "text/plain".into(),
        tokens: None,
        hedged: false,
        pinned: false,
        turn: None,
        answers: None,
        contradicts: Vec::new(),
        supersedes: None,
        labels: Default::default(),
        source: None,
        in_window: true,
    }
}

fn collect(path: &Path, all: &mut String) -> Result<(), Failure> {
    if path.is_dir() {
        let mut inside: Vec<_> = std::fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_, Failure>>()?;
        inside.sort();
        return inside.iter().try_for_each(|path| collect(path, all));
    }
    let text = ["rs", "md", "py", "toml", "json"];
    if path.extension().is_some_and(|ext| text.iter().any(|known| ext == *known)) {
        all.push_str(&std::fs::read_to_string(path)?);
    }
    Ok(())
}

/// A session's name in full.
pub(crate) fn key(session: u64) -> Result<SessionKey, Failure> {
    Ok(SessionKey { tenant: "bench".parse()?, session: format!("s{session}").parse()? })
}

/// A request to this session.
pub(crate) fn request(session: u64, command: Command) -> Result<Request, Failure> {
    Ok(Request {
        session: key(session)?,
        principal: "worker".parse()?,
        command_id: None,
        expected_version: None,
        command,
    })
}

/// The command that opens a session.
pub(crate) fn open() -> Command {
    Command::Open(Open {
        window_tokens: 1_000_000_000,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: Default::default(),
    })
}

/// Carries a command out in this session.
pub(crate) fn send(journal: &Journal, session: u64, command: Command) -> Result<(), Failure> {
    journal.execute(request(session, command)?)?;
    Ok(())
}
