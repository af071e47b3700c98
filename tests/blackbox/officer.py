"""A retention officer at a desk of his own, and what his replies must look like.

Retention concerns a whole tenant: every check about it opens an `office`, which is a tenant that
nobody else works in.
"""

import json
from datetime import datetime, timedelta, timezone

from contract import TIME, Lab, fresh, need, ok, short
from shapes import check_evidence, ids_of, span, tombstone_of

EVERYTHING_AT_ONCE = {"for": "0s"}


class Office(Lab):
    """A tenant of its own; calling it sends a retention verb as its officer."""

    def __init__(self, lab):
        super().__init__(lab.connection, fresh("bb-office-"))
        self.notes = lab.notes

    async def __call__(self, verb, principal="officer-1", timeout=15, **body):
        subject = f"lacuna.v1.{self.tenant}.{principal}.retention.{verb}"
        return await self.raw(subject, json.dumps(body).encode(), timeout)

    async def policy(self, *rules):
        """Sets a policy, which must be taken; returns its name."""
        reply = ok(await self("policy-set", rules=list(rules)))
        need(isinstance(reply["policy"], str) and type(reply["version"]) is int, f"{reply}")
        return reply["policy"]

    async def hold(self, reason="a case", **matches):
        """Places a hold, which must be taken; returns its name."""
        return ok(await self("hold", match=matches, reason=reason))["hold"]

    async def run(self, **fields):
        """A run that must be done."""
        reply = check_run(ok(await self("run", **fields)))
        need(reply["status"] == "done", f"{short(reply)}")
        return reply

    async def plan(self, **fields):
        """The whole plan, page by page."""
        plan = ok(await self("plan", **fields))
        for _ in range(100):
            if plan.get("next") is None:
                break
            page = ok(await self("plan", after=plan["next"], **fields))
            plan["sessions"] += page["sessions"]
            plan["next"] = page.get("next")
        return plan

    async def ledger(self, limit=None):
        """The whole ledger, page by page."""
        entries, fields = [], {"limit": limit}
        for _ in range(500):
            fields = {key: value for key, value in fields.items() if value is not None}
            page = ok(await self("ledger", **fields))
            need(limit is None or len(page["entries"]) <= limit, "more entries than asked for")
            entries += page["entries"]
            if page.get("next") is None:
                return entries
            fields = {"from": page["next"], "limit": limit}
        need(False, "the ledger does not end")

    async def stream(self):
        """The events of the tenant's own stream."""
        return await self.session("_retention", principal="officer-1").events()

    async def evaluated(self, session, name):
        """What is said of a span."""
        return ok(await self("evaluate", session=session.name, span=name))

    async def verified(self):
        """The journal, which must be sound."""
        verdict = ok(await self.journal("verify"))
        need(verdict["ok"] is True and verdict["faults"] == [], f"{short(verdict)}")


def rule(name, keep, match=None, **fields):
    """A rule of a policy."""
    return {"id": name, "match": match or {}, "keep": keep, **fields}


def goes_now(name="now", match=None, **fields):
    """A rule under which everything goes with the next run, windows or not."""
    return rule(name, EVERYTHING_AT_ONCE, match, live_handles="commit", **fields)


def log(name, content=None, **fields):
    """A message of a tool."""
    return span(name, content, role="tool", origin="tool", **fields)


def moment(text):
    """A time of the contract."""
    need(isinstance(text, str) and TIME.match(text), f"{text!r} is no time")
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def about(text, seconds, of=None, slack=10):
    """Whether a time lies so many seconds behind another, or behind now, give or take."""
    wanted = (of or datetime.now(timezone.utc)) + timedelta(seconds=seconds)
    return abs((moment(text) - wanted).total_seconds()) <= slack


def check_run(reply):
    """A run names itself, its policy, its cut and its time, and counts."""
    need(isinstance(reply["run"], str) and type(reply["cut"]) is int, f"{short(reply)}")
    need("policy" in reply, f"{short(reply)}")
    moment(reply["effective_now"])
    for count in ("spans", "bytes"):
        need(type(reply["removed"][count]) is int, f"removed.{count}: {short(reply)}")
    for count in ("noticed", "deferred", "held"):
        need(type(reply[count]) is int, f"{count}: {short(reply)}")
    need(reply["status"] in ("done", "over_limit"), f"status {reply['status']!r}")
    return reply


def removed(reply, spans, held=0, deferred=0, noticed=0):
    """Fails unless a run (or a plan) has counted just this."""
    counted = (reply["removed"]["spans"], reply["held"], reply["deferred"], reply["noticed"])
    wanted = (spans, held, deferred, noticed)
    need(counted == wanted, f"removed, held, deferred, noticed: {counted}, not {wanted}")
    return reply


async def outcome_of(session, name):
    """The typed answer about a span."""
    return ok(await session("expand", span=name))["outcome"]


async def check_gone(session, name, kind, **cause):
    """Whatever is asked about a span that is gone is answered so; returns the cause."""
    reply = ok(await session("expand", span=name))
    need(reply["outcome"] == "lossy", f"{name} is {reply['outcome']}")
    need(
        reply.get("tombstone") == tombstone_of(name)
        and "content" not in reply
        and "content_b64" not in reply
        and reply.get("erases_at") is None
        and reply["digest"],
        f"{short(reply)}",
    )
    check_evidence(reply)
    told = reply["cause"]
    moment(told["at"])
    need(
        told["kind"] == kind and all(told.get(key) == value for key, value in cause.items()),
        f"cause {told}, not {kind} {cause}",
    )
    listed = ok(await session("tombstones"))["tombstones"]
    mine = [each for each in listed if each["span"] == name]
    need(len(mine) == 1 and mine[0]["cause"] == told, f"{short(mine)}")
    durable = ok(await session("durability", spans=[name]))["spans"][0]
    need(durable["state"] == "lossy" and durable["copies"] == [], f"{durable}")
    return told


async def check_there(session, name, content=None):
    """A span whose content must be readable, byte for byte."""
    reply = ok(await session("expand", span=name))
    need(
        reply["outcome"] in ("live", "recoverable", "scheduled")
        and reply.get("content") == (content or f"contents of {name}"),
        f"{short(reply)}",
    )
    return reply


def kinds_of(events):
    """The kinds of events, in order."""
    return [event["kind"] for event in events]


def tombstones_in(window):
    """The spans for which tombstones stand in a window."""
    entries = [entry for entry in window["entries"] if entry["kind"] == "tombstone"]
    return [name for entry in entries for name in ids_of(entry)]
