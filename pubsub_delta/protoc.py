"""The compiler of Protocol Buffers: ``grpcio-tools`` has it as a module, run in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec

from pubsub_delta.errors import FailedPrecondition, InvalidArgument

_FILE = "schema.proto"
_SECONDS = 60


def compile_proto(definition: str) -> bytes:
    """Return a definition as a FileDescriptorSet; InvalidArgument if it does not compile.

    A definition is untrusted text: the compiler runs in another process, in an empty directory, and
    for a minute at most.
    """
    if find_spec("grpc_tools") is None:
        raise FailedPrecondition(
            "the module grpc_tools is not installed; pip install 'pubsub-delta[schemas]' "
            "installs it"
        )
    with tempfile.TemporaryDirectory(prefix="pubsub-delta-schema-") as directory:
        with open(os.path.join(directory, _FILE), "w", encoding="utf-8", newline="") as file:
            file.write(definition)
        command = [sys.executable, "-m", "grpc_tools.protoc", "-I."]
        try:
            done = subprocess.run(  # noqa: S603  (nothing of the definition is in the command)
                [*command, "--descriptor_set_out=compiled", _FILE],
                cwd=directory,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InvalidArgument(
                f"definition: it was not compiled within {_SECONDS} seconds; a simpler one is "
                "accepted"
            ) from None
        if done.returncode:
            raise InvalidArgument(
                f"definition: it is not a Protocol Buffers definition ({_reason(done.stderr)}); "
                "the text of a .proto file is accepted"
            )
        with open(os.path.join(directory, "compiled"), "rb") as compiled:
            return compiled.read()


def _reason(output: str) -> str:
    """Return the errors of the compiler, without its warnings, or the end of its output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [each for each in lines if each.startswith(f"{_FILE}:") and "warning:" not in each]
    return "; ".join(each.removeprefix(f"{_FILE}:") for each in errors) or "; ".join(lines[-1:])
