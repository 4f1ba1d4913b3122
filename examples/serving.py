"""Save a model, serve it by HTTP, and ask it; nothing but the standard library is needed.

python examples/serving.py [picture.svg] [number of requests]
"""

import json
import sys
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import spinney


class Predict(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    wbufsize = -1  # head and body go out together: in two parts, each would wait for the other side

    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.model.predict_proba(np.array(rows, dtype=float)).tolist()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments): ...


def main(picture: str, n_requests: int) -> None:
    X, y = load_iris(return_X_y=True)
    spinney.RandomForestClassifier(random_state=0).fit(X, y).save(picture + ".spinney")
    model = Predict.model = spinney.load(picture + ".spinney")
    with ThreadingHTTPServer(("127.0.0.1", 0), Predict) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection, seconds = HTTPConnection(*server.server_address), []
        for row in X[np.arange(n_requests) % len(X)]:
            start = time.perf_counter()
            connection.request("POST", "/", json.dumps([row.tolist()]))
            shares = json.loads(connection.getresponse().read())
            seconds.append(time.perf_counter() - start)
            assert shares == model.predict_proba(row[None]).tolist()
        connection.close()
        server.shutdown()
    print(f"{n_requests} requests, median {np.median(seconds) * 1e3:.2f} ms")
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.hist(np.array(seconds) * 1e3, bins=np.geomspace(0.1, 10, 40))
    axes.set(xscale="log", xlabel="milliseconds per request", ylabel="requests")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "serving.svg", int((sys.argv[2:] or [10_000])[0]))
