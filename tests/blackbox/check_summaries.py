"""Summaries: their event and their place in the window."""

import json
import re

from contract import HANDLE, check, executed, need, ok, refused, rejected, short
from provider import check_renders
from shapes import (
    body_of,
    by_id,
    check_prune,
    entry_of,
    ids_of,
    refused_and_unchanged,
    shown_ids,
    span,
    summarised,
    tool_call,
    tool_result,
)

DIRECTIVE = re.compile(r"p\d+@prune|[A-Za-z0-9_.:-]+@[A-Za-z0-9]+")


async def summary_place(lab, contract):
    """A summary enters by a prune, stands in the place of its spans and leads back to them."""
    session = await lab.opened(contract=contract)
    await session.add(
        span("u", "please grep"),
        tool_call("c1"),
        tool_result("r1", "c1", "3 matches in alpha beta gamma " * 20),
        span("mid", "noise " * 80),
        span("z", "thanks"),
    )
    summary = await summarised(session, ["c1", "r1"], name="digest-1")
    need(summary["summary"] == "digest-1", f"{short(summary)}")
    need(
        isinstance(summary["findings"], list) and isinstance(summary["omitted_identifiers"], list),
        f"{short(summary)}",
    )
    before = await session.window()
    need(
        shown_ids(before) == ["u", "c1", "r1", "mid", "z"],
        "a summary enters the window only through a prune",
    )
    pruned = executed(
        await session.by("pruner-1")(
            "prune", spans=["c1", "r1"], mode="summarize", replace_with="digest-1"
        ),
        "reversible",
    )
    check_prune(pruned, ["c1", "r1"])
    window = await session.window()
    need(
        [entry["kind"] for entry in window["entries"]] == ["span", "summary", "span", "span"],
        f"{short(window['entries'])}",
    )
    entry = window["entries"][1]
    need(
        "the grep found 3 matches" in json.dumps(entry),
        f"the summary's text is not in its entry: {short(entry)}",
    )
    need(set(ids_of(entry)) >= {"c1", "r1"} or entry.get("id") == "digest-1", f"{short(entry)}")
    text = (await session.window(render="text"))["text"]
    need(
        "the grep found 3 matches" in text and text.index("the grep found") < text.index("noise"),
        "place in the text",
    )
    openai, anthropic = await check_renders(session)
    need(
        "the grep found 3 matches" in openai and "the grep found 3 matches" in anthropic, "renders"
    )
    handles = HANDLE.findall(json.dumps(window)) + (
        [entry["handle"]] if entry.get("handle") else []
    )
    reached = "".join(
        [json.dumps(ok(await session("expand", handle=each))) for each in dict.fromkeys(handles)]
    )
    need(
        '"r1"' in reached and '"c1"' in reached,
        f"addressability: no handle in the window leads to c1 and r1 ({handles})",
    )
    need(ok(await session("expand", span="r1"))["outcome"] == "recoverable", "r1")
    recorded = [
        event
        for event in await session.events()
        if event["kind"] in ("summary-recorded", "prune-executed")
    ]
    need(
        [event["kind"] for event in recorded] == ["summary-recorded", "prune-executed"]
        and recorded[1].get("replace_with") == "digest-1",
        f"{short(recorded)}",
    )


@check
async def summary_stands_in_place_enforce(lab):
    """Under contract `enforce` an accepted summary stands where its first span stood."""
    await summary_place(lab, "enforce")


@check
async def summary_stands_in_place_record(lab):
    """Under contract `record` a summary takes its place in the same way."""
    await summary_place(lab, "record")


@check
async def summary_over_scattered_spans(lab):
    """A summary of scattered spans stands at the first of them, and restoring them undoes it."""
    session = await lab.opened()
    await session.add(
        span("u"),
        span("a", "alpha " * 60),
        span("keep"),
        span("b", "beta says 3 matches " * 40, role="tool", origin="tool"),
        span("z"),
    )
    summary = await summarised(session, ["a", "b"])
    executed(
        await session.by("pruner-1")("prune", spans=["a", "b"], replace_with=summary["summary"]),
        "reversible",
    )
    shown = [(entry["kind"], entry.get("id")) for entry in (await session.window())["entries"]]
    need(
        [each[0] for each in shown[:2]] == ["span", "summary"]
        and shown.index(("span", "keep")) == 2
        and shown[-1] == ("span", "z"),
        f"the summary must stand where the first replaced span stood: {shown}",
    )
    ok(await session("restore", spans=["a", "b"]))
    live = [entry["id"] for entry in (await session.window())["entries"] if entry["kind"] == "span"]
    need(live == ["u", "a", "keep", "b", "z"], f"{live}")


async def block_of_pairs(lab, count):
    """A session with a question, `count` calls with their results, and an ending."""
    session = await lab.opened()
    pairs = []
    for number in range(count):
        pairs += [
            tool_call(f"c{number}"),
            tool_result(f"r{number}", f"c{number}", "3 matches " + "log " * 100),
        ]
    await session.add(span("u"), *pairs, span("z"))
    return session


def order(window):
    """The window as ids: a summary by its own id, a stub by the spans that it stands for."""
    return [
        name
        for entry in window["entries"]
        for name in ([entry["id"]] if entry.get("id") else ids_of(entry))
    ]


