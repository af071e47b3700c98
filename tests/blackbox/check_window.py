"""The window: entries, budget, the text form, the window at a version."""

import asyncio
import json

from contract import check, executed, need, ok, refused, short
from provider import check_renders
from shapes import (
    body_of,
    check_budget,
    entry_of,
    kinds_and_ids,
    shown_ids,
    span,
    tombstone_of,
    tool_call,
    tool_result,
    withheld,
)


@check
async def window_entries(lab):
    """The window lists the live spans in session order, and the budget is their sum."""
    session = await lab.opened()
    await session.add(
        span("sys", "be kind", role="system", origin="system"),
        span("a", "hello", tokens=9),
        span("b", "yo", role="assistant", origin="model"),
    )
    window = await session.window()
    need(
        [entry["kind"] for entry in window["entries"]] == ["span"] * 3
        and shown_ids(window) == ["sys", "a", "b"],
        f"{short(window)}",
    )
    entry = entry_of(window, "a")
    need(
        (entry["role"], entry["origin"], entry["tokens"]) == ("user", "user", 9)
        and body_of(entry) == b"hello",
        f"{short(entry)}",
    )
    need(
        check_budget(window["budget"])["used_tokens"]
        == sum(each["tokens"] for each in window["entries"]),
        "used_tokens is not the sum of the entries",
    )
    need(await session.window(render="entries") == window, "render entries is the default")
    empty = await lab.opened()
    need((await empty.window())["entries"] == [], "an empty window")
    await check_renders(empty)


@check
async def window_without_content(lab):
    """content:false leaves out contents and nothing else."""
    session = await lab.opened()
    await session.add(span("a", "needle-in-content " * 9))
    window = await session.window(content=False)
    need(
        "needle-in-content" not in json.dumps(window)
        and shown_ids(window) == ["a"]
        and "tokens" in window["entries"][0],
        f"{short(window)}",
    )
    need(window["budget"] == (await session.window())["budget"], "budget")
    await session("window", content=False, render="text")
    refused(await session("window", content="false"), "bad_request")
    refused(await session("window", content=0), "bad_request")


@check
async def window_budget_over(lab):
    """`over` means: more is used than the window less its reserve."""
    session = await lab.opened(1000)
    reply = await session.add(span("a", tokens=850))
    check_budget(reply["budget"], 1000)
    need(reply["budget"]["over"] is False, "850 of 1000 with 150 in reserve is not over")
    reply = await session.add(span("b", tokens=1))
    check_budget(reply["budget"], 1000)
    need(reply["budget"]["over"] is True, "851 is over")
    reply = await session.add(span("d", tokens=900))
    need(
        reply["budget"]["over"] is True and reply["budget"]["used_tokens"] == 1751,
        f"{reply['budget']}",
    )
    check_budget((await session.window())["budget"], 1000)


@check
async def window_at_version(lab):
    """A window at a version is the window that was shown then."""
    session = await lab.opened()
    appended = (await session.add(span("a"), span("b")))["version"]
    window_appended = await session.window()
    pruned = executed(await session("prune", spans=["a"]), "reversible")["version"]
    window_pruned = await session.window()
    latest = (await session.add(span("d")))["version"]
    for version, window in ((appended, window_appended), (pruned, window_pruned)):
        then = await session.window(at={"version": version})
        need(then["entries"] == window["entries"], f"at {version}: {short(then['entries'])}")
        need(
            then["version"] == version and then["budget"] == window["budget"],
            f"at {version}: version or budget",
        )
    need(
        shown_ids(await session.window(at={"version": 1})) == []
        and shown_ids(await session.window(at={"version": latest})) == ["a", "b", "d"],
        "at 1 or at the head",
    )
    need(
        "contents of a" in (await session.window(at={"version": appended}, render="text"))["text"],
        "text at a version",
    )
    for bad in (
        {"version": "1"},
        {"versoin": 1},
        {"version": -1},
        1,
        {"version": 1, "time": "2026-01-01T00:00:00.000Z"},
        {"time": "yesterday"},
        {},
    ):
        refused(await session("window", at=bad), "bad_request")
    answer = await session("window", at={"version": latest + 1000})
    # Free: a version to come is refused or means the head.
    need(
        answer.code in ("bad_request", "version_conflict")
        or shown_ids(answer.body) == ["a", "b", "d"],
        f"{answer}",
    )


@check
async def window_text(lab):
    """The text form shows contents, handles of stubs and tombstones in order."""
    session = await lab.opened()
    await session.add(span("a", "alpha-text"), span("b", "beta-text " * 40), withheld("x"))
    executed(await session("prune", spans=["b", "x"], accept_lossy=True), "mixed")
    window = await session.window()
    rendered = await session.window(render="text")
    need("entries" not in rendered and "messages" not in rendered, "text instead of entries")
    need(
        "alpha-text" in rendered["text"]
        and "beta-text" not in rendered["text"]
        and tombstone_of("x") in rendered["text"]
        and entry_of(window, "b")["handle"] in rendered["text"],
        f"{short(rendered['text'])}",
    )
    need(rendered["text"].index("alpha-text") < rendered["text"].index(tombstone_of("x")), "order")
    refused(await session("window", render="html"), "bad_request")


@check
async def window_at_every_version(lab):
    """Every version of a session has the window that was shown when it was the newest."""
    session = await lab.opened()
    shown = []

    async def remember():
        shown.append(await session.window())

    await session.add(tool_call("c"), tool_result("r", "c", "out " * 50), withheld("x"), span("z"))
    await remember()
    for verb, fields in (
        ("prune", {"spans": ["r"]}),
        ("prune", {"spans": ["x"]}),
        ("prune", {"spans": ["x", "z"], "accept_lossy": True}),
        ("restore", {"spans": ["r"]}),
        ("append", {"spans": [span("late")]}),
        ("prune", {"spans": ["c", "r", "late"]}),
        ("restore", {"spans": ["z", "late"]}),
        ("close", {}),
    ):
        ok(await session(verb, **fields))
        await remember()
    for window in shown:
        then = await session.window(at={"version": window["version"]})
        need(then == window, f"the window at {window['version']} is not what was shown then")


@check
async def window_at_time(lab):
    """A window at a time is the window after the last event of that time."""
    session = await lab.opened()
    await session.add(span("a"))
    early = (await session.events())[-1]["at"]
    await asyncio.sleep(0.01)
    await session.add(span("b"))
    executed(await session("prune", spans=["a"]), "reversible")
    late = (await session.events())[-1]["at"]
    then = await session.window(at={"time": early})
    need(kinds_and_ids(then) == [("span", ["a"])], f"at {early}: {short(then['entries'])}")
    then = await session.window(at={"time": late})
    need(then == await session.window(), "at the last event's time is not the window now")


@check
async def window_at_turn(lab):
    """A window at a turn is the window at that turn's end."""
    session = await lab.opened()
    await session.add(span("a", turn=1), span("b", turn=1))
    await session.add(span("d", turn=2))
    executed(await session("prune", spans=["a"]), "reversible")
    second = (await session.window())["entries"]
    await session.add(span("e", turn=3))
    executed(await session("prune", spans=["d"]), "reversible")
    first = await session.window(at={"turn": 1})
    need(kinds_and_ids(first) == [("span", ["a"]), ("span", ["b"])], f"{short(first)}")
    need((await session.window(at={"turn": 2}))["entries"] == second, "at the end of turn 2")
    last = await session.window(at={"turn": 3})
    need(last["entries"] == (await session.window())["entries"], "at the end of the last turn")
