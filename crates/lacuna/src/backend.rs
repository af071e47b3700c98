//! Where a command goes: to a daemon over NATS, or straight to a journal. Same verbs, same replies.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lacuna_client::Client;
use lacuna_engine::{Journal, Options};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::Subject;
use lacuna_wire::session::{
    AppendReply, AppendRequest, ExpandReply, ExpandRequest, WindowReply, WindowRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::args::Global;
use crate::failure::Failure;

/// Where the daemon is looked for.
pub(crate) const DEFAULT_NATS: &str = "nats://127.0.0.1:4222";
/// The largest reply of a journal that is opened directly.
const EMBEDDED_REPLY: usize = 1 << 30;
/// The ends of the subjects of work that reads the whole journal, or a whole tenant or session of it.
const LONG: [&str; 5] =
    [".journal.verify", ".journal.backup", ".retention.plan", ".retention.run", ".retention.erase"];
/// How long it waits for such work.
const LONG_WORK: Duration = Duration::from_secs(3_600);
/// How long a command line waits for a daemon.
const PATIENCE: Duration = Duration::from_secs(20);

/// Carries verbs out, as one principal of one tenant.
pub(crate) struct Backend {
    tenant: String,
    principal: String,
    way: Way,
}

enum Way {
    Nats { runtime: Runtime, client: Box<Client> },
    Journal { service: Service, journal: Arc<Journal> },
}

impl Backend {
    /// What the arguments ask for; `create`: whether a missing journal may be made.
    pub(crate) fn open(global: &Global, create: bool) -> Result<Self, Failure> {
        match &global.journal {
            Some(folder) => Self::journal(folder, create, global),
            None => Self::nats(global),
        }
    }

    /// A journal, opened directly.
    pub(crate) fn journal(folder: &Path, create: bool, global: &Global) -> Result<Self, Failure> {
        let mut options = Options::default();
        options.store.create = create;
        let journal = Arc::new(Journal::open(folder, options)?);
        let settings = Settings { backup_anywhere: true, ..Settings::default() };
        let service = Service::new(Arc::clone(&journal), settings);
        Ok(Self {
            tenant: global.tenant.clone(),
            principal: global.principal.clone(),
            way: Way::Journal { service, journal },
        })
    }

    /// A daemon on a broker.
    pub(crate) fn nats(global: &Global) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::io("starting the runtime"))?;
        let access = global.broker.access(&global.principal);
        let nats = runtime.block_on(lacuna_nats::connect_once(&access))?;
        let client = Client::new(nats, &global.tenant, &global.principal).with_patience(PATIENCE);
        Ok(Self {
            tenant: global.tenant.clone(),
            principal: global.principal.clone(),
            way: Way::Nats { runtime, client: Box::new(client) },
        })
    }

    /// The client of a daemon on a broker, with the runtime that it runs on.
    pub(crate) fn broker(&self) -> Option<(&Runtime, &Client)> {
        match &self.way {
            Way::Nats { runtime, client } => Some((runtime, client)),
            Way::Journal { .. } => None,
        }
    }

    /// Calls a session verb and gives the reply's body.
    pub(crate) fn session_raw(
        &self,
        session: &str,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<Vec<u8>, Failure> {
        let (tenant, principal) = (&self.tenant, &self.principal);
        self.raw(&format!("lacuna.v1.{tenant}.{principal}.session.{session}.{verb}"), request)
    }

    /// Calls a journal verb and gives the reply's body.
    pub(crate) fn journal_raw(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<Vec<u8>, Failure> {
        let (tenant, principal) = (&self.tenant, &self.principal);
        self.raw(&format!("lacuna.v1.{tenant}.{principal}.journal.{verb}"), request)
    }

    /// Calls a retention verb and gives the reply's body.
    pub(crate) fn retention_raw(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<Vec<u8>, Failure> {
        let (tenant, principal) = (&self.tenant, &self.principal);
        self.raw(&format!("lacuna.v1.{tenant}.{principal}.retention.{verb}"), request)
    }

    /// Calls a session verb.
    pub(crate) fn session<R: DeserializeOwned>(
        &self,
        session: &str,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, Failure> {
        decode(&self.session_raw(session, verb, request)?)
    }

    /// Calls a journal verb.
    pub(crate) fn journal_verb<R: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, Failure> {
        decode(&self.journal_raw(verb, request)?)
    }

    /// Calls a retention verb.
    pub(crate) fn retention<R: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, Failure> {
        decode(&self.retention_raw(verb, request)?)
    }

    /// Whether the retention verbs of this tenant answer. Where the broker does not let this user
    /// speak to them, nothing comes back, however long one waits.
    pub(crate) fn has_retention(&self, within: Duration) -> bool {
        let Way::Nats { runtime, client } = &self.way else { return true };
        let (tenant, principal) = (&self.tenant, &self.principal);
        let subject = format!("lacuna.v1.{tenant}.{principal}.retention.policy-get");
        let client = client.as_ref().clone().with_patience(within);
        runtime.block_on(client.call_raw(&subject, b"{}".to_vec(), false)).is_ok()
    }

    /// Records spans of any size.
    pub(crate) fn append(
        &self,
        session: &str,
        request: AppendRequest,
    ) -> Result<AppendReply, Failure> {
        match &self.way {
            Way::Nats { runtime, client } => {
                Ok(runtime.block_on(client.session(session).append_any(request))?)
            }
            Way::Journal { .. } => self.session(session, "append", &request),
        }
    }

    /// The most bytes of one request.
    pub(crate) fn room(&self) -> usize {
        match &self.way {
            Way::Nats { client, .. } => client.session("any").max_payload(),
            Way::Journal { .. } => 8 << 20,
        }
    }

    /// Uploads a content for a later request, if it is over this size and the request travels.
    pub(crate) fn upload(
        &self,
        session: &str,
        content: &[u8],
        over: usize,
    ) -> Result<Option<String>, Failure> {
        match &self.way {
            Way::Nats { runtime, client } if content.len() > over => {
                Ok(Some(runtime.block_on(client.session(session).upload(content))?))
            }
            _ => Ok(None),
        }
    }

    /// Looks a span up and reads its whole content, however many messages that takes.
    pub(crate) fn expand(
        &self,
        session: &str,
        request: &ExpandRequest,
    ) -> Result<(ExpandReply, Vec<u8>), Failure> {
        let mut first: ExpandReply = self.session(session, "expand", request)?;
        let mut content = part(&mut first)?;
        let total = first.total_bytes.unwrap_or(0);
        let begin = first.offset.unwrap_or(0);
        while first.total_bytes.is_some() && request.limit.is_none() {
            let offset = begin + content.len() as u64;
            if offset >= total {
                break;
            }
            // With the purpose: the last part is what counts as having read it.
            let next = ExpandRequest { offset: Some(offset), ..request.clone() };
            let mut reply: ExpandReply = self.session(session, "expand", &next)?;
            let more = part(&mut reply)?;
            if more.is_empty() {
                let outcome = reply.outcome;
                return Err(Failure::Other(format!(
                    "the content ended early: it is {outcome} now"
                )));
            }
            content.extend(more);
        }
        while first.spans_omitted > 0 && request.limit.is_none() {
            let listed = first.spans.as_ref().map_or(0, |spans| spans.len() as u64);
            let begin = request.spans_from.unwrap_or(0);
            let (spans_from, limit) = (Some(begin + listed), Some(0));
            let next = ExpandRequest { spans_from, limit, purpose: None, ..request.clone() };
            let more = self.session::<ExpandReply>(session, "expand", &next)?;
            let spans = more.spans.unwrap_or_default();
            if spans.is_empty() {
                break;
            }
            first.spans_omitted = more.spans_omitted;
            first.spans.get_or_insert_default().extend(spans);
        }
        while let Some(next) = first.next {
            let request = ExpandRequest { offset: Some(next), purpose: None, ..request.clone() };
            let reply: ExpandReply = self.session(session, "expand", &request)?;
            first.next = reply.next;
            first.spans.get_or_insert_default().extend(reply.spans.unwrap_or_default());
        }
        Ok((first, content))
    }

    /// Reads the whole window, page by page at one version.
    pub(crate) fn window(
        &self,
        session: &str,
        request: &WindowRequest,
    ) -> Result<WindowReply, Failure> {
        let mut whole: WindowReply = self.session(session, "window", request)?;
        while let Some(next) = whole.next {
            let at =
                lacuna_wire::session::AtBody { version: Some(whole.version), ..Default::default() };
            let request = WindowRequest { at: Some(at), from: Some(next), ..request.clone() };
            let page: WindowReply = self.session(session, "window", &request)?;
            whole.next = page.next;
            if let (Some(all), Some(more)) = (&mut whole.entries, page.entries) {
                all.extend(more);
            }
            if let (Some(all), Some(more)) = (&mut whole.messages, page.messages) {
                all.extend(more);
            }
            if let (Some(all), Some(more)) = (&mut whole.text, page.text) {
                all.push_str(&more);
            }
        }
        Ok(whole)
    }

    fn raw(&self, subject: &str, request: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let body =
            serde_json::to_vec(request).map_err(|error| Failure::Other(error.to_string()))?;
        match &self.way {
            Way::Nats { runtime, client } => {
                // Commands bear ids and questions change nothing, so they may be sent again; work on
                // the whole journal takes as long as it takes and must not be begun twice.
                if LONG.iter().any(|verb| subject.ends_with(verb)) {
                    let client = client.as_ref().clone().with_patience(LONG_WORK);
                    return Ok(runtime.block_on(client.call_raw(subject, body, false))?);
                }
                Ok(runtime.block_on(client.call_raw(subject, body, true))?)
            }
            Way::Journal { service, .. } => {
                let subject =
                    Subject::parse(subject).map_err(|error| Failure::Usage(error.to_string()))?;
                let call = Call { subject: &subject, body: &body, max_reply: EMBEDDED_REPLY };
                Ok(service.call_and_wait(call)?)
            }
        }
    }

    /// Ends. A journal that was opened directly is closed cleanly.
    pub(crate) fn close(self) -> Result<(), Failure> {
        if let Way::Journal { journal, .. } = &self.way {
            journal.close()?;
        }
        Ok(())
    }
}

fn part(reply: &mut ExpandReply) -> Result<Vec<u8>, Failure> {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    match (reply.content.take(), reply.content_b64.take()) {
        (Some(text), _) => Ok(text.into_bytes()),
        (None, Some(base64)) => BASE64_STANDARD
            .decode(base64)
            .map_err(|error| Failure::Other(format!("content_b64: {error}"))),
        (None, None) => Ok(Vec::new()),
    }
}

pub(crate) fn decode<R: DeserializeOwned>(body: &[u8]) -> Result<R, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::Other(format!("the reply does not fit the contract: {error}")))
}

/// A fresh idempotency key.
pub(crate) fn command_id() -> Option<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |since| since.as_nanos());
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Some(format!("cli-{nanos:x}-{:x}-{next:x}", std::process::id()))
}
