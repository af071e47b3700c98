"""Holds: they win over every policy, run and erasure, and ending one removes nothing by itself."""

import asyncio

from contract import TIME, check, executed, need, ok, refused, short
from officer import (
    Office,
    check_gone,
    check_there,
    goes_now,
    log,
    outcome_of,
    removed,
)
from shapes import by_id, span

PRUNED = {"pruned": True}


async def office_with(lab, *spans, pruned=()):
    """An office under whose policy everything goes with the next run, and a session."""
    office = Office(lab)
    session = await office.opened()
    await session.add(*spans)
    if pruned:
        executed(await session("prune", spans=list(pruned)), "reversible")
    await office.policy(goes_now())
    return office, session


@check
async def holds_are_listed(lab):
    """Any number of holds, each with a name, a match, a reason, and who placed it when."""
    office = Office(lab)
    names = [await office.hold(f"case {number}", sessions=f"s-{number}-*") for number in range(20)]
    need(len(set(names)) == 20, f"{names}")
    holds = ok(await office("policy-get"))["holds"]
    need([each["hold"] for each in holds] == names, f"{short(holds)}")
    for number, each in enumerate(holds):
        need(
            each["match"] == {"sessions": f"s-{number}-*"}
            and each["reason"] == f"case {number}"
            and each["placed_by"] == "officer-1"
            and TIME.match(each["placed_at"]),
            f"{short(each)}",
        )
    ok(await office("release", hold=names[3], reason="over"))
    left = [each["hold"] for each in ok(await office("policy-get"))["holds"]]
    need(left == names[:3] + names[4:], f"{left}")
    need(await office.hold() not in names, "a name is used twice")


@check
async def a_hold_wins_over_a_run(lab):
    """A held span survives a run, which counts it; whether it is shown does not matter."""
    office, session = await office_with(lab, span("a"), log("t"), span("b"), pruned="a")
    hold = await office.hold(origins=["user"])
    removed(await office.run(), 1, held=2)
    await check_gone(session, "t", "retention")
    for name in "ab":
        await check_there(session, name)
    durable = by_id(ok(await session("durability", spans=["a", "b"])))
    need(all(each["holds"] == [hold] for each in durable.values()), f"{durable}")
    reply = await office.evaluated(session, "a")
    need(reply["held_by"] == [hold] and reply["removable"] is False, f"{short(reply)}")


@check
async def a_hold_wins_over_an_erasure(lab):
    """An erasure that names one held span erases nothing, and says which holds keep which spans."""
    office, session = await office_with(lab, span("a"), log("t"), span("b"))
    first, second = await office.hold(origins=["user"]), await office.hold(sessions=session.name)
    before = (await session.events(), await session.window())
    for fields in ({"spans": ["a"]}, {"spans": ["t", "a"]}, {}):
        error = refused(
            await office("erase", session=session.name, reason="asked for", **fields),
            "not_permitted",
        )
        need(
            error["details"]["held_by"] == [first, second] and "a" in error["details"]["spans"],
            f"{error['details']}",
        )
        need(first in error["message"] and second in error["message"], error["message"])
    need((await session.events(), await session.window()) == before, "something changed")
    ok(await office("release", hold=second, reason="over"))
    error = refused(
        await office("erase", session=session.name, spans=["a"], reason="x"), "not_permitted"
    )
    need(error["details"]["held_by"] == [first], f"{error['details']}")
    ok(await office("erase", session=session.name, spans=["t"], reason="asked for"))
    await check_there(session, "a")


@check
async def the_last_hold_counts(lab):
    """Of several holds on a span each one keeps it; released, nothing goes until a run comes."""
    office, session = await office_with(lab, span("a"))
    holds = [await office.hold(f"case {number}") for number in range(3)]
    for hold in holds:
        removed(await office.run(), 0, held=1)
        before = await session.events()
        ok(await office("release", hold=hold, reason="over"))
        need(await session.events() == before, "a release is an event of the session")
        await check_there(session, "a")
    need((await office.evaluated(session, "a"))["removable"] is True, "nothing holds it now")
    removed(await office.run(), 1)
    await check_gone(session, "a", "retention")


@check
async def a_hold_breaks_a_notice(lab):
    """A hold takes an announced removal back; once it is released there is a new notice first."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    executed(await session("prune", spans=["a"]), "reversible")
    await office.policy(goes_now(match=PRUNED, notice="1s"))
    removed(await office.run(), 0, noticed=1)
    need(await outcome_of(session, "a") == "scheduled", "announced")
    hold = await office.hold()
    reply = ok(await session("expand", span="a"))
    need(reply["outcome"] == "recoverable" and "erases_at" not in reply, f"{short(reply)}")
    removed(await office.run(), 0, held=1)
    ok(await office("release", hold=hold, reason="over"))
    need(await outcome_of(session, "a") == "recoverable", "the old notice is void")
    await asyncio.sleep(1.2)
    removed(await office.run(), 0, noticed=1)
    await check_there(session, "a")
    await asyncio.sleep(1.2)
    removed(await office.run(), 1)
    await check_gone(session, "a", "retention")


@check
async def what_a_hold_takes(lab):
    """A hold is on what its match names, by the same words as a rule's; all of them must fit."""
    office = Office(lab)
    session = office.session("held-1")
    ok(await session("open", window_tokens=1_000, labels={"team": "red"}))
    await session.add(span("a"), log("t"), log("n", kind="note"), span("c", labels={"x": "1"}))
    executed(await session("prune", spans=["a"]), "reversible")
    for matches, held in (
        ({}, "atnc"),
        ({"sessions": "held-?"}, "atnc"),
        ({"sessions": "other-*"}, ""),
        ({"origins": ["tool", "model"]}, "tn"),
        ({"kinds": ["note"]}, "n"),
        ({"labels": {"team": "red"}}, "atnc"),
        ({"labels": {"x": "1"}}, "c"),
        ({"labels": {"x": "1", "team": "blue"}}, ""),
        ({"pruned": True}, "a"),
        ({"pruned": False}, "tnc"),
        ({"origins": ["tool"], "kinds": ["message"], "sessions": "held-*"}, "t"),
    ):
        hold = await office.hold(**matches)
        found = {each["id"] for each in ok(await session("durability"))["spans"] if each["holds"]}
        need(found == set(held), f"{matches} holds {found}, not {set(held)}")
        ok(await office("release", hold=hold, reason="over"))


