"""Workers, runs, erasures and holds at once: whatever the order, the books agree afterwards.

The dice are thrown from a seed, which a failure names; what the others do in between is chance.
"""

import asyncio
import collections
import random
import secrets
import time

from contract import Fail, check, need, ok, refused, short
from officer import Office, goes_now, log, rule
from shapes import check_versions, span

SECONDS = 3
EVIDENCE = {"case": "open"}


class Turmoil:
    """What everybody has done so far."""

    def __init__(self, office, sessions, seed):
        self.office, self.sessions, self.dice = office, sessions, random.Random(seed)
        self.until = time.monotonic() + SECONDS
        self.contents, self.evidence = collections.defaultdict(dict), set()

    def goes_on(self):
        """Whether the time is not over."""
        return time.monotonic() < self.until

    def some_span(self, session):
        """A span of the session."""
        return self.dice.choice(list(self.contents[session.name]))

    async def worker(self, session, worker):
        """Records, prunes, restores and reads; what it reads must be what was recorded."""
        number = 0
        while self.goes_on():
            number += 1
            name, die = f"w{worker}.{number}", self.dice.random()
            known = self.contents[session.name]
            if die < 0.4 or not known:
                text = f"{name} of {session.name} " + "y" * self.dice.randrange(3_000)
                labels = EVIDENCE if self.dice.random() < 0.2 else {}
                await session.add(log(name, text, labels=labels))
                known[name] = text
                if labels:
                    self.evidence.add((session.name, name))
            elif die < 0.7:
                ok(await session("prune", spans=[self.some_span(session)]))
            elif die < 0.85:
                answer = await session("restore", spans=[self.some_span(session)])
                need(answer.code in (None, "not_recoverable"), f"{answer}")
            else:
                await self.read(session, self.some_span(session))

    async def read(self, session, name):
        """Reads a span; returns whether it is gone."""
        reply = ok(await session("expand", span=name))
        gone = reply["outcome"] == "lossy"
        right = self.contents[session.name][name]
        need(reply.get("content") == (None if gone else right), f"{name}: {short(reply)}")
        need(not gone or (session.name, name) not in self.evidence, f"{name} was held, and is gone")
        return gone

    async def runner(self):
        """Runs the policy again and again."""
        while self.goes_on():
            answer = await self.office("run")
            need(answer.code in (None, "overloaded"), f"{answer}")

    async def eraser(self):
        """Erases here and there, and reads the plan and the ledger."""
        while self.goes_on():
            session = self.dice.choice(self.sessions)
            if self.contents[session.name]:
                spans = [self.some_span(session) for _ in range(3)]
                answer = await self.office(
                    "erase", session=session.name, spans=spans, reason="asked for"
                )
                need(answer.code in (None, "not_permitted"), f"{answer}")
            ok(await self.office("plan"))
            await asyncio.sleep(0.03)

    async def holder(self):
        """Holds a session for a moment."""
        while self.goes_on():
            hold = await self.office.hold(sessions=self.dice.choice(self.sessions).name)
            await asyncio.sleep(self.dice.random() * 0.3)
            ok(await self.office("release", hold=hold, reason="over"))
            await asyncio.sleep(self.dice.random() * 0.3)


async def books_agree(turmoil):
    """Spans, tombstones, ledger and runs tell the same."""
    office = turmoil.office
    ledger = await office.ledger()
    for session in turmoil.sessions:
        lost = [entry["span"] for entry in ledger if entry["session"] == session.name]
        need(len(lost) == len(set(lost)), "a span was lost twice")
        for name in turmoil.contents[session.name]:
            need(await turmoil.read(session, name) == (name in lost), f"{name} and the ledger")
        listed, page = [], {"next": 0}
        while page.get("next") is not None:
            page = ok(await session("tombstones", **({"from": page["next"]} if listed else {})))
            listed += [entry["span"] for entry in page["tombstones"]]
        need(sorted(listed) == sorted(lost), "tombstones and the ledger")
        check_versions(await session.events())
    stream = await office.stream()
    check_versions(stream)
    closed = {e["run"]: e["removed"]["spans"] for e in stream if e["kind"] == "run-closed"}
    opened = [e["run"] for e in stream if e["kind"] == "run-opened"]
    need(list(closed) == opened, "each run is opened once and closed once, in order")
    runs = [e["cause"]["run"] for e in ledger if e["cause"]["kind"] == "retention"]
    counted = collections.Counter(runs)
    for run, count in closed.items():
        need(counted[run] == count, f"{run} closed with {count}, the ledger has {counted[run]}")
    return len(ledger), len(opened)


@check
async def everything_at_once(lab):
    """Under workers, runs, erasures and holds at once no content is wrong and all books agree."""
    seed = secrets.randbits(32)
    office = Office(lab)
    sessions = [await office.opened(10_000_000) for _ in range(3)]
    await office.policy(goes_now(match={"pruned": True}))
    await office.hold("evidence", labels=EVIDENCE)
    turmoil = Turmoil(office, sessions, seed)
    workers = [turmoil.worker(each, n) for n in range(3) for each in sessions]
    others = [turmoil.runner(), turmoil.runner(), turmoil.eraser(), turmoil.holder()]
    try:
        await asyncio.gather(*workers, *others)
        lost, runs = await books_agree(turmoil)
    except Fail as failure:
        raise Fail(f"seed {seed}: {failure}") from failure
    need(lost > 0 and runs > 1, "nothing happened")
    await office.verified()


@check
async def retention_verbs_and_what_is_no_request(lab):
    """Whatever bytes a retention verb is sent, the answer is typed, and nothing is recorded."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    await office.policy(rule("ever", {"forever": True}))
    before = (await office.stream(), await session.events())
    deep = b'{"rules":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    twice = b'{"session":"s","session":"t","reason":"x"}'
    verbs = ("policy-set", "policy-get", "evaluate", "hold", "release", "plan", "ledger", "erase")
    for verb in (*verbs, "run"):
        subject = f"lacuna.v1.{office.tenant}.officer-1.retention.{verb}"
        for data in (b"{", b"[]", b"null", b"\xff\xfe", b'"x"', deep, twice, b'{"x":1}', b"{} {}"):
            refused(await office.raw(subject, data), "bad_request")
    for verb in ("policy", "runs", "RUN", "prune"):
        subject = f"lacuna.v1.{office.tenant}.officer-1.retention.{verb}"
        # Free: an error, or nobody there.
        answer = await office.raw(subject, b"{}", nobody=True)
        need(answer.code is not None, f"{verb}: {answer}")
    need((await office.stream(), await session.events()) == before, "something was recorded")
    await office.verified()
