"""What the CharMemory extension's own state is worth when it is taken over (pure; spec/charmemory §3.11)."""

from __future__ import annotations


def silence_is_no_proof(
    *, is_group: bool, unresolved: int, active: int, is_branch: bool = False, per_chat: bool = False
) -> bool:
    """Whether a chat's pointer may be right although none of its readers remembers anything.

    The extension itself takes a pointer without any memory for stale and begins again, except here: a branch with a
    memory file for each chat has an empty file of its own, and of a group in which some (`unresolved` of `active`
    members) or all members were not found nobody knows what they remember. We never begin again by ourselves: such
    a point is offered like any other, every other one without memories is offered as doubtful.
    """
    if is_branch and per_chat:
        return True
    return is_group and (unresolved > 0 or active == 0)
