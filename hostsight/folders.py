"""Where things lie in the data folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from hostsight.files import make_folder

SET_ASIDE = ".bad"
"""What the name of a damaged file of the lake ends in, once it was left out."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The layout below `--data DIR`; nothing is created until it is needed."""

    root: Path

    @property
    def spool(self) -> Path:
        """Arrow IPC segments, one a minute."""
        return self.root / "spool"

    @property
    def lake(self) -> Path:
        """Parquet: samples, features, scores, channels."""
        return self.root / "lake"

    @property
    def models(self) -> Path:
        """A folder per model version."""
        return self.root / "models"

    @property
    def state_db(self) -> Path:
        return self.root / "state.db"

    @property
    def run(self) -> Path:
        """Locks and the agent's heartbeat; worthless after a reboot."""
        return self.root / "run"

    @property
    def agent_lock(self) -> Path:
        """Held by the agent for as long as it lives."""
        return self.run / "agent.lock"

    @property
    def serve_lock(self) -> Path:
        """Held by whatever moves the watermarks: `serve`, or an import."""
        return self.run / "serve.lock"

    @property
    def up_lock(self) -> Path:
        """Held by `up`, which starts agent and jobs, again and again where they end."""
        return self.run / "up.lock"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def heartbeat(self) -> Path:
        """`run/agent.json`, replaced by the agent every few seconds."""
        return self.run / "agent.json"

    @property
    def equipment(self) -> Path:
        """`equipment.json`: the devices that this host is known to have, kept by the agent."""
        return self.root / "equipment.json"

    def create(self) -> DataFolder:
        for path in (self.root, self.spool, self.lake, self.models, self.run, self.logs):
            make_folder(path)
        return self


def default_data_folder() -> Path:
    """`/var/lib/hostsight` for root, the user's data folder otherwise."""
    if os.geteuid() == 0:
        return Path("/var/lib/hostsight")
    return Path(platformdirs.user_data_dir("hostsight"))
