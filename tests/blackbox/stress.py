#!/usr/bin/env python3
"""Load, and what survives a kill -9 (invariants I1, I2, I3, I5):

    python tests/blackbox/stress.py --nats URL [--workers 32] [--sessions 8] [--count 5000]
        [--kill-pid PID [--kill-after 0.5] [--restart-cmd 'lacuna serve …'] [--wait 120]]

Every worker has one append in flight, with a command_id. With --kill-pid the process is killed
when that share of the commands is acknowledged; whoever runs this restarts the daemon within --wait
(or --restart-cmd does, and what it starts stays). A command without an answer is sent again (one
effect) or given up until the end (absent, or there once).
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import nats.errors

from contract import Fail, Lab, blake3, connect, fresh, need, ok
from shapes import body_of, check_versions

NO_ANSWER = (nats.errors.Error, asyncio.TimeoutError, OSError)


def text_of(name, size):
    """A span's content, which can be made again from its id alone."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return (name + " " + digest * (size // 64 + 1))[:size]


def without_mark(reply):
    """A reply without its mark as a duplicate."""
    return {key: value for key, value in reply.items() if key != "duplicate"}


class Command:
    """One append with its command_id, and what became of it."""

    def __init__(self, number, session, batch, size):
        self.id, self.session = f"cmd-{number}", session
        self.spans = [f"w{number}.{position}" for position in range(batch)]
        spans = [
            {
                "id": name,
                "role": "tool",
                "origin": "tool",
                "kind": "note",
                "content": text_of(name, size),
            }
            for name in self.spans
        ]
        self.data = json.dumps({"command_id": self.id, "spans": spans}).encode()
        self.reply, self.tries, self.given_up, self.milliseconds = None, 0, False, 0.0

    def key(self, name):
        """Where one of its spans is: session and id."""
        return self.session.name, name

    async def send(self, connection, timeout=5):
        """The reply's body; None if there was no answer or the daemon was busy."""
        self.tries += 1
        try:
            message = await connection.request(
                self.session.subject("append"), self.data, timeout=timeout
            )
        except NO_ANSWER:
            return None
        body = json.loads(message.data)
        if "error" in body:
            if body["error"]["code"] in ("overloaded", "unavailable"):
                await asyncio.sleep(0.1)
                return None
            raise Fail(f"{self.id}: {body['error']}")
        return body


