//! Subjects, handles, names, digests, times and periods: what is read prints as itself, or as another form of
//! the same value.
#![no_main]

use std::fmt::Display;
use std::str::FromStr;

use lacuna_core::retention::Period;
use lacuna_core::{
    Address, CommandId, Digest, Handle, Principal, SessionName, SpanId, Tenant, Timestamp,
};
use lacuna_wire::retention::hold_number;
use lacuna_wire::session::{contradiction_number, receipt_number};
use lacuna_wire::{Subject, find};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(subject) = Subject::parse(text) {
        assert_eq!(subject.to_string(), text);
        assert_eq!(Subject::parse(text), Ok(subject.clone()));
        find(subject.target.group(), &subject.verb);
    }
    match text.parse() {
        Ok(Address::Handle(handle)) => {
            assert_eq!(handle.to_string(), text);
            let Handle { span, prefix } = handle;
            assert!(prints_as_itself::<SpanId>(span.as_str()) && prefix.len() == 4);
        }
        Ok(Address::Directive(number)) => assert_eq!(number.to_string(), text),
        Ok(Address::Span(span)) => assert_eq!(span.as_str(), text),
        Err(_) => assert!(!prints_as_itself::<SpanId>(text), "a span id is an address"),
    }
    prints_as_itself::<Tenant>(text);
    prints_as_itself::<Principal>(text);
    prints_as_itself::<SessionName>(text);
    prints_as_itself::<Digest>(text);
    if let Ok(id) = text.parse::<CommandId>() {
        assert!(id.as_str() == text && text.chars().count() <= CommandId::MAX_CHARS);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        assert_eq!(time.to_string().parse(), Ok(time), "{time}");
    }
    if let Ok(period) = text.parse::<Period>() {
        assert!(period <= Period::MAX);
        assert_eq!(period.to_string().parse(), Ok(period), "{period}");
    }
    (hold_number(text).ok(), receipt_number(text).ok(), contradiction_number(text).ok());
});

fn prints_as_itself<T: FromStr + Display>(text: &str) -> bool {
    let read = text.parse::<T>();
    if let Ok(name) = &read {
        assert_eq!(name.to_string(), text);
    }
    read.is_ok()
}
