"""Checkpoints: signed notes of where the journal ends, and the journal held against them."""

import base64
import hashlib

from contract import TIME, check, need, ok, refused, short
from shapes import span


def taken_apart(note):
    """A note's text, the name in its only signature, and the bytes of that."""
    text, signature = note.split("\n\n")
    need(signature.startswith("\u2014 ") and signature.endswith("\n"), f"signature {signature!r}")
    _, name, encoded = signature[:-1].split(" ")
    return text + "\n", name, base64.b64decode(encoded, validate=True)


def judged(reply):
    """The verdicts of a verification."""
    return [one["verdict"] for one in reply["checkpoints"]]


@check
async def checkpoint_is_a_signed_note(lab):
    """A checkpoint is a note in C2SP's form: origin, seq, head; key id from name and key."""
    session = await lab.opened()
    await session.add(span("a"))
    signed = ok(await lab.journal("checkpoint"))
    text, name, signature = taken_apart(signed["note"])
    origin, seq, head, at = text.splitlines()
    need(origin == f"lacuna/{signed['journal']}" and int(seq) == signed["seq"], text)
    need(base64.b64decode(head).hex() == signed["head"], text)
    need(at == f"at {signed['at']}" and TIME.match(signed["at"]), text)
    key_name, key_id, key = signed["key"].split("+", 2)
    public = base64.b64decode(key, validate=True)
    need(key_name == name and len(public) == 33 and public[0] == 1, signed["key"])
    expected = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    need(key_id == expected.hex() and signature[:4] == expected, f"key id {key_id}")
    need(len(signature) == 68, f"{len(signature)} bytes of signature")
    after = ok(await lab.journal("head"))
    need(after["keys"][-1] == signed["key"], f"{short(after)}")
    refused(await lab.journal("checkpoint", {"x": 1}), "bad_request")


@check
async def verify_by_checkpoints(lab):
    """The journal goes on from its checkpoints; forged and foreign ones are told apart."""
    session = await lab.opened()
    first = ok(await lab.journal("checkpoint"))
    await session.add(span("a"))
    second = ok(await lab.journal("checkpoint"))
    notes = first["note"] + "\n" + second["note"]
    for keys in ([], [first["key"]]):
        reply = ok(await lab.journal("verify", {"checkpoint": notes, "keys": keys}))
        need(reply["ok"] is True and judged(reply) == ["extends", "extends"], short(reply))
        since = [one["events_since"] for one in reply["checkpoints"]]
        need(since[0] >= since[1] + second["seq"] - first["seq"] > 0, short(reply))
        need(reply["checkpoints"][0]["key_given"] is bool(keys), short(reply))
    lie = first["note"].replace(f"\n{first['seq']}\n", f"\n{first['seq'] + 1}\n", 1)
    reply = ok(await lab.journal("verify", {"checkpoint": lie}))
    need(reply["ok"] is False and judged(reply) == ["bad_signature"], short(reply))
    other = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    reply = ok(await lab.journal("verify", {"checkpoint": notes, "keys": [other]}))
    need(reply["ok"] is False and judged(reply) == ["key_unknown"] * 2, short(reply))
    for fields in (
        {"checkpoint": "no note"},
        {"checkpoint": notes, "keys": ["no key"]},
        {"checkpoint": notes, "keys": [other.replace("c7", "c8")]},
        {"keys": [other]},
        {"checkpoint": 1},
    ):
        refused(await lab.journal("verify", fields), "bad_request")
    await lab.alive()
