"""An extension in Python, as a component: a tool that counts the lines of a file, and one that fails."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.guest import Register, SlashResult, ToolDefinition, ToolResult
from wit_world.imports import fs, log
from wit_world.imports.outcomes import Outcome_Notice
from wit_world.imports.types import ContentBlock_Text, ErrorReport, Level, ToolOutput


def tool(name):
    return ToolDefinition(name, None, "A tool", '{"type":"object"}', None, None)


def said(text):
    return ToolResult(ToolOutput([ContentBlock_Text(text)], None), False)


class Guest(exports.Guest):
    def init(self):
        tools = [tool("lines"), tool("fail")]
        return Register("lines", "0.1.0", "1.0", None, None, tools, None, None)

    def call_tool(self, call):
        if call.name == "fail":
            raise Err(ErrorReport("sad", "not today", None))
        path = json.loads(call.input)["path"]
        log.write(Level.INFO, "lines.counted", path, None)
        return said(f"{fs.read(path, None, None).count(10)} lines")

    def run_command(self, command):
        return SlashResult("{}", False)

    def handle_event(self, event):
        return Outcome_Notice()

    def shutdown(self):
        pass
