//! What one text holds.

use crate::text::AnchorKind;
use crate::text::find::occurrences;
use crate::text::form::{Form, form, forms};

/// What one text holds: the forms of its anchors and of their parts.
///
/// Eight bytes for each form that differs; built in time linear in the text, but for the sorting of
/// the forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Sorted, without repetitions.
    forms: Vec<Form>,
}

impl Held {
    /// What this text holds.
    pub fn of(text: &str) -> Self {
        let mut forms: Vec<Form> = forms(text).map(|(form, _)| form).collect();
        forms.sort_unstable();
        forms.dedup();
        forms.shrink_to_fit();
        Self { forms }
    }

    /// Whether an anchor of this form, or a part of one, occurs in the text.
    pub fn contains(&self, form: Form) -> bool {
        self.forms.binary_search(&form).is_ok()
    }

    /// Whether the text holds an anchor.
    ///
    /// `text` is the text that this was made of. A number is held only as a number of its own or in
    /// words; everything else also where its words stand as [`occurrences`] finds them, which costs
    /// a pass over the text when the form is not known.
    pub fn holds(&self, text: &str, kind: AnchorKind, anchor: &str) -> bool {
        self.contains(form(kind, anchor))
            || (kind != AnchorKind::Number && occurrences(text, kind, anchor).next().is_some())
    }
}
