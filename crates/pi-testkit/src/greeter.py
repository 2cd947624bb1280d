"""A server of the Model Context Protocol with one tool.

`about.txt` in the folder in which it runs is what the tool says of itself, if it is there. `GATE` in its environment names a
file without which it does not introduce itself, and `DELAY` the seconds after which it does.
"""

import json
import os
import sys
import time


def about():
    try:
        with open("about.txt") as written:
            return written.read().strip()
    except FileNotFoundError:
        return "Says hello"


for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {}
    if method == "initialize":
        time.sleep(float(os.environ.get("DELAY", "0")))
        while not os.path.exists(os.environ.get("GATE", ".")):
            time.sleep(0.02)
        info = {"name": "greeter", "version": "1.0"}
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        result = {"tools": [{"name": "hello", "description": about(), "inputSchema": schema}]}
    elif method == "tools/call":
        name = message["params"].get("arguments", {}).get("name")
        said = "Hello, " + name if name else "Hello from the server"
        result = {"content": [{"type": "text", "text": said}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
