"""Stories: a guess through two compactions, a summariser that never learns, what the feed tells."""

import asyncio
import json
import re

import nats.errors

from contract import Fail, check, executed, need, ok, refused, rejected, short
from honesty import (
    COVERS,
    DOUBT,
    HONEST,
    TEXT,
    audit,
    checked,
    claim,
    codes,
    desk,
    reads,
    replace,
    settled,
    summarize,
    usable,
)
from provider import check_renders
from shapes import check_versions, entry_of, ids_of, span, tool_call, tool_result

GUESS = "I think the staging DB is on port 5433."
FLAT = "The staging DB port is 5433."
NOISE = "09:14:10 import: waiting for the ledger to open\n" * 40


async def check_no_fact(session):
    """Nothing in the window, in any form, tells the port as a fact: a doubt stands beside it."""
    window = await session.window()
    openai = (await session.window(render="openai"))["messages"]
    anthropic = (await session.window(render="anthropic"))["messages"]
    text = (await session.window(render="text"))["text"]
    # Free: how the doubt is shown, in the words or by a tag beside them.
    shown = [json.dumps(each) for each in (*window["entries"], *openai, *anthropic)]
    shown += [text[max(0, at.start() - 300) : at.end() + 300] for at in re.finditer("5433", text)]
    for each in shown:
        need("5433" not in each or DOUBT.search(each), f"the guess reads as a fact: {short(each)}")
    return window


async def try_to_launder(session, covers, sources, reading):
    """Every way to drop the hedge. None may reach the window without it."""
    attempts = [
        [claim(FLAT, origin, source)]
        for source in sources
        for origin in ("user-said", "tool-output", "inferred")
    ]
    for claims in (*attempts, [claim(FLAT, "user-said")], []):
        reply = await summarize(session, claims, FLAT, covers, reading=reading)
        if reply["status"] == "rejected":
            continue
        # Free: a second-hand claim, or a text without claims, may be taken if it shows as such.
        cited = [each["span"] for one in claims for each in one["sources"]]
        need(not claims or cited == ["D1"], f"{short(claims)} is {reply['status']}")
        name = await settled(session, reply, reading)
        answer = ok(await replace(session, name, covers))
        await check_no_fact(session)
        if answer["status"] != "rejected":
            ok(await session("restore", spans=covers))


@check
async def story_of_port_5433(lab):
    """`I think it is 5433` is still a guess after two compactions, and still the user's."""
    session = await lab.opened()
    await session.add(
        span("g", GUESS),
        tool_call("c", '{"name":"read_log"}'),
        tool_result("t", "c", NOISE),
        span("z", "Go on."),
    )
    covers = ["g", "c", "t"]
    for origin in ("user-said", "inferred"):
        wrong = [claim(FLAT, origin, ("g", "the staging DB is on port 5433"))]
        # Another covered set than below, so that the attempts of that one are not used up.
        reply = await summarize(session, wrong, FLAT, ["g", "t"])
        need("hedge_dropped" in codes(reply), f"{origin}: {short(reply)}")
        need(reply["status"] == "rejected", f"{origin}: {short(reply)}")
    guess = claim("The user thinks the staging DB is on port 5433.", "hedged", ("g", GUESS[:-1]))
    first = "The user thinks that the staging DB is on 5433; the log shows only waiting."
    reply = await summarize(session, [guess], first, covers, id="D1")
    executed(await replace(session, await settled(session, reply, covers), covers), "reversible")
    await check_no_fact(session)

    await session.add(tool_call("c2"), tool_result("t2", "c2", NOISE), span("y", "And now?"))
    covers, reading = ["D1", "c2", "t2"], ["D1", "c2", "t2", "g", "c", "t"]
    for source in ("D1", "g", "t2"):
        for origin in ("user-said", "tool-output"):
            wrong = [claim(FLAT, origin, source)]
            reply = await summarize(session, wrong, FLAT, ["D1", "t2"], reading=reading)
            need(reply["status"] == "rejected", f"{origin} from {source}: {short(reply)}")
    second = "A guess of the user: staging DB on 5433, he thinks. Two logs show waiting."
    reply = await summarize(session, [guess], second, covers, reading=reading, id="D2")
    executed(await replace(session, await settled(session, reply, reading), covers), "reversible")
    window = await check_no_fact(session)
    need(entry_of(window, "D2")["kind"] == "summary", "the second summary is not in the window")
    need("5433" in json.dumps(entry_of(window, "D2")), "the guess is not in the window")
    source = ok(await session("expand", span="g"))
    need(source["content"] == GUESS and source["origin"] == "user", f"{short(source)}")


