"""``--endpoint``: commands answered by a server print what they print on the store itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("grpc")

from pubsub_delta.cli.endpoint.client import connect
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.settings import Settings
from pubsub_delta.cli.shell_lines import Shell
from pubsub_delta.policy.ack_ids import AckId
from tests.unit.serving_world import Terminal, WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SETTING_UP = """
topics create flights --labels=team=a
topics create failed
subscriptions create delays --topic=flights --ack-deadline=60 --labels=env=test
"""

TOPICS = """
topics create flights --message-retention-duration=7d --labels=team=a,env=test
topics create flights failed
topics create x
topics create later --message-retention-duration=1m
topics describe flights
topics describe flights --format=json
topics describe flights --project=other
topics describe absent
topics list
topics list --limit=1
topics list --project=other
topics list --format=table(name,labels)
topics list --format=value(labels.join())
topics list --filter='labels.env=test AND name.scope(topics):fl*' --format='value(name.basename())'
topics list --sort-by=~name --limit=1 --uri
topics list --filter=labels.nothing:x
topics list --page-size=1 --format='table[box](name.segment(3):label=TOPIC:sort=1:reverse)'
topics list --format=flattened
topics update flights --update-labels=env=prod,zone=1 --remove-labels=team
topics update flights --clear-message-retention-duration --format=yaml
topics update flights --message-retention-duration=1d --clear-labels --format=json
topics update absent --clear-labels
topics update flights
topics delete flights --quiet
topics delete flights failed --quiet
topics delete failed
topics list
"""

SUBSCRIPTIONS = """
topics create flights --message-retention-duration=1d
subscriptions create late --message-filter='attributes.delay = "7"' --enable-message-ordering
topics create failed projects/other/topics/elsewhere
subscriptions create foreign --topic-project=other
subscriptions create none --topic=absent
subscriptions create late --topic=flights
subscriptions create many --ack-deadline=9 --topic=flights
subscriptions create many --ack-deadline=99999999999 --topic=flights
subscriptions create many --message-filter='what is it' --topic=flights
subscriptions create many --expiration-period=1h --topic=flights
subscriptions create all --topic=flights --dead-letter-topic=failed --max-delivery-attempts=0
subscriptions create all --topic=flights --dead-letter-topic=failed --max-delivery-attempts=9 \
  --ack-deadline=30 --retain-acked-messages --message-retention-duration=1d \
  --expiration-period=never --enable-exactly-once-delivery --min-retry-delay=0s \
  --labels=zone=1,team=2,env=3
