"""The state machine: every verb in any order, done to the reference and to a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pubsub_delta import PubSub
from tests.model import draws
from tests.model.comparison import Given
from tests.model.delivery import Delivery
from tests.model.drivers import Driver, as_given
from tests.model.reference import Reference
from tests.model.reference_subscription import Subscription
from tests.model.reference_values import Draft, Fields
from tests.unit.builders import at

WHO = st.integers(0, 2)
PROCESS = st.integers(0, 1)


class StoreMachine(RuleBasedStateMachine):
    """Every step is done to both; whatever can be observed must be the same."""

    driver: Callable[[], Driver]
    seen: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.compared = Delivery(type(self).driver(), self.seen)
        self.store: PubSub = self.compared.driver.processes[0]
        self.touched: set[str] = set()
        self.written = 0
        self.steps = 0

    # Who is meant

    @property
    def reference(self) -> Reference:
        return self.compared.reference

    def process(self, number: int) -> PubSub:
        """Choose the process that does the next thing."""
        self.store = self.compared.driver.processes[number]
        return self.store

    def some(self, who: int) -> Subscription:
        """Choose a subscription, and compare it after this step."""
        found = list(self.reference.subscriptions.values())
        subscription: Subscription = found[who % len(found)]
        self.touched.add(subscription.name)
        return subscription

    def drafts(self, shapes: list[draws.Shape]) -> list[Draft]:
        """Give each message data of its own."""
        drafts = []
        for attributes, key in shapes:
            self.written += 1
            drafts.append(Draft(f"message {self.written}", attributes, key))
        return drafts

    # Topics and publishing

    @initialize(
        retention=draws.topic_retentions,
        subscriptions=st.lists(draws.fields, min_size=1, max_size=2),
        shapes=draws.shapes,
    )
    def begin(
        self, retention: int | None, subscriptions: list[Fields], shapes: list[draws.Shape]
    ) -> None:
        for name in draws.TOPICS:
            self.create_topic(name, retention if name == draws.TOPIC else None)
        self.publish(0, draws.TOPIC, shapes, 0)
        for name, fields in zip(draws.SUBSCRIPTIONS, subscriptions, strict=False):
            self.create_subscription(0, name, draws.TOPIC, fields)
        self.publish(0, draws.TOPIC, shapes, 0)

    @precondition(lambda self: len(self.reference.topics) < len(draws.TOPICS))
    @rule(name=draws.topics, retention=draws.topic_retentions)
    def create_topic(self, name: str, retention: int | None) -> None:
        self.compared.both(
            lambda: self.reference.create_topic(name, retention),
            lambda: self.store.create_topic(name, message_retention_duration=retention),
        )
        self.compared.created(self.store, name)

    @rule(process=PROCESS, name=draws.topics, retention=draws.new_topic_retentions)
    def update_topic(self, process: int, name: str, retention: int | None) -> None:
        store = self.process(process)
        self.touched.add(name)
        self.compared.both(
            lambda: self.reference.update_topic(name, retention),
            lambda: store.update_topic(name, message_retention_duration=retention),
        )

    @rule(name=draws.topics, seldom=draws.seldom)
    def delete_topic(self, name: str, seldom: int) -> None:
        if not seldom:
            self.compared.both(
                lambda: self.reference.delete_topic(name), lambda: self.store.delete_topic(name)
            )

    @rule(process=PROCESS, name=draws.topics, shapes=draws.shapes, late=draws.delays)
    def publish(self, process: int, name: str, shapes: list[draws.Shape], late: int) -> None:
        """Publish one commit; that of a slow publisher has an old stamp."""
        store, drafts = self.process(process), self.drafts(shapes)
        driver = self.compared.driver
        new = self.compared.both(
            lambda: self.reference.publish(name, drafts, late),
            lambda: driver.publish(store, name, drafts, late),
        )
        if new is not None:
            self.compared.published(self.reference.topics[name])
            self.compared.seen["late commits"] += late > 0

    # Subscriptions

    @precondition(lambda self: len(self.reference.subscriptions) < len(draws.SUBSCRIPTIONS))
    @rule(
        process=PROCESS,
        name=draws.subscriptions,
        topic=draws.mostly_the_topic,
        fields=draws.new_fields,
    )
    def create_subscription(self, process: int, name: str, topic: str, fields: Fields) -> None:
        store = self.process(process)
        self.touched.add(name)
        self.compared.both(
            lambda: self.reference.create_subscription(name, topic, fields),
            lambda: store.create_subscription(name, topic, **as_given(vars(fields))),
        )

    @precondition(lambda self: self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, changes=draws.changes)
    def update_subscription(self, process: int, who: int, changes: dict[str, Any]) -> None:
        store, name = self.process(process), self.some(who).name
        self.compared.both(
            lambda: self.reference.update_subscription(name, **changes),
            lambda: store.update_subscription(name, **as_given(changes)),
        )

    @precondition(lambda self: self.reference.subscriptions)
    @rule(who=WHO, seldom=draws.seldom, detach=st.booleans())
    def detach_or_delete_subscription(self, who: int, seldom: int, detach: bool) -> None:
        verb = "detach_subscription" if detach else "delete_subscription"
        if not seldom:
            name = self.some(who).name
            getattr(self.reference, verb)(name)
            getattr(self.store, verb)(name)

    # Delivery

    @precondition(lambda self: self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, count=draws.counts)
    def pull(self, process: int, who: int, count: int | None) -> None:
        self.compared.pull(self.process(process), self.some(who), count)

    @precondition(lambda self: self.compared.given and self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, data=st.data())
    def acknowledge(self, process: int, who: int, data: st.DataObject) -> None:
        subscription = self.some(who)
        own, others = self.some_ids(data, subscription)
        self.compared.acknowledge(self.process(process), subscription, own, others)

    @precondition(lambda self: self.compared.given and self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, seconds=draws.new_deadlines, data=st.data())
    def modify_ack_deadline(
        self, process: int, who: int, seconds: int, data: st.DataObject
    ) -> None:
        subscription = self.some(who)
        own, others = self.some_ids(data, subscription)
        self.compared.modify(self.process(process), subscription, seconds, own, others)

    @precondition(lambda self: self.reference.subscriptions)
    @rule(
        process=PROCESS,
        who=WHO,
        times=draws.rounds,
        every=st.sampled_from([1, 1, 1, 2, 3]),
        impatient=st.sampled_from([False, False, True]),
    )
    def fail_repeatedly(
        self, process: int, who: int, times: int, every: int, impatient: bool
    ) -> None:
        """Pull and nack, all or some, and wait for the backoff, again and again.

        ``impatient``: pull once more before the backoff is over.
        """
        store, subscription = self.process(process), self.some(who)
        for _ in range(times):
            given = self.compared.pull(store, subscription, None)
            if not given:
                return
            self.compared.modify(store, subscription, 0, given[::every])
            ends = max((row.waits_until for row in subscription.rows.values()), default=0)
            if ends > self.reference.now:
                self.advance(ends - 1 - self.reference.now)
                self.compared.compare(self.store, self.touched, fully=False)
                if impatient:
                    self.compared.pull(store, subscription, None)
                self.advance(1)

    @precondition(lambda self: self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, count=draws.counts)
    def consume(self, process: int, who: int, count: int | None) -> None:
        """Pull and acknowledge, as a consumer does that is well."""
        store, subscription = self.process(process), self.some(who)
        given = self.compared.pull(store, subscription, count)
        if given:
            self.compared.acknowledge(store, subscription, given)

    # Seeks and snapshots

    @precondition(lambda self: self.reference.subscriptions)
    @rule(process=PROCESS, who=WHO, data=st.data(), during=st.booleans(), nack=st.booleans())
    def seek_to_time(
        self, process: int, who: int, data: st.DataObject, during: bool, nack: bool
    ) -> None:
        """Seek; ``during``: while a consumer has messages, who then speaks of them."""
        store, subscription = self.process(process), self.some(who)
        given = self.compared.pull(store, subscription, None) if during else []
        name = subscription.name
        time = data.draw(draws.times_of_seeks(self.reference, subscription))
        self.compared.both(
            lambda: self.reference.seek_to_time(name, time),
            lambda: store.seek(name, time=at(time)),
        )
        self.compared.seen["seeks to times"] += 1
        if given and nack:
            self.compared.modify(store, subscription, 0, given)
        elif given:
            self.compared.acknowledge(store, subscription, given)

    @precondition(lambda self: self.reference.subscriptions)
    @rule(process=PROCESS, name=draws.snapshots, who=WHO)
    def create_snapshot(self, process: int, name: str, who: int) -> None:
        store, source = self.process(process), self.some(who).name
        self.touched.add(name)
        self.compared.both(
            lambda: self.reference.create_snapshot(name, source),
            lambda: store.create_snapshot(name, source),
        )

    @precondition(lambda self: self.reference.subscriptions and self.reference.snapshots)
    @rule(process=PROCESS, which=st.integers(0, 9), who=WHO)
    def seek_to_snapshot(self, process: int, which: int, who: int) -> None:
        names = [*self.reference.snapshots] * 9
        name = names[which] if which < 9 else draws.SNAPSHOTS[0]
        store, seeker = self.process(process), self.some(who).name

        def seek() -> bool:
            self.reference.seek_to_snapshot(seeker, name)
            return True

        done = self.compared.both(seek, lambda: store.seek(seeker, snapshot=name))
        self.compared.seen["seeks to snapshots"] += bool(done)

    @precondition(lambda self: self.reference.snapshots)
    @rule(name=draws.snapshots, lifetime=draws.lifetimes)
    def update_snapshot(self, name: str, lifetime: int) -> None:
        self.touched.add(name)
        time = self.reference.now + lifetime
        self.compared.both(
            lambda: self.reference.update_snapshot(name, time),
            lambda: self.store.update_snapshot(name, expire_time=at(time)),
        )

    @precondition(lambda self: self.reference.snapshots)
    @rule(name=draws.snapshots)
    def delete_snapshot(self, name: str) -> None:
        self.compared.both(
            lambda: self.reference.delete_snapshot(name),
            lambda: self.store.delete_snapshot(name),
        )

    # Time, the job, processes that end

    @rule(seconds=draws.moments)
    def time_passes(self, seconds: int) -> None:
        self.advance(seconds)

    @rule(which=st.integers(0, 9), off=st.sampled_from([0, 0, 0, 1, -1]))
    def time_passes_until_something_ends(self, which: int, off: int) -> None:
        """Wait for one of the next moments, or now and then for one of the last."""
        ends = draws.ends(self.reference)
        ends = ends[:8] + ends[8:][-2:]
        if ends:
            self.advance(max(0, ends[which % len(ends)] + off - self.reference.now))

    def advance(self, seconds: int) -> None:
        self.reference.advance(seconds)
        self.compared.driver.clock.advance(seconds)

    @rule(process=PROCESS, exact=st.booleans(), duties=draws.duties)
    def maintain(self, process: int, exact: bool, duties: dict[str, bool]) -> None:
        """Run the job, or some of its duties."""
        store, before = self.process(process), self.compared.stored_ids()
        self.touched.update((*self.reference.subscriptions, *self.reference.topics))
        told = store.maintain(exact=exact, **duties)
        assert told.problems == {}
        if duties["dead_letters"]:
            letters = self.reference.forward()
            assert sum(told.dead_letters.values()) == len(letters)
            self.compared.forwarded(letters)
            for topic, ids in self.compared.stored_ids().items():
                before[topic] |= ids
        if duties["expiration"]:
            expired = [name.split("/")[-1] for name in told.expired]
            due = self.reference.must_expire()
            early = (self.reference.may_expire() & set(expired)) - set(due)
            assert sorted(expired) == sorted([*due, *early])
            self.compared.seen["deleted by the job"] += len(expired)
            self.reference.expire(expired)
        if duties["retention"]:
            self.compared.deleted(exact, before)

    @rule(which=PROCESS)
    def restart(self, which: int) -> None:
        """Let a process end; another one reads everything anew."""
        self.compared.driver.processes[which] = self.compared.driver.open()
        self.store = self.compared.driver.processes[which]

    # What must hold

    @invariant()
    def everything_is_the_same(self) -> None:
        fully = self.compared.driver.thorough or self.steps % 4 == 0
        self.compared.compare(self.store, self.touched, fully=fully)
        subscriptions = list(self.reference.subscriptions.values())
        if self.compared.driver.thorough and subscriptions:
            self.compared.compare_seeks(subscriptions[self.steps % len(subscriptions)])
            self.compared.compare_names(self.store, (*draws.SUBSCRIPTIONS, *draws.SNAPSHOTS))
        self.touched.clear()
        self.steps += 1
        self.seen["steps"] += 1

    # How ids are chosen

    def some_ids(
        self, data: st.DataObject, subscription: Subscription
    ) -> tuple[list[Given], list[str]]:
        """Choose ids that were given out, live, late and repeated ones, and some of others."""
        given = self.compared.given
        own = {each.ack_id: each for each in given if each.subscription is subscription}
        others = [each.ack_id for each in given if each.ack_id not in own]
        wrong = st.sampled_from(["", "no ack id", *others[-4:]])
        if not own:
            return [], data.draw(st.lists(wrong, min_size=1, max_size=2, unique=True))
        recent = st.sampled_from([*own][-8:])
        chosen = st.lists(recent | recent | st.sampled_from([*own]), min_size=1, max_size=8)
        return [own[text] for text in data.draw(chosen)], data.draw(st.lists(wrong, max_size=1))