@check
async def story_of_many_ways_to_launder(lab):
    """No text, tag or second-hand source brings the port into the window as a fact."""
    session = await lab.opened()
    covers, guessed = ["g", "c", "t"], span("g", GUESS)
    await session.add(guessed, tool_call("c"), tool_result("t", "c", NOISE))
    await try_to_launder(session, covers, ["g", "t"], covers)

    session = await lab.opened()
    await session.add(guessed, tool_call("c"), tool_result("t", "c", NOISE))
    guess = claim("The user thinks it is port 5433.", "hedged", ("g", GUESS[:-1]))
    reply = await summarize(session, [guess], "He thinks it is 5433.", covers, id="D1")
    await settled(session, reply, covers)
    executed(await replace(session, "D1", covers), "reversible")
    await session.add(tool_call("c2"), tool_result("t2", "c2", NOISE))
    second = ["D1", "c2", "t2"]
    await try_to_launder(session, second, ["D1", "g", "t2"], [*covers, *second])


WRONG = [claim("The export on port 7009 was stopped.", "tool-output", "t")]


async def wear_out(session, covers=COVERS, author="author-1", most=50):
    """Sends wrong summaries until the fallback is offered; returns it and the attempts left."""
    left = []
    await reads(session.by(author), covers)
    for number in range(most):
        text = f"The export was stopped ({number})."
        reply = await summarize(session, WRONG, text, covers, author, reading=[])
        need(reply["status"] == "rejected", f"{short(reply)}")
        left.append(reply["attempts_left"])
        if reply.get("fallback"):
            return reply["fallback"]["directive"], left
    raise Fail(f"no fallback after {most} refused summaries: {left}")


async def alerts(session):
    """The alerts of the session's history."""
    return [each for each in await session.events() if each["kind"] == "alert-raised"]


@check
async def attempts_count_down_to_a_fallback(lab):
    """Refused summaries of one covered set count down; at the end stands a prune that works."""
    session = await desk(lab)
    directive, left = await wear_out(session)
    need(left == sorted(set(left), reverse=True) and min(left) >= 0, f"attempts_left {left}")
    need(left[-1] == 0, f"a fallback with {left[-1]} attempts left")
    need(isinstance(directive, dict), f"{short(directive)}")
    answer = await session.by("author-1")("prune", **directive)
    pruned = executed(answer, "reversible")
    need({each["id"] for each in pruned["spans"]} == set(COVERS), f"{short(pruned['spans'])}")
    window = await session.window()
    for name in COVERS:
        entry = entry_of(window, name)
        need(entry["kind"] == "stub" and entry["handle"], f"{name}: {short(entry)}")
        reply = ok(await session("expand", span=name))
        need(reply["outcome"] == "recoverable", f"{name}: {short(reply)}")
    await check_renders(session)
    ok(await session("restore", spans=COVERS))


@check
async def an_accepted_summary_is_not_an_attempt(lab):
    """Attempts are counted per covered set, and only what was refused counts."""
    session = await desk(lab)
    first = await summarize(session, WRONG, "The export was stopped.")
    same = usable(await summarize(session))
    need(same["attempts_left"] >= first["attempts_left"], f"{short(same)}")
    other = await summarize(session, WRONG, "The export was stopped.", ["t"], id="other")
    # Free: whether an accepted summary gives the attempts back.
    need(other["attempts_left"] >= first["attempts_left"], "another covered set counts by itself")


@check
async def the_alert_is_raised_once(lab):
    """When the attempts are used up an alert is in the history, exactly once."""
    session = await desk(lab)
    await wear_out(session)
    need(len(await alerts(session)) == 1, f"{short(await alerts(session))}")
    reply = await summarize(session, WRONG, "Once more: stopped.")
    need(reply["status"] == "rejected" and reply["attempts_left"] == 0, f"{short(reply)}")
    need(reply.get("fallback"), "the fallback is offered once only")
    need(len(await alerts(session)) == 1, "another alert for the same covered set")
    check_versions(await session.events())


@check
async def an_honest_summary_raises_no_alert(lab):
    """Without refusals there is neither an alert nor a fallback."""
    session = await desk(lab)
    reply = usable(await summarize(session))
    need(not reply.get("fallback") and not await alerts(session), f"{short(reply)}")


@check
async def the_fallback_respects_what_is_protected(lab):
    """With pinned and contradicting spans among the covered, the fallback still works as given."""
    rule = span("rule", "Never touch 10.0.0.7 by hand. " * 9, pinned=True)
    denial = span("d", "10.0.0.7:5432 accepted the connection.", contradicts=["m"])
    session = await desk(lab, rule, denial)
    covers = [*COVERS, "rule", "d"]
    # Free: a summary over protected spans may be refused for that as well.
    directive, _ = await wear_out(session, covers)
    pruned = executed(await session.by("author-1")("prune", **directive), "reversible")
    gone = {each["id"] for each in pruned["spans"]}
    need(gone and not gone & {"rule", "d", "m"}, f"the fallback prunes {gone}")
    need({"u", "c", "t"} <= gone, f"the fallback frees only {gone}")