@check
async def a_hold_on_what_is_to_come(lab):
    """A hold takes spans that are recorded after it, and things elsewhere by their attributes."""
    office = Office(lab)
    session = await office.opened()
    await office.policy(goes_now())
    hold = await office.hold(sessions=session.name)
    await session.add(span("a"))
    ok(await session("close"))
    removed(await office.run(), 0, held=1)
    await check_there(session, "a")
    reply = ok(
        await office("evaluate", session=session.name, attributes={"origin": "user"})
    )
    need(reply["held_by"] == [hold] and reply["removable"] is False, f"{short(reply)}")
    reply = ok(await office("evaluate", session="another", attributes={"origin": "user"}))
    need(reply["held_by"] == [] and reply["removable"] is True, f"{short(reply)}")


@check
async def holds_that_say_nothing_clear(lab):
    """A hold or a release that is misspelled or names nothing that is there is refused."""
    office = Office(lab)
    hold = await office.hold()
    before = await office.stream()
    for fields in (
        {},
        {"match": {}},
        {"reason": 5},
        {"reason": "x", "matches": {}},
        {"reason": "x", "match": {"session": "x"}},
        {"reason": "x", "match": {"origins": []}},
        {"reason": "x", "match": {"kinds": []}},
        {"reason": "x", "match": {"origins": ["robot"]}},
        {"reason": "x", "match": {"kinds": ["poem"]}},
        {"reason": "x", "match": {"sessions": ""}},
        {"reason": "x", "match": {"pruned": "true"}},
        {"reason": "x", "match": {"labels": {"a": 1}}},
        {"reason": "x", "match": [], "until": "x"},
    ):
        refused(await office("hold", **fields), "bad_request")
    for fields in (
        {},
        {"hold": hold},
        {"hold": "h999", "reason": "x"},
        {"hold": "1", "reason": "x"},
        {"hold": 1, "reason": "x"},
        {"hold": hold, "reason": "x", "spans": ["a"]},
    ):
        refused(await office("release", **fields), "bad_request")
    need(await office.stream() == before, "something was recorded")
    ok(await office("release", hold=hold, reason="over"))
    message = refused(await office("release", hold=hold, reason="again"), "bad_request")["message"]
    need(hold in message, message)


@check
async def holds_are_told_in_events(lab):
    """Each hold and each release is an event of the tenant's stream, with who and why."""
    office = Office(lab)
    hold = await office.hold("case 7", origins=["tool"])
    ok(await office("release", principal="officer-2", hold=hold, reason="closed"))
    placed, released = (await office.stream())[-2:]
    need(
        (placed["kind"], placed["hold"], placed["match"], placed["reason"], placed["principal"])
        == ("hold-placed", hold, {"origins": ["tool"]}, "case 7", "officer-1"),
        f"{short(placed)}",
    )
    need(
        (released["kind"], released["hold"], released["reason"], released["principal"])
        == ("hold-released", hold, "closed", "officer-2"),
        f"{short(released)}",
    )


@check
async def holds_with_long_reasons(lab):
    """Holds whose reasons are longer than a message together are listed page by page."""
    office = Office(lab)
    policy = await office.policy(goes_now())
    names = [await office.hold(f"{number} " + "r" * 15_000) for number in range(150)]
    found, fields = [], {}
    for _ in range(20):
        page = ok(await office("policy-get", **fields))
        need(page["policy"] == policy and len(page["rules"]) == 1, f"{short(page)}")
        found += [each["hold"] for each in page["holds"]]
        if page.get("next") is None:
            break
        fields = {"after": page["next"]}
    need(found == names, f"{len(found)} of {len(names)} holds")
    reply = ok(await office("evaluate", session="s", attributes={"origin": "user"}))
    need(reply["held_by"] == names and names[0] in reply["why"], f"{short(reply)}")
    refused(await office("policy-get", after="nobody"), "bad_request")


@check
async def a_refusal_that_names_many_arrives(lab):
    """An erasure that meets ten thousand held spans with long names is refused in one message."""
    office = Office(lab)
    session = await office.opened(10_000_000)
    for batch in range(10):
        names = [f"t{batch}.{n}.".ljust(128, "x") for n in range(1_000)]
        await session.add(*[log(name, "x") for name in names])
    hold = await office.hold()
    error = refused(await office("erase", session=session.name, reason="x"), "not_permitted")
    details = error["details"]
    # Free: how many it names.
    need(hold in error["message"] and details["held_by"] == [hold], f"{short(error)}")
    need(details["spans"] and all(name.startswith("t0.") for name in details["spans"]), "spans")
