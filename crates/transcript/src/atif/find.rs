//! Finds the trajectories in a file, embedded ones and loose steps included.

use serde_json::value::RawValue;

use crate::SourceFile;
use crate::fields::{self, Fields, object};
use crate::lines::{self, Piece, Shape};
use crate::names;

/// Trajectories embedded in one another are looked for this deep.
const DEPTH: usize = 16;

/// One trajectory.
#[derive(Debug, Default)]
pub(super) struct Trajectory<'a> {
    /// The name that it would like as a session.
    pub(super) wish: String,
    /// `session_id`, as written.
    pub(super) id: Option<String>,
    /// `trajectory_id`, as written.
    pub(super) trajectory: Option<String>,
    /// The session whose agent started it, or the id of it.
    pub(super) parent: Option<String>,
    /// Whether it was the harness that started it, not the agent.
    pub(super) by_harness: bool,
    /// The trajectory that it is embedded in, among those found.
    pub(super) outer: Option<usize>,
    /// Fields around the steps, as a JSON object.
    pub(super) around: Option<String>,
    pub(super) items: Vec<Item<'a>>,
}

/// One thing to record.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Step(&'a RawValue),
    /// What is no step, or no JSON at all.
    Stray(Piece<'a>),
}

/// The trajectories of one file; one at least, if the file holds anything. Their `outer` counts
/// from the first of them.
pub(super) fn trajectories(file: &SourceFile) -> Vec<Trajectory<'_>> {
    let mut found = Vec::new();
    let mut loose =
        Trajectory { wish: names::stem(&file.name).to_owned(), ..Trajectory::default() };
    for piece in lines::read(&file.bytes, super::is_record) {
        match piece.shape {
            Shape::Value(value) => {
                let list = fields::list(value);
                let list = list.filter(|list| list.iter().any(|e| e.get().starts_with('{')));
                for value in list.unwrap_or_else(|| vec![value]) {
                    match Fields::of(value) {
                        Some(fields) if fields.list("steps").is_some() => {
                            document(&fields, names::stem(&file.name), None, 0, &mut found);
                        }
                        Some(fields) if super::is_step(&fields) => {
                            loose.items.push(Item::Step(value));
                        }
                        _ => loose.items.push(Item::Stray(Piece {
                            bytes: value.get().as_bytes(),
                            shape: Shape::Value(value),
                        })),
                    }
                }
            }
            _ => loose.items.push(Item::Stray(piece)),
        }
    }
    // Strays beside documents go with the first of them.
    let steps = loose.items.iter().any(|item| matches!(item, Item::Step(_)));
    match found.first_mut() {
        Some(first) if !steps => first.items.append(&mut loose.items),
        _ if loose.items.is_empty() => {}
        _ => found.push(loose),
    }
    found
}

fn document<'a>(
    fields: &Fields<'a>,
    stem: &str,
    outer: Option<usize>,
    depth: usize,
    found: &mut Vec<Trajectory<'a>>,
) {
    let word = |name| fields.word(name).filter(|id| !id.is_empty());
    let (id, trajectory) = (word("session_id"), word("trajectory_id"));
    // Embedded trajectories often have the session id of the one around them.
    let own = if outer.is_some() {
        trajectory.clone().or(id.clone())
    } else {
        id.clone().or(trajectory.clone())
    };
    let wish = match own {
        Some(own) => own,
        None if found.is_empty() => stem.to_owned(),
        None => format!("{stem}-{}", found.len() + 1),
    };
    let embedded = fields.list("subagent_trajectories").filter(|list| {
        let whole = |value: &&RawValue| {
            Fields::of(value).is_some_and(|fields| fields.list("steps").is_some())
        };
        depth < DEPTH && list.iter().all(whole)
    });
    let known: &[&str] =
        if embedded.is_some() { &["steps", "subagent_trajectories"] } else { &["steps"] };
    let rest = fields.rest(known);
    let around = object(rest.iter().map(|(name, value)| (name.as_str(), value.get())));
    let agent = fields.object("agent").and_then(|agent| agent.object("extra"));
    let steps = fields.list("steps").unwrap_or_default();
    let place = found.len();
    found.push(Trajectory {
        wish,
        id,
        trajectory,
        parent: agent.and_then(|extra| extra.word("parent_session_id")),
        by_harness: false,
        outer,
        around: (around != "{}").then_some(around),
        items: steps.into_iter().map(Item::Step).collect(),
    });
    for inner in embedded.unwrap_or_default().into_iter().filter_map(Fields::of) {
        document(&inner, stem, Some(place), depth + 1, found);
    }
}

/// The ids of trajectories that this one's steps name as sub-agents', and whether it was the
/// harness that started each: a system step says so.
pub(super) fn references(trajectory: &Trajectory<'_>) -> Vec<(String, bool)> {
    let mut ids = Vec::new();
    for item in &trajectory.items {
        let Item::Step(value) = item else { continue };
        let Some(step) = Fields::of(value) else { continue };
        let by_harness = step.text("source").as_deref() == Some("system");
        for result in results(&step) {
            let listed = Fields::of(result)
                .and_then(|result| result.list("subagent_trajectory_ref"))
                .unwrap_or_default();
            for named in listed.into_iter().filter_map(Fields::of) {
                let id = named.word("trajectory_id").or_else(|| named.word("session_id"));
                ids.extend(id.map(|id| (id, by_harness)));
            }
        }
    }
    ids
}

/// The results of a step's observation.
pub(super) fn results<'a>(step: &Fields<'a>) -> Vec<&'a RawValue> {
    let observation = step.object("observation");
    observation.and_then(|observation| observation.list("results")).unwrap_or_default()
}
