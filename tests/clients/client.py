"""A program with Google's Python client, as those in other languages beside it.

Each line that it reads is published, and what is received is acknowledged and told: "published
LINE" when the answer has come, "received LINE", "error TEXT".
"""

from __future__ import annotations

import sys
from typing import Any

from google.cloud import pubsub_v1


def tell(kind: str, text: object) -> None:
    sys.stdout.write(f"{kind} {text}\n")
    sys.stdout.flush()


def main(project: str, id_: str) -> None:
    # This client starts a thread for each batch. With a batch each 10 ms, its default, a slow
    # machine has thousands of them after two seconds without a server, and does nothing else.
    batching = pubsub_v1.types.BatchSettings(max_latency=0.1)
    publisher: Any = pubsub_v1.PublisherClient(batch_settings=batching)
    subscriber: Any = pubsub_v1.SubscriberClient()
    topic = publisher.topic_path(project, id_)
    subscription = subscriber.subscription_path(project, id_)
    publisher.create_topic(name=topic)
    request = {"name": subscription, "topic": topic, "ack_deadline_seconds": 60}
    subscriber.create_subscription(request=request)

    def receive(message: Any) -> None:
        tell("received", message.data.decode())
        message.ack()

    def told(answer: Any, line: str) -> None:
        error = answer.exception()
        tell("published", line) if error is None else tell("error", error)

    receiving = subscriber.subscribe(subscription, receive)
    tell("ready", id_)
    for each in sys.stdin:
        line = each.rstrip("\n")
        publisher.publish(topic, line.encode()).add_done_callback(
            lambda answer, line=line: told(answer, line)
        )
    publisher.stop()
    receiving.cancel()
    receiving.result(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
