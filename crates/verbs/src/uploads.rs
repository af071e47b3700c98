//! Uploads: contents that are larger than a message, kept in memory until an append names them.
//! They are bounded together, forgotten when unused, and nothing is durable before the append is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::{Digest, Refusal, SessionKey, Tenant};
use lacuna_wire::session::{
    PutChunkReply, PutChunkRequest, PutCloseReply, PutCloseRequest, PutOpenReply, PutOpenRequest,
};
use lacuna_wire::{Code, WireError, parse};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use crate::call::Call;
use crate::settings::Settings;

/// Uploads open at a time, however small: in one session, and in all.
const OPEN_IN_SESSION: usize = 64;
const OPEN_IN_ALL: usize = 4_096;
/// Room that a `put-chunk` request needs around its data.
const CHUNK_OVERHEAD: usize = 1_024;

/// The uploads of a daemon.
pub(crate) struct Uploads {
    limit: u64,
    ttl: Duration,
    span_bytes: u64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    uploads: HashMap<String, Upload>,
}

struct Upload {
    session: SessionKey,
    command_id: Option<String>,
    bytes: u64,
    content: Vec<u8>,
    whole: Option<Arc<[u8]>>,
    touched: Instant,
    /// Whether an append has named it: it may go as soon as its room is needed.
    used: bool,
}

impl Upload {
    /// Bytes that it holds in memory.
    fn held(&self) -> u64 {
        self.whole.as_deref().map_or(self.content.len(), <[u8]>::len) as u64
    }
}

impl Uploads {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            limit: settings.upload_bytes,
            ttl: settings.upload_ttl,
            span_bytes: settings.span_bytes,
            table: Mutex::default(),
        }
    }

    pub(crate) fn open_now(&self) -> usize {
        let mut table = self.table.lock();
        table.forget_unused(self.ttl);
        table.uploads.len()
    }

    /// `put-chunk` and `put-close`.
    pub(crate) fn begin(&self, call: &Call<'_>, key: &SessionKey) -> Result<Vec<u8>, WireError> {
        let mut table = self.table.lock();
        table.forget_unused(self.ttl);
        match call.subject.verb.as_str() {
            "put-chunk" => encode(&table.chunk(&parse(call.body)?, key, self.limit)?),
            _ => encode(&table.close(&parse(call.body)?, key)?),
        }
    }

    /// The content of an upload that was closed. It stays until its time is over or its room is
    /// needed, so that an append that is sent again finds it again.
    pub(crate) fn content(&self, name: &str, key: &SessionKey) -> Result<Arc<[u8]>, WireError> {
        let mut table = self.table.lock();
        let upload = table.find(name, key)?;
        upload.used = upload.whole.is_some();
        upload.whole.clone().ok_or_else(|| {
            WireError::bad_request(format!("upload {name} is not closed: send put-close first"))
        })
    }

    /// `put-open`, in a session that is open.
    pub(crate) fn open(
        &self,
        request: &PutOpenRequest,
        key: &SessionKey,
        max_reply: usize,
    ) -> Result<Vec<u8>, WireError> {
        let mut table = self.table.lock();
        table.forget_unused(self.ttl);
        if request.bytes > self.span_bytes {
            let message = format!(
                "a span's content: {} bytes are over the limit of {}; split the content",
                request.bytes, self.span_bytes
            );
            return Err(WireError::new(Code::TooLarge, message)
                .with(json!({ "given": request.bytes, "limit": self.span_bytes })));
        }
        if let Some(id) = &request.command_id {
            let again = table
                .uploads
                .iter()
                .find(|(_, u)| u.session == *key && u.command_id.as_ref() == Some(id));
            if let Some((name, upload)) = again {
                if upload.bytes != request.bytes {
                    return Err(Refusal::CommandIdReused.into());
                }
                return encode(&PutOpenReply {
                    upload: name.clone(),
                    chunk_bytes: room(max_reply),
                });
            }
        }
        let unused = table.uploads.values().filter(|u| !u.used);
        let in_session = unused.clone().filter(|u| u.session == *key).count();
        if in_session >= OPEN_IN_SESSION || unused.count() >= OPEN_IN_ALL {
            let message = "too many uploads are open: use or wait for the others, then try again";
            return Err(WireError::new(Code::Overloaded, message)
                .with(json!({ "open_in_session": in_session, "limit": OPEN_IN_SESSION })));
        }
        table.next += 1;
        let name = format!("u{}-{:08x}", table.next, fresh_suffix(table.next));
        table.uploads.insert(
            name.clone(),
            Upload {
                session: key.clone(),
                command_id: request.command_id.clone(),
                bytes: request.bytes,
                content: Vec::new(),
                whole: None,
                touched: Instant::now(),
                used: false,
            },
        );
        encode(&PutOpenReply { upload: name, chunk_bytes: room(max_reply) })
    }
}

