//! Contents that are larger than a message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_wire::session::{
    AppendReply, AppendRequest, PutChunkReply, PutChunkRequest, PutCloseReply, PutCloseRequest,
    PutOpenReply, PutOpenRequest, SpanBody,
};

use crate::{ClientError, Session};

/// Room for everything in an append besides contents.
const MARGIN: usize = 16 << 10;

impl Session {
    /// Uploads a content and gives the name under which an append may use it for ten minutes.
    pub async fn upload(&self, content: &[u8]) -> Result<String, ClientError> {
        let bytes = content.len() as u64;
        let opened: PutOpenReply =
            self.put("put-open", &PutOpenRequest { bytes, ..Default::default() }).await?;
        let chunk = usize::try_from(opened.chunk_bytes).unwrap_or(usize::MAX).max(1);
        let fits = self.max_payload().saturating_sub(MARGIN) / 4 * 3;
        for (index, part) in content.chunks(chunk.min(fits.max(1))).enumerate() {
            let request = PutChunkRequest {
                upload: opened.upload.clone(),
                offset: (index * chunk.min(fits.max(1))) as u64,
                data_b64: BASE64_STANDARD.encode(part),
                ..Default::default()
            };
            let _: PutChunkReply = self.put("put-chunk", &request).await?;
        }
        let digest = blake3::hash(content).to_hex().to_string();
        let request =
            PutCloseRequest { upload: opened.upload.clone(), digest, ..Default::default() };
        let _: PutCloseReply = self.put("put-close", &request).await?;
        Ok(opened.upload)
    }

    /// Records spans of any size: contents that do not fit into a message are uploaded first.
    pub async fn append_any(&self, mut request: AppendRequest) -> Result<AppendReply, ClientError> {
        let fits = self.max_payload().saturating_sub(MARGIN);
        let mut sizes: Vec<(usize, usize)> =
            request.spans.iter().enumerate().map(|(i, span)| (weight(span), i)).collect();
        let mut total: usize = sizes.iter().map(|(size, _)| size + 512).sum();
        sizes.sort_unstable();
        // The largest go first, until the rest fits.
        while total > fits
            && let Some((size, index)) = sizes.pop()
            && size > 1_024
        {
            let span = &mut request.spans[index];
            let content = match (span.content.take(), span.content_b64.take()) {
                (Some(text), _) => text.into_bytes(),
                (None, Some(base64)) => BASE64_STANDARD
                    .decode(base64)
                    .map_err(|error| ClientError::Send(format!("content_b64: {error}")))?,
                (None, None) => continue,
            };
            span.upload = Some(self.upload(&content).await?);
            total -= size;
        }
        self.append(&request).await
    }

    async fn put<R: serde::de::DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl serde::Serialize,
    ) -> Result<R, ClientError> {
        self.client.call(&self.subject(verb), request, true).await
    }
}

/// About how many bytes a span's content takes in a message.
fn weight(span: &SpanBody) -> usize {
    // Escaping makes text longer; the encoder knows by how much.
    let text = span.content.as_ref().map_or(0, |text| {
        serde_json::to_string(text).map_or(text.len() * 6, |encoded| encoded.len())
    });
    text + span.content_b64.as_ref().map_or(0, String::len)
}
