//! The demo's session whose block was recorded, pruned reversibly, and removed by a retention run
//! before anybody asked for it.

use std::time::Duration;

use anstream::println;
use lacuna_wire::retention::{
    KeepBody, MatchBody, PolicySetReply, PolicySetRequest, RuleBody, RunReply, RunRequest,
};
use lacuna_wire::session::{WindowReply, WindowRequest};

use super::demo::{Demo, Ending};
use super::story::BLOCK;
use crate::args::Global;
use crate::backend::Backend;
use crate::failure::Failure;
use crate::output::{faint, verdict};

/// A policy is the whole tenant's: through a daemon the demo sets one where it is nobody else's.
const TENANT: &str = "lacuna-demo";

/// How long the demo waits to learn whether it may use its own tenant.
const PROBE: Duration = Duration::from_secs(3);

/// The telling; none if this user of the broker may not use the demo's own tenant.
pub(super) fn tell(demo: &Demo<'_>, global: &Global) -> Result<Option<Ending>, Failure> {
    if global.broker.nats.is_none() {
        return tell_in(demo, global).map(Some);
    }
    let own = Global { tenant: TENANT.into(), ..global.clone() };
    let backend = Backend::nats(&own)?;
    if !backend.has_retention(PROBE) {
        if !global.json {
            let why = format!("not told: this user may not use the tenant {TENANT}");
            println!("payload expired:  {}", faint(&why));
        }
        return Ok(None);
    }
    let told = tell_in(&Demo { backend: &backend, suffix: demo.suffix.clone() }, global)?;
    backend.close()?;
    Ok(Some(told))
}

fn tell_in(demo: &Demo<'_>, global: &Global) -> Result<Ending, Failure> {
    let session = demo.record("expired", false)?;
    let pruned = demo.digest(&session, false)?;
    let rule = RuleBody {
        id: "tool-output".into(),
        matches: MatchBody {
            sessions: Some(demo_sessions()),
            origins: Some(vec!["tool".into()]),
            pruned: Some(true),
            ..MatchBody::default()
        },
        keep: KeepBody {
            period: Some("0s".into()),
            since: Some("pruned".into()),
            ..KeepBody::default()
        },
        live_handles: Some("commit".into()),
        ..RuleBody::default()
    };
    let request = PolicySetRequest { rules: vec![rule], ..PolicySetRequest::default() };
    let _: PolicySetReply = demo.backend.retention("policy-set", &request)?;
    let run: RunReply = demo.backend.retention("run", &RunRequest::default())?;
    if !global.json {
        println!(
            "payload expired:  prune is {}, then the run {} removes {} spans under {}",
            verdict(&pruned.status),
            run.run,
            run.removed.spans,
            run.policy.unwrap_or_default(),
        );
    }
    demo.five_turns(&session)?;
    let window: WindowReply = demo.ask(&session, "window", &WindowRequest::default())?;
    let mut tombstones = window.entries.iter().flatten().filter(|entry| entry.kind == "tombstone");
    let entry = tombstones.find(|entry| entry.id.as_deref() == Some(BLOCK));
    let text = entry.and_then(|entry| entry.text.clone()).unwrap_or_default();
    let reply = demo.expand(&session, BLOCK)?;
    let told = reply.cause.as_ref().map_or_else(String::new, |cause| {
        let (run, rule) = (cause.run.as_deref(), cause.rule.as_deref());
        format!(
            "removed by {} under rule {}: it existed, and is gone",
            run.unwrap_or_default(),
            rule.unwrap_or_default()
        )
    });
    Ok(Ending { case: "payload expired", asked: BLOCK.into(), window: text, reply, text: told })
}

/// The pattern of the sessions of this telling, of every demo: two at once set the same policy.
fn demo_sessions() -> String {
    "demo-expired-*".into()
}
