//! The verbs that concern the whole journal.

mod adopt;
mod checkpoints;

pub use checkpoints::verify_copy;

use std::path::{Component, Path, PathBuf};

use lacuna_core::Tenant;
use lacuna_engine::{ScrubStats, VerifyOptions};
use lacuna_wire::journal::{
    AdoptRequest, BackupReply, BackupRequest, CheckedBody, EventRef, EventsReply, EventsRequest,
    FaultBody, HeadReply, ScrubBody, SessionsReply, SessionsRequest, StatsReply, VerifyReply,
    VerifyRequest,
};
use lacuna_wire::{Code, Empty, EventBody, WireError, event_body, parse};

use crate::call::Call;
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fit_events};
use crate::queries::does_not_follow;
use crate::settings::Settings;
use crate::work::{Inner, Work};

/// The most names that one page lists.
const PAGE: u64 = 1_000;

pub(crate) fn begin(call: &Call<'_>) -> Result<Work, WireError> {
    let max = call.max_reply;
    Ok(Work::Question(match call.subject.verb.as_str() {
        "head" => {
            let Empty {} = parse(call.body)?;
            Box::new(head)
        }
        "verify" => {
            let request: VerifyRequest = parse(call.body)?;
            Box::new(move |inner| verify(inner, &request, max))
        }
        "checkpoint" => {
            let Empty {} = parse(call.body)?;
            return Ok(Work::Deed(Box::new(checkpoints::sign)));
        }
        "adopt" => {
            let request: AdoptRequest = parse(call.body)?;
            let (tenant, principal) = (call.subject.tenant.clone(), call.subject.principal.clone());
            return Ok(Work::Deed(Box::new(move |inner| {
                adopt::adopt(inner, &tenant, &principal, request)
            })));
        }
        "stats" => {
            let Empty {} = parse(call.body)?;
            Box::new(stats)
        }
        "events" => {
            let request: EventsRequest = parse(call.body)?;
            let tenant = call.subject.tenant.clone();
            Box::new(move |inner| events(inner, &tenant, &request, max))
        }
        "sessions" => {
            let request: SessionsRequest = parse(call.body)?;
            let tenant = call.subject.tenant.clone();
            Box::new(move |inner| {
                let limit = request.limit.unwrap_or(PAGE).min(PAGE);
                let after = request.after.as_deref().unwrap_or_default();
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                let names = inner.journal.session_names(tenant.as_str(), after, limit);
                encode_within(&SessionsReply { sessions: names.map_err(wire_error)? }, max)
            })
        }
        _ => {
            let request: BackupRequest = parse(call.body)?;
            Box::new(move |inner| backup(inner, &request))
        }
    }))
}

fn head(inner: &Inner) -> Result<Vec<u8>, WireError> {
    let head = inner.journal.head();
    encode(&HeadReply {
        journal: inner.journal.id().to_owned(),
        seq: head.seq,
        head: head.block.to_string(),
        recorded_at: head.at.to_string(),
        keys: inner
            .journal
            .verifiers()
            .map_err(wire_error)?
            .iter()
            .map(ToString::to_string)
            .collect(),
    })
}

fn events(
    inner: &Inner,
    tenant: &Tenant,
    request: &EventsRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let limit = request.limit.unwrap_or(PAGE).min(PAGE);
    if limit == 0 {
        return Err(WireError::bad_request("limit is 0: ask for at least one event"));
    }
    let read = |from: u64, limit: u64| {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        inner.journal.tenant_events(tenant, from, limit).map_err(wire_error)
    };
    if let Some(EventRef { seq, hash }) = &request.follows {
        let held = read(*seq, 1)?.events;
        let held = held
            .first()
            .is_some_and(|(_, event)| event.seq == *seq && event.hash.to_string() == *hash);
        if !held {
            return Err(does_not_follow(&format!("seq {seq}")));
        }
    }
    let page = read(request.from.unwrap_or(1), limit)?;
    let body = |(key, event): &(_, _)| event_body(inner.journal.id(), key, event);
    let mut events: Vec<EventBody> = page.events.iter().map(body).collect();
    let read = events.len();
    fit_events(&mut events, max)?;
    let (next, more) = match events.last() {
        Some(last) if events.len() < read => (last.seq + 1, true),
        _ => (page.next, page.more),
    };
    encode_within(&EventsReply { events, next, more }, max)
}

