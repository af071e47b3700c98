"""Summaries: their event and their place in the window."""

import json

from contract import HANDLE, check, executed, need, ok, short
from shapes import (
    check_prune,
    check_renders,
    ids_of,
    shown_ids,
    span,
    summarised,
    tool_call,
    tool_result,
)


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
