"""The provider forms of a window are requests that a provider takes."""

import json

from contract import check, executed, need
from provider import check_renders
from shapes import entry_of, shown_ids, span, tool_call, tool_result, withheld


@check
async def window_openai_and_anthropic(lab):
    """The provider forms carry every content, and a stub with its handle stands as the result."""
    session = await lab.opened()
    await session.add(
        span("sys", "sys-text", role="system", origin="system"),
        span("u", "user-text"),
        span("th", "think-text", role="assistant", origin="model", kind="thinking"),
        tool_call("c1"),
        tool_call("c2", "ls -la"),
        tool_result("r1", "c1", "res-one"),
        tool_result("r2", "c2", "res-two"),
        span("as", "assistant-text", role="assistant", origin="model"),
        withheld("x"),
        span("dev", "dev-text", role="developer", origin="harness"),
    )
    openai, anthropic = await check_renders(session)
    for text in ("sys-text", "user-text", "res-one", "res-two", "assistant-text", "dev-text"):
        need(text in openai and text in anthropic, f"{text} is missing from a render")
    need(
        all(
            message["role"] != "system"
            for message in (await session.window(render="anthropic"))["messages"]
        ),
        "anthropic has no system role in messages",
    )
    need(
        "sys-text" in json.dumps((await session.window(render="anthropic")).get("system")), "system"
    )
    executed(await session("prune", spans=["r1"]), "reversible")
    openai, anthropic = await check_renders(session)
    handle = entry_of(await session.window(), "r1")["handle"]
    need(
        "res-one" not in openai + anthropic and handle in openai and handle in anthropic,
        "the stub with its handle does not stand in the result's place",
    )


@check
async def window_render_awkward_pairs(lab):
    """Interleaved pairs, odd ids, pending calls and late results still render validly."""
    session = await lab.opened()
    await session.add(
        span("u"),
        tool_call("c.1:x"),
        span("mid", "in between"),
        tool_result("r1", "c.1:x"),
        tool_call("c9"),
    )
    openai, anthropic = await check_renders(session)
    need("in between" in openai and "in between" in anthropic, "a span was lost")
    await session("prune", spans=["c9"])
    await check_renders(session)
    # Free: the result of a pruned call is refused or shown.
    answer = await session("append", spans=[tool_result("late", "c9", "late-result")])
    await check_renders(session)
    need(answer.code or "late" in shown_ids(await session.window()), "a late result was lost")


@check
async def window_render_many_orders(lab):
    """Results out of order and an assistant's first word still render validly."""
    session = await lab.opened()
    await session.add(
        span("as0", "assistant first", role="assistant", origin="model"),
        tool_call("p1"),
        tool_call("p2"),
        tool_result("q2", "p2", "two"),
        tool_result("q1", "p1", "one"),
        tool_call("p3"),
        tool_result("q3", "p3", "three"),
    )
    await check_renders(session, user_first=False)
    executed(await session("prune", spans=["p2", "q2"]), "reversible")
    await check_renders(session, user_first=False)
    executed(await session("prune", spans=["q1"]), "reversible")
    await check_renders(session, user_first=False)