fn verify(inner: &Inner, request: &VerifyRequest, max: usize) -> Result<Vec<u8>, WireError> {
    let defaults = VerifyOptions::default();
    let options = VerifyOptions {
        from: request.from.unwrap_or(defaults.from),
        to: request.to.unwrap_or(defaults.to),
        ..defaults
    };
    if options.from > options.to {
        return Err(WireError::bad_request("from is behind to: nothing would be verified"));
    }
    let last = inner.journal.head().seq;
    if options.from > last.max(1) {
        return Err(WireError::bad_request(format!(
            "the journal ends at seq {last}: nothing would be verified"
        )));
    }
    // First: what is wrong with the request is said before the journal is read.
    let checkpoints = checkpoints::judge(inner, request)?;
    let report = inner.journal.verify(&options, |_| {}).map_err(wire_error)?;
    let faults = report.faults.iter();
    encode_within(
        &VerifyReply {
            ok: report.faults.is_empty() && checkpoints.iter().all(|c| c.verdict == "extends"),
            checked: CheckedBody {
                events: report.events,
                payloads: report.payloads,
                payload_bytes: report.payload_bytes,
                blocks: report.blocks,
                snapshots: report.snapshots,
            },
            faults: faults.map(|f| FaultBody { seq: f.seq, what: f.what.clone() }).collect(),
            checkpoints,
        },
        max,
    )
}

fn stats(inner: &Inner) -> Result<Vec<u8>, WireError> {
    let stats = inner.journal.stats().map_err(wire_error)?;
    encode(&StatsReply {
        journal: inner.journal.id().to_owned(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        seq: stats.seq,
        sessions: stats.store.sessions,
        blocks: stats.store.blocks,
        packs: stats.store.packs,
        snapshots: stats.store.snapshots,
        file_bytes: stats.store.file_bytes,
        commits: stats.commits,
        commands: stats.commands,
        events: stats.events,
        waiting: stats.waiting,
        cached_sessions: stats.cached_sessions,
        uploads: inner.uploads.open_now() as u64,
        uptime_seconds: inner.started.elapsed().as_secs(),
        scrub: stats.scrub.as_ref().map(scrub),
        feed: inner.feed.get().map(|feed| feed()),
    })
}

fn scrub(stats: &ScrubStats) -> ScrubBody {
    ScrubBody {
        round_started: stats.round_started.map(|time| time.to_string()),
        position: stats.position,
        end: stats.end,
        last_round_started: stats.last_round_started.map(|time| time.to_string()),
        verified: stats.verified,
        bytes: stats.bytes,
        damaged: stats.damaged,
        unanswered: stats.unanswered,
    }
}

fn backup(inner: &Inner, request: &BackupRequest) -> Result<Vec<u8>, WireError> {
    let dir = allowed(Path::new(&request.dir), &inner.settings)?;
    let Some(_alone) = inner.backing_up.try_lock() else {
        let message = "another backup is being made: wait for it, then try again";
        return Err(WireError::new(Code::Overloaded, message));
    };
    if dir.join("journal.redb").exists() {
        return Err(WireError::bad_request(format!(
            "{} holds a journal already: name another folder",
            dir.display()
        )));
    }
    let report = inner.journal.backup(&dir, |_| {}).map_err(wire_error)?;
    encode(&BackupReply {
        dir: dir.display().to_string(),
        seq: report.seq,
        rows: report.rows,
        bytes: report.bytes,
    })
}

/// Where a backup may go: anywhere for the person at the machine, else below the configured folder.
fn allowed(dir: &Path, settings: &Settings) -> Result<PathBuf, WireError> {
    if settings.backup_anywhere {
        return Ok(dir.to_owned());
    }
    let Some(root) = &settings.backup_root else {
        let message = "this daemon makes no backups over the network: set backup_root in its \
                       configuration, or stop it and use --journal";
        return Err(WireError::new(Code::NotPermitted, message));
    };
    let below = dir.strip_prefix(root).unwrap_or(dir);
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if below.as_os_str().is_empty() || !plain {
        let message = format!("backups go below {}: give a folder name there", root.display());
        return Err(WireError::new(Code::NotPermitted, message));
    }
    Ok(root.join(below))
}
