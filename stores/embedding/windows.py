"""How a text longer than a model's window becomes windows that cover it."""

from collections.abc import Sequence


def spread_windows(tokens: Sequence[int], *, size: int, at_most: int) -> list[Sequence[int]]:
    """Windows of ``size`` tokens, evenly spread: the first starts the text, the last ends it.

    Up to ``size * at_most`` tokens every token is in a window, and neighbours overlap rather than
    leave a short last one. Beyond that there are gaps between the windows.

    Args:
        tokens: the token ids of one text.
        size: tokens a window holds, at least 1.
        at_most: windows to make, at least 2.
    Returns: at least one window; exactly ``[tokens]`` if the text fits.
    """
    if len(tokens) <= size:
        return [tokens]
    count = min(at_most, -(-len(tokens) // size))
    last_start = len(tokens) - size
    starts = [last_start * index // (count - 1) for index in range(count)]
    return [tokens[start : start + size] for start in starts]
