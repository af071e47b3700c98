"""Following: the feed says what the journal says, and the journal can be read on from any event."""

import asyncio
import json

from contract import check, need, ok, refused, short
from officer import Office
from shapes import span

ZEROS = "0" * 64


async def pages(office, **fields):
    """All of a tenant's events from somewhere on, page by page."""
    events = []
    for _ in range(200):
        page = ok(await office.journal("events", fields))
        need(type(page["more"]) is bool and type(page["next"]) is int, f"{short(page)}")
        events += page["events"]
        if not page["more"]:
            return events
        need(page["next"] > fields.get("from", 1), f"it stays at {page['next']}")
        fields["from"] = page["next"]
    need(False, "the events do not end")


@check
async def events_of_a_session_are_chained(lab):
    """Versions grow by one, and each event names the hash of the one before."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    ok(await session("prune", spans=["a"]))
    previous = ZEROS
    for version, event in enumerate(await session.events(), 1):
        need(event["version"] == version, f"{short(event)}")
        need(event["previous"] == previous, f"{event['previous']} is not {previous}")
        need(event["hash"] not in (previous, ZEROS), f"{short(event)}")
        previous = event["hash"]


@check
async def a_history_goes_on_from_what_was_read(lab):
    """With the hash of the event before, history goes on or refuses: never another story."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    events = await session.events()
    page = ok(await session("history", from_version=2, follows=events[0]["hash"]))
    need(page["events"] == events[1:], f"{short(page)}")
    # At the end there is nothing yet, and it follows.
    page = ok(await session("history", from_version=4, follows=events[2]["hash"]))
    need(page["events"] == [] and page["next_version"] == 4, f"{short(page)}")
    for fields in (
        {"from_version": 2, "follows": events[1]["hash"]},
        {"from_version": 3, "follows": ZEROS},
        {"from_version": 9, "follows": events[2]["hash"]},
    ):
        refused(await session("history", **fields), "version_conflict")
    refused(await session("history", from_version=2, follows=7), "bad_request")


@check
async def a_tenants_events_come_in_the_journals_order(lab):
    """journal.events gives every session's events by seq, in pages, and nobody else's."""
    office, other = Office(lab), Office(lab)
    one, two, third = await office.opened(), await office.opened(), await other.opened()
    for number in range(4):
        for session in (one, third, two):
            await session.add(span(f"s{number}"))
    mine = sorted(await one.events() + await two.events(), key=lambda event: event["seq"])
    need(await pages(office) == mine, "not those of the sessions, in order")
    need(await pages(office, limit=1) == mine, "other pages, other events")
    middle = mine[4]
    need(await pages(office, **{"from": middle["seq"]}) == mine[4:], "from the middle")
    last = {"seq": middle["seq"], "hash": middle["hash"]}
    page = ok(await office.journal("events", {"from": middle["seq"] + 1, "follows": last}))
    need(page["events"] == mine[5:], f"{short(page)}")
    strange = (await third.events())[1]
    for follows in (
        {"seq": middle["seq"], "hash": ZEROS},
        {"seq": middle["seq"] + 1_000_000, "hash": middle["hash"]},
        {"seq": strange["seq"], "hash": strange["hash"]},
    ):
        refused(await office.journal("events", {"follows": follows}), "version_conflict")
    refused(await office.journal("events", {"limit": 0}), "bad_request")
    refused(await office.journal("events", {"follows": {"seq": 1}}), "bad_request")
    refused(await office.journal("events", {"since": 1}), "bad_request")


@check
async def the_feed_says_what_the_journal_says(lab):
    """Each event comes as a message of its kind's subject, the very object of history."""
    office = Office(lab)
    feed = await lab.connection.subscribe(f"lacuna.v1.events.{office.tenant}.>")
    await lab.connection.flush()
    session = await office.opened()
    await session.add(span("a"), span("b"))
    ok(await session("prune", spans=["a"]))
    told, events = {}, await session.events()
    while len(told) < len(events):
        try:
            message = await feed.next_msg(timeout=10)
        except asyncio.TimeoutError:
            need(False, f"{len(told)} of {len(events)} events came")
        event = json.loads(message.data)
        subject = f"lacuna.v1.events.{office.tenant}.{session.name}.{event['kind']}"
        need(message.subject == subject, f"{event['kind']} on {message.subject}")
        identity = f"{event['journal']}:{event['seq']}"
        need(message.header["Nats-Msg-Id"] == identity, f"{message.header}")
        # Delivery is at least once.
        told[event["version"]] = event
    await feed.unsubscribe()
    need([told[version] for version in sorted(told)] == events, "not what history says")