subscriptions describe all
subscriptions describe late --format=json
subscriptions describe absent
subscriptions list
subscriptions list --format=csv(name,topic,filter) --limit=1
subscriptions list --format=value(labels.join())
topics list-subscriptions flights
topics list-subscriptions absent
subscriptions update all --max-delivery-attempts=7 --max-retry-delay=100s --format=yaml
subscriptions update all --clear-dead-letter-policy --clear-retry-policy --no-retain-acked-messages
subscriptions describe all
subscriptions update all --ack-deadline=45 --expiration-period=40d --clear-labels --format=json
subscriptions update all --message-retention-duration=default --no-enable-exactly-once-delivery
subscriptions describe all --format=json
subscriptions update all --ack-deadline=601
subscriptions update all --max-delivery-attempts=6
subscriptions update absent --ack-deadline=60
subscriptions update all --table=absent --write-metadata
subscriptions update all --clear-bigquery-config --format=yaml
subscriptions create hook --topic=flights --push-endpoint=https://example.com/push
subscriptions describe hook --format=json
subscriptions update hook --push-endpoint=https://example.com/other --push-no-wrapper --format=yaml
subscriptions modify-push-config hook --push-endpoint=nonsense
subscriptions modify-push-config hook --push-endpoint=
subscriptions describe hook
topics detach-subscription late absent
subscriptions describe late
subscriptions pull late
topics delete flights --quiet
subscriptions describe all
subscriptions delete late all --quiet
subscriptions list
"""

MESSAGES = """
topics publish flights --message=late --attribute=delay=7,gate=3,carrier=UA
topics publish flights --message='on time' --ordering-key=N14228 --format=json
topics publish flights
topics publish flights --message=x --attribute=googclient=1
topics publish absent --message=x
subscriptions pull delays --limit=10 --format=json
subscriptions pull delays
subscriptions modify-message-ack-deadline delays --ack-ids={ids} --ack-deadline=120
subscriptions modify-message-ack-deadline delays --ack-ids={ids} --ack-deadline=601
subscriptions modify-message-ack-deadline delays --ack-ids={ids} --ack-deadline=0
subscriptions pull delays --limit=1
subscriptions pull delays --limit=1 --format=json
subscriptions ack delays --ack-ids={ids}
subscriptions ack delays --ack-ids={ids},nonsense
subscriptions ack absent --ack-ids=nonsense
subscriptions ack absent --ack-ids={ids}
topics publish flights --message=boarding
subscriptions pull delays --auto-ack --limit=5
subscriptions pull delays --auto-ack
subscriptions pull delays --limit=0
subscriptions pull delays --limit=99999999999
subscriptions pull delays --limit=-99999999999
subscriptions modify-message-ack-deadline delays --ack-ids={ids} --ack-deadline=99999999999
subscriptions create counted --topic=flights --dead-letter-topic=failed
topics publish flights --message=counted
subscriptions pull counted --format=json
subscriptions modify-message-ack-deadline counted --ack-ids={ids} --ack-deadline=0
subscriptions pull counted --format=value(deliveryAttempt)
subscriptions pull absent
topics publish flights --message=x --attribute=gate=3,delay=7,carrier=UA
subscriptions pull delays --auto-ack --format=value(message.attributes.join())
"""

REPLAY = """
subscriptions update delays --retain-acked-messages
topics publish flights --message=late
subscriptions pull delays --auto-ack --format=value(message.data.decode(base64))
topics publish flights --message=later
snapshots create before-deploy --subscription=delays --labels=q=1,b=2,a=3 --format=yaml
snapshots list --format=value(labels.join())
snapshots create before-deploy --subscription=delays
snapshots create other --subscription=absent
snapshots describe before-deploy --format=json
snapshots describe absent
snapshots list
topics list-snapshots flights
topics list-snapshots flights --limit=1 --format=json
subscriptions seek delays --time=-p1d
subscriptions pull delays --limit=5 --format=value(message.data.decode(base64))
subscriptions seek delays --snapshot=before-deploy
subscriptions pull delays --limit=5 --format=value(message.data.decode(base64))
subscriptions seek delays --time=+p1d --format=json
subscriptions pull delays
subscriptions seek delays --snapshot=absent
subscriptions seek absent --time=-p1d
snapshots update before-deploy --expire-time=+p1d --update-labels=c=d --format=yaml
snapshots update before-deploy --expire-time=+p10d
snapshots update absent --clear-labels
snapshots delete before-deploy --quiet
snapshots delete before-deploy --quiet
snapshots list
"""

EXACTLY_ONCE = """
subscriptions update delays --enable-exactly-once-delivery
topics publish flights --message=one
topics publish flights --message=two
subscriptions pull delays --limit=2 --format=json
subscriptions modify-message-ack-deadline delays --ack-ids={last} --ack-deadline=0
subscriptions ack delays --ack-ids={ids},nonsense
subscriptions ack delays --ack-ids={last}
subscriptions modify-message-ack-deadline delays --ack-ids={ids} --ack-deadline=60
subscriptions pull delays --auto-ack --limit=2 --format=value(message.data.decode(base64),ackStatus)
subscriptions pull delays
"""


@pytest.fixture
def here() -> Terminal:
    return Terminal(WorldBackend(), None)


@pytest.fixture
def there() -> Iterator[Terminal]:
    backend = WorldBackend()
    with served(backend) as address:
        yield Terminal(backend, address)


def lines(text: str) -> list[str]:
    return [line for line in text.replace("\\\n", "").splitlines() if line]


@pytest.mark.parametrize(
    "script",
    [TOPICS, SUBSCRIPTIONS, SETTING_UP + MESSAGES, SETTING_UP + REPLAY, SETTING_UP + EXACTLY_ONCE],
    ids=["topics", "subscriptions", "messages", "replay", "exactly-once"],
)
def test_a_command_prints_the_same_with_and_without_a_server(
    script: str, here: Terminal, there: Terminal
) -> None:
    """The same commands answered by a running server."""
    codes = set()
    for line in lines(script):
        expected = here.told(line)
        assert (line, *there.told(line)) == (line, *expected)
        assert "unexpected" not in expected[2]
        codes.add(expected[0])
    assert codes == {0, 1} or codes == {0, 1, 2}


@pytest.mark.parametrize("what", ["ack", "modify-message-ack-deadline --ack-deadline=10"])
@pytest.mark.parametrize("ids", ["", ","])
def test_a_command_without_ack_ids_is_refused(
    what: str, ids: str, here: Terminal, there: Terminal
) -> None:
    """INVALID_ARGUMENT: ``--ack-ids=$IDS`` names none if a pull had none."""
    for terminal in (here, there):
        for line in lines(SETTING_UP):
            terminal.told(line)
        code, printed, told = terminal.told(f"subscriptions {what} delays --ack-ids={ids}")
        assert (code, printed) == (1, "")
        assert "INVALID_ARGUMENT: ack_ids: " in told


def test_a_command_tells_no_times_that_a_server_does_not_tell(there: Terminal) -> None:
    """google.pubsub.v1 has no field for when a topic or a subscription was created or changed."""
    for line in lines(SETTING_UP):
        there.run(line)
    shown = there.run("subscriptions describe delays --format=json").stdout
    assert json.loads(shown).keys() & {"createTime", "updateTime"} == set()
    assert "createTime" not in there.run("topics list --format=csv").stdout


def test_nothing_but_nonsense_is_refused_in_the_words_of_the_server(there: Terminal) -> None:
    for line in lines(SETTING_UP):
        there.run(line)
    result = there.run("subscriptions ack delays --ack-ids=nonsense,words")
    assert result.exit_code == 1
    assert "INVALID_ARGUMENT: ack_ids: 'nonsense' is not an ack id; " in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("failing", "fine"), [(300, 0), (300, 5), (5, 300), (150, 150)])
def test_ids_that_fail_are_told_however_many_they_are(failing: int, fine: int) -> None:
    """A reply of the server names as many as there is room for."""
    backend = WorldBackend()
    backend.store.create_topic("flights")
    backend.store.create_subscription("delays", "flights", enable_exactly_once_delivery=True)
    backend.store.publish("flights", ["x"] * max(fine, 1))
    pulled = [each.ack_id for each in backend.store.pull("delays")]
    uid, _, _, _ = pulled[0].split(".")
    bad = [str(AckId(uid, 77, n)) for n in range(failing)]
    with served(backend) as address:
        said = connect(Settings(endpoint=address)).acknowledge(
            "projects/local/subscriptions/delays", [*bad, *pulled[:fine]]
        )
    assert (list(said.success), list(said.invalid)) == (pulled[:fine], bad)


def test_a_listing_goes_over_all_pages() -> None:
    """A page has 1,000 entries unless fewer are asked for."""
    backend = WorldBackend()
    names = [f"topic-{number:04}" for number in range(1001)]
    for name in names:
        backend.store.create_topic(name)
    with served(backend) as address:
        list_all = Terminal(backend, address).run("topics list --format=value(name.basename())")
    assert list_all.stdout.split() == names


NEEDING_THE_STORE = """
topics metrics flights
topics history flights
subscriptions metrics delays
subscriptions backlog delays
subscriptions watch delays
snapshots metrics before-deploy
maintain
serve
"""


@pytest.mark.parametrize("line", lines(NEEDING_THE_STORE))
def test_what_has_no_method_says_that_it_needs_the_store(line: str) -> None:
    """Commands without an RPC say in one line that they need the store."""
    result = Terminal(WorldBackend(), "localhost:1").run(line)
    assert result.exit_code == 2
    assert "the server at localhost:1 has no method for this command; give --root" in result.stderr
    assert len(result.stderr.splitlines()) == 1


SPARK = ("pyspark", "py4j", "delta", "pyarrow", "pandas", "numpy")
LOOKED_AT = f"""
import sys
from pubsub_delta.cli.main import main
try:
    main()
finally:
    assert "pubsub_delta.cli.endpoint.client" in sys.modules
    print(sorted({{name.split(".")[0] for name in sys.modules}} & set({SPARK})))
"""


def test_no_part_of_spark_is_loaded(there: Terminal) -> None:
    """It must not import pyspark at all."""
    there.run("topics create flights")
    done = subprocess.run(
        [sys.executable, "-c", LOOKED_AT, "topics", "list", "--format=value(name)"],
        capture_output=True,
        text=True,
        check=False,
        env=there.variables,
    )
    assert (done.stdout, done.stderr) == ("projects/local/topics/flights\n[]\n", "")


def test_a_shell_asks_the_server_and_completes_its_names(there: Terminal) -> None:
    address = there.variables.pop("PUBSUB_DELTA_ENDPOINT")
    app = there.app()
    app.global_options["endpoint"] = address
    shell = Shell(cli, app)
    assert shell.run("topics create flights") == 0
    assert len(app._servers) == 1, "the lines of a shell share one connection"
    assert shell.run("topics publish flights --message=late") == 0
    assert shell.run("topics metrics flights") == 2
    assert shell.names("topics", "local") == ["projects/local/topics/flights"]
    assert app.place == f"Server {address}"
    assert len(app._servers) == 1
