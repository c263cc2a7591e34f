import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutureCallback;
import com.google.api.core.ApiFutures;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.AckReplyConsumer;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.SubscriptionAdminSettings;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminSettings;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.ProjectSubscriptionName;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;

import com.google.pubsub.v1.TopicName;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;

/**
 * A program with Google's Java client. Each line that it reads is published, and what is received
 * is acknowledged and told: "published LINE" when the answer has come, "received LINE", "error
 * TEXT".
 */
public final class Client {
  private Client() {}

  private static synchronized void tell(String kind, String text) {
    System.out.println(kind + " " + text);
  }

  public static void main(String[] arguments) throws Exception {
    TopicName topic = TopicName.of(arguments[0], arguments[1]);
    ProjectSubscriptionName subscription = ProjectSubscriptionName.of(arguments[0], arguments[1]);
    // The Java client does not know the variable; this is what Google's pages say instead.
    ManagedChannel channel =
        ManagedChannelBuilder.forTarget(System.getenv("PUBSUB_EMULATOR_HOST"))
            .usePlaintext()
            .build();
    TransportChannelProvider transport =
        FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
    NoCredentialsProvider nobody = NoCredentialsProvider.create();
    try (TopicAdminClient topics =
            TopicAdminClient.create(
                TopicAdminSettings.newBuilder()
                    .setTransportChannelProvider(transport)
                    .setCredentialsProvider(nobody)
                    .build());
        SubscriptionAdminClient subscriptions =
            SubscriptionAdminClient.create(
                SubscriptionAdminSettings.newBuilder()
                    .setTransportChannelProvider(transport)
                    .setCredentialsProvider(nobody)
                    .build())) {
      topics.createTopic(topic);
      subscriptions.createSubscription(
          Subscription.newBuilder()
              .setName(subscription.toString())
              .setTopic(topic.toString())
              .setAckDeadlineSeconds(60)
              .build());
    }
    Subscriber subscriber =
        Subscriber.newBuilder(
                subscription,
                (PubsubMessage message, AckReplyConsumer reply) -> {
                  tell("received", message.getData().toStringUtf8());
                  reply.ack();
                })
            .setParallelPullCount(1)
            .setChannelProvider(transport)
            .setCredentialsProvider(nobody)
            .build();
    subscriber.startAsync().awaitRunning();
    Publisher publisher =
        Publisher.newBuilder(topic)
            .setChannelProvider(transport)
            .setCredentialsProvider(nobody)
            .build();
    tell("ready", arguments[1]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      publish(publisher, line);
    }
    publisher.shutdown();
    publisher.awaitTermination(1, TimeUnit.MINUTES);
    subscriber.stopAsync().awaitTerminated();
    channel.shutdownNow();
  }

  private static void publish(Publisher publisher, String line) {
    ApiFuture<String> answer =
        publisher.publish(
            PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(line)).build());
    ApiFutures.addCallback(
        answer,
        new ApiFutureCallback<String>() {
          @Override
          public void onSuccess(String id) {
            tell("published", line);
          }

          @Override
          public void onFailure(Throwable error) {
            tell("error", String.valueOf(error.getMessage()));
          }
        },
        MoreExecutors.directExecutor());
  }
}
