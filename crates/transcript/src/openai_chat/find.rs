//! Finds the conversations in a file, whatever they are wrapped in.

use serde_json::value::RawValue;

use crate::SourceFile;
use crate::fields::{self, Fields, object};
use crate::lines::{self, Piece, Shape};
use crate::names;

/// Fields that hold the messages of a conversation.
const MESSAGES: &[&str] =
    &["messages", "traj", "trajectory", "conversation", "conversations", "history"];
/// Wrappers are looked into this deep.
const DEPTH: usize = 4;

/// One conversation and everything around it.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    /// The name that it would like as a session.
    pub(super) wish: String,
    /// Its id in the source.
    pub(super) id: Option<String>,
    /// What to record, in order.
    pub(super) items: Vec<Item<'a>>,
}

/// One thing to record.
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// A message.
    Message(&'a RawValue),
    /// Fields around the messages, as a JSON object.
    Around { kind: &'static str, json: String },
    /// A record that is no message, or no JSON at all.
    Stray(Piece<'a>),
}

/// The conversations of one file; one at least, if the file holds anything.
pub(super) fn conversations(file: &SourceFile) -> Vec<Conversation<'_>> {
    let mut finder = Finder {
        stem: names::stem(&file.name).to_owned(),
        found: Vec::new(),
        early: Vec::new(),
        loose: None,
    };
    for piece in lines::read(&file.bytes, super::is_record) {
        match piece.shape {
            Shape::Value(value) => {
                if !finder.value(value, 0) {
                    finder.stray(value);
                }
            }
            _ => finder.put(Item::Stray(piece)),
        }
    }
    finder.finish()
}

struct Finder<'a> {
    stem: String,
    found: Vec<Conversation<'a>>,
    /// What came before the first conversation.
    early: Vec<Item<'a>>,
    /// The conversation that messages without a wrapper belong to.
    loose: Option<usize>,
}

impl<'a> Finder<'a> {
    /// Looks for conversations in a value; says whether there are any.
    fn value(&mut self, value: &'a RawValue, depth: usize) -> bool {
        if let Some(list) = fields::list(value) {
            if list.iter().any(|element| is_message(element)) {
                self.conversation(list, None);
                return true;
            }
            return depth < DEPTH && self.list(list, depth);
        }
        let Some(fields) = Fields::of(value) else { return false };
        if depth <= 1 && is_message(value) {
            self.loose_message(value);
            return true;
        }
        let messages = MESSAGES.iter().find_map(|name| {
            let list = fields.list(name)?;
            list.iter().any(|element| is_message(element)).then_some((*name, list))
        });
        if let Some((name, list)) = messages {
            let id = ["session_id", "conversation_id", "instance_id", "id", "task_id"];
            let id = id.iter().find_map(|name| fields.word(name).filter(|id| !id.is_empty()));
            let trial = fields.word("trial").map(|trial| format!("-{trial}")).unwrap_or_default();
            self.conversation(list, id.map(|id| format!("{id}{trial}")));
            let response = self.response(&fields);
            let known: &[&str] = if response { &[name, "response"] } else { &[name] };
            self.around("remainder:conversation", fields.rest(known));
            return true;
        }
        depth < DEPTH && self.wrapper(&fields, depth)
    }

    fn list(&mut self, list: Vec<&'a RawValue>, depth: usize) -> bool {
        let mut strays = Vec::new();
        let before = self.found.len();
        for element in list {
            if !self.value(element, depth + 1) {
                strays.push(element);
            }
        }
        let found = self.found.len() > before;
        if found {
            strays.into_iter().for_each(|stray| self.stray(stray));
        }
        found
    }

    /// An object that holds conversations somewhere below; its other fields stay around the first
    /// of them.
    fn wrapper(&mut self, fields: &Fields<'a>, depth: usize) -> bool {
        let before = self.found.len();
        let mut holders = Vec::new();
        for (name, value) in fields.iter() {
            if value.get().starts_with(['[', '{']) && self.value(value, depth + 1) {
                holders.push(name);
            }
        }
        if holders.is_empty() {
            return false;
        }
        let around = fields.rest(&holders);
        let json = object(around.iter().map(|(name, value)| (name.as_str(), value.get())));
        if let (false, Some(first)) = (around.is_empty(), self.found.get_mut(before)) {
            first.items.insert(0, Item::Around { kind: "remainder:container", json });
        }
        true
    }

    fn conversation(&mut self, messages: Vec<&'a RawValue>, id: Option<String>) {
        let mut items = std::mem::take(&mut self.early);
        items.extend(messages.into_iter().map(Item::Message));
        let wish = match &id {
            // A number or a short word says little without its file.
            Some(id) if id.len() < 8 => format!("{}-{id}", self.stem),
            Some(id) => id.clone(),
            None if self.found.is_empty() => self.stem.clone(),
            None => format!("{}-{}", self.stem, self.found.len() + 1),
        };
        self.found.push(Conversation { wish, id, items });
    }

    fn loose_message(&mut self, message: &'a RawValue) {
        match self.loose {
            Some(at) => self.found[at].items.push(Item::Message(message)),
            None => {
                self.loose = Some(self.found.len());
                self.conversation(vec![message], None);
            }
        }
    }

    /// The response of a logged request: its message ends the conversation. False if there is
    /// none, or more than one.
    fn response(&mut self, fields: &Fields<'a>) -> bool {
        let Some(response) = fields.object("response") else { return false };
        let choices = response.list("choices").unwrap_or_default();
        let [choice] = choices.as_slice() else { return false };
        let Some(choice) = Fields::of(choice) else { return false };
        let Some(message) = choice.get("message").filter(|message| is_message(message)) else {
            return false;
        };
        self.put(Item::Message(message));
        self.around("remainder:response", response.rest(&["choices"]));
        self.around("remainder:response", choice.rest(&["message"]));
        true
    }

    fn around(&mut self, kind: &'static str, fields: Vec<(String, &'a RawValue)>) {
        if !fields.is_empty() {
            let json = object(fields.iter().map(|(name, value)| (name.as_str(), value.get())));
            if let Some(last) = self.found.last_mut() {
                let at = if kind == "remainder:response" { last.items.len() } else { 0 };
                last.items.insert(at, Item::Around { kind, json });
            }
        }
    }

    fn stray(&mut self, value: &'a RawValue) {
        let shape = Shape::Value(value);
        self.put(Item::Stray(Piece { bytes: value.get().as_bytes(), shape }));
    }

    fn put(&mut self, item: Item<'a>) {
        match self.found.last_mut() {
            Some(last) => last.items.push(item),
            None => self.early.push(item),
        }
    }

    fn finish(mut self) -> Vec<Conversation<'a>> {
        if !self.early.is_empty() {
            self.conversation(Vec::new(), None);
        }
        self.found
    }
}

fn is_message(value: &RawValue) -> bool {
    Fields::of(value).is_some_and(|fields| fields.text("role").is_some())
}
