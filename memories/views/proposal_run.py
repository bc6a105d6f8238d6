"""What every page about the work on a proposal shows."""

from __future__ import annotations

from typing import Any

from accounts.access import PersonRequest
from jobs.lines import lines
from memories.character_frame import character_frame
from memories.consolidation_parts import SPLIT
from memories.models import Proposal
from memories.proposals import UNDER_WAY


def run_context(request: PersonRequest, proposal: Proposal) -> dict[str, Any]:
    """The job's line, whether it is at work, and the parts that met a problem."""
    return {
        "proposal": proposal,
        "line": lines([proposal.job])[0] if proposal.job else None,
        "is_under_way": proposal.state in UNDER_WAY,
        "parts": proposal.parts.exclude(problem="").exclude(state=SPLIT),
        "hero": character_frame(request.user, proposal.file.character),
        "tab": "memories",
    }
