"""Keys, certificates and other settings of a storage, as the environment or Hadoop tells them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pubsub_delta import FailedPrecondition, PubSub
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.s3_writers import LANE_PROPERTY
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.schemas import TOPICS
from tests.acceptance.processes import environment
from tests.storages.conftest import s3a
from tests.storages.proxy import Fault
from tests.storages.servers import KEY, SECRET, Storage, private_certificate, proxied

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

OPENS = """
import sys
from pubsub_delta import PubSub
PubSub(None, sys.argv[1]).create_topic("orders")
"""
FEW = 3
"""Requests of somebody who does not try again."""


@pytest.fixture
def s3_root(s3: Storage) -> str:
    return f"{s3.root}/{uuid.uuid4().hex}"


def by_hadoop(root: str, settings: Mapping[str, str]) -> Lanes:
    return Lanes(None, layout_of(root), hadoop=settings)


def created(lanes: Lanes, root: str) -> None:
    lanes.control.create(layout_of(root).topics, TOPICS)


def opened_in_a_process(root: str, directory: Path, settings: Mapping[str, str]) -> None:
    """Create a topic in a process that has these settings and none of this one's."""
    own = {k: v for k, v in environment().items() if not k.startswith("AWS_")}
    command = [sys.executable, "-c", OPENS, root]
    told = subprocess.run(
        command, cwd=directory, env={**own, **settings}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-2000:]


@pytest.mark.parametrize(("key", "secret"), [("wrong", SECRET), (KEY, "wrong")])
def test_a_wrong_key_is_refused_at_once(s3: Storage, s3_root: str, key: str, secret: str) -> None:
    """It says so, and where keys come from; nobody tries it again for minutes."""
    lanes = by_hadoop(s3_root, s3a(s3.proxy.endpoint, key, secret))
    s3.proxy.take()
    with pytest.raises(FailedPrecondition, match=r"refuses it \(40.*fs\.s3a\.access\.key"):
        created(lanes, s3_root)
    assert len(s3.proxy.take()) <= FEW


def test_a_bucket_that_is_not_there_is_told(s3: Storage) -> None:
    root = f"s3a://nobody/{uuid.uuid4().hex}"
    with pytest.raises(FailedPrecondition, match="404 Not Found, NoSuchBucket"):
        created(by_hadoop(root, s3a(s3.proxy.endpoint)), root)


def test_no_keys_are_told(s3: Storage, s3_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    told = {k: v for k, v in s3a(s3.proxy.endpoint).items() if "key" not in k}
    with pytest.raises(FailedPrecondition, match="there are no credentials for its storage"):
        created(by_hadoop(s3_root, told), s3_root)


def test_keys_of_a_bucket_come_before_those_of_all(s3: Storage, s3_root: str) -> None:
    """Hadoop: fs.s3a.bucket.NAME.… overrides fs.s3a.…"""
    own = {"fs.s3a.bucket.bucket.access.key": KEY, "fs.s3a.bucket.bucket.secret.key": SECRET}
    created(by_hadoop(s3_root, {**s3a(s3.proxy.endpoint, "wrong", "wrong"), **own}), s3_root)


def test_who_asks_may_pay(s3: Storage, s3_root: str) -> None:
    lanes = by_hadoop(s3_root, {**s3a(s3.proxy.endpoint), "fs.s3a.requester.pays.enabled": "true"})
    s3.proxy.take()
    created(lanes, s3_root)
    assert "x-amz-request-payer" in s3.proxy.take_headers()


def test_keys_of_a_profile_and_of_a_program_are_taken(
    s3: Storage, s3_root: str, tmp_path: Path
) -> None:
    """Also where an endpoint is named, for which deltalake does not look for them by itself."""
    named = {k: v for k, v in s3.environment.items() if "KEY" not in k}
    files = {
        "AWS_PROFILE": "shop",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }
    (tmp_path / "config").write_text("[profile shop]\n")
    keys = f"aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "credentials").write_text(f"[shop]\n{keys}")
    opened_in_a_process(f"{s3_root}/profile", tmp_path, {**named, **files})
    given = {"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET}
    (tmp_path / "given.json").write_text(json.dumps(given))
    (tmp_path / "credentials").write_text("")
    program = f"credential_process = /bin/cat {tmp_path}/given.json\n"
    (tmp_path / "config").write_text(f"[profile shop]\n{program}")
    opened_in_a_process(f"{s3_root}/program", tmp_path, {**named, **files})


def test_a_certificate_of_an_authority_of_ones_own_is_trusted(
    s3: Storage, s3_root: str, tmp_path: Path
) -> None:
    files = private_certificate(tmp_path)
    with proxied(s3.proxy.endpoint, tmp_path, files) as secure:
        named = {**s3.environment, "AWS_ENDPOINT_URL": secure.endpoint}
        trusted = {**named, "SSL_CERT_FILE": str(files[2])}
        opened_in_a_process(s3_root, tmp_path, trusted)
        assert secure.take()
        with pytest.raises(AssertionError, match=r"cannot be reached .*invalid peer certificate"):
            opened_in_a_process(f"{s3_root}/b", tmp_path, named)


def test_keys_that_were_renewed_in_the_environment_are_taken(
    s3: Storage, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary keys: a program that runs on goes on with the next ones."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    store = PubSub(None, s3_root)
    store.create_topic("orders")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "expired")
    with pytest.raises(FailedPrecondition, match="SignatureDoesNotMatch"):
        store.publish("orders", ["a"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert store.publish("orders", ["a"]).message_count == 1


def test_a_key_that_is_refused_in_the_middle_of_a_commit_loses_nothing(
    s3: Storage, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    store = PubSub(None, s3_root)
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["a"])
    s3.proxy.set(Fault("refuse", "PUT", r"_delta_log/\d{20}\.json", status=403))
    with pytest.raises(FailedPrecondition, match="403"):
        store.publish("orders", ["b"])
    assert [m.data for m in store.pull("billing")] == [b"a"]


def test_a_store_that_was_created_by_the_other_lane_is_read_and_not_written(
    s3: Storage, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Two Spark drivers …, either made safe or refused with one line": nor a second lane."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    PubSub(None, s3_root).create_topic("orders")
    address = layout_of(s3_root).topics.split("`")[1]
    DeltaTable(address).alter.set_table_properties(
        {LANE_PROPERTY: "spark"}, raise_if_not_exists=False
    )
    store = PubSub(None, s3_root)
    assert [each.name for each in store.list_topics()] == ["projects/local/topics/orders"]
    writes: list[Callable[[], object]] = [
        lambda: store.publish("orders", ["a"]),
        lambda: store.create_topic("letters"),
        lambda: store.delete_topic("orders"),
    ]
    for write in writes:
        with pytest.raises(FailedPrecondition, match="this store's is lane='spark'"):
            write()


def test_who_allows_deltalake_unsafe_renames_still_overwrites_no_commit(
    s3: Storage, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others' programs are often told that; a commit of this library is no rename."""
    for name, value in (*s3.environment.items(), ("AWS_S3_ALLOW_UNSAFE_RENAME", "true")):
        monkeypatch.setenv(name, value)
    store = PubSub(None, s3_root)
    store.create_topic("orders")
    with ThreadPoolExecutor(4) as pool:
        published = pool.map(
            lambda n: PubSub(None, s3_root).publish("orders", [str(n)]).message_ids[0], range(40)
        )
        ids = list(published)
    assert len({*ids}) == 40
    address = layout_of(s3_root).messages(store.get_topic("orders").uid).split("`")[1]
    assert DeltaTable(address).to_pyarrow_table().num_rows == 40