@check
async def a_summariser_that_is_always_wrong_makes_progress(lab):
    """A full window gets out of its reserve although no summary is ever accepted."""
    session = await lab.opened(4_000)
    rounds = 8
    for number in range(rounds):
        call = tool_call(f"c{number}")
        await session.add(call, tool_result(f"t{number}", f"c{number}", NOISE, tokens=600))
    need((await session.window())["budget"]["over"], "the window is not over its budget")
    for number in range(rounds):
        covers = [f"c{number}", f"t{number}"]
        author, directive = session.by("author-1"), None
        await reads(author, covers)
        wrong = [claim("Port 7009 was stopped.", "user-said", covers[1])]
        for attempt in range(50):
            body = {"covers": covers, "text": f"Stopped {attempt}.", "claims": wrong}
            reply = checked(ok(await author("summarize", **body)))
            need(reply["status"] == "rejected", f"{short(reply)}")
            if reply.get("fallback"):
                directive = reply["fallback"]["directive"]
                break
        need(directive, "no fallback")
        executed(await author("prune", **directive), "reversible")
        if not (await session.window())["budget"]["over"]:
            break
    need(not (await session.window())["budget"]["over"], "no progress")
    kinds = {entry["kind"] for entry in (await session.window())["entries"]}
    need("summary" not in kinds, f"a wrong summary is in the window: {kinds}")


SECRETS = (
    "req_01HX9Q7ZP4",
    "/var/lib/ledger/cut-0417.db",
    "ERR_LEDGER_LOCKED",
    "ERR_QUARTZ_GONE",
    "heliotrope",
    "marzipan",
    "zirconium",
)


@check
async def events_carry_no_content(lab):
    """Neither texts, claims and quotes nor identifiers of the spans are in history or feed."""
    inbox = []
    session = lab.session()
    subject = f"lacuna.v1.events.{session.tenant}.{session.name}.>"
    subscription = await lab.connection.subscribe(subject)
    await lab.connection.flush()
    ok(await session("open", window_tokens=100_000))
    said = "The heliotrope run wrote /var/lib/ledger/cut-0417.db with ERR_LEDGER_LOCKED."
    await session.add(
        span("u", said + " " + "We look at it now. " * 30),
        tool_call("c"),
        tool_result("t", "c", "zirconium: request req_01HX9Q7ZP4 went through\n" + NOISE),
        span("z", "Go on."),
    )
    covers = ["u", "c", "t"]
    claims = [
        claim("The heliotrope run ended in ERR_LEDGER_LOCKED.", "user-said", ("u", said[:18])),
        claim("zirconium saw a request go through.", "tool-output", ("t", "zirconium: request")),
    ]
    text = "A marzipan text on the heliotrope run."
    name = usable(await summarize(session, claims, text, covers, id="S"))["summary"]
    await audit(session, name, covers=covers)
    wrong = [claim("The marzipan run ended in ERR_QUARTZ_GONE.", "tool-output", "t")]
    await summarize(session, wrong, "Ended in ERR_QUARTZ_GONE.", covers, id="W")
    ok(await session("suggest", free_tokens=50))
    executed(await replace(session, name, covers), "reversible")
    events = await session.events()
    try:
        while True:
            inbox.append((await subscription.next_msg(timeout=1)).data.decode())
    except (nats.errors.TimeoutError, asyncio.TimeoutError):
        pass
    await subscription.unsubscribe()
    # Free: a summary's event in the feed may lag; what has come is looked at.
    for where, told in (("history", json.dumps(events)), ("the feed", "\n".join(inbox))):
        for each in SECRETS:
            need(each not in told, f"{where} carries {each!r}")
    if not inbox:
        lab.note("nothing came over the feed, so only the history was looked at")
    kinds = [event["kind"] for event in events]
    need({"summary-recorded", "summary-audited", "span-read"} <= set(kinds), f"{kinds}")


@check
async def summaries_with_unknown_fields(lab):
    """Unknown or mistyped fields are refused at every level of a summary."""
    session = await desk(lab)
    await reads(session, COVERS)
    good = {"covers": COVERS, "text": TEXT, "claims": list(HONEST)}
    first = HONEST[0]
    source = first["sources"][0]
    before = await session.version()
    for bad in (
        {"trust": True},
        {"author": "author-2"},
        {"claims": [{**first, "confidence": 0.9}]},
        {"claims": [{**first, "origin": "user_said"}]},
        {"claims": [{**first, "origin": None}]},
        {"claims": [{**first, "text": 5}]},
        {"claims": [{**first, "sources": "u"}]},
        {"claims": [{**first, "sources": ["u"]}]},
        {"claims": [{**first, "sources": [{**source, "offset": 3}]}]},
        {"claims": [{**first, "sources": [{"quote": "7001"}]}]},
        {"claims": [{**first, "sources": [{**source, "quote": 7001}]}]},
        {"claims": [{"text": "t", "sources": []}]},
    ):
        answer = await session("summarize", **{**good, **bad})
        need(answer.code == "bad_request", f"{short(bad)}: {answer}")
    for verb, fields in (
        ("contradict", {"spans": ["u", "t"], "protect": False}),
        ("suggest", {"free_tokens": 5, "lossy": True}),
        ("prune", {"spans": COVERS, "replace_with": "S", "audited": True}),
    ):
        refused(await session(verb, **fields), "bad_request")
    need(await session.version() == before, "a bad request has moved the version")
    rejected(await replace(session, "nowhere"), "unknown_replacement")
    need(ids_of((await session.window())["entries"][0]) == ["u"], "the window changed")
