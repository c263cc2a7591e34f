"""Names of push endpoints that a resolver does not find in time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpcore")

from pubsub_delta.server import name_lookups
from pubsub_delta.server.name_lookups import MOST_LOOKUPS, NameLookups
from pubsub_delta.server.push_endpoint import PushEndpoint
from pubsub_delta.server.push_requests import PushRequest
from tests.endpoints import PushEndpoint as Endpoint
from tests.endpoints import listening
from tests.servers import free_port

REQUEST = PushRequest([("Content-Type", "application/json")], b'{"a": 1}')


class Resolver:
    """Answers nothing for names of ``slow.test`` until it is released, and finds ``local.test``."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.released = threading.Event()
        self.local = ["127.0.0.1"]
        self._real = socket.getaddrinfo

    def getaddrinfo(self, host: Any, *args: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        self.asked.append(name)
        if name.endswith("slow.test"):
            self.released.wait(30)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        if name == "local.test":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in self.local]
        return self._real(host, *args, **named)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.released.set()


def at(name: str, endpoint: Endpoint) -> str:
    return endpoint.url.replace("127.0.0.1", name)


def test_a_name_that_is_not_found_in_time_holds_up_no_other_endpoint(resolver: Resolver) -> None:
    # "A name that is not found holds up the pushes to its endpoint alone"

    async def run(endpoint: Endpoint) -> tuple[str, list[str]]:
        slow, other = [PushEndpoint() for _ in range(40)], PushEndpoint()
        assert await PushEndpoint().post(endpoint.url, REQUEST, 30) == "204"
        pushes = [
            asyncio.create_task(each.post(f"http://{number}.slow.test/", REQUEST, 30))
            for number, each in enumerate(slow)
        ]
        await asyncio.sleep(0.1)
        told = await other.post(at("local.test", endpoint), REQUEST, 10)
        resolver.released.set()
        return told, await asyncio.gather(*pushes)

    with listening() as endpoint:
        told, others = asyncio.run(run(endpoint))
    assert told == "204"
    assert set(others) == {"unreachable"}


def test_a_name_is_looked_up_once_for_all_who_wait_for_it(resolver: Resolver) -> None:
    async def run() -> tuple[list[str], str]:
        endpoint = PushEndpoint()
        url = "http://a.slow.test/"
        late = await asyncio.gather(*(endpoint.post(url, REQUEST, 0.2) for _ in range(5)))
        waits = asyncio.create_task(endpoint.post(url, REQUEST, 10))
        await asyncio.sleep(0.1)
        resolver.released.set()
        return late, await waits

    late, told = asyncio.run(run())
    assert (late, told) == (["deadline_exceeded"] * 5, "unreachable")
    assert resolver.asked.count("a.slow.test") == 1


def test_a_name_is_looked_up_anew_for_each_connection(resolver: Resolver) -> None:
    # "and each connection is opened to an address that its name has by then"

    async def run(endpoint: Endpoint) -> list[str]:
        told = []
        for addresses in (["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2", "127.0.0.1"]):
            resolver.local = addresses
            pushes = PushEndpoint()
            told.append(await pushes.post(at("local.test", endpoint), REQUEST, 5))
            await pushes.close()
        return told

    with listening() as endpoint:
        assert asyncio.run(run(endpoint)) == ["204", "unreachable", "204"]


def test_lookups_have_a_bound(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_lookups, "_threads", threading.BoundedSemaphore(1))

    async def run() -> list[str]:
        endpoint, other = PushEndpoint(), PushEndpoint()
        first = asyncio.create_task(endpoint.post("http://a.slow.test/", REQUEST, 1))
        await asyncio.sleep(0.1)
        beyond = await other.post("http://b.slow.test/", REQUEST, 1)
        resolver.released.set()
        told = [await first, beyond]
        return [*told, await other.post(f"http://local.test:{free_port()}/", REQUEST, 1)]

    assert asyncio.run(run()) == ["unreachable"] * 3
    assert resolver.asked == ["a.slow.test", "local.test"]


def test_a_process_without_threads_looks_names_up_once_it_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each lookup that did not begin would be one less for ever."""

    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def test() -> None:
        lookups = NameLookups()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", none)
            for _ in range(MOST_LOOKUPS + 1):
                with pytest.raises(RuntimeError, match="new thread"):
                    await lookups.addresses("localhost")
        assert await lookups.addresses("localhost")

    asyncio.run(test())
