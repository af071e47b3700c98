"""Random histories and odd orders: what must hold after whatever somebody does to a session."""

import asyncio
import json
import random
import secrets

from contract import Fail, HANDLE, check, executed, need, ok
from provider import check_renders
from shapes import (
    body_of,
    check_versions,
    ids_of,
    kinds_and_ids,
    shown_ids,
    span,
    tool_call,
    tool_result,
    withheld,
)


async def reachable(session, window):
    """Every span that is shown or found by following the window's handles, listings included."""
    found, waiting, seen = set(), [], set()
    for entry in window["entries"]:
        found |= {entry["id"]} if entry.get("id") else set()
        found |= {name for name in ids_of(entry) if entry["kind"] in ("span", "tombstone")}
        waiting += [entry["handle"]] if entry.get("handle") and entry["kind"] != "span" else []
        waiting += entry.get("text", "").strip("[]").split() if entry["kind"] != "tombstone" else []
    while waiting:
        handle = waiting.pop().strip(",;")
        if "@" not in handle or handle in seen:
            continue
        seen.add(handle)
        reply = ok(await session("expand", handle=handle))
        need(reply["outcome"] != "never_recorded", f"{handle} in the window leads nowhere")
        found |= {reply["span"]} if reply.get("span") else set()
        for each in reply.get("spans") or []:
            found.add(each["id"])
            waiting += [each["handle"]] if each.get("handle") else []
        waiting += HANDLE.findall(json.dumps(reply.get("spans") or []))
    return found


class History:
    """A session under random commands, and what is known about it."""

    def __init__(self, session, seed):
        self.session, self.random = session, random.Random(seed)
        self.contents, self.windows, self.summaries = {}, {}, []
        self.count = 0

    def fresh_id(self, prefix):
        """The next id."""
        self.count += 1
        return f"{prefix}{self.count}"

    async def append(self):
        """A message, a secret, or a call with its results."""
        choice, spans = self.random.random(), []
        if choice < 0.5:
            spans.append(span(self.fresh_id("m"), "words " * self.random.randint(1, 60)))
        elif choice < 0.6:
            spans.append(withheld(self.fresh_id("x"), tokens=self.random.randint(1, 99)))
        else:
            calls = [self.fresh_id("c") for _ in range(self.random.randint(1, 3))]
            results = [(self.fresh_id("r"), call) for call in calls]
            self.random.shuffle(results)
            spans += [tool_call(call) for call in calls]
            spans += [
                tool_result(name, call, "3 matches " + "log " * self.random.randint(1, 60))
                for name, call in results
            ]
        await self.session.add(*spans)
        self.contents |= {each["id"]: each.get("content") for each in spans}

    def some(self, names):
        """A few of these names, most often neighbours."""
        if not names:
            return []
        start, count = self.random.randrange(len(names)), self.random.randint(1, 6)
        near = names[start : start + count]
        return near if self.random.random() < 0.7 else self.random.sample(near, len(near))

    def listed(self, kinds):
        """The ids in the newest window that stand in entries of these kinds."""
        window = self.windows[max(self.windows)]
        return [
            name
            for entry in window["entries"]
            if entry["kind"] in kinds
            for name in ([entry["id"]] if entry.get("id") else ids_of(entry))
        ]

    async def prune(self):
        """Drops some entries, lossy or not; any verdict is fine."""
        names = self.some(self.listed(("span", "summary", "stub")))
        await self.session("prune", spans=names, accept_lossy=self.random.random() < 0.7)

    async def summarise(self):
        """Replaces some entries, summaries among them, by a new summary."""
        names = self.some(self.listed(("span", "summary")))
        names = [name for name in names if not name.startswith("x")]
        if not names:
            return
        author, name = self.session.by("author-1"), self.fresh_id("sum")
        for each in names:
            ok(await author("expand", span=each, purpose="reground"))
        reply = await author("summarize", id=name, covers=names, text="A summary.", claims=[])
        if not reply.code and reply.body["status"] == "accepted":
            self.contents[name] = "A summary."
            part = names if self.random.random() < 0.7 else names[: self.random.randint(1, 6)]
            await self.session("prune", spans=part, replace_with=name)
            self.summaries.append((name, names))

    async def summarise_again(self):
        """Uses an old summary once more."""
        if self.summaries:
            name, covers = self.random.choice(self.summaries)
            await self.session("prune", spans=self.some(covers), replace_with=name)

    async def restore(self):
        """Restores anything that was ever recorded."""
        names = self.some(sorted(self.contents))
        await self.session("restore", spans=names)

    async def step(self):
        """One random command, and what must hold after it."""
        command = self.random.choice(
            (self.append, self.append, self.prune, self.prune, self.summarise)
            + (self.summarise_again, self.restore, self.restore)
        )
        await command()
        window = await self.session.window()
        self.windows[window["version"]] = window
        used = sum(entry["tokens"] for entry in window["entries"])
        need(window["budget"]["used_tokens"] == used, f"used_tokens is not {used}")
        shown = shown_ids(window)
        need(len(shown) == len(set(shown)), f"a span stands in two entries: {shown}")
        await check_renders(self.session, user_first=False)

    async def examine(self):
        """The past is as it was shown, and nothing is out of reach."""
        session = self.session
        for version, window in self.windows.items():
            then = await session.window(at={"version": version})
            need(then == window, f"the window at {version} is not what was shown then")
        check_versions(await session.events())
        window = self.windows[max(self.windows)]
        lost = {name for name, text in self.contents.items() if text is None}
        missing = set(self.contents) - lost - await reachable(session, window)
        summaries = {name for name, _ in self.summaries}
        need(not missing - summaries, f"no handle in the window leads to {missing - summaries}")
        for name, text in self.contents.items():
            if text is not None:
                reply = ok(await session("expand", span=name))
                need(body_of(reply) == text.encode(), f"{name} is not what was appended")


