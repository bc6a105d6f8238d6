"""What a browser calls itself, in words for the list of sessions. Pure."""

from __future__ import annotations

BROWSERS = (("Firefox/", "Firefox"), ("Edg/", "Edge"), ("OPR/", "Opera"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)
PHONES = ("Android", "iPhone", "iPad")


def device_name(agent: str) -> str:
    """ "Firefox on Linux"; a program that is no browser keeps its first word."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or (agent.split("/")[0].split(" ")[0] if agent else "?")


def is_phone(agent: str) -> bool:
    """Whether to draw a phone beside it."""
    return any(mark in agent for mark in PHONES)
