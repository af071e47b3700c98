"""What a provider takes: the rules that the rendered forms of a window must keep."""

import json
import re

from contract import need, short


def check_openai(reply):
    """Messages that an OpenAI-like endpoint takes: every call is followed by its results."""
    need("entries" not in reply, "a rendered reply has messages instead of entries")
    open_calls = set()
    for n, message in enumerate(reply["messages"]):
        role = message["role"]
        need(
            role in ("system", "developer", "user", "assistant", "tool"),
            f"openai role {role!r}",
        )
        if role == "tool":
            need(
                message.get("tool_call_id") in open_calls,
                f"message {n}: tool result for no open call: {short(message)}",
            )
            open_calls.discard(message["tool_call_id"])
        else:
            need(
                not open_calls,
                f"message {n}: calls {open_calls} are not followed by their results",
            )
            for call in message.get("tool_calls") or []:
                need(
                    call.get("type") == "function"
                    and call["function"]["name"]
                    and isinstance(call["function"]["arguments"], str),
                    f"bad tool call {short(call)}",
                )
                need(call["id"] not in open_calls, f"tool call id twice: {call['id']}")
                open_calls.add(call["id"])
            need(
                "tool_calls" not in message or message["tool_calls"],
                "an empty tool_calls list is not a valid request",
            )
        need(
            isinstance(message.get("content"), (str, list)) or message.get("tool_calls"),
            f"message {n} has no content: {short(message)}",
        )
    need(not open_calls, f"calls {open_calls} at the end have no result")


def _check_anthropic_block(n, block):
    known = ("text", "tool_use", "tool_result", "image", "document", "redacted_thinking")
    signed_thinking = block["type"] == "thinking" and block.get("signature")
    need(block["type"] in known or signed_thinking, f"message {n}: block {short(block)}")
    need(
        block["type"] != "text" or block["text"].strip(),
        f"message {n}: empty text block",
    )
    if block["type"] == "tool_use":
        need(
            re.fullmatch(r"[A-Za-z0-9_-]+", block["id"])
            and block["name"]
            and isinstance(block["input"], dict),
            f"bad tool_use {short(block)}",
        )


def check_anthropic(reply, user_first=True):
    """Messages that an Anthropic-like endpoint takes: results come first in the next message."""
    need("entries" not in reply, "a rendered reply has messages instead of entries")
    open_calls = []
    for n, message in enumerate(reply["messages"]):
        role, content = message["role"], message["content"]
        need(role in ("user", "assistant"), f"anthropic role {role!r}")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        need(blocks, f"message {n} is empty")
        results = [each["tool_use_id"] for each in blocks if each["type"] == "tool_result"]
        need(
            sorted(results) == sorted(open_calls),
            f"message {n}: results {results} for calls {open_calls}",
        )
        need(
            all(each["type"] == "tool_result" for each in blocks[: len(results)]),
            f"message {n}: tool_result blocks must come first",
        )
        need(not results or role == "user", f"message {n}: tool_result from {role}")
        calls = [each["id"] for each in blocks if each["type"] == "tool_use"]
        need(not calls or role == "assistant", f"message {n}: tool_use from {role}")
        need(len(set(calls)) == len(calls), "tool_use id twice")
        for block in blocks:
            _check_anthropic_block(n, block)
        open_calls = calls
    need(not open_calls, f"calls {open_calls} at the end have no result")
    need(
        not reply["messages"] or not user_first or reply["messages"][0]["role"] == "user",
        "the first message is not the user's",
    )
    need(
        isinstance(reply.get("system", ""), (str, list, type(None))),
        f"system is {short(reply.get('system'))}",
    )


async def check_renders(session, **options):
    """Both provider forms are valid requests; returns them as text to search in."""
    openai = await session.window(render="openai")
    anthropic = await session.window(render="anthropic")
    check_openai(openai)
    check_anthropic(anthropic, **options)
    return (
        json.dumps(openai["messages"]),
        json.dumps([anthropic.get("system"), anthropic["messages"]]),
    )
