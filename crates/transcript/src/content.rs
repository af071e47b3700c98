//! Content blocks that several formats share: texts, images, tool results.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lacuna_core::{Origin, Role, Source, SpanId, SpanKind};
use serde_json::value::RawValue;

use crate::builder::Builder;
use crate::fields::{self, Fields, Remainder};
use crate::record::{Draft, JSON, TEXT};

/// Labels for the first span of a record.
pub(crate) type Labels = BTreeMap<String, String>;

/// A text block. One that is not valid Unicode stays the JSON string that it was.
pub(crate) fn text(
    builder: &mut Builder,
    wish: &str,
    who: (Role, Origin, SpanKind),
    source: &Source,
    value: &RawValue,
) -> Draft {
    match fields::text(value) {
        Some(text) => Draft::text(wish, who, source, text),
        None => {
            if value.get().starts_with('"') {
                builder.note("texts that are not valid Unicode, kept as JSON strings", wish);
            }
            Draft::json(wish, who, source, value.get()).label("undecoded", "true")
        }
    }
}

/// One image or sound: decoded where it is embedded, else the part itself.
struct Image {
    bytes: Vec<u8>,
    media_type: String,
    broken: bool,
}

/// Whether a content part is an image, and in which fields it says so.
pub(crate) fn is_image(part: &Fields<'_>) -> bool {
    matches!(part.text("type").as_deref(), Some("image" | "image_url"))
}

/// Records the images of one content part; gives the fields that this expresses.
pub(crate) fn images(
    builder: &mut Builder,
    wish: &str,
    (role, origin): (Role, Origin),
    source: &Source,
    (part, fields): (&RawValue, &Fields<'_>),
    mut labels: Labels,
) -> (Vec<SpanId>, &'static [&'static str]) {
    let (found, known) = embedded(part, fields);
    let many = found.len() > 1;
    let mut spans = Vec::new();
    for (at, image) in found.into_iter().enumerate() {
        let wish = if many { format!("{wish}.img{at}") } else { wish.to_owned() };
        if image.broken {
            builder.note("embedded images that are no base64, kept as text", &wish);
        }
        let who = (role, origin, SpanKind::File);
        let mut draft = Draft::text(wish, who, source, image.bytes).media(&image.media_type);
        draft.labels.append(&mut labels);
        spans.push(builder.push(draft));
    }
    (spans, known)
}

fn embedded(part: &RawValue, fields: &Fields<'_>) -> (Vec<Image>, &'static [&'static str]) {
    if let Some(source) = fields.object("source") {
        let plain = source.rest(&["type", "media_type", "data"]).is_empty()
            && source.text("type").as_deref() == Some("base64");
        let media = source.text("media_type").unwrap_or_default();
        if let (true, Some(data)) = (plain, source.text("data"))
            && let Some(image) = decode(&data, &media)
        {
            return (vec![image], &["type", "source"]);
        }
    }
    if let Some(url) = fields.object("image_url")
        && let Some(image) = url.text("url").as_deref().and_then(data_url)
        && url.rest(&["url"]).is_empty()
    {
        return (vec![image], &["type", "image_url"]);
    }
    if let Some(urls) = fields.list("image_urls") {
        let texts: Option<Vec<_>> = urls.into_iter().map(fields::text).collect();
        let found: Option<Vec<_>> =
            texts.and_then(|texts| texts.iter().map(|url| data_url(url)).collect());
        match found {
            Some(found) if !found.is_empty() => return (found, &["type", "image_urls"]),
            _ => {}
        }
    }
    // As MCP has it, and pi.
    if let (Some(data), Some(media)) = (fields.text("data"), fields.text("mimeType"))
        && let Some(image) = decode(&data, &media)
    {
        return (vec![image], &["type", "data", "mimeType"]);
    }
    // An image elsewhere, or one with more to say than its bytes: the part itself is the content.
    let whole =
        Image { bytes: part.get().as_bytes().to_vec(), media_type: JSON.to_owned(), broken: false };
    (vec![whole], ALL_FIELDS)
}

/// Stands for "the span holds the whole part".
pub(crate) const ALL_FIELDS: &[&str] = &["*"];

/// What of a part's fields a span does not express.
pub(crate) fn unexpressed<'a>(fields: &Fields<'a>, known: &[&str]) -> Vec<(String, &'a RawValue)> {
    if known == ALL_FIELDS { Vec::new() } else { fields.rest(known) }
}

