"""Contradictions: noted as events, protecting their spans until resolved."""

import json

from contract import check, executed, need, ok, refused, rejected, short
from shapes import refused_and_unchanged, span, unchanged, withheld


async def noted(session):
    """The contradiction-noted events."""
    return [e for e in await session.events() if e["kind"] == "contradiction-noted"]


@check
async def contradict_and_resolve(lab):
    """A contradiction protects its spans from any prune, until an event resolves it."""
    session = await lab.opened()
    await session.add(span("a"), span("b"), span("d"))
    reply = ok(await session("contradict", spans=["a", "b"], note="they differ"))
    event = (await noted(session))[-1]
    need(
        event["contradiction"] == reply["contradiction"]
        and event["spans"] == ["a", "b"]
        and event["version"] == reply["version"],
        f"{short(event)}",
    )
    for spans in (["a"], ["b"], ["d", "a"]):
        for fields in ({}, {"accept_lossy": True}, {"dry_run": True}):
            answer = await session("prune", spans=spans, **fields)
            rejected(answer, "contradiction_protected")
    rejection = rejected(await session("prune", spans=["a"]), "contradiction_protected")
    need(rejection["directive"], "a rejected directive has an id")
    executed(await session("prune", spans=["d"]), "reversible")
    resolved = ok(await session("resolve", contradiction=reply["contradiction"], note="b is right"))
    event = (await session.events())[-1]
    need(
        event["kind"] == "contradiction-resolved"
        and event["contradiction"] == reply["contradiction"]
        and event["version"] == resolved["version"],
        f"{short(event)}",
    )
    executed(await session("prune", spans=["a"]), "reversible")


@check
async def contradictions_of_an_append(lab):
    """An appended `contradicts` makes the same events, and the same protection."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    await session.add(span("e", contradicts=["a", "b"]))
    events = await noted(session)
    need(
        [set(event["spans"]) for event in events] == [{"e", "a"}, {"e", "b"}],
        f"{short(events)}",
    )
    ids = [event["contradiction"] for event in events]
    need(len(set(ids)) == 2, f"contradictions {ids}")
    rejected(await session("prune", spans=["a"]), "contradiction_protected")
    ok(await session("resolve", contradiction=ids[0], note="settled"))
    executed(await session("prune", spans=["a"]), "reversible")
    rejected(await session("prune", spans=["b"]), "contradiction_protected")
    rejected(await session("prune", spans=["e"]), "contradiction_protected")


@check
async def contradict_bad_requests(lab):
    """A contradiction is between two recorded spans; one is resolved once, with a note."""
    session = await lab.opened()
    await session.add(span("a"), span("b"), withheld("x"))
    for fields in (
        {},
        {"spans": []},
        {"spans": ["a"]},
        {"spans": ["a", "a"]},
        {"spans": "ab"},
        {"spans": ["a", 1]},
        {"spans": ["a", "b"], "note": 5},
        {"spans": ["a", "b"], "because": "so"},
    ):
        await refused_and_unchanged(session, "contradict", "bad_request", **fields)
    await refused_and_unchanged(session, "contradict", "unknown_span", spans=["a", "nope"])
    for fields in (
        {},
        {"contradiction": "c1"},
        {"contradiction": 1, "note": "n"},
        {"contradiction": "none-such", "note": "n"},
    ):
        await refused_and_unchanged(session, "resolve", "bad_request", **fields)
    first = ok(await session("contradict", spans=["x", "a"]))["contradiction"]
    ok(await session("resolve", contradiction=first, note="n"))
    # Free: resolving again is refused or a no-op, never a second event.
    await session("resolve", contradiction=first, note="n")
    kinds = [event["kind"] for event in await session.events()]
    need(kinds.count("contradiction-resolved") == 1, f"{kinds}")


@check
async def append_with_unknown_references(lab):
    """answers, contradicts and supersedes name recorded spans, else nothing is recorded."""
    session = await lab.opened()
    await session.add(span("a"))

    async def act():
        for fields in (
            {"contradicts": ["nope"]},
            {"supersedes": "nope"},
            {"kind": "tool_result", "role": "tool", "origin": "tool", "answers": "nope"},
            {"kind": "tool_result", "role": "tool", "origin": "tool", "answers": "a"},
        ):
            answer = await session("append", spans=[span("ok"), span("n", **fields)])
            refused(answer, "unknown_span", "bad_request")

    await unchanged(session, act)
    need("nope" not in json.dumps(await session.window()), "an unknown span is in the window")


@check
async def contradictions_do_not_multiply(lab):
    """One append cannot make events without bound: it is refused, or notes each pair once."""
    session = await lab.opened()
    await session.add(span("a"))
    answer = await session("append", spans=[span("e", contradicts=["a"] * 20_000)])
    if answer.code:
        refused(answer, "too_large", "bad_request")
    else:
        count = await session.version()
        need(count <= 1000, f"one span with one contradicted span made {count - 2} events")
