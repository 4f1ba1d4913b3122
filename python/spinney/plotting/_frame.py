"""The frame of axes, which pictures hide in part."""

from typing import Any


def hide_frame(ax: Any) -> Any:
    """Hide the frame of axes at the top and on the right, and return the axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
