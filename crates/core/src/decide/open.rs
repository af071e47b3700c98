//! Opening a session.

use super::{Decision, Reply, bound};
use crate::command::Open;
use crate::event::SessionOpened;
use crate::{Context, Event, Refusal, SessionState};

pub(super) fn decide(
    state: Option<&SessionState>,
    open: &Open,
    context: &Context,
) -> Result<Decision, Refusal> {
    if open.window_tokens == 0 {
        return Err(Refusal::BadRequest("window_tokens must be at least 1".into()));
    }
    if open.reserve_ppm >= 1_000_000 {
        return Err(Refusal::BadRequest("reserve_ratio must be at least 0 and below 1".into()));
    }
    let label_bytes = open.labels.iter().map(|(k, v)| k.len() + v.len()).sum();
    bound(
        "labels, in bytes",
        label_bytes,
        context.limits.label_bytes,
        "use fewer or shorter ones",
    )?;
    let Some(state) = state else {
        return Ok(Decision {
            events: vec![Event::SessionOpened(SessionOpened {
                key: context.session.clone(),
                window_tokens: open.window_tokens,
                reserve_ppm: open.reserve_ppm,
                contract: open.contract,
                labels: open.labels.clone(),
            })],
            reply: Reply::Opened { version: 1, opened_at: context.now, duplicate: false },
        });
    };
    if let Some(closed_at) = state.closed_at {
        return Err(Refusal::SessionClosed(closed_at));
    }
    let differs = [
        (state.window_tokens != open.window_tokens)
            .then(|| format!("window_tokens {}", state.window_tokens)),
        (state.reserve_ppm != open.reserve_ppm)
            .then(|| format!("reserve_ratio {}", f64::from(state.reserve_ppm) / 1e6)),
        (state.contract != open.contract).then(|| format!("contract {}", state.contract)),
        (state.labels != open.labels).then(|| "labels".to_owned()),
    ];
    let differs: Vec<String> = differs.into_iter().flatten().collect();
    if !differs.is_empty() {
        return Err(Refusal::SessionExists(differs.join(", ")));
    }
    let (version, opened_at) = (state.version, state.opened_at);
    Ok(Decision {
        events: Vec::new(),
        reply: Reply::Opened { version, opened_at, duplicate: true },
    })
}
