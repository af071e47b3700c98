"""Search: found, absent, or inconclusive with the spans named; residues tell of removed spans."""

import re

from contract import check, executed, need, ok, refused, short
from officer import Office, check_gone, goes_now, log, rule
from shapes import check_evidence, span, withheld

NEVER = "req-00000000"


async def searched(session, **fields):
    """A search's reply, whose verdict must be what its lists say."""
    reply = ok(await session("search", **fields))
    matches, blind = reply["matches"], reply["unsearchable"]
    expected = "found" if matches else "inconclusive" if blind else "absent"
    need(reply["verdict"] == expected, f"{fields}: {short(reply)}")
    for found in matches:
        need(type(found["offset"]) is int and found["excerpt"], f"{found}")
        need(found["handle"].startswith(found["span"] + "@"), f"{found}")
    check_evidence(reply)
    return reply


def places(reply):
    """Where it was found."""
    return [(found["span"], found["state"], found["offset"]) for found in reply["matches"]]


def blind(reply):
    """The spans that could not be searched."""
    return sorted(each["span"] for each in reply["unsearchable"])


@check
async def search_finds_what_is_there(lab):
    """In the window, pruned, or anywhere; with the typed state, the place and some words around it."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a", "the pool said req-7f3a at noon"), log("b", "naïve: req-7f3a and req-7f3a"))
    executed(await session("prune", spans=["b"]), "reversible")
    everywhere = [("a", "live", 14), ("b", "recoverable", 8), ("b", "recoverable", 21)]
    reply = await searched(session, literal="req-7f3a")
    need(places(reply) == everywhere, f"{short(reply)}")
    need(reply["scanned"]["spans"] == 2, f"{short(reply)}")
    need(reply["matches"][0]["excerpt"] == "the pool said req-7f3a at noon", f"{short(reply)}")
    for where, wanted in (("window", everywhere[:1]), ("pruned", everywhere[1:]), ("all", everywhere)):
        reply = await searched(session, literal="req-7f3a", **{"in": where})
        need(places(reply) == wanted, f"{where}: {short(reply)}")
    reply = await searched(session, regex=r"req-[0-9a-f]{4}\b", limit=2)
    need(places(reply) == everywhere[:2] and reply["more"] is True, f"{short(reply)}")
    reply = await searched(session, literal=NEVER)
    need(reply["verdict"] == "absent" and reply["scanned"]["spans"] == 2, f"{short(reply)}")


@check
async def search_names_what_it_cannot_see(lab):
    """Withheld and removed spans make a miss inconclusive, and are named."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a", "nothing of the sort"), withheld("w"), log("gone", "had req-7f3a"))
    await office.policy(goes_now("logs", {"origins": ["tool"]}))
    await office.run()
    await check_gone(session, "gone", "retention")
    for text in ("req-7f3a", NEVER):
        reply = await searched(session, literal=text)
        need(reply["verdict"] == "inconclusive", f"{short(reply)}")
        need(blind(reply) == ["gone", "w"], f"{short(reply)}")
    reply = await searched(session, literal=NEVER, **{"in": "window"})
    need("gone" not in blind(reply), f"{short(reply)}")


@check
async def a_residue_answers_for_a_removed_span(lab):
    """With a residue a search says absent where it can, and never where it was there."""
    office = Office(lab)
    session = await office.opened()
    await session.add(
        span("a", "nothing of the sort"),
        log("gone", "worker-7 had req-7f3a9c01 at db.internal:5432, see src/pool/mod.rs"),
    )
    await office.policy(goes_now("logs", {"origins": ["tool"]}, residue=True))
    await office.run()
    reply = await searched(session, literal=NEVER)
    need(reply["verdict"] == "absent" and reply["scanned"]["spans"] == 2, f"{short(reply)}")
    need(reply["scanned"]["by_residue"] == 1, f"{short(reply)}")
    for text in ("req-7f3a9c01", "worker-7", "internal:5432"):
        reply = await searched(session, literal=text)
        need(blind(reply) == ["gone"], f"{text}: {short(reply)}")
    # Words that are no identifier, and patterns, it cannot tell of.
    for fields in ({"literal": "no such words"}, {"literal": "pool/mod"}, {"regex": "req-0{8}"}):
        reply = await searched(session, **fields)
        need(blind(reply) == ["gone"], f"{fields}: {short(reply)}")
    entries = await office.ledger()
    need([entry.get("residue") for entry in entries] == [True], f"{short(entries)}")


@check
async def an_erasure_keeps_no_residue(lab):
    """Who asks for an erasure wants nothing to be left."""
    office = Office(lab)
    session = await office.opened()
    await session.add(log("gone", "had req-7f3a9c01"))
    await office.policy(rule("logs", {"forever": True}, residue=True))
    ok(await office("erase", session=session.name, spans=["gone"], reason="asked"))
    reply = await searched(session, literal=NEVER)
    need(blind(reply) == ["gone"], f"{short(reply)}")
    need(not any(entry.get("residue") for entry in await office.ledger()), "a residue is told of")


@check
async def search_bad_requests(lab):
    """One pattern, not empty, that can run in linear time."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    for fields in (
        {},
        {"literal": ""},
        {"regex": ""},
        {"literal": "a", "regex": "a"},
        {"literal": "a", "in": "attic"},
        {"literal": "a", "limit": 0},
        {"literal": 7},
        {"regex": "("},
        {"regex": r"(a)\1"},
        {"regex": "(?=a)"},
        {"regex": "(((a{100}){100}){100}){100}"},
        {"literal": "a" * 20_000},
        {"literal": "a", "case": "fold"},
    ):
        error = refused(await session("search", **fields), "bad_request")
        need(re.search(r"[a-z]", error["message"]), f"{fields}: {error}")
    refused(await lab.session("nowhere")("search", literal="a"), "unknown_session")
