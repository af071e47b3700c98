#!/usr/bin/env python3
"""A worker that follows a session without missing an event, and reads again what is about to go.

    python ops/examples/worker.py --tenant acme --session run-7 [--nats URL] [--place FILE]

It needs nothing but nats-py. See the README beside it.
"""

import argparse
import asyncio
import base64
import json
import os
import signal
import sys

import nats
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NoMessage

SILENCE = 5  # seconds without a message until the journal is asked whether that is true
PAUSE = 0.2  # seconds between attempts while nobody answers


class Refused(Exception):
    """An error reply of the daemon: a code, a sentence that says what to do, details."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.details = error["code"], error["details"]


class Session:
    """One session of one tenant, as one principal sees it."""

    def __init__(self, connection, tenant, principal, name):
        self.connection, self.tenant, self.name = connection, tenant, name
        self.subject = f"lacuna.v1.{tenant}.{principal}.session.{name}"

    async def ask(self, verb, **body):
        """Calls a verb until it is answered: questions change nothing, and commands carry a command_id."""
        while True:
            try:
                request = json.dumps(body).encode()
                message = await self.connection.request(f"{self.subject}.{verb}", request, timeout=5)
            except (NatsError, asyncio.TimeoutError) as error:
                print(f"no answer to {verb} yet: {error or type(error).__name__}", file=sys.stderr)
                await asyncio.sleep(PAUSE)
                continue
            reply = json.loads(message.data)
            if "error" not in reply:
                return reply
            damaged = (reply["error"].get("details") or {}).get("damaged")
            if damaged or reply["error"]["code"] not in ("overloaded", "unavailable"):
                raise Refused(reply["error"])
            print(f"{verb}: {reply['error']['message']}", file=sys.stderr)
            await asyncio.sleep(PAUSE)

    async def events(self, version=1, last=None):
        """Every event from a version on, each once and in order, for ever.

        The feed may lose messages: it is believed only where it goes on from the last event, by version
        and hash. Anything else, and silence, sends us to the journal. `last` is the hash of the event
        before `version`, for whoever goes on where he stopped.
        """
        feed = await self.connection.subscribe(f"lacuna.v1.events.{self.tenant}.{self.name}.*")
        behind = True
        while True:
            if behind:
                follows = {} if last is None else {"follows": last}
                page = await self.ask("history", from_version=version, **follows)
                behind = bool(page["events"])
                for event in page["events"]:
                    version, last = event["version"] + 1, event["hash"]
                    yield event
                continue
            try:
                event = as_event((await feed.next_msg(timeout=SILENCE)).data)
            except NoMessage:
                behind = True
                continue
            if event.get("version") == version and last in (None, event["previous"]):
                version, last = version + 1, event["hash"]
                yield event
            elif event.get("version", version) >= version:
                behind = True

    async def expand(self, span, **fields):
        """The typed answer about a span, with its whole content as bytes where there is one."""
        answer = await self.ask("expand", span=span, **fields)
        content = part = content_of(answer)
        while part and len(content) < answer["total_bytes"]:
            # With the same purpose: having read the last part is what counts as having read it.
            part = content_of(await self.ask("expand", span=span, offset=len(content), **fields))
            content += part
        return answer, content


def as_event(data):
    """A message of the feed as an event; anything else as one that says nothing, and sends us to the journal."""
    try:
        event = json.loads(data)
    except ValueError:
        return {}
    whole = isinstance(event, dict) and isinstance(event.get("version"), int)
    return event if whole and isinstance(event.get("hash"), str) and "previous" in event else {}


def content_of(answer):
    """The part of a content that came with an answer."""
    return answer.get("content", "").encode() or base64.b64decode(answer.get("content_b64", ""))


def told(span, answer):
    """A typed answer in one line."""
    outcome, cause = answer["outcome"], answer.get("cause") or {}
    if outcome == "scheduled":
        return f"{span}: scheduled, it goes at {answer['erases_at']}"
    if outcome == "lossy":
        under = [cause[key] for key in ("directive", "run", "policy", "rule", "why") if cause.get(key)]
        return f"{span}: lossy by {cause['kind']} ({', '.join(under)}) at {cause['at']}"
    if outcome == "never_recorded":
        recorded = answer["evidence"]["spans_recorded"]
        return f"{span}: never recorded, all {recorded} spans were considered"
    return f"{span}: {outcome}"


async def react(session, event):
    """What this worker does about an event; done twice it does the same."""
    if event["kind"] == "notice-given":
        for span in event["spans"]:
            # Reading for this purpose is an event; the id makes it one, however often it is sent.
            command = f"reground-{event['seq']}-{span['id']}"
            answer, content = await session.expand(span["id"], purpose="reground", command_id=command)
            print(f"{told(span['id'], answer)}; read again, {len(content)} bytes", flush=True)
    elif event["kind"] == "lossy-committed":
        for span in event["spans"]:
            answer, _ = await session.expand(span["id"])
            print(told(span["id"], answer), flush=True)
    else:
        print(f"{event['version']} {event['kind']} by {event['principal']}", flush=True)


def remembered(path):
    """Where to go on: a version, and the hash of the event before it."""
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            place = json.load(file)
        return place["version"] + 1, place["hash"]
    return 1, None


def remember(path, event):
    """Keeps the place behind an event that was dealt with."""
    if path:
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump({"version": event["version"], "hash": event["hash"]}, file)
        os.replace(f"{path}.new", path)


async def work(options):
    """Follows until it is cancelled."""
    keys = {"user_credentials": options.creds} if options.creds else {}
    # -1: it connects again for ever.
    connection = await nats.connect(
        options.nats, max_reconnect_attempts=-1, reconnect_time_wait=PAUSE, **keys
    )
    session = Session(connection, options.tenant, options.principal, options.session)
    try:
        async for event in session.events(*remembered(options.place)):
            await react(session, event)
            remember(options.place, event)
    finally:
        await connection.close()


async def main():
    """Runs the worker until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="the broker's URL")
    parser.add_argument("--creds", help="a credentials file for the broker")
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--principal", default="worker-1")
    parser.add_argument("--session", required=True)
    parser.add_argument("--place", help="file that remembers how far it came, for the next start")
    working = asyncio.ensure_future(work(parser.parse_args()))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    try:
        await working
    except asyncio.CancelledError:
        return 0
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
