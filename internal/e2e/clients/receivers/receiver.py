"""Verifies webhooks with the library of Standard Webhooks, and prints a line of each."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook

webhook = Webhook(os.environ["SECRET"])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = webhook.verify(body, dict(self.headers))
            data = event["data"]
            print(self.headers["webhook-id"], event["type"], data["id"], data["name"], flush=True)
            status, answer = 204, b""
        except Exception as error:
            status, answer = 400, str(error).encode()
        self.send_response(status)
        if answer:
            self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print("port", server.server_port, flush=True)
server.serve_forever()
