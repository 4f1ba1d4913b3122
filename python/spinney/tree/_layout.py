"""Where the nodes of a drawn tree are placed, so that no two of them overlap.

Subtrees are laid out from the leaves up, as by Reingold and Tilford ("Tidier Drawings of Trees",
1981): the two subtrees of a node are pushed together until they touch on some level.
"""

from __future__ import annotations


def place_nodes(
    left: list[int], right: list[int], breadths: list[float], gap: float
) -> list[float]:
    """Return the centre of each node across the levels of the tree; the root's is 0.

    Parameters
    ----------
    left, right : list of int
        The children of each node, or -1. A child has a larger number than its parent.
    breadths : list of float
        The extent of each node across the levels.
    gap : float
        The least distance between two nodes of a level.

    Returns
    -------
    centres : list of float
    """
    # The centre of each node, in relation to its parent's.
    offsets = [0.0] * len(left)
    contours: dict[int, _Contour] = {}
    for node in range(len(left) - 1, -1, -1):
        half = breadths[node] / 2
        if left[node] < 0:
            contours[node] = _Contour(half)
            continue
        ours, theirs = contours.pop(left[node]), contours.pop(right[node])
        distance = ours.measure_overlap(theirs) + gap
        offsets[left[node]], offsets[right[node]] = -distance / 2, distance / 2
        contours[node] = ours.join(theirs, distance, half)
    centres = offsets
    for node, child in enumerate(left):
        if child >= 0:
            for of_node in (child, right[node]):
                centres[of_node] += centres[node]
    return centres


class _Contour:
    """How far a subtree extends to both sides of its root, on each of its levels.

    Levels are listed from the deepest one up, and the numbers are shifted by a common amount, so
    that a subtree is joined to a larger one at the cost of its own levels.
    """

    def __init__(self, half: float) -> None:
        self._levels = [(-half, half)]
        self._shift = 0.0

    def measure_overlap(self, other: _Contour) -> float:
        """Return how far `other` must be moved to the right so that it touches this contour."""
        pairs = zip(reversed(self._levels), reversed(other._levels), strict=False)
        overlap = max(ours[1] - theirs[0] for ours, theirs in pairs)
        return overlap + self._shift - other._shift

    def join(self, other: _Contour, distance: float, half: float) -> _Contour:
        """Return the contour of a node that is `2 * half` wide, with these of its children."""
        self._shift -= distance / 2
        other._shift += distance / 2
        deeper, shallower = self, other
        if len(self._levels) < len(other._levels):
            deeper, shallower = other, self
        levels, by = deeper._levels, shallower._shift - deeper._shift
        for depth in range(1, len(shallower._levels) + 1):
            low, high = shallower._levels[-depth]
            if shallower is self:
                levels[-depth] = (low + by, levels[-depth][1])
            else:
                levels[-depth] = (levels[-depth][0], high + by)
        levels.append((-half - deeper._shift, half - deeper._shift))
        return deeper