fn data_url(url: &str) -> Option<Image> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    decode(data, head.strip_suffix(";base64")?)
}

/// None if the media type is none: then the part has more to say than its bytes.
fn decode(data: &str, media_type: &str) -> Option<Image> {
    let fine = (3..=100).contains(&media_type.len())
        && media_type.contains('/')
        && media_type.bytes().all(|b| b.is_ascii_alphanumeric() || b"/+-._".contains(&b));
    let bytes = fine.then(|| STANDARD.decode(data))?;
    Some(match bytes {
        Ok(bytes) => Image { bytes, media_type: media_type.to_owned(), broken: false },
        Err(_) => {
            Image { bytes: data.as_bytes().to_vec(), media_type: TEXT.to_owned(), broken: true }
        }
    })
}

/// What a tool answered: the result's own content, the images that were in it, and what else its
/// only text part says.
pub(crate) struct Answer<'a> {
    pub(crate) content: Vec<u8>,
    pub(crate) media_type: &'static str,
    pub(crate) images: Vec<(&'a RawValue, Fields<'a>)>,
    pub(crate) rest: Vec<(String, &'a RawValue)>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(content: impl Into<Vec<u8>>, media_type: &'static str) -> Self {
        Self { content: content.into(), media_type, images: Vec::new(), rest: Vec::new() }
    }

    /// Splits a tool result: one text is plain text; any other list stays JSON, minus its images.
    pub(crate) fn of(value: Option<&'a RawValue>) -> Self {
        let Some(value) = value.filter(|value| value.get() != "null") else {
            return Self::new("", TEXT);
        };
        if let Some(text) = fields::text(value) {
            return Self::new(text, TEXT);
        }
        let Some(parts) = fields::list(value) else {
            return Self::new(value.get(), JSON);
        };
        let (mut images, mut others) = (Vec::new(), Vec::new());
        for part in parts {
            match Fields::of(part).filter(is_image) {
                Some(fields) => images.push((part, fields)),
                None => others.push(part),
            }
        }
        if let [only] = others.as_slice()
            && let Some(part) = Fields::of(only)
        {
            let is_text = part.text("type").as_deref() == Some("text");
            if let (true, Some(text)) = (is_text, part.text("text")) {
                let rest = part.rest(&["type", "text"]);
                return Self { content: text.into_bytes(), media_type: TEXT, images, rest };
            }
        }
        let mut answer = Self::new("", JSON);
        answer.content = if images.is_empty() {
            value.get().as_bytes().to_vec()
        } else {
            let others: Vec<_> = others.iter().map(|part| part.get()).collect();
            format!("[{}]", others.join(",")).into_bytes()
        };
        answer.images = images;
        answer
    }
}

/// What a tool result's span needs besides its content.
pub(crate) struct ResultOf<'s> {
    pub(crate) wish: String,
    pub(crate) origin: Origin,
    pub(crate) source: &'s Source,
    /// The call's id in the source; an orphan keeps it as label `call`.
    pub(crate) provider_id: Option<&'s str>,
    pub(crate) call: Option<SpanId>,
    pub(crate) is_error: bool,
    pub(crate) labels: Labels,
}