@check
async def summary_covers_part_by_part(lab):
    """A summary may replace its spans in steps; it stands once, and its handles reach them all."""
    session = await block_of_pairs(lab, 2)
    await summarised(session, ["c0", "r0", "c1", "r1"], name="D1")
    pruner = session.by("pruner-1")
    for spans in (["c1", "r1"], ["c0", "r0"]):
        executed(await pruner("prune", spans=spans, replace_with="D1"), "reversible")
        await check_renders(session)
    window = await session.window()
    need(order(window) == ["u", "D1", "z"], f"{order(window)}")
    entry = entry_of(window, "D1")
    listed = json.dumps(
        [ok(await session("expand", handle=each)) for each in DIRECTIVE.findall(json.dumps(entry))]
    )
    for name in ("c0", "r0", "c1", "r1"):
        need(f'"{name}"' in listed, f"no handle of the summary's entry leads to {name}")


@check
async def summary_of_a_summary(lab):
    """A summary may replace a summary; every primary span stays within reach of its handles."""
    session = await block_of_pairs(lab, 3)
    pruner = session.by("pruner-1")
    first, second = ["c0", "r0"], ["D1", "c1", "r1"]
    await summarised(session, first, name="D1")
    executed(await pruner("prune", spans=first, replace_with="D1"), "reversible")
    await summarised(session, second, name="D2")
    pruned = executed(await pruner("prune", spans=second, replace_with="D2"), "reversible")
    check_prune(pruned, second)
    window = await session.window()
    need(order(window) == ["u", "D2", "c2", "r2", "z"], f"{order(window)}")
    listing = ok(await session("expand", handle=pruned["directive"]))
    handle = by_id(listing)["D1"]["handle"]
    inner = ok(await session("expand", handle=handle))
    need(body_of(inner) == b"Summary: the grep found 3 matches.", "the inner summary's text")
    reached = json.dumps([listing, inner])
    for name in ("c0", "r0", "c1", "r1"):
        need(f'"{name}"' in reached, f"{name} is out of reach behind two summaries")
    await check_renders(session)


@check
async def summaries_peel_off_in_any_order(lab):
    """Restoring inner spans, outer summary or inner summary first always ends in the old window."""
    steps = ((["D1"], "inner"), (["c0", "r0"], "first"), (["r1", "c1"], "second"))
    for order_of_steps in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1)):
        session = await block_of_pairs(lab, 3)
        pruner = session.by("pruner-1")
        before = (await session.window())["entries"]
        await summarised(session, ["c0", "r0"], name="D1")
        executed(await pruner("prune", spans=["c0", "r0"], replace_with="D1"), "reversible")
        await summarised(session, ["D1", "c1", "r1"], name="D2")
        executed(await pruner("prune", spans=["D1", "c1", "r1"], replace_with="D2"), "reversible")
        for step in order_of_steps:
            ok(await session("restore", spans=steps[step][0]))
            window = await session.window()
            used = sum(entry["tokens"] for entry in window["entries"])
            need(window["budget"]["used_tokens"] == used, "used_tokens is not the sum")
            need(len(set(order(window))) == len(order(window)), f"twice: {order(window)}")
            await check_renders(session)
        # Free: a summary whose spans are all back may stay or go.
        live = [entry for entry in (await session.window())["entries"] if entry["kind"] == "span"]
        need(live == before, f"{order_of_steps}: {[entry['id'] for entry in live]}")


@check
async def summary_replaces_only_what_it_covers(lab):
    """A prune may not hide a span behind a summary that does not cover it."""
    session = await block_of_pairs(lab, 1)
    await summarised(session, ["c0", "r0"], name="D1")
    before = (await session.window())["entries"]
    pruner = session.by("pruner-1")
    for spans in (["z"], ["c0", "r0", "z"], ["D1"]):
        rejected(await pruner("prune", spans=spans, replace_with="D1"))
    rejected(await pruner("prune", spans=["z"], replace_with="u"), "unknown_replacement")
    rejected(await pruner("prune", spans=["D1"]), "not_in_window")
    need((await session.window())["entries"] == before, "the window changed")


@check
async def summary_bad_requests(lab):
    """A summary covers recorded spans, has a text, and takes no id that is in use."""
    session = await lab.opened(contract="record")
    await session.add(span("a"), span("b"))
    good = {"covers": ["a"], "text": "A text.", "claims": []}
    for bad in (
        {"covers": []},
        {"covers": "a"},
        {"covers": None},
        {"text": 5},
        {"claims": {}},
        {"claims": [{"text": "t", "origin": "rumour", "sources": []}]},
        {"id": "a b"},
        {"author": "me"},
    ):
        await refused_and_unchanged(session, "summarize", "bad_request", **{**good, **bad})
    await refused_and_unchanged(
        session, "summarize", "unknown_span", **{**good, "covers": ["a", "nope"]}
    )
    await refused_and_unchanged(session, "summarize", "span_conflict", **{**good, "id": "b"})
    ok(await session("summarize", **good, id="S"))
    refused(await session("append", spans=[span("S", "something else")]), "span_conflict")


@check
async def summary_can_be_pruned_and_restored(lab):
    """A summary in the window is pruned like a span, to a stub that leads to it and its spans."""
    session = await block_of_pairs(lab, 1)
    await summarised(session, ["c0", "r0"], name="D1")
    executed(
        await session.by("pruner-1")("prune", spans=["c0", "r0"], replace_with="D1"), "reversible"
    )
    shown = await session.window()
    executed(await session("prune", spans=["D1"]), "reversible")
    entry = entry_of(await session.window(), "D1")
    need(entry["kind"] == "stub", f"{short(entry)}")
    reply = ok(await session("expand", handle=entry["handle"]))
    need(body_of(reply) == b"Summary: the grep found 3 matches.", f"{short(reply)}")
    need('"c0"' in json.dumps(reply) and '"r0"' in json.dumps(reply), f"{short(reply)}")
    await check_renders(session)
    ok(await session("restore", spans=["D1"]))
    need((await session.window())["entries"] == shown["entries"], "the window is not as it was")
