//! What stands in the window for pruned spans is cheap: besides the id, a tombstone costs at most
//! 11 tokens and a stub at most 20 (o200k_base).

use lacuna_core::{
    Digest, DirectiveNo, Handle, SpanId, replaced_text, shared_stub_text, stub_text, tombstone_text,
};

const TOMBSTONE: usize = 11;
const STUB: usize = 20;

fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// Ids of every kind that agents use, and the lengths at the ends.
fn ids() -> Vec<SpanId> {
    let mut texts: Vec<String> = [
        "a",
        "7",
        "block_7",
        "s1",
        "s10000",
        "tool:read-file.3",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        "toolu_01A09q90qw90lq917835lq9",
        "call_9pw5TTXzr0yGPVXMTWEhEwcT",
        "-",
        "_",
        ".",
        ":",
        "550e8400-e29b-41d4-a716-446655440000",
        "user.message.2026-11-13T05:00:00.000Z",
        "UPPER_CASE",
        "x--y",
        "0000000000000000",
        "chatcmpl-AbC123:choice.0",
        "..",
        "a.b.c",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.extend((1..=400).map(|number| format!("s{number}")));
    texts.extend((0..200).map(|number| blake3::hash(&[number]).to_hex()[..24].to_owned()));
    texts.push("x".repeat(128));
    texts.push("Zq9_".repeat(32));
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn costs(text: &str, besides: &str, at_most: usize) -> usize {
    let cost = tokens(text).saturating_sub(tokens(besides));
    assert!(cost <= at_most, "{text:?} costs {cost} tokens besides {besides:?}");
    cost
}

#[test]
fn the_counter_counts_what_is_known() {
    assert_eq!(tokens("hello world"), 2);
    assert_eq!(tokens(""), 0);
}

#[test]
fn tombstones() {
    let ids = ids();
    let worst = ids.iter().map(|id| {
        let text = tombstone_text(id);
        assert_eq!(text, format!("{id}: pruned, unrecoverable, contents unknown"));
        costs(&text, id.as_str(), TOMBSTONE)
    });
    eprintln!("a tombstone costs at most {} tokens besides the id", worst.max().unwrap());
}

#[test]
fn stubs_of_one_span() {
    let mut worst = (0, String::new());
    for id in ids() {
        // Hex tokenises by chance: many digests, and those of one digit or letter only.
        let chance = (0..100_u32).map(|n| Digest::of(format!("{id} {n}").as_bytes()).prefix());
        let uniform = [0x00, 0x11, 0xaa, 0xff, 0x9a, 0xa9].map(|byte| [byte; 4]);
        for prefix in chance.chain(uniform) {
            let text = stub_text(&Handle { span: id.clone(), prefix });
            let cost = costs(&text, id.as_str(), STUB);
            if cost > worst.0 {
                worst = (cost, text);
            }
        }
    }
    eprintln!("a stub costs at most {} tokens besides the id: {}", worst.0, worst.1);
}

#[test]
fn stubs_that_many_spans_share() {
    let mut worst = 0;
    for directive in [1, 9, 10, 99, 100, 999, 1_000, 12_345, 999_999, u32::MAX] {
        for spans in (1..=10_000).step_by(7).chain([2, 10, 100, 999, 1_000, 9_999, 10_000]) {
            let text = shared_stub_text(DirectiveNo(directive), spans);
            // There is no id of a span to leave out: all of it counts.
            worst = worst.max(costs(&text, "", STUB));
        }
    }
    eprintln!("a shared stub costs at most {worst} tokens");
}

#[test]
fn what_follows_a_summary() {
    for count in 1..=8_u32 {
        let directives: Vec<DirectiveNo> = (1..=count).map(|n| DirectiveNo(n * 997)).collect();
        let besides: String = directives[1..].iter().map(|no| format!(" {no}")).collect();
        for spans in [1, 40, 999, 10_000] {
            // Each further directive is a handle of its own; the first is part of the stub.
            costs(&replaced_text(&directives, spans), &besides, STUB);
        }
    }
}
