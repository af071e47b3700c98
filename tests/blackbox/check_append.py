"""Appending: ids, duplicates, conflicts, all or nothing, limits."""

import asyncio
import json
import re

from contract import blake3, check, executed, need, ok, refused, short
from shapes import (
    body_of,
    check_budget,
    check_versions,
    entry_of,
    shown_ids,
    span,
    unchanged,
    withheld,
)


@check
async def append_reply(lab):
    """Append answers per span: BLAKE3 digest, handle made of it, seq, tokens and their source."""
    session = await lab.opened()
    reply = await session.add(span("a", "hello"), span("b", "wörld", tokens=77))
    need([each["id"] for each in reply["spans"]] == ["a", "b"], f"{short(reply)}")
    counted, declared = reply["spans"]
    for each, text in ((counted, "hello"), (declared, "wörld")):
        need(
            each["digest"] == blake3(text.encode()),
            f"digest is not BLAKE3 of the bytes: {each['digest']}",
        )
        name, _, prefix = each["handle"].partition("@")
        need(
            name == each["id"] and prefix and each["digest"].startswith(prefix),
            f"handle {each['handle']!r}",
        )
        need(type(each["seq"]) is int and "durable_until" in each, f"{short(each)}")
    need(counted["seq"] < declared["seq"], "seq does not grow within an append")
    need(
        counted["tokens_from"] in ("counted", "estimated")
        and type(counted["tokens"]) is int
        and counted["tokens"] > 0,
        f"{short(counted)}",
    )
    need((declared["tokens"], declared["tokens_from"]) == (77, "declared"), f"{short(declared)}")
    check_budget(reply["budget"])
    need(
        reply["budget"]["used_tokens"] == counted["tokens"] + 77,
        "used_tokens is not the sum of the spans",
    )
    need(reply["version"] == await session.version(), "version")


@check
async def append_assigns_ids(lab):
    """A span without id gets s1, s2, … and never an id that is taken."""
    session = await lab.opened()
    reply = await session.add(span(None, "one"), span(None, "two"))
    need([each["id"] for each in reply["spans"]] == ["s1", "s2"], f"{short(reply)}")
    await session.add(span("s3", "mine"))
    reply = await session.add(span(None, "four"))
    need(reply["spans"][0]["id"] not in ("s1", "s2", "s3"), "an assigned id collides")
    need(len(shown_ids(await session.window())) == 4, "a span is missing")


@check
async def append_is_all_or_nothing(lab):
    """One bad span refuses the whole append and leaves nothing behind."""
    session = await lab.opened()
    await session.add(span("a", "first"))

    async def act():
        refused(
            await session("append", spans=[span("n1"), span("n2"), span("a", "other")]),
            "span_conflict",
        )
        refused(
            await session("append", spans=[span("n1"), span("n2", role="robot")]), "bad_request"
        )
        refused(
            await session(
                "append", spans=[span("n1"), span("n2", upload="none-such", content=None)]
            )
        )

    await unchanged(session, act)
    need(ok(await session("expand", span="n1"))["outcome"] == "never_recorded", "n1 was recorded")


@check
async def append_duplicate_is_noop(lab):
    """The same id with the same content is a no-op marked duplicate, with the first answer."""
    session = await lab.opened()
    first = await session.add(span("a"))

    async def act():
        return await session.add(span("a"))

    again = await unchanged(session, act)
    # Free: the mark may stand at the span or at the reply.
    need(
        again["spans"][0].get("duplicate") is True or again.get("duplicate") is True,
        f"not marked duplicate: {short(again)}",
    )
    for key in ("seq", "handle", "digest", "tokens"):
        need(first["spans"][0][key] == again["spans"][0][key], f"{key} differs")
    again = await session.add(span("a"), span("b"))
    need(shown_ids(await session.window()) == ["a", "b"], "mixed duplicate and new")


@check
async def append_conflict(lab):
    """A known id with other content is span_conflict, whatever became of the span since."""
    session = await lab.opened()
    await session.add(span("a", "one"), span("p", "x" * 200), withheld("x"))
    executed(await session("prune", spans=["p"]), "reversible")

    async def act():
        for bad in (
            span("a", "two"),
            span("a", "one "),
            span("p", "other"),
            span("x", "now with content"),
        ):
            refused(await session("append", spans=[bad]), "span_conflict")

    await unchanged(session, act)
    need(body_of(ok(await session("expand", span="a"))) == b"one", "content was replaced")


@check
async def append_duplicate_never_rewrites_origin(lab):
    """An origin is set when recorded and never rewritten."""
    session = await lab.opened()
    await session.add(span("a", origin="user"))
    # Free: the same content with other metadata is a no-op or refused.
    await session("append", spans=[span("a", origin="tool", role="tool")])
    reply = ok(await session("expand", span="a"))
    need(
        (reply["origin"], reply["role"]) == ("user", "user"),
        f"origin was rewritten: {short(reply)}",
    )