@check
async def random_history(lab):
    """After any commands: sums hold, pairs are whole, the past replays, handles lead everywhere."""
    seed = secrets.randbits(32)
    history = History(await lab.opened(1_000_000, contract="record"), seed)
    await history.session.add(span("m0", "begin"))
    history.contents["m0"] = "begin"
    try:
        window = await history.session.window()
        history.windows[window["version"]] = window
        for _ in range(60):
            await history.step()
        await history.examine()
    except Fail as error:
        raise Fail(f"seed {seed}: {error}")


@check
async def many_directives_on_one_session(lab):
    """500 directives at once each get their own id and stub; 20 more rounds leave no trace."""
    session = await lab.opened(10_000_000)
    names = [f"a{number}" for number in range(500)]
    await session.add(*[span(name, "words " * 20) for name in names])
    before = (await session.window())["entries"]
    replies = await asyncio.gather(*[session("prune", spans=[name]) for name in names])
    directives = {executed(reply, "reversible")["directive"] for reply in replies}
    need(len(directives) == 500, f"{len(directives)} ids for 500 directives")
    window = await session.window()
    need(kinds_and_ids(window) == [("stub", [name]) for name in names], "a stub is missing")
    for _ in range(20):
        ok(await session("restore", spans=names))
        executed(await session("prune", spans=names), "reversible")
    window = await session.window()
    need(kinds_and_ids(window) == [("stub", names)], "the last directive has not one stub")
    ok(await session("restore", spans=names))
    need((await session.window())["entries"] == before, "the window is not as it was")
    check_versions(await session.events())


@check
async def prunes_and_restores_at_once(lab):
    """Prunes and restores of the same spans at the same time leave one order that replays."""
    session = await lab.opened()
    names = [f"a{number}" for number in range(20)]
    await session.add(*[span(name) for name in names])
    replies = await asyncio.gather(
        *[
            session(("prune", "restore")[n % 2], spans=[names[n % 20], names[(n * 7 + 1) % 20]])
            for n in range(400)
        ]
    )
    for reply in replies:
        ok(reply)
    events = await session.events()
    check_versions(events)
    window = await session.window()
    need(shown_ids(window) == names, f"order {shown_ids(window)}")
    pruned = set()
    for event in events:
        if event["kind"] == "prune-executed":
            pruned |= {each["id"] for each in event["spans"]}
        elif event["kind"] == "span-restored":
            pruned -= {event["span"]}
    shown = {name for kind, ids in kinds_and_ids(window) if kind == "stub" for name in ids}
    need(shown == pruned, f"history says {sorted(pruned)} are pruned, the window {sorted(shown)}")
