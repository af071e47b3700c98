"""The client that every check uses: requests over NATS, the error contract, BLAKE3.

Each reply is checked here for what the contract says about all replies: one JSON object in UTF-8,
and for an error a known code, the two headers, a message. A check therefore only says what it
expects: `ok(...)`, `refused(..., code)`, `rejected(..., reason)` or `executed(..., status)`.

Where the contract leaves a choice, the check accepts every allowed answer and says so in a comment
that starts with "Free:".
"""

import asyncio
import json
import re
import secrets
import struct

import nats
import nats.errors

ERROR_CODES = {
    "bad_request": 400,
    "not_permitted": 403,
    "unknown_session": 404,
    "unknown_span": 404,
    "session_exists": 409,
    "session_closed": 409,
    "span_conflict": 409,
    "version_conflict": 409,
    "command_id_reused": 409,
    "handle_mismatch": 409,
    "not_recoverable": 409,
    "too_large": 413,
    "contract_violation": 422,
    "overloaded": 429,
    "unavailable": 503,
}
# Free: UTC may be written Z or +00:00.
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|\+00:00)$")
HANDLE = re.compile(r"[A-Za-z0-9_.:-]+@[0-9a-f]{4,64}")

CHECKS = []


def check(function):
    """Registers a check; checks run in the order in which they were registered."""
    CHECKS.append(function)
    return function


# ---------------------------------------------------------------- BLAKE3

_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_QUARTERS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8


def _schedule():
    order, steps = list(range(16)), []
    for _ in range(7):
        steps += [(*_QUARTERS[i], order[2 * i], order[2 * i + 1]) for i in range(8)]
        order = [order[j] for j in _PERMUTATION]
    return tuple(steps)


_SCHEDULE = _schedule()


def _compress(chaining, message, counter, length, flags):
    v = [*chaining, *_IV[:4], counter & 0xFFFFFFFF, counter >> 32, length, flags]
    mask = 0xFFFFFFFF
    for a, b, c, d, x, y in _SCHEDULE:
        va, vb = (v[a] + v[b] + message[x]) & mask, v[b]
        vd = v[d] ^ va
        vd = (vd >> 16 | vd << 16) & mask
        vc = (v[c] + vd) & mask
        vb ^= vc
        vb = (vb >> 12 | vb << 20) & mask
        va = (va + vb + message[y]) & mask
        vd ^= va
        vd = (vd >> 8 | vd << 24) & mask
        vc = (vc + vd) & mask
        vb ^= vc
        v[a], v[b], v[c], v[d] = va, (vb >> 7 | vb << 25) & mask, vc, vd
    return [v[i] ^ v[i + 8] for i in range(8)]