@check
async def append_duplicate_of_pruned_span_does_not_revive(lab):
    """Appending a pruned span again leaves its stub in the window."""
    session = await lab.opened()
    await session.add(span("a", "x" * 400), span("b"))
    executed(await session("prune", spans=["a"]), "reversible")
    await session.add(span("a", "x" * 400))
    window = await session.window()
    need(
        shown_ids(window) == ["a", "b"] and entry_of(window, "a")["kind"] == "stub",
        f"{short(window['entries'])}",
    )


@check
async def append_same_id_twice_in_one_batch(lab):
    """An id twice in one append is never two spans."""
    session = await lab.opened()
    # Free: which of the two codes.
    refused(
        await session("append", spans=[span("a", "1"), span("a", "2")]),
        "span_conflict",
        "bad_request",
    )
    # Free: a no-op or refused, but never two spans.
    answer = await session("append", spans=[span("b"), span("b")])
    need(
        shown_ids(await session.window()).count("b") == (0 if answer.code else 1),
        "b is in the window more than once",
    )


@check
async def append_bad_spans(lab):
    """Missing, mistyped or unknown span fields are bad_request."""
    session = await lab.opened()
    good = span("a")

    def drop(left_out):
        return {key: value for key, value in good.items() if key != left_out}

    for bad in (
        drop("role"),
        drop("origin"),
        span("a", role="robot"),
        span("a", origin="alien"),
        span("a", origin="summary"),
        span("a", kind="poem"),
        span("a", kind="summary"),
        span("a", tokens="9"),
        span("a", tokens=-1),
        span("a", tokens=1.5),
        span("a", pinned="true"),
        span("a", pinned=1),
        span("a", hedged="no"),
        span("a", content=5),
        {**drop("content"), "content_b64": "!!!"},
        {**drop("content"), "withheld": {"bytes": 1}},
        {**drop("content"), "withheld": True},
        span("a", labels=["x"]),
        span("a", contradicts="b"),
        "a",
        None,
        [],
        span("a", contentt="x"),
        span("a", source={"format": "x", "odd": 1}),
        {
            **drop("content"),
            "withheld": {"digest": blake3(b""), "bytes": 0, "reason": "r", "odd": 1},
        },
    ):
        refused(await session("append", spans=[bad]), "bad_request")
    for body in (b"{}", b'{"spans":{}}', b'{"spans":null}', b'{"spans":"a"}'):
        refused(await session.send("append", body), "bad_request")
    # Free: absurd counts and an empty append get any clean answer.
    await session("append", spans=[span("big", tokens=2**53)])
    await session("append", spans=[span("huge", tokens=2**64 - 1)])
    await session("append", spans=[span("hug2", tokens=2**64 - 1)])
    await session("append", spans=[])
    await session.window()


@check
async def append_span_id_syntax(lab):
    """Span ids are 1 to 128 of the allowed characters."""
    session = await lab.opened()
    good = ["A.b_c:d-9", "x" * 128, "-", "."]
    await session.add(*[span(name) for name in good])
    need(shown_ids(await session.window()) == good, "legal ids")
    for bad in ("", "x" * 129, "a b", "a@b", "é", "a/b", "a\n", "a\u0000", 7, ["a"]):
        refused(await session("append", spans=[span(bad, "c")]), "bad_request")


@check
async def append_thousand_and_one(lab):
    """1,000 spans fit one append; one more is too_large, naming the limit."""
    session = await lab.opened(10**7)
    reply = await session.add(*[span(f"m{i}", "t", tokens=1) for i in range(1000)])
    need(len(reply["spans"]) == 1000, "1,000 spans")
    error = refused(
        await session("append", spans=[span(f"n{i}", "t") for i in range(1001)]), "too_large"
    )
    need(
        re.search(r"1[ ,_.]?000", json.dumps(error)),
        f"the refusal does not name its limit: {short(error)}",
    )
    need(
        len(shown_ids(await session.window(content=False))) == 1000,
        "something of the 1,001 was recorded",
    )


@check
async def append_concurrent(lab):
    """Appends at the same time are each kept whole, with seq and version free of gaps."""
    session = await lab.opened()
    replies = await asyncio.gather(
        *[session("append", spans=[span(f"c{i}"), span(f"d{i}")]) for i in range(60)]
    )
    numbers = [each["seq"] for reply in replies for each in ok(reply)["spans"]]
    need(len(set(numbers)) == 120, "seq repeats")
    check_versions(await session.events())
    shown = shown_ids(await session.window())
    need(
        sorted(shown) == sorted([f"{letter}{i}" for i in range(60) for letter in "cd"]),
        "spans missing or twice",
    )
    need(
        all(shown[shown.index(f"c{i}") + 1] == f"d{i}" for i in range(60)),
        "an append was torn apart",
    )
