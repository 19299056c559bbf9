"""The rule library, from the shipped rules."""

from __future__ import annotations


def library() -> str:
    """Every shipped rule."""
    return ""