class Stress:
    """One run: the load, the kill, and the three examinations after it."""

    def __init__(self, options, connection):
        self.options, self.connection = options, connection
        self.lab = Lab(connection, options.tenant)
        self.sessions, self.commands, self.faults = [], [], []
        self.acknowledged, self.killed, self.back, self.killer = 0, None, None, None
        self.up = asyncio.Event()
        self.up.set()
        self.gate = asyncio.Semaphore(64)

    def fault(self, text):
        """Notes a broken invariant; the first twenty are printed."""
        self.faults.append(text)
        if len(self.faults) <= 20:
            print("FAIL " + text, flush=True)

    # ------------------------------------------------------------ load and kill

    async def load(self):
        """Sends everything, with the kill in between."""
        options = self.options
        self.sessions = [await self.lab.opened(10**9) for _ in range(options.sessions)]
        self.commands = [
            Command(number, self.sessions[number % options.sessions], options.batch, options.size)
            for number in range(options.count)
        ]
        queue, started = iter(self.commands), time.monotonic()
        await asyncio.gather(*[self.work(queue) for _ in range(options.workers)])
        if self.killer:
            await self.killer
        self.report(time.monotonic() - started)

    async def work(self, queue):
        """One worker: the next command, until it is acknowledged or given up."""
        options = self.options
        for command in queue:
            while command.reply is None:
                await self.up.wait()
                started = time.monotonic()
                reply = await command.send(self.connection)
                command.milliseconds = (time.monotonic() - started) * 1000
                if reply is not None:
                    command.reply = reply
                    self.acknowledged += 1
                elif options.kill_pid and random.random() < options.give_up:
                    command.given_up = True
                    break
                elif command.tries > 60:
                    raise Fail(f"{command.id}: no answer after {command.tries} tries")
                else:
                    await asyncio.sleep(0.05)
            due = self.acknowledged >= options.count * options.kill_after
            if options.kill_pid and not self.killer and due:
                self.killer = asyncio.create_task(self.kill())

    async def kill(self):
        """Kills the daemon and waits until one answers again."""
        options = self.options
        os.kill(options.kill_pid, signal.SIGKILL)
        self.killed = time.monotonic()
        self.up.clear()
        print(f"killed {options.kill_pid} after {self.acknowledged} acknowledgements", flush=True)
        await asyncio.sleep(0.5)
        if options.restart_cmd:
            subprocess.Popen(
                options.restart_cmd,
                shell=True,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        else:
            print(f"restart the daemon now (waiting up to {options.wait:g} s)", flush=True)
        head = f"lacuna.v1.{options.tenant}.worker-1.journal.head"
        while time.monotonic() - self.killed < options.wait:
            try:
                await self.connection.request(head, b"{}", timeout=1)
            except NO_ANSWER:
                await asyncio.sleep(0.2)
                continue
            self.back = time.monotonic()
            self.up.set()
            print(f"back after {self.back - self.killed:.2f} s", flush=True)
            return
        print("FAIL the daemon did not come back", flush=True)
        os._exit(1)

    def report(self, elapsed):
        """Prints rate and latency."""
        times = sorted(each.milliseconds for each in self.commands if each.reply)

        def percentile(share):
            return times[min(len(times) - 1, int(len(times) * share))] if times else 0

        down = self.back - self.killed if self.back else 0
        rate = self.acknowledged * self.options.batch / max(elapsed - down, 1e-9)
        print(
            f"{self.acknowledged} of {self.options.count} commands acknowledged in"
            f" {elapsed:.2f} s ({down:.2f} s of it down): {rate:.0f} spans/s,"
            f" p50 {percentile(0.5):.2f} ms, p99 {percentile(0.99):.2f} ms,"
            f" max {percentile(1):.2f} ms",
            flush=True,
        )

    # ------------------------------------------------------------ what must hold afterwards

    async def recorded_spans(self):
        """The span-recorded events by session and span; looks at versions and seq on the way."""
        recorded, numbers = {}, {}
        for session in self.sessions:
            events = await session.events()
            try:
                check_versions(events)
            except Fail as error:
                self.fault(f"{session.name}: {error}")
            for event in events:
                seq = event["seq"]
                if seq in numbers:
                    self.fault(f"seq {seq} twice: {numbers[seq]} and {session.name}")
                numbers[seq] = session.name
                if event["kind"] == "span-recorded":
                    recorded.setdefault((session.name, event["span"]), []).append(event)
        return recorded

    async def examine_history(self):
        """Every acknowledged span is there once, as acknowledged; nothing that nobody sent."""
        recorded = await self.recorded_spans()
        sent = {each.key(name) for each in self.commands for name in each.spans}
        for key in recorded:
            if key not in sent:
                self.fault(f"{key} was recorded and never sent")
        for command in self.commands:
            found = [recorded.get(command.key(name), []) for name in command.spans]
            if any(len(events) > 1 for events in found):
                self.fault(f"{command.id}: recorded more than once")
            if len({len(events) for events in found}) > 1:
                self.fault(f"{command.id}: half of an append is present")
            if command.reply:
                for name, events, acknowledged in zip(command.spans, found, command.reply["spans"]):
                    self.examine_span(command, name, events, acknowledged)
        lost = [each for each in self.commands if each.given_up]
        there = sum(each.key(each.spans[0]) in recorded for each in lost)
        print(
            f"history: {len(recorded)} spans; {len(lost)} commands given up,"
            f" {there} of them present",
            flush=True,
        )
        return recorded

    def examine_span(self, command, name, events, acknowledged):
        """One acknowledged span: there once, with the seq and the digest of the reply."""
        seq, digest = acknowledged["seq"], acknowledged["digest"]
        if len(events) != 1:
            self.fault(
                f"{command.id}/{name}: acknowledged with seq {seq}, present {len(events)} times"
            )
        elif (events[0]["seq"], events[0]["digest"]) != (seq, digest) or acknowledged["id"] != name:
            self.fault(f"{name}: acknowledged {seq}, history says {events[0]['seq']}")
        elif digest != blake3(text_of(name, self.options.size).encode()):
            self.fault(f"{name}: digest")

    async def examine_contents(self):
        """Acknowledged spans read back byte-identical."""
        wanted = [(each, name) for each in self.commands if each.reply for name in each.spans]
        if 0 < self.options.expand < len(wanted):
            wanted = random.sample(wanted, self.options.expand)

        async def read(command, name):
            async with self.gate:
                try:
                    reply = ok(await command.session("expand", span=name))
                    need(
                        reply["outcome"] == "live"
                        and body_of(reply) == text_of(name, self.options.size).encode(),
                        f"{reply['outcome']}",
                    )
                except (Fail, KeyError) as error:
                    self.fault(f"expand {name}: {error}")

        await asyncio.gather(*[read(command, name) for command, name in wanted])
        print(f"expand: {len(wanted)} spans read back", flush=True)

    async def resend(self, command, recorded):
        """A command sent again gives its first reply, and has one effect in all."""
        async with self.gate:
            events = recorded.get(command.key(command.spans[0]))
            reply = None
            for _ in range(20):
                reply = reply or await command.send(self.connection)
            if reply is None:
                self.fault(f"{command.id}: resent, no answer")
                return
            if (command.reply or events) and reply.get("duplicate") is not True:
                self.fault(f"{command.id}: resent, and not marked duplicate")
            if command.reply and without_mark(reply) != without_mark(command.reply):
                self.fault(f"{command.id}: another reply than the first")
            if events and reply["spans"][0]["seq"] != events[0]["seq"]:
                self.fault(f"{command.id}: reply names another seq than history")

    async def examine_again(self, recorded):
        """Resends what was given up and some of the rest; then everything is there once."""
        lost = [each for each in self.commands if each.given_up]
        acknowledged = [each for each in self.commands if each.reply]
        again = random.sample(acknowledged, min(300, len(acknowledged))) + lost
        await asyncio.gather(*[self.resend(each, recorded) for each in again])
        total = 0
        for session in self.sessions:
            events = await session.events()
            total += sum(event["kind"] == "span-recorded" for event in events)
        sent = self.options.count * self.options.batch
        if total != sent:
            self.fault(f"{total} spans recorded after all resends, {sent} sent")
        verify = f"lacuna.v1.{self.options.tenant}.worker-1.journal.verify"
        verdict = ok(await self.lab.raw(verify, b"{}", timeout=120))
        if verdict["ok"] is not True or verdict["faults"]:
            self.fault(f"verify: {verdict['faults'][:3]}")
        print(f"resent {len(again)}; verify checked {verdict['checked']}", flush=True)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description="Load, and what survives a kill -9.")
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="the broker's URL")
    parser.add_argument("--tenant", default=fresh("stress-"), help="the tenant to work in")
    parser.add_argument("--workers", type=int, default=32, help="appends in flight")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--count", type=int, default=5000, help="commands in all")
    parser.add_argument("--batch", type=int, default=1, help="spans per command")
    parser.add_argument("--size", type=int, default=1024, help="bytes per span")
    parser.add_argument("--expand", type=int, default=5000, help="spans to read back; 0: all")
    parser.add_argument("--kill-pid", type=int, help="the daemon to kill")
    parser.add_argument("--kill-after", type=float, default=0.5, help="acknowledged share")
    parser.add_argument("--restart-cmd", help="starts the daemon again")
    parser.add_argument("--wait", type=float, default=120, help="seconds for the restart")
    parser.add_argument(
        "--give-up",
        type=float,
        default=0.3,
        help="share of unanswered commands that are not sent again until the end",
    )
    return parser.parse_args()


async def main():
    """Runs the load and the examinations; returns the exit code."""
    options = arguments()
    connection = await connect(options.nats)
    stress = Stress(options, connection)
    await stress.load()
    recorded = await stress.examine_history()
    await stress.examine_contents()
    await stress.examine_again(recorded)
    faults = len(stress.faults)
    print(f"{'FAIL' if faults else 'PASS'}: {faults} faults")
    await connection.close()
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except (Fail, KeyError, TypeError) as error:
        print(f"FAIL {type(error).__name__}: {error}")
        sys.exit(1)
