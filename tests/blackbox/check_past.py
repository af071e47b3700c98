"""Moments of the past: what was shown then, what could be recovered then, and what changed since."""

from contract import check, executed, need, ok, refused, short
from officer import Office
from shapes import check_budget, check_evidence, kinds_and_ids, span


async def lived(lab):
    """Two spans of turn 1, one of turn 2; the first two pruned, one restored, the other one erased.

    Returns the office, the session, and the events after each of these steps.
    """
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a", turn=1))
    await session.add(span("b", turn=1), span("c", turn=2))
    executed(await session("prune", spans=["a", "b"], reason="no use"), "reversible")
    ok(await session("restore", spans=["a"]))
    ok(await office("erase", session=session.name, spans=["b"], reason="asked for"))
    return office, session, await session.events()


def rests_on(reply, event, recorded):
    """The evidence is of exactly this event, and of as many spans as had been recorded."""
    evidence = check_evidence(reply)
    wanted = (event["version"], event["hash"], recorded)
    found = (evidence["version"], evidence["head"], evidence["spans_recorded"])
    need(found == wanted, f"{found} instead of {wanted}")


@check
async def windows_of_the_past(lab):
    """A window at a moment is what was shown; content that was lost since says so, with the cause."""
    _, session, events = await lived(lab)
    reply = await session.window(at={"version": 4})
    need(
        kinds_and_ids(reply) == [("span", ["a"]), ("span", ["b"]), ("span", ["c"])],
        f"{kinds_and_ids(reply)}",
    )
    rests_on(reply, events[3], 3)
    lost = reply["entries"][1]
    need("content" not in lost and not lost.get("content_omitted"), f"{short(lost)}")
    need(lost["lost_since"]["kind"] == "erasure", f"{short(lost)}")
    for render in ("text", "openai", "anthropic"):
        text = str(await session.window(at={"version": 4}, render=render))
        need("lost since: erasure" in text, f"{render}: {short(text)}")
        need("contents of a" in text and "contents of b" not in text, f"{render}: {short(text)}")
    for at, kinds in (
        ({"version": 5}, [("stub", ["a", "b"]), ("span", ["c"])]),
        ({"turn": 1}, [("span", ["a"]), ("span", ["b"])]),
        ({"time": events[-1]["at"]}, [("span", ["a"]), ("tombstone", ["b"]), ("span", ["c"])]),
    ):
        found = kinds_and_ids(await session.window(at=at))
        need(found == kinds, f"{at}: {found}")
    rests_on(await session.window(), events[-1], 3)


@check
async def durability_of_the_past(lab):
    """Copies, promises and holds as they were known then; nothing claims to have been read back then."""
    _, session, events = await lived(lab)

    async def then(version):
        reply = ok(await session("durability", at={"version": version}))
        need(reply["version"] == version and reply["as_of"], f"{short(reply)}")
        return reply, {each["id"]: each for each in reply["spans"]}

    reply, spans = await then(4)
    rests_on(reply, events[3], 3)
    copy = spans["b"]["copies"][0]
    need(spans["b"]["state"] == "live" and copy["where"] == "journal", f"{short(spans)}")
    need(copy["verified_at"] is None, "nobody had read it back")
    need(spans["b"]["lost_since"]["kind"] == "erasure", f"{short(spans)}")
    need("lost_since" not in spans["a"], f"{short(spans)}")
    _, spans = await then(5)
    need(spans["b"]["state"] == "recoverable", f"{short(spans)}")
    need(spans["b"]["copies"][0]["verified_at"] == events[4]["at"], "the gate had read it back")
    _, spans = await then(events[-1]["version"])
    need(spans["b"]["state"] == "lossy" and spans["b"]["copies"] == [], f"{short(spans)}")
    _, spans = await then(2)
    need(list(spans) == ["a"], f"{short(spans)}")
    need(await session.events() == events, "a question has recorded something")


@check
async def tombstones_of_the_past(lab):
    """The ledger at a moment holds what was lost by then, and evidence when it is empty."""
    _, session, events = await lived(lab)
    reply = ok(await session("tombstones", at={"version": 5}))
    need(reply["tombstones"] == [], f"{short(reply)}")
    rests_on(reply, events[4], 3)
    reply = ok(await session("tombstones", at={"time": events[-1]["at"]}))
    need([each["span"] for each in reply["tombstones"]] == ["b"], f"{short(reply)}")


@check
async def recoverable_then(lab):
    """explain says whether a span could have been recovered at a moment, and why."""
    _, session, events = await lived(lab)
    last = events[-1]["version"]
    for version, outcome, recoverable in (
        (2, "never_recorded", False),
        (3, "live", True),
        (5, "recoverable", True),
        (last, "lossy", False),
    ):
        reply = ok(await session("explain", span="b", at={"version": version}))
        then = reply["then"]
        found = (then["outcome"], then["recoverable"])
        need(found == (outcome, recoverable), f"at {version}: {short(then)}")
        need(then["why"], f"{short(then)}")
        rests_on(then, events[version - 1], min(version - 1, 3))
    need(then["cause"]["by"] == "officer-1", f"{short(then)}")
    reply = ok(await session("explain", span="nobody"))
    need(reply["outcome"] == "never_recorded" and reply["story"], f"{short(reply)}")


@check
async def two_moments_differ(lab):
    """diff names each span that stands otherwise, how, and the event that made it so."""
    _, session, events = await lived(lab)
    last = events[-1]["version"]

    async def told(**moments):
        reply = ok(await session("diff", **moments))
        for end in ("from", "to"):
            check_evidence(reply[end])
            check_budget(reply[end]["budget"])
        counted = sum(reply["counts"].values())
        need(counted == reply["to"]["evidence"]["spans_recorded"], f"{short(reply['counts'])}")
        changes = [(c["span"], c["what"], c["made_by"]["version"]) for c in reply["changes"]]
        return reply, changes

    def between(one, other):
        return {"from": {"version": one}, "to": {"version": other}}

    _, changes = await told(**between(2, 4))
    need(changes == [("b", "entered", 3), ("c", "entered", 4)], f"{changes}")
    reply, changes = await told(**between(4, 5))
    need(changes == [("a", "left", 5), ("b", "left", 5)], f"{changes}")
    need(reply["changes"][0]["made_by"]["why"] == "no use", f"{short(reply)}")
    need(reply["changes"][0]["after"]["form"] == "stub", f"{short(reply)}")
    rests_on(reply["from"], events[3], 3)
    rests_on(reply["to"], events[4], 3)
    _, changes = await told(**between(5, last))
    need(changes == [("a", "returned", 6), ("b", "lost", last)], f"{changes}")
    reply, changes = await told(**between(4, 4))
    need(changes == [] and reply["counts"]["unchanged"] == 3, f"{short(reply)}")
    _, changes = await told()
    need([change[1] for change in changes] == ["entered", "lost", "entered"], f"{changes}")
    refused(await session("diff", **between(5, 4)), "bad_request")
    refused(await session("diff", since={"version": 1}), "bad_request")


@check
async def moments_that_never_were(lab):
    """A moment that the session has not had is refused, whatever is asked about it."""
    _, session, events = await lived(lab)
    later = events[-1]["version"] + 1
    for verb in ("window", "durability", "tombstones"):
        for at in ({"version": 0}, {"version": later}, {}, {"turn": 1, "version": 1}, {"when": 1}):
            refused(await session(verb, at=at), "bad_request")
        refused(await session(verb, at={"time": "2001-01-01T00:00:00Z"}), "bad_request")
