"""The base that every other package may use: errors, settings, clock, time ranges, channel identity."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """`__version__`, looked up on first use: the look-up alone would double the time of `--help`."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("hostsight")
        except PackageNotFoundError:  # a source tree that was never installed
            return "0+unknown"
