"""Serves the mock of many providers on loopback: mock.py PORT. MANIFEST_DIR says which."""

import os
import sys
import threading

import uvicorn


def end_with_input():
    """Whoever started us closes our input, or died; either way nobody needs us any more."""
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
uvicorn.run("ai_protocol_mock.main:app", host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