/// Records a tool result and its images; gives the spans, and what of the images' parts they do
/// not express.
pub(crate) fn tool_result<'a>(
    builder: &mut Builder,
    of: ResultOf<'_>,
    answer: Answer<'a>,
) -> (Vec<SpanId>, Vec<(String, &'a RawValue)>) {
    let who = (Role::Tool, of.origin, SpanKind::ToolResult);
    let mut draft =
        Draft::text(of.wish.clone(), who, of.source, answer.content).media(answer.media_type);
    draft.labels = of.labels;
    if let (None, Some(id)) = (&of.call, of.provider_id) {
        draft = draft.label("call", id.chars().take(256).collect::<String>());
    }
    draft.answers = of.call;
    if of.is_error {
        draft = draft.label("is_error", "true");
    }
    let mut spans = vec![builder.push(draft)];
    let mut rest = answer.rest;
    for (at, (part, fields)) in answer.images.iter().enumerate() {
        let wish = format!("{}.img{at}", of.wish);
        let side = (Role::User, of.origin);
        let (found, known) =
            images(builder, &wish, side, of.source, (*part, fields), Labels::new());
        spans.extend(found);
        rest.extend(unexpressed(fields, known));
    }
    (spans, rest)
}

/// Records the parts of a message's content: a string, or a list of texts, images, sounds and
/// blocks of other kinds. What they do not express goes to the remainder.
pub(crate) fn parts<'a>(
    builder: &mut Builder,
    wish: &str,
    (role, origin): (Role, Origin),
    source: &Source,
    value: &'a RawValue,
    labels: &mut Labels,
    rest: &mut Remainder<'a>,
) -> Vec<SpanId> {
    let who = (role, origin, SpanKind::Message);
    let Some(list) = fields::list(value) else {
        let mut draft = text(builder, wish, who, source, value);
        draft.labels.append(labels);
        return vec![builder.push(draft)];
    };
    let many = list.len() > 1;
    let mut spans = Vec::new();
    for (at, part) in list.into_iter().enumerate() {
        let wish = if many { format!("{wish}.{at}") } else { wish.to_owned() };
        let mut own = std::mem::take(labels);
        let part_fields = Fields::of(part);
        let kind = part_fields.as_ref().and_then(|fields| fields.text("type")).unwrap_or_default();
        let mut draft = match (&part_fields, kind.as_str()) {
            (Some(fields), "text" | "input_text" | "output_text")
                if fields.get("text").is_some() =>
            {
                let Some(value) = fields.get("text") else { continue };
                let known: &[&str] = if kind == "text" { &["type", "text"] } else { &["text"] };
                rest.add(&format!("content.{at}"), fields.rest(known));
                text(builder, &wish, who, source, value)
            }
            (Some(fields), "image" | "image_url") => {
                let found = images(builder, &wish, (role, origin), source, (part, fields), own);
                rest.add(&format!("content.{at}"), unexpressed(fields, found.1));
                spans.extend(found.0);
                continue;
            }
            (Some(fields), "refusal") if fields.get("refusal").is_some() => {
                let Some(value) = fields.get("refusal") else { continue };
                rest.add(&format!("content.{at}"), fields.rest(&["type", "refusal"]));
                text(builder, &wish, who, source, value).label("refusal", "true")
            }
            (Some(fields), "input_audio") => match sound(fields) {
                Some(sound) => {
                    rest.add(&format!("content.{at}"), fields.rest(&["type", "input_audio"]));
                    let who = (role, origin, SpanKind::File);
                    Draft::text(&wish, who, source, sound.bytes).media(&sound.media_type)
                }
                None => Draft::json(&wish, who, source, part.get()).label("block", "input_audio"),
            },
            (None, _) if part.get().starts_with('"') => text(builder, &wish, who, source, part),
            _ => {
                let kind: String = kind.chars().take(64).collect();
                Draft::json(&wish, who, source, part.get()).label("block", kind)
            }
        };
        own.append(&mut draft.labels);
        draft.labels = own;
        spans.push(builder.push(draft));
    }
    spans
}

fn sound(part: &Fields<'_>) -> Option<Image> {
    let audio = part.object("input_audio")?;
    let format = audio.text("format")?;
    let data = audio.text("data")?;
    let plain = audio.rest(&["data", "format"]).is_empty();
    plain.then(|| decode(&data, &format!("audio/{format}"))).flatten()
}
