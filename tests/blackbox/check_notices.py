"""What is told before anything goes: notices to workers, plans for officers."""

import asyncio

from contract import check, executed, need, ok, refused, short
from officer import (
    Office,
    about,
    check_gone,
    check_there,
    goes_now,
    kinds_of,
    log,
    moment,
    outcome_of,
    removed,
    rule,
)
from shapes import by_id, entry_of, span

PRUNED = {"pruned": True}


@check
async def a_notice_comes_first(lab):
    """With a notice a run announces first: scheduled and still readable; then it goes."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    executed(await session("prune", spans=["a"]), "reversible")
    policy = await office.policy(goes_now("soon", PRUNED, notice="2s"))
    run = removed(await office.run(), 0, noticed=1)
    reply = await check_there(session, "a")
    need(reply["outcome"] == "scheduled" and about(reply["erases_at"], 2), f"{short(reply)}")
    erases_at = reply["erases_at"]
    durable = by_id(ok(await session("durability")))
    need(durable["a"]["state"] == "scheduled" and durable["b"]["state"] == "live", f"{durable}")
    need(durable["a"]["durable_until"] == erases_at, f"{durable['a']}")
    said = await office.evaluated(session, "a")
    need(said["erases_at"] == erases_at and said["removable"] is False, f"{short(said)}")
    notice = (await session.events())[-1]
    need(
        notice["kind"] == "notice-given"
        and (notice["run"], notice["policy"]) == (run["run"], policy)
        and notice["spans"] == [{"id": "a", "rule": "soon", "erases_at": erases_at}],
        f"{short(notice)}",
    )
    # The window says what it said before: nothing is gone.
    need(entry_of(await session.window(), "a")["kind"] == "stub", "a stub still")
    removed(await office.run(), 0)
    need(kinds_of(await session.events()).count("notice-given") == 1, "told twice")
    await asyncio.sleep(2.2)
    need((await office.evaluated(session, "a"))["removable"] is True, "its time has come")
    removed(await office.run(), 1)
    cause = await check_gone(session, "a", "retention", rule="soon")
    need(moment(cause["at"]) >= moment(erases_at), "it went before its time")


@check
async def a_restore_takes_it_out(lab):
    """What was announced and is restored stays; pruned again, it is announced again."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    executed(await session("prune", spans=["a", "b"]), "reversible")
    await office.policy(goes_now("soon", PRUNED, notice="1s"))
    removed(await office.run(), 0, noticed=2)
    ok(await session("restore", spans=["a"]))
    need(await outcome_of(session, "a") == "live", "restored, it is not scheduled")
    need(await outcome_of(session, "b") == "scheduled", "b is")
    executed(await session("prune", spans=["a"]), "reversible")
    need(await outcome_of(session, "a") == "recoverable", "pruned again, it is not scheduled yet")
    await asyncio.sleep(1.2)
    removed(await office.run(), 1, noticed=1)
    await check_gone(session, "b", "retention")
    await check_there(session, "a")


@check
async def another_policy_announces_anew(lab):
    """A notice holds under the policy that gave it: another one announces anew."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    executed(await session("prune", spans=["a"]), "reversible")
    await office.policy(goes_now("soon", PRUNED, notice="1s"))
    removed(await office.run(), 0, noticed=1)
    await office.policy(goes_now("soon", PRUNED, notice="1s"))
    need(await outcome_of(session, "a") == "recoverable", "the other policy announced nothing")
    await asyncio.sleep(1.2)
    removed(await office.run(), 0, noticed=1)
    await check_there(session, "a")


@check
async def a_plan_changes_nothing(lab):
    """A plan is no event and no removal, and the run that follows does what it says."""
    office = Office(lab)
    session, other, third = await office.opened(), await office.opened(), await office.opened()
    for each in (session, other, third):
        await each.add(span("a"), log("t"), log("v", "x" * 50))
        executed(await each("prune", spans=["a", "t"]), "reversible")
    policy = await office.policy(
        goes_now("tools", {"origins": ["tool"]} | PRUNED),
        goes_now("users", {"origins": ["user"]} | PRUNED, notice="1h"),
        rule("rest", {"for": "0s"}),
    )
    hold = await office.hold(sessions=third.name)
    before = (await office.stream(), await session.events(), await session.window())
    head = ok(await office.journal("head"))["seq"]
    plan = await office.plan()
    need(plan["policy"] == policy and plan["over_limit"] is False, f"{short(plan)}")
    removed(plan, 2, held=3, deferred=2, noticed=2)
    need(ok(await office.journal("head"))["seq"] == head, "a plan is an event")
    need(
        (await office.stream(), await session.events(), await session.window()) == before,
        "something changed",
    )
    names = [each["session"] for each in plan["sessions"]]
    need(names == sorted([session.name, other.name, third.name]), f"{names}")
    planned = {each["session"]: each for each in plan["sessions"]}
    what = {each["id"]: (each["what"], each["rule"]) for each in planned[session.name]["spans"]}
    need(
        what == {"a": ("notice", "users"), "t": ("remove", "tools"), "v": ("defer", "rest")},
        f"{what}",
    )
    need(planned[session.name]["window"] is True, "its window changes")
    held = planned[third.name]
    need(
        {each["what"] for each in held["spans"]} == {"hold"} and held["window"] is False,
        f"{short(held)}",
    )
    run = await office.run()
    for key in ("removed", "noticed", "deferred", "held", "policy"):
        need(run[key] == plan[key], f"{key}: planned {plan[key]}, done {run[key]}")
    ok(await office("release", hold=hold, reason="over"))


@check
async def a_plan_for_other_rules_and_times(lab):
    """A plan can go by rules that are not in force, and by a time to come; bad ones are refused."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), log("t"))
    removed(await office.plan(rules=[goes_now(match={"origins": ["tool"]})]), 1)
    need((await office.plan())["policy"] is None, "trying rules sets none")
    await office.policy(rule("month", {"for": "30d"}, live_handles="commit"))
    removed(await office.plan(), 0)
    plan = removed(await office.plan(now="2126-01-01T00:00:00.000Z"), 2)
    need(plan["effective_now"] == "2126-01-01T00:00:00.000Z", f"{short(plan)}")
    removed(await office.plan(now="2020-01-01T00:00:00.000Z"), 0)
    removed(await office.run(), 0)
    for fields in (
        {"now": "tomorrow"},
        {"now": 5},
        {"rules": [rule("a", {})]},
        {"rules": {}},
        {"session": session.name},
        {"after": 5},
    ):
        refused(await office("plan", **fields), "bad_request")
    refused(await office("run", now="2126-01-01T00:00:00.000Z"), "bad_request")
    refused(await office("run", unlimited="yes"), "bad_request")
