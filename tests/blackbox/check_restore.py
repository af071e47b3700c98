"""Restoring: everything in its old place, all or none."""

from contract import check, executed, need, ok, refused, short
from provider import check_renders
from shapes import kinds_and_ids, shown_ids, span, tool_call, tool_result, withheld


@check
async def restore_puts_back_in_place(lab):
    """Restored spans stand where they stood, and what stays pruned keeps its stub."""
    session = await lab.opened()
    await session.add(*[span(f"b{i}", "w " * 50) for i in range(5)])
    before = await session.window()
    executed(await session("prune", spans=["b1", "b2", "b3"]), "reversible")
    reply = ok(await session("restore", spans=["b2"]))
    need(reply["restored"] == ["b2"], f"{short(reply)}")
    window = await session.window()
    need(
        kinds_and_ids(window)
        == [
            ("span", ["b0"]),
            ("stub", ["b1"]),
            ("span", ["b2"]),
            ("stub", ["b3"]),
            ("span", ["b4"]),
        ],
        f"{short(window['entries'])}",
    )
    need(
        reply["version"] == window["version"] and reply["budget"] == window["budget"],
        "reply and window disagree",
    )
    need(ok(await session("expand", span="b2"))["outcome"] == "live", "outcome")
    reply = ok(await session("restore", spans=["b3", "b1"]))
    need(sorted(reply["restored"]) == ["b1", "b3"], f"{reply}")
    need((await session.window())["entries"] == before["entries"], "the window is not as it was")
    need(
        [event["kind"] for event in await session.events()].count("span-restored") >= 2,
        "no span-restored events",
    )
    executed(await session("prune", spans=["b2"]), "reversible")


@check
async def restore_all_or_none(lab):
    """If one span cannot come back none does, and the error names the outcome."""
    session = await lab.opened()
    await session.add(span("a"), withheld("x"))
    executed(await session("prune", spans=["a", "x"], accept_lossy=True), "mixed")
    before = (await session.window())["entries"]
    for spans in (["x"], ["a", "x"], ["x", "a"]):
        error = refused(await session("restore", spans=spans), "not_recoverable")
        need(error["details"]["outcome"] in ("lossy", "withheld"), f"{short(error)}")
    # Free: which of the two codes.
    refused(await session("restore", spans=["a", "nope"]), "unknown_span", "not_recoverable")
    need((await session.window())["entries"] == before, "the window changed")
    refused(await session("restore"), "bad_request")
    refused(await session("restore", spans=["a"], force=True), "bad_request")
    await session("restore", spans=[])
    answer = await session("restore", spans=["a", "a"])
    need(shown_ids(await session.window()) == ["a", "x"], f"{answer}")


@check
async def restore_call_and_result_stay_paired(lab):
    """Restoring half a pair never makes an invalid provider request."""
    session = await lab.opened()
    await session.add(span("u"), tool_call("c1"), tool_result("r1", "c1"), span("z"))
    executed(await session("prune", spans=["c1", "r1"]), "reversible")
    # Free: half a pair comes back or not; the request stays valid.
    await session("restore", spans=["r1"])
    await check_renders(session)
    await session("restore", spans=["c1"])
    await check_renders(session)
