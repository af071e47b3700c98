"""Why a prune is refused: pinned, orphans, reasons, durability; pairs of call and result."""

import json

from contract import blake3, check, executed, need, refused, rejected, short
from provider import check_renders
from shapes import (
    entry_of,
    shown_ids,
    span,
    tombstone_of,
    tool_call,
    tool_result,
    withheld,
    without_content,
)


@check
async def prune_pinned(lab):
    """A pinned span is never pruned, also not with accept_lossy."""
    session = await lab.opened()
    await session.add(span("p", pinned=True), span("a"), withheld("q", pinned=True))
    before = (await session.window())["entries"]
    for fields in (
        {"spans": ["p"]},
        {"spans": ["a", "p"]},
        {"spans": ["p"], "accept_lossy": True},
        {"spans": ["q"], "accept_lossy": True},
    ):
        rejected(await session("prune", **fields), "pinned")
    need((await session.window())["entries"] == before, "the window changed")


@check
async def prune_pairing(lab):
    """A call leaves only with its results; a result may leave alone, its stub stands for it."""
    session = await lab.opened()
    await session.add(
        span("u"),
        tool_call("c1"),
        tool_result("r1", "c1", "out " * 50),
        tool_call("c2"),
        tool_result("r2", "c2"),
        span("z"),
    )
    reply = rejected(await session("prune", spans=["c1"]), "would_orphan")
    need("r1" in json.dumps(reply), f"would_orphan does not name r1: {short(reply)}")
    rejected(await session("prune", spans=["c1"], accept_lossy=True), "would_orphan")
    executed(await session("prune", spans=["r1"]), "reversible")
    window = await session.window()
    need(
        [entry_of(window, name)["kind"] for name in ("c1", "r1")] == ["span", "stub"],
        f"{short(window['entries'])}",
    )
    await check_renders(session)
    executed(await session("prune", spans=["c2", "r2"]), "reversible")
    await check_renders(session)
    need(shown_ids(await session.window()) == ["u", "c1", "r1", "c2", "r2", "z"], "order")
    # Free: the call whose result is a stub already may go or not; the request stays valid.
    await session("prune", spans=["c1"])
    await check_renders(session)


@check
async def prune_pairing_many_results_and_withheld_result(lab):
    """All results of a call go with it; a lost result's tombstone answers its call."""
    session = await lab.opened()
    await session.add(span("u"), tool_call("c1"), tool_result("r1", "c1"), tool_result("r1b", "c1"))
    rejected(await session("prune", spans=["c1", "r1"]), "would_orphan")
    executed(await session("prune", spans=["c1", "r1", "r1b"]), "reversible")
    await check_renders(session)
    await session.add(
        tool_call("c3"),
        without_content(
            tool_result("r3", "c3"),
            withheld={"digest": blake3(b"k"), "bytes": 1, "reason": "secret"},
        ),
    )
    await check_renders(session)
    executed(await session("prune", spans=["r3"], accept_lossy=True), "lossy")
    openai, anthropic = await check_renders(session)
    need(
        tombstone_of("r3") in openai and tombstone_of("r3") in anthropic,
        "the tombstone does not stand in the result's place",
    )


@check
async def prune_rejection_reasons(lab):
    """Each refusal carries its reason and leaves one prune-rejected event."""
    session = await lab.opened()
    await session.add(span("a"), span("b"), withheld("x"))
    reply = rejected(await session("prune", spans=["nope"]), "unknown_span")
    need(reply.get("directive"), "a rejected directive has an id")
    rejected(await session("prune", spans=[]), "empty_directive")
    executed(await session("prune", spans=["a"]), "reversible")
    rejected(await session("prune", spans=["a"]), "already_pruned")
    rejected(
        await session("prune", spans=["b"], replace_with="no-such-summary"), "unknown_replacement"
    )
    executed(await session("prune", spans=["x"], accept_lossy=True), "lossy")
    rejected(await session("prune", spans=["x"], accept_lossy=True), "already_pruned")
    count = [event["kind"] for event in await session.events()].count("prune-rejected")
    need(count == 5, f"{count} prune-rejected events for 5 rejections")
    refused(await session("prune"), "bad_request")
    refused(await session("prune", spans="a"), "bad_request")
    refused(await session("prune", spans=[1]), "bad_request")


@check
async def prune_same_span_named_twice(lab):
    """A span named twice in one directive still has one place in the window."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    # Free: the verdict.
    await session("prune", spans=["a", "a"])
    window = await session.window()
    need(shown_ids(window) == ["a", "b"], f"{shown_ids(window)}")


@check
async def prune_min_durability(lab):
    """min_durability is a duration; without a policy everything is kept for ever."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    executed(await session("prune", spans=["a"], min_durability="72h"), "reversible")
    for bad in ("soon", 72, "-1h", ""):
        refused(await session("prune", spans=["b"], min_durability=bad), "bad_request")
    # Free: a duration beyond all times gets any clean answer.
    await session("prune", spans=["b"], min_durability="99999999999999999999999d")
    await lab.alive()
