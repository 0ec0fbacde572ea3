"""A REST catalog of one table, as far as a peer that speaks REST only needs it. Its CPU time is not counted."""
import json
import os
import sqlite3
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def apply(metadata, updates):
    """The updates of a data commit: add-snapshot and set-snapshot-ref."""
    for update in updates:
        action = update["action"]
        if action == "add-snapshot":
            snapshot = update["snapshot"]
            metadata["snapshots"].append(snapshot)
            metadata["last-sequence-number"] = snapshot["sequence-number"]
            metadata["last-updated-ms"] = snapshot["timestamp-ms"]
            if "added-rows" in snapshot:
                metadata["next-row-id"] = snapshot["first-row-id"] + snapshot["added-rows"]
        elif action == "set-snapshot-ref":
            metadata["refs"][update["ref-name"]] = {"snapshot-id": update["snapshot-id"], "type": update["type"]}
            if update["ref-name"] == "main":
                metadata["current-snapshot-id"] = update["snapshot-id"]
        elif action not in ("remove-snapshots", "set-properties"):
            raise ValueError(f"no peer is known to send {action}")


class Handler(BaseHTTPRequestHandler):
    """Load and commit over the SQLite catalog file `database`."""

    database = None

    def log_message(self, *_):
        pass

    def _answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _location(self, db):
        return db.execute("select metadata_location from iceberg_tables").fetchone()[0]

    def do_GET(self):
        if self.path.startswith("/v1/config"):
            return self._answer(200, {"defaults": {}, "overrides": {}})
        with sqlite3.connect(self.database) as db:
            location = self._location(db)
        with open(location) as file:
            self._answer(200, {"metadata-location": location, "metadata": json.load(file), "config": {}})

    def do_HEAD(self):
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with sqlite3.connect(self.database) as db:
            base = self._location(db)
            with open(base) as file:
                metadata = json.load(file)
            apply(metadata, body["updates"])
            location = f"{os.path.dirname(base)}/00001-{uuid.uuid4()}.metadata.json"
            with open(location, "w") as file:
                json.dump(metadata, file)
            db.execute("update iceberg_tables set metadata_location = ?", (location,))
        self._answer(200, {"metadata-location": location, "metadata": metadata})


def serve(database):
    """Starts the server on a free port; returns (server, uri)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"database": database}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"
