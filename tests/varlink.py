# SPDX-License-Identifier: MIT
"""A Varlink client of the standard library that holds every reply against the interface.

It asks the service for its description first, reads it, and checks types, unknown
and missing members of each reply and error. It shares no code with kplug.
"""

import json
import re
import socket

PLAIN = {
    "bool": lambda v: isinstance(v, bool),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "object": lambda v: v is not None,
}
TOKEN = re.compile(r"\s*(?:#[^\n]*\n\s*)*(->|\[string\]|\[\]|[?():,]|[A-Za-z][A-Za-z0-9_.]*)")


class VarlinkError(Exception):
    """An error that the service answered; its parameters have been checked."""

    def __init__(self, name, parameters):
        super().__init__(f"{name}: {json.dumps(parameters)}")
        self.name = name
        self.short = name.rsplit(".", 1)[-1]
        self.parameters = parameters
        self.code = parameters.get("code")


class Mismatch(AssertionError):
    """A reply that is not what the interface says."""


class Interface:
    """A description, read: methods, errors and types."""

    def __init__(self, text):
        self.types, self.methods, self.errors = {}, {}, {}
        self.tokens = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            if not match:
                if all(not l.strip() or l.strip().startswith("#") for l in text[at:].split("\n")):
                    break
                raise ValueError(f"the interface cannot be read at: {text[at:at + 40]!r}")
            self.tokens.append(match.group(1))
            at = match.end()
        assert self.take() == "interface"
        self.name = self.take()
        while self.tokens:
            self.declaration()

    def take(self):
        return self.tokens.pop(0)

    def expect(self, token):
        got = self.take()
        if got != token:
            raise ValueError(f"{token} expected, not {got}")

    def declaration(self):
        kind, name = self.take(), self.take()
        if kind == "type":
            self.types[name] = self.type()
        elif kind == "error":
            self.errors[name] = self.type()
        elif kind == "method":
            call = self.type()
            self.expect("->")
            self.methods[name] = (call, self.type())
        else:
            raise ValueError(f"type, method or error expected, not {kind}")

    def type(self):
        token = self.take()
        if token in ("?", "[]", "[string]"):
            return (token, self.type())
        if token != "(":
            return token
        members = {}
        while self.tokens[0] != ")":
            if members:
                self.expect(",")
            name = self.take()
            self.expect(":")
            members[name] = self.type()
        self.expect(")")
        return members

    def check(self, kind, value, path):
        """Raises Mismatch where the value is not of this type."""
        if isinstance(kind, dict):
            self.check_members(kind, value, path)
        elif isinstance(kind, tuple):
            self.check_wrapped(kind, value, path)
        elif kind in PLAIN:
            if not PLAIN[kind](value):
                raise Mismatch(f"{path}: {value!r} is not of type {kind}")
        else:
            self.check(self.types[kind], value, path)

    def check_members(self, kind, value, path):
        if not isinstance(value, dict):
            raise Mismatch(f"{path}: {value!r} is not an object")
        for name in value:
            if name not in kind:
                raise Mismatch(f"{path}: unknown member {name}")
        for name, inner in kind.items():
            optional = isinstance(inner, tuple) and inner[0] == "?"
            if name in value:
                self.check(inner, value[name], f"{path}.{name}")
            elif not optional:
                raise Mismatch(f"{path}: the member {name} is missing")

    def check_wrapped(self, kind, value, path):
        wrap, inner = kind
        if wrap == "?":
            if value is not None:
                self.check(inner, value, path)
        elif wrap == "[]":
            if not isinstance(value, list):
                raise Mismatch(f"{path}: {value!r} is not an array")
            for i, item in enumerate(value):
                self.check(inner, item, f"{path}[{i}]")
        else:
            if not isinstance(value, dict):
                raise Mismatch(f"{path}: {value!r} is not an object")
            for name, item in value.items():
                self.check(inner, item, f"{path}.{name}")


def refuse_constant(text):
    raise Mismatch(f"{text} is not JSON")


def refuse_doubles(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Mismatch(f"a key occurs twice: {[k for k, _ in pairs]}")
    return out


def parse(text):
    """One JSON document, strictly."""
    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_doubles)


class Client:
    """One connection. Use it with `with`, or close it."""

    interfaces = {}  # text -> Interface: reading it once is enough

    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.buffer = b""
        self.interface = None
        try:
            # With a timeout a full queue would be an error at once, not a wait.
            self.socket.connect(path)
            self.socket.settimeout(timeout)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # -- bytes

    def send_bytes(self, data):
        self.socket.sendall(data)

    def receive_bytes(self):
        """The next message without its NUL; None at the end."""
        while b"\0" not in self.buffer:
            piece = self.socket.recv(1 << 16)
            if not piece:
                return None
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return message

    def send(self, method, parameters=None, **flags):
        call = {"method": method, "parameters": parameters or {}, **flags}
        self.send_bytes(json.dumps(call).encode() + b"\0")

    def receive(self):
        """The next message, parsed; None at the end."""
        message = self.receive_bytes()
        return None if message is None else parse(message.decode())

    # -- calls of org.kplug.Manager, checked

    def describe(self, name="org.kplug.Manager"):
        self.send("org.varlink.service.GetInterfaceDescription", {"interface": name})
        reply = self.receive()
        if reply is None:
            raise ConnectionError("the connection ended before the interface was told")
        text = reply["parameters"]["description"]
        if text not in self.interfaces:
            self.interfaces[text] = Interface(text)
        return self.interfaces[text]

    def check_reply(self, method, reply):
        """The parameters of a checked reply; raises VarlinkError for an error."""
        if reply is None:
            raise ConnectionError(f"{method}: the connection ended without a reply")
        if not set(reply) <= {"parameters", "error", "continues"}:
            raise Mismatch(f"{method}: a reply with members {sorted(reply)}")
        parameters = reply.get("parameters", {})
        error = reply.get("error")
        if error is None:
            self.interface.check(self.interface.methods[method][1], parameters, method)
            return parameters
        prefix, _, short = error.rpartition(".")
        if prefix == self.interface.name:
            self.interface.check(self.interface.errors[short], parameters, short)
        raise VarlinkError(error, parameters)

    def start(self, method, parameters=None, **flags):
        self.interface = self.interface or self.describe()
        self.send(f"{self.interface.name}.{method}", parameters, **flags)

    def finish(self, method):
        return self.check_reply(method, self.receive())

    def call(self, method, parameters=None):
        self.start(method, parameters)
        return self.finish(method)

    def call_more(self, method, parameters=None):
        """Every reply of a call with more."""
        self.start(method, parameters, more=True)
        while True:
            reply = self.receive()
            yield self.check_reply(method, reply)
            if not reply.get("continues"):
                return
