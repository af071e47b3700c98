"""Forks: a second window from a moment of a session's past, sharing payloads, not fates."""

from contract import check, executed, fresh, need, ok, refused, short
from officer import Office, check_gone, goes_now, rule
from shapes import kinds_and_ids, span


async def forked(session, at=None, name=None):
    """A fork of this session, which must come about."""
    fork = session.lab.session(name)
    fields = {"from": session.name} | ({"at": at} if at else {})
    reply = ok(await fork("fork", **fields))
    need(
        reply["session"] == fork.name
        and reply["from"] == session.name
        and reply["version"] > reply["at"]
        and "duplicate" not in reply,
        f"{short(reply)}",
    )
    return fork, reply


async def content(session, name):
    """What expand gives for a span."""
    return ok(await session("expand", span=name)).get("content")


@check
async def a_fork_shares_the_past_and_nothing_after(lab):
    """The fork shows the same window; what either does from then on, the other does not see."""
    session = await lab.opened()
    await session.add(span("a"), span("b"), span("c"))
    executed(await session("prune", spans=["b"]), "reversible")
    before = await session.window()
    fork, reply = await forked(session)
    shown = await fork.window()
    need(shown["entries"] == before["entries"], f"{short(shown)}")
    need(reply["at"] == before["version"] and shown["version"] == reply["at"] + 1, f"{reply}")
    await fork.add(span("mine"))
    executed(await fork("prune", spans=["a"]), "reversible")
    await session.add(span("mine", "the parent's own"))
    need(await content(fork, "mine") == "contents of mine", "the fork's own span")
    need(await content(session, "mine") == "the parent's own", "the parent's own span")
    need(ok(await session("expand", span="a"))["outcome"] == "live", "the parent did not prune a")
    events = await fork.events()
    versions = [event["version"] for event in events]
    need(versions == list(range(1, len(events) + 1)), f"versions {versions}")
    names = [event["session"] for event in events]
    at = reply["at"]
    need(names == [session.name] * at + [fork.name] * (len(events) - at), f"{names}")
    event = events[at]
    need(
        event["kind"] == "session-forked"
        and event["from"] == session.name
        and event["from_version"] == at,
        f"{short(event)}",
    )


@check
async def a_fork_at_a_moment(lab):
    """A fork can begin at any version, turn or receipt of the past."""
    session = await lab.opened()
    await session.add(span("a", turn=1))
    receipt = ok(await session("receipt", turn=1))
    await session.add(span("b", turn=2), span("c", turn=3))
    moments = [
        ({"version": 2}, ["a"]),
        ({"turn": 2}, ["a", "b"]),
        ({"receipt": receipt["receipt"]}, ["a"]),
    ]
    for at, expected in moments:
        fork, _ = await forked(session, at)
        window = kinds_and_ids(await fork.window())
        need(window == [("span", [name]) for name in expected], f"{at}: {window}")
    answer = ok(await fork("expand", span="c"))
    need(answer["outcome"] == "never_recorded", f"{short(answer)}")


@check
async def forks_that_are_refused(lab):
    """A fork of nothing, of itself, over another session, at no moment: each with its code."""
    session = await lab.opened()
    other = await lab.opened()
    new = lab.session()
    refused(await new("fork", **{"from": fresh("nowhere")}), "unknown_session")
    refused(await session("fork", **{"from": session.name}), "bad_request")
    refused(await session("fork", **{"from": other.name}), "session_exists")
    refused(await new("fork", **{"from": session.name, "at": {"version": 99}}), "bad_request")
    refused(await new("fork", **{"from": "bad name"}), "bad_request")
    refused(await new("fork"), "bad_request")
    refused(await new("window"), "unknown_session")


@check
async def a_fork_sent_again(lab):
    """The same fork again changes nothing; under one command id it is the same reply."""
    session = await lab.opened()
    await session.add(span("a"))
    fork = lab.session()
    first = ok(await fork("fork", **{"from": session.name, "command_id": "f1"}))
    await session.add(span("b"))
    again = ok(await fork("fork", **{"from": session.name, "command_id": "f1"}))
    need(again.pop("duplicate") is True and again == first, f"{short(again)}")
    at = {"version": first["at"]}
    same = ok(await fork("fork", **{"from": session.name, "at": at}))
    need(same["duplicate"] is True, f"{short(same)}")
    refused(await fork("fork", **{"from": session.name}), "session_exists")


@check
async def payloads_go_for_all_windows_or_for_none(lab):
    """A rule for one window takes nothing from the other; when both let go, both are told."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    fork, _ = await forked(session)
    await office.policy(goes_now(match={"sessions": session.name}))
    reply = await office.run()
    need(reply["removed"]["spans"] == 0 and reply["deferred"] == 2, f"{short(reply)}")
    need(await content(session, "a") == "contents of a", "the other window keeps it")
    await office.policy(goes_now())
    reply = await office.run()
    size = 2 * len("contents of a")
    need(reply["removed"] == {"spans": 2, "bytes": size}, f"{short(reply)}")
    for window in (session, fork):
        for name in "ab":
            await check_gone(window, name, "retention")


@check
async def an_erasure_takes_a_span_from_every_window(lab):
    """Erased in one session, a shared span is gone in the other, and the reply names it."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    fork, _ = await forked(session)
    await office.policy(rule("keep", {"forever": True}))
    hold = await office.hold(sessions=session.name)
    refused(
        await office("erase", session=fork.name, spans=["a"], reason="asked"), "not_permitted"
    )
    ok(await office("release", hold=hold, reason="over"))
    reply = ok(await office("erase", session=fork.name, spans=["a"], reason="asked"))
    need(reply["shared_with"] == [session.name], f"{short(reply)}")
    for window in (session, fork):
        await check_gone(window, "a", "erasure", by="officer-1", why="asked")
    need(await content(fork, "b") == "contents of b", "the others stay")


@check
async def a_fork_of_the_past_knows_what_went_since(lab):
    """Forked at a moment before an erasure, the new window has a tombstone, with the cause."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    version = await session.version()
    ok(await office("erase", session=session.name, spans=["a"], reason="asked"))
    fork, _ = await forked(session, {"version": version})
    need(
        kinds_and_ids(await fork.window()) == [("tombstone", ["a"]), ("span", ["b"])],
        "a tombstone stands for what went",
    )
    await check_gone(fork, "a", "erasure", by="officer-1", why="asked")