/// The most bytes of content that fit into one `put-chunk`, as base64.
fn room(max_message: usize) -> u64 {
    (max_message.saturating_sub(CHUNK_OVERHEAD) / 4 * 3).clamp(1, 4 << 20) as u64
}

impl Table {
    fn forget_unused(&mut self, ttl: Duration) {
        self.uploads.retain(|_, upload| upload.touched.elapsed() < ttl);
    }

    fn find(&mut self, name: &str, key: &SessionKey) -> Result<&mut Upload, WireError> {
        let upload = self.uploads.get_mut(name).filter(|upload| upload.session == *key);
        let upload = upload.ok_or_else(|| {
            let name: String = name.chars().take(40).collect();
            WireError::bad_request(format!(
                "there is no upload {name:?} in this session: it was never opened, or not used in \
                 time; begin again with put-open"
            ))
        })?;
        upload.touched = Instant::now();
        Ok(upload)
    }

    /// Lets used uploads go, the longest untouched first, until this much more fits; refuses if it
    /// still does not. No tenant may take more than half of the room.
    fn make_room(&mut self, more: u64, tenant: &Tenant, limit: u64) -> Result<(), WireError> {
        loop {
            let held = |all: bool| -> u64 {
                let uploads = self.uploads.values();
                uploads.filter(|u| all || u.session.tenant == *tenant).map(Upload::held).sum()
            };
            let (all, own) = (held(true), held(false));
            if all + more <= limit && own + more <= limit.div_ceil(2) {
                return Ok(());
            }
            let crowded = all + more > limit;
            let used = self.uploads.iter().filter(|(_, u)| u.used);
            let candidates = used.filter(|(_, u)| crowded || u.session.tenant == *tenant);
            let oldest = candidates.min_by_key(|(_, u)| u.touched).map(|(name, _)| name.clone());
            let Some(oldest) = oldest else {
                let message = "uploads take all their room: use or wait for the others first";
                return Err(WireError::new(Code::Overloaded, message)
                    .with(json!({ "held_bytes": all, "own_bytes": own, "limit": limit })));
            };
            self.uploads.remove(&oldest);
        }
    }

    fn chunk(
        &mut self,
        request: &PutChunkRequest,
        key: &SessionKey,
        limit: u64,
    ) -> Result<PutChunkReply, WireError> {
        self.make_room(request.data_b64.len() as u64, &key.tenant, limit)?;
        let upload = self.find(&request.upload, key)?;
        let data = BASE64_STANDARD
            .decode(request.data_b64.as_bytes())
            .map_err(|error| WireError::bad_request(format!("data_b64: {error}")))?;
        if upload.whole.is_some() {
            return Err(WireError::bad_request("the upload is closed: it takes no more parts"));
        }
        let received = upload.content.len() as u64;
        let end = request.offset.checked_add(data.len() as u64);
        let Some(end) = end.filter(|&end| end <= upload.bytes) else {
            return Err(WireError::bad_request(format!(
                "the part runs beyond the {} bytes that put-open announced",
                upload.bytes
            ))
            .with(json!({ "received": received })));
        };
        let start = usize::try_from(request.offset).unwrap_or(usize::MAX);
        if end <= received {
            // Sent again after a lost reply: fine, if it is the same.
            if upload.content[start..start + data.len()] != data {
                return Err(WireError::bad_request("this part was received with other bytes"));
            }
        } else if request.offset == received {
            upload.content.extend_from_slice(&data);
        } else {
            return Err(WireError::bad_request(format!("the next part begins at {received}"))
                .with(json!({ "received": received })));
        }
        Ok(PutChunkReply { received: upload.content.len() as u64 })
    }

    fn close(
        &mut self,
        request: &PutCloseRequest,
        key: &SessionKey,
    ) -> Result<PutCloseReply, WireError> {
        let upload = self.find(&request.upload, key)?;
        let content = upload.whole.as_deref().unwrap_or(&upload.content);
        if content.len() as u64 != upload.bytes {
            return Err(WireError::bad_request(format!(
                "{} of {} bytes were received: send the rest",
                content.len(),
                upload.bytes
            ))
            .with(json!({ "received": content.len() })));
        }
        let digest = Digest::of(content).to_string();
        if digest != request.digest {
            self.uploads.remove(&request.upload);
            return Err(WireError::bad_request(
                "the digest does not match what was received: begin again with put-open",
            )
            .with(json!({ "digest": digest })));
        }
        if upload.whole.is_none() {
            upload.whole = Some(std::mem::take(&mut upload.content).into());
        }
        Ok(PutCloseReply { digest })
    }
}

/// Names of uploads differ between runs of a daemon, so that a name from before a restart never
/// finds another's content.
fn fresh_suffix(number: u64) -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |since| since.as_nanos());
    let mixed = blake3::hash(format!("{number} {nanos} {}", std::process::id()).as_bytes());
    let [a, b, c, d, ..] = *mixed.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn encode(reply: &impl Serialize) -> Result<Vec<u8>, WireError> {
    crate::fit::encode(reply)
}
