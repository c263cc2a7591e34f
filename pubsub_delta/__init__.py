"""Google Cloud Pub/Sub's message semantics, native to Spark, stored in open Delta tables."""

from pubsub_delta.batches import PulledBatch
from pubsub_delta.callbacks import PulledMessage
from pubsub_delta.client import PubSub
from pubsub_delta.clock import Clock, ManualClock, SystemClock
from pubsub_delta.errors import (
    Aborted,
    AlreadyExists,
    DataLoss,
    DeadLetterWarning,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSubError,
    Unimplemented,
    Unknown,
)
from pubsub_delta.metrics import Metrics
from pubsub_delta.operations.history import TopicCommit
from pubsub_delta.operations.maintain import MaintenanceReport
from pubsub_delta.operations.publish import PublishResult
from pubsub_delta.publisher import Publisher
from pubsub_delta.resources import (
    AckResult,
    BatchSettings,
    DeadLetterPolicy,
    ExpirationPolicy,
    FlowControl,
    Ids,
    Message,
    Page,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.session import SlowSettings, local_session
from pubsub_delta.subscriber import StreamingPull

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "AckResult",
    "AlreadyExists",
    "BatchSettings",
    "Clock",
    "DataLoss",
    "DeadLetterPolicy",
    "DeadLetterWarning",
    "ExpirationPolicy",
    "FailedPrecondition",
    "FlowControl",
    "Ids",
    "InvalidArgument",
    "MaintenanceReport",
    "ManualClock",
    "Message",
    "Metrics",
    "NotFound",
    "Page",
    "PubSub",
    "PubSubError",
    "PublishResult",
    "Publisher",
    "PulledBatch",
    "PulledMessage",
    "ReceivedMessage",
    "RetryPolicy",
    "SlowSettings",
    "Snapshot",
    "StreamingPull",
    "Subscription",
    "SystemClock",
    "Topic",
    "TopicCommit",
    "Unimplemented",
    "Unknown",
    "local_session",
]
