"""Learning on one thread: the sums of several come together in an order that depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(learn: Callable[P, R]) -> Callable[P, R]:
    """`learn`, with the libraries that multiply matrices kept to one thread while it runs."""

    @wraps(learn)
    def learnt(*args: P.args, **kwargs: P.kwargs) -> R:
        import sklearn.ensemble
        import sklearn.mixture  # noqa: F401  # what they load is limited only once it is there
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):
            return learn(*args, **kwargs)

    return learnt