def _node(data, low, high):
    """What the last compression of data[low:high] takes, without its root flag."""
    if high - low > 1024:
        chunks = (high - low + 1023) // 1024
        middle = low + (1 << ((chunks - 1).bit_length() - 1)) * 1024
        left = _compress(*_node(data, low, middle))
        right = _compress(*_node(data, middle, high))
        return list(_IV), left + right, 0, 64, _PARENT
    chaining, flags = list(_IV), _CHUNK_START
    blocks = [data[i : min(i + 64, high)] for i in range(low, high, 64)] or [b""]
    for block in blocks[:-1]:
        words = struct.unpack("<16I", block)
        chaining = _compress(chaining, words, low // 1024, 64, flags)
        flags = 0
    words = struct.unpack("<16I", blocks[-1].ljust(64, b"\0"))
    return chaining, words, low // 1024, len(blocks[-1]), flags | _CHUNK_END


def plain_blake3(data):
    """The BLAKE3 digest of `data` in lower-case hex, without any module."""
    chaining, words, _, length, flags = _node(data, 0, len(data))
    return struct.pack("<8I", *_compress(chaining, words, 0, length, flags | _ROOT)).hex()


try:
    from blake3 import blake3 as _native_blake3
except ImportError:
    blake3 = plain_blake3
else:

    def blake3(data):
        """The BLAKE3 digest of `data` in lower-case hex."""
        return _native_blake3(data).hexdigest()


# ---------------------------------------------------------------- expectations


class Fail(Exception):
    """The daemon broke the contract; the text says how."""


def need(condition, why):
    """Fails with `why` unless the condition holds."""
    if not condition:
        raise Fail(why)


def short(value, limit=300):
    """A value as text for a failure message."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= limit else text[:limit] + "…"


def fresh(prefix="s"):
    """A name that nobody used before."""
    return f"{prefix}{secrets.token_hex(5)}"


class Reply:
    """One reply: its body, its headers, and the error code if it is an error."""

    def __init__(self, body, headers=None, code=None):
        self.body, self.headers, self.code = body, headers or {}, code

    def __repr__(self):
        return f"{self.code or 'ok'} {short(self.body)}"


def ok(reply):
    """The body of a reply that must be a success."""
    need(reply.code is None, f"unexpected error {reply.code}: {short(reply.body)}")
    return reply.body


def refused(reply, *codes):
    """The error object of a reply that must be an error with one of these codes."""
    wanted = "/".join(codes) or "an error"
    need(reply.code is not None, f"expected {wanted}, got success {short(reply.body)}")
    need(
        not codes or reply.code in codes,
        f"expected {wanted}, got {reply.code}: {short(reply.body)}",
    )
    return reply.body.get("error", {})


def rejected(reply, *reasons):
    """The body of a prune that must be rejected for one of these reasons."""
    body = ok(reply)
    need(body.get("status") == "rejected", f"expected status rejected, got {short(body)}")
    need(
        not reasons or body.get("reason") in reasons,
        f"expected reason {reasons}, got {body.get('reason')!r}",
    )
    return body


def executed(reply, status):
    """The body of a prune that must have been executed with this status."""
    body = ok(reply)
    need(
        body.get("status") == status,
        f"expected status {status}, got {body.get('status')!r}/{body.get('reason')!r}:"
        f" {short(body)}",
    )
    return body


def check_error(body, headers):
    """What holds for every error reply; returns its code."""
    error = body.get("error")
    need(
        isinstance(error, dict) and isinstance(error.get("code"), str),
        f"error body without error.code: {short(body)}",
    )
    code = error["code"]
    need(code in ERROR_CODES, f"error code {code!r} is not in the contract")
    number = headers.get("Nats-Service-Error-Code")
    need(
        str(number) == str(ERROR_CODES[code]),
        f"{code}: header Nats-Service-Error-Code is {number!r}, not {ERROR_CODES[code]}",
    )
    need(headers.get("Nats-Service-Error"), f"{code}: no header Nats-Service-Error")
    need(isinstance(error.get("message"), str) and error["message"], f"{code}: no message")
    need(
        isinstance(error.get("details", {}), (dict, type(None))),
        f"{code}: details is not an object",
    )
    return code


# ---------------------------------------------------------------- talking to the daemon


class Lab:
    """A connection and a tenant; every check gets one and makes its own sessions in it."""

    def __init__(self, connection, tenant):
        self.connection, self.tenant, self.notes = connection, tenant, []

    def note(self, text):
        """Leaves a remark that the runner prints below the check's line."""
        self.notes.append(text)

    def session(self, name=None, principal="worker-1", tenant=None):
        """A session's address; nothing is sent."""
        return Session(self, name or fresh("s-"), principal, tenant or self.tenant)

    async def opened(self, window_tokens=100_000, **fields):
        """A new session, opened."""
        session = self.session()
        ok(await session("open", window_tokens=window_tokens, **fields))
        return session

    async def raw(self, subject, data, timeout=10, nobody=False):
        """Sends bytes to a subject. With `nobody`, "no responders" is an answer too."""
        try:
            message = await self.connection.request(subject, data, timeout=timeout)
        except nats.errors.NoRespondersError:
            if nobody:
                return Reply({}, code="no_responders")
            raise Fail(f"no responders on {subject[:120]}")
        except (nats.errors.TimeoutError, asyncio.TimeoutError):
            verb = subject.rsplit(".", 1)[-1]
            raise Fail(
                f"no reply within {timeout} s to {verb} {short(data[:120].decode('latin-1'))}"
            )
        headers = dict(message.headers or {})
        try:
            body = json.loads(message.data.decode("utf-8"))
        except ValueError as error:
            raise Fail(f"the reply is not UTF-8 JSON ({error}): {message.data[:80]!r}")
        need(isinstance(body, dict), f"the reply is not a JSON object: {short(body)}")
        code = None
        if "error" in body or "Nats-Service-Error-Code" in headers:
            code = check_error(body, headers)
        return Reply(body, headers, code)

    async def journal(self, verb, body=None):
        """A journal verb of this tenant."""
        subject = f"lacuna.v1.{self.tenant}.worker-1.journal.{verb}"
        return await self.raw(subject, json.dumps(body or {}).encode())

    async def alive(self):
        """Fails unless the daemon still answers."""
        ok(await self.journal("head"))


class Session:
    """One session as one principal sees it; calling it sends a verb."""

    def __init__(self, lab, name, principal, tenant):
        self.lab, self.name, self.principal, self.tenant = lab, name, principal, tenant

    def by(self, principal):
        """The same session, spoken to by another principal."""
        return Session(self.lab, self.name, principal, self.tenant)

    def subject(self, verb):
        """The subject of a session verb."""
        return f"lacuna.v1.{self.tenant}.{self.principal}.session.{self.name}.{verb}"

    async def __call__(self, verb, **body):
        return await self.send(verb, json.dumps(body, ensure_ascii=False).encode())

    async def send(self, verb, data, timeout=10, nobody=False):
        """Sends bytes as they are."""
        return await self.lab.raw(self.subject(verb), data, timeout, nobody)

    async def add(self, *spans):
        """Appends spans, which must succeed."""
        return ok(await self("append", spans=list(spans)))

    async def window(self, **fields):
        """The window, which must be readable."""
        return ok(await self("window", **fields))

    async def version(self):
        """The session's version."""
        return (await self.window(content=False))["version"]

    async def events(self):
        """The whole history, page by page."""
        events, start = [], 1
        for _ in range(200):
            page = ok(await self("history", from_version=start))
            events += page["events"]
            following = page.get("next_version")
            # Free: the end is a null or missing next_version, or an empty page.
            if not page["events"] or following is None or following <= start:
                break
            start = following
        return events


async def connect(url):
    """A connection that stays quiet and comes back after a broker restart."""

    async def quiet(_error):
        pass

    return await nats.connect(
        url,
        error_cb=quiet,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.3,
        connect_timeout=5,
        pending_size=64 * 2**20,
    )
