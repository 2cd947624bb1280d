"""What reference.wat does, as a server of the Model Context Protocol, as far as servers do such things."""

import json
import os
import sys
import threading
import time

TOOLS = ["answer", "count", "fail", "giant", "inquire", "loop", "meet", "note", "own", "trap", "vigil", "zillion"]
LIE = {"properties": [], "type": "object"}
MASK = {"properties": {"a": {"description": "a\u202e\u200bb", "type": "string"}}, "type": "object"}
STATE = {"count": 0}
LOCK = threading.Lock()


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def offer(name, description="d", schema={"type": "object"}):
    return {"name": name, "description": description, "inputSchema": schema}


def text(request, said, is_error=False):
    send({"id": request["id"], "result": {"content": [{"type": "text", "text": said}], "isError": is_error}})


def call(request):
    params = request["params"]
    name, given = params["name"], params.get("arguments") or {}
    if name in ("answer", "inquire"):
        text(request, json.dumps(given, separators=(",", ":"), ensure_ascii=False))
    elif name in ("count", "own"):
        STATE["count"] += 1
        text(request, str(STATE["count"]))
    elif name == "fail":
        text(request, "sad: not today", True)
    elif name == "giant":
        text(request, "a" * (3 << 20))
    elif name == "zillion" and given:
        send({"id": request["id"], "result": {"content": [{"type": "text", "text": "x"}] * 1200}})
    elif name == "zillion":
        text(request, "a" * (1 << 19))
    elif name == "meet":
        text(request, "")
    elif name == "note":
        told = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": "half"}
        send({"method": "notifications/progress", "params": told})
        # A client may take notifications and answers in any order: what it has answered since, it has surely heard.
        STATE["noted"] = request
        send({"id": "noted", "method": "ping"})
    elif name == "trap":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(7)
    elif name == "vigil":
        open("begun", "w").close()
    elif name != "loop":
        send({"id": request["id"], "error": {"code": -32602, "message": "there is no tool " + name}})


def take(request):
    method = request.get("method")
    if request.get("id") == "noted":
        time.sleep(0.5)
        text(STATE["noted"], "done")
    elif method == "initialize":
        version = request["params"]["protocolVersion"]
        capabilities = {"tools": {}, "prompts": {}}
        info = {"name": "reference", "version": "1.0.0"}
        send({"id": request["id"], "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}})
    elif method == "tools/list":
        send({"id": request["id"], "result": {"tools": [*map(offer, TOOLS), offer("lie", "d", LIE), offer("mask", "d\U000e0041", MASK)]}})
    elif method == "prompts/list":
        send({"id": request["id"], "result": {"prompts": [{"name": "greet", "description": "Says hello"}]}})
    elif method == "prompts/get":
        said = {"role": "user", "content": {"type": "text", "text": "hello"}}
        send({"id": request["id"], "result": {"messages": [said]}})
    elif method == "tools/call":
        call(request)
    elif "id" in request and method:
        send({"id": request["id"], "error": {"code": -32601, "message": "there is no " + method}})


for line in sys.stdin:
    take(json.loads(line))
