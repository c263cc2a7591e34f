"""Google Cloud Pub/Sub's topics, subscriptions and acknowledgements, stored in Delta tables."""

from importlib import import_module
from typing import TYPE_CHECKING

from pubsub_delta.clock import Clock, ManualClock, SystemClock
from pubsub_delta.errors import (
    Aborted,
    AlreadyExists,
    DataLoss,
    DeadLetterWarning,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    NotMeasuredWarning,
    PubSubError,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
    Unknown,
    UnreadableMessageWarning,
)
from pubsub_delta.ids import Ids
from pubsub_delta.metrics import Metrics
from pubsub_delta.resources import (
    AckResult,
    BatchSettings,
    DeadLetterPolicy,
    ExpirationPolicy,
    FlowControl,
    LimitExceededBehavior,
    Message,
    NoWrapper,
    OidcToken,
    Page,
    PublishFlowControl,
    PushConfig,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Encoding, Schema, SchemaSettings, SchemaType
from pubsub_delta.table_config import TableConfig, TableState

if TYPE_CHECKING:
    from pubsub_delta.batches import PulledBatch
    from pubsub_delta.callbacks import PulledMessage
    from pubsub_delta.client import PubSub
    from pubsub_delta.delivery.surveys import AckStateSurvey, SurveyedSpan
    from pubsub_delta.delivery.table_subscriptions import TableWrites
    from pubsub_delta.operations.find import FoundMessage, MessageSearch
    from pubsub_delta.operations.history import TopicCommit
    from pubsub_delta.operations.maintain import MaintenanceReport
    from pubsub_delta.operations.publish import PublishResult
    from pubsub_delta.operations.seek import SeekPreview
    from pubsub_delta.operations.survey import (
        DayCount,
        PeekedMessage,
        SubscriptionMoment,
        TopicMetrics,
    )
    from pubsub_delta.operations.views import ViewsReport
    from pubsub_delta.policy.message_queries import MessageQuery
    from pubsub_delta.policy.metrics import SubscriptionMetrics
    from pubsub_delta.publisher import Publisher
    from pubsub_delta.session import SlowSettings, local_session
    from pubsub_delta.subscriber import StreamingPull

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "AckResult",
    "AckStateSurvey",
    "AlreadyExists",
    "BatchSettings",
    "Clock",
    "DataLoss",
    "DayCount",
    "DeadLetterPolicy",
    "DeadLetterWarning",
    "Encoding",
    "ExpirationPolicy",
    "FailedPrecondition",
    "FlowControl",
    "FoundMessage",
    "Ids",
    "InvalidArgument",
    "LimitExceededBehavior",
    "MaintenanceReport",
    "ManualClock",
    "Message",
    "MessageQuery",
    "MessageSearch",
    "Metrics",
    "NoWrapper",
    "NotFound",
    "NotMeasuredWarning",
    "OidcToken",
    "Page",
    "PeekedMessage",
    "PubSub",
    "PubSubError",
    "PublishFlowControl",
    "PublishResult",
    "Publisher",
    "PulledBatch",
    "PulledMessage",
    "PushConfig",
    "ReceivedMessage",
    "ResourceExhausted",
    "RetryPolicy",
    "Schema",
    "SchemaSettings",
    "SchemaType",
    "SeekPreview",
    "SlowSettings",
    "Snapshot",
    "StreamingPull",
    "Subscription",
    "SubscriptionMetrics",
    "SubscriptionMoment",
    "SurveyedSpan",
    "SystemClock",
    "TableConfig",
    "TableState",
    "TableWrites",
    "Topic",
    "TopicCommit",
    "TopicMetrics",
    "Unavailable",
    "Unimplemented",
    "Unknown",
    "UnreadableMessageWarning",
    "ViewsReport",
    "local_session",
]

_LATER = {
    "AckStateSurvey": "delivery.surveys",
    "DayCount": "operations.survey",
    "FoundMessage": "operations.find",
    "MaintenanceReport": "operations.maintain",
    "MessageQuery": "policy.message_queries",
    "MessageSearch": "operations.find",
    "PeekedMessage": "operations.survey",
    "PubSub": "client",
    "PublishResult": "operations.publish",
    "Publisher": "publisher",
    "PulledBatch": "batches",
    "PulledMessage": "callbacks",
    "SeekPreview": "operations.seek",
    "SlowSettings": "session",
    "StreamingPull": "subscriber",
    "SubscriptionMetrics": "policy.metrics",
    "SubscriptionMoment": "operations.survey",
    "SurveyedSpan": "delivery.surveys",
    "TableWrites": "delivery.table_subscriptions",
    "TopicCommit": "operations.history",
    "ViewsReport": "operations.views",
    "TopicMetrics": "operations.survey",
    "local_session": "session",
}
"""The modules of names that are imported at their first use, so that importing is quick."""

if not TYPE_CHECKING:

    def __getattr__(name):
        """Load a name of ``_LATER``."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        return globals()[name]

    def __dir__():
        """List the public names, also those that are not loaded yet."""
        return sorted({*globals(), *__all__})
