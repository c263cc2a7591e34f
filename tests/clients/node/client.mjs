// A program with Google's Node client. Each line that it reads is published, and what is received is
// acknowledged and told: "published LINE" when the answer has come, "received LINE", "error TEXT".

import {createInterface} from 'node:readline';
import {PubSub} from '@google-cloud/pubsub';

const [project, id] = process.argv.slice(2);
const tell = (kind, text) => console.log(`${kind} ${text}`);

const pubsub = new PubSub({projectId: project});
const [topic] = await pubsub.createTopic(id);
const [subscription] = await topic.createSubscription(id, {ackDeadlineSeconds: 60});
subscription.on('error', error => tell('error', error.message));
subscription.on('message', message => {
  tell('received', message.data.toString());
  message.ack();
});
tell('ready', id);

const answers = [];
for await (const line of createInterface({input: process.stdin})) {
  answers.push(
    topic.publishMessage({data: Buffer.from(line)}).then(
      () => tell('published', line),
      error => tell('error', error.message)
    )
  );
}
await Promise.all(answers);
await subscription.close();
await pubsub.close();
