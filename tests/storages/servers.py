"""Object stores of this machine, each in a process of its own, with a proxy before it.

``conf/storages.sh`` installs them into ``.storages``, or where ``PUBSUB_DELTA_STORAGES`` says.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from tests.servers import free_port, server
from tests.storages.proxy import Proxied

HERE = Path(__file__).parents[2]
BUCKET = "bucket"
KEY, SECRET = "key-of-tests", "secret-of-tests"
"""What the S3 server knows; it answers 403 to others."""

_AZURE_ACCOUNT = "devstoreaccount1"
_AZURE_KEY = (  # of Azurite's own documentation: everybody's
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True)
class Storage:
    """A storage that runs: where stores may be kept, and how a program finds it.

    ``root``: a URL to which a name is added. ``environment``: what a program needs of it.
    ``proxy``: what its requests pass.
    """

    kind: str
    root: str
    environment: Mapping[str, str]
    proxy: Proxied


def installed() -> Path:
    """Return the directory with what ``conf/storages.sh`` has installed."""
    return Path(os.environ.get("PUBSUB_DELTA_STORAGES") or HERE / ".storages")


@contextmanager
def proxied(
    upstream: str, directory: Path, certificate: tuple[Path, Path, Path] | None = None
) -> Iterator[Proxied]:
    """Run a proxy before a server; with a certificate, its key and its authority it speaks TLS."""
    port = free_port()
    files = [] if certificate is None else [str(each) for each in certificate[:2]]
    command = [sys.executable, "-m", "tests.storages.proxy", str(port), upstream, *files]
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with server(command, port, directory / "proxy.log", {"PYTHONPATH": paths}):
        if certificate is None:
            yield Proxied(f"http://127.0.0.1:{port}")
        else:
            context = ssl.create_default_context(cafile=str(certificate[2]))
            yield Proxied(f"https://localhost:{port}", context)


@contextmanager
def s3(directory: Path) -> Iterator[Storage]:
    """Run versitygw on a directory of this machine: it checks keys and puts conditionally."""
    (directory / "objects" / BUCKET).mkdir(parents=True)
    (directory / "sidecar").mkdir()
    port = free_port()
    command = [str(installed() / "bin" / "versitygw"), "--port", f"127.0.0.1:{port}"]
    command += ["--access", KEY, "--secret", SECRET, "--keep-alive", "--quiet", "posix"]
    command += ["--sidecar", str(directory / "sidecar"), str(directory / "objects")]
    with (
        server(command, port, directory / "server.log"),
        proxied(f"http://127.0.0.1:{port}", directory) as proxy,
    ):
        yield Storage("S3", f"s3a://{BUCKET}", of_s3(proxy.endpoint), proxy)


def of_s3(endpoint: str) -> dict[str, str]:
    """Return the environment by which programs find an S3 server."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


@contextmanager
def azure(directory: Path) -> Iterator[Storage]:
    """Run Azurite's blob service, which keeps objects in memory."""
    port = free_port()
    azurite = installed() / "node_modules" / ".bin" / "azurite-blob"
    command = [str(azurite), "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    command += ["--disableProductStyleUrl", "--skipApiVersionCheck", "--disableTelemetry"]
    with (
        server(command, port, directory / "server.log"),
        proxied(f"http://127.0.0.1:{port}", directory) as proxy,
    ):
        environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": _AZURE_ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": _AZURE_KEY,
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": proxy.endpoint,
        }
        _make_container(proxy.endpoint)
        yield Storage("Azure", f"az://{BUCKET}", environment, proxy)


def _make_container(endpoint: str) -> None:
    """Make the container of the tests, by a request that is signed with a key."""
    import base64
    import hashlib
    import hmac
    from email.utils import formatdate

    date, version, kind = formatdate(usegmt=True), "2021-08-06", "application/octet-stream"
    resource = f"/{_AZURE_ACCOUNT}/{_AZURE_ACCOUNT}/{BUCKET}\nrestype:container"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}"
    signed = "\n".join(["PUT", *[""] * 4, kind, *[""] * 6, headers, resource])
    digest = hmac.new(base64.b64decode(_AZURE_KEY), signed.encode(), hashlib.sha256).digest()
    request = Request(
        f"{endpoint}/{_AZURE_ACCOUNT}/{BUCKET}?restype=container",
        data=b"",
        method="PUT",
        headers={
            "x-ms-date": date,
            "x-ms-version": version,
            "Content-Type": kind,
            "Authorization": f"SharedKey {_AZURE_ACCOUNT}:{base64.b64encode(digest).decode()}",
        },
    )
    with urlopen(request, timeout=10) as answer:
        assert answer.status == 201


STORAGES = {"S3": s3, "Azure": azure}


def private_certificate(directory: Path) -> tuple[Path, Path, Path]:
    """Make a certificate of ``localhost``, and its key, by an authority that nobody trusts.

    The third file is the authority's own certificate.
    """
    authority, authority_key = directory / "authority.pem", directory / "authority-key.pem"
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    own = ["-subj", "/CN=tests", "-keyout", str(authority_key), "-out", str(authority)]
    signed = ["-CA", str(authority), "-CAkey", str(authority_key), "-subj", "/CN=localhost"]
    signed += ["-addext", "subjectAltName=DNS:localhost"]
    signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
    signed += ["-keyout", str(key), "-out", str(certificate)]
    for command in ([*make, *own], [*make, *signed]):
        subprocess.run(command, check=True, capture_output=True)
    return certificate, key, authority
