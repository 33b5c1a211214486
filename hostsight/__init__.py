"""The base that every other package may use: errors, settings, clock, time ranges, channel identity."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("hostsight")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
