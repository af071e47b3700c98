//! ATIF trajectories (Agent Trajectory Interchange Format, v1.x), as Harbor's agents write them.
//!
//! Each document is a session, and so is each trajectory embedded in one (`subagent_trajectories`).
//! Steps outside a document (one per line, or what is left of a torn document) are one session.
//! Thinking comes before its step's message, then the calls, then their results. Results name
//! their call, or are paired by position. That a step was copied from another trajectory
//! (`is_copied_context`) is kept once per session, as a list of step ids: agents mark steps so
//! afterwards, and a span once recorded does not change.
//!
//! Who said what: a `system` step before all others is the system prompt, a later one the
//! harness's. The prompt of a sub-agent was written by the agent that started it, or by the harness
//! where a system step names the sub-agent. A trajectory is a sub-agent's if another one of this
//! import names it, or if its agent names a `parent_session_id`.
//!
//! # How summaries are recognised
//! ATIF has no step of that kind. What agents write, and what is made of it:
//! - **a boundary with its content**: a system step with `extra.context_management`, of boundary
//!   `replace`, whose observation has content. From v1.7 on this is the rule: the content takes the
//!   place of every step before. It is a summary over the whole window;
//! - **a boundary with a handoff**: terminus-2 has sub-agents write summary, questions and answers
//!   and leaves a system step "Performed context summarization and handoff to continue task.", then
//!   a *user* step with what the next agent is told. That user step is a summary over the window,
//!   except what stands up to the first user step, which terminus-2 keeps. Under a structured
//!   boundary without content the next user step counts only if it opens as terminus-2 writes it;
//! - **texts that carry a summary** without a boundary, as in the sub-agents' own trajectories
//!   ("You are picking up work from a previous AI agent on this task:") and in continued ones:
//!   what they stand for is not in the trajectory, so they are notes of the harness.
//!
//! Anything else is not guessed: a system step that speaks of summarising or compacting in other
//! words, and a boundary that says neither what was dropped nor what replaced it, leave the window
//! as it is, and the report says so.

mod find;
mod openings;
mod session;
mod step;
mod summary;

use std::collections::HashMap;

use crate::Session;
use crate::SourceFile;
use crate::fields::Fields;
use crate::names::SessionNames;

/// Whether an object looks like a trajectory or a step.
pub(crate) fn is_record(fields: &Fields<'_>) -> bool {
    fields.get("steps").is_some() || is_step(fields)
}

fn is_step(fields: &Fields<'_>) -> bool {
    fields.get("step_id").is_some() && fields.get("source").is_some()
}

/// The sessions of these files.
pub(crate) fn import(files: &[&SourceFile]) -> Vec<Session> {
    let mut names = SessionNames::default();
    let mut found: Vec<find::Trajectory<'_>> = Vec::new();
    for file in files {
        let before = found.len();
        found.extend(find::trajectories(file).into_iter().map(|mut one| {
            one.outer = one.outer.map(|outer| before + outer);
            one
        }));
    }
    let named: Vec<_> = found.iter().map(|one| names.take(&one.wish)).collect();
    // Who started whom, by the id that a step gives the other's trajectory.
    let mut started = HashMap::new();
    for (one, name) in found.iter().zip(&named) {
        for (id, by_harness) in find::references(one) {
            started.entry(id).or_insert((name.clone(), by_harness));
        }
    }
    for (one, name) in found.iter_mut().zip(&named) {
        let ids = [&one.trajectory, &one.id].into_iter().flatten();
        let by = ids.filter_map(|id| started.get(id)).find(|(parent, _)| parent != name);
        if let Some((parent, by_harness)) = by {
            one.parent = Some(parent.to_string());
            one.by_harness = *by_harness;
        } else if let Some(outer) = one.outer {
            one.parent = named.get(outer).map(ToString::to_string);
        }
    }
    found.into_iter().zip(named).map(|(one, name)| session::read(one, name)).collect()
}
