// A program with Google's Go client. Each line that it reads is published, and what is received is
// acknowledged and told: "published LINE" when the answer has come, "received LINE", "error TEXT".
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

var out sync.Mutex

func tell(kind string, text string) {
	out.Lock()
	defer out.Unlock()
	fmt.Println(kind, text)
}

func main() {
	ctx := context.Background()
	project, id := os.Args[1], os.Args[2]
	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		panic(err)
	}
	topic := fmt.Sprintf("projects/%s/topics/%s", project, id)
	subscription := fmt.Sprintf("projects/%s/subscriptions/%s", project, id)
	if _, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic}); err != nil {
		panic(err)
	}
	if _, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: subscription, Topic: topic, AckDeadlineSeconds: 60,
	}); err != nil {
		panic(err)
	}
	receiving, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		subscriber := client.Subscriber(subscription)
		subscriber.ReceiveSettings.NumGoroutines = 1
		err := subscriber.Receive(receiving, func(_ context.Context, message *pubsub.Message) {
			tell("received", string(message.Data))
			message.Ack()
		})
		if err != nil {
			tell("error", err.Error())
		}
	})
	tell("ready", id)
	publisher := client.Publisher(topic)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		line := lines.Text()
		result := publisher.Publish(ctx, &pubsub.Message{Data: []byte(line)})
		ended.Go(func() {
			if _, err := result.Get(ctx); err != nil {
				tell("error", err.Error())
				return
			}
			tell("published", line)
		})
	}
	publisher.Stop()
	stop()
	ended.Wait()
	client.Close()
}
