"""The HTTP API of a filled store, behind a port of this machine."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import uvicorn
from api_world import Api
from decision_worlds import films, home_page

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.store import open_store
from recdash.web.received_files import ReceivedFiles


class Running:
    """The API of a filled store on a port of this machine."""

    def __init__(self, folder: Path) -> None:
        store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
        self.workspace = Workspace(store, person=Person("ann", "admin"))
        self.ids = films(self.workspace)
        self.test = home_page(self.workspace, self.ids)
        self.files = ReceivedFiles(lambda: folder)
        self.api = Api(self.workspace, files=self.files)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(self.api.app, port=self.port, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self.files.stop()
        self.workspace.store.close()
