// What the scenarios share: a client that knows of nothing but PUBSUB_EMULATOR_HOST, names that no
// other scenario has, and waiting that ends.

import {randomUUID} from 'node:crypto';
import {PubSub, v1} from '@google-cloud/pubsub';

export const PROJECT = 'node-client';

/** Seconds that something may take on a machine that does much else. */
export const LONG = 120;

/** Return a client, and close it at the end of the test. */
export function connect(t) {
  if (!process.env.PUBSUB_EMULATOR_HOST) {
    throw new Error('PUBSUB_EMULATOR_HOST is not set; host:port of a running server is accepted');
  }
  const pubsub = new PubSub({projectId: PROJECT});
  t.after(() => pubsub.close());
  return pubsub;
}

/** Create a topic with a subscription. */
export async function pair(pubsub, options = {}) {
  const [topic] = await pubsub.createTopic(unused('topic'));
  const [subscription] = await topic.createSubscription(unused('subscription'), options);
  return {topic, subscription};
}

export function unused(kind) {
  return `${kind}-${randomUUID()}`;
}

/**
 * Receive messages by a streaming pull until `enough` says so, and close the stream.
 *
 * `answer` is called with each message; by default it acknowledges. Returns what was received.
 */
export async function receive(subscription, enough, answer = message => message.ack()) {
  const received = [];
  const listeners = {};
  const done = new Promise((resolve, reject) => {
    listeners.error = reject;
    listeners.message = async message => {
      try {
        received.push(message);
        await answer(message, received);
        if (enough(received)) {
          resolve();
        }
      } catch (error) {
        reject(error);
      }
    };
  });
  for (const [event, listener] of Object.entries(listeners)) {
    subscription.on(event, listener);
  }
  try {
    await soon(done, () => `${received.length} messages had come`);
  } finally {
    await subscription.close();
    for (const [event, listener] of Object.entries(listeners)) {
      subscription.removeListener(event, listener); // so that it can be listened to again
    }
  }
  return received;
}

/** Receive so many different messages. */
export function receiveCount(subscription, count) {
  return receive(subscription, received => ids(received).size >= count);
}

export function ids(messages) {
  return new Set(messages.map(message => message.id));
}

export function texts(messages) {
  return messages.map(message => message.data.toString()).sort();
}

/** Pull once, without waiting, and leave what comes leased; return the data. */
export async function peek(t, subscription) {
  const client = new v1.SubscriberClient(await subscription.pubsub.getClientConfig());
  t.after(() => client.close());
  const [response] = await client.pull({
    subscription: subscription.name,
    maxMessages: 1000,
    returnImmediately: true,
  });
  return response.receivedMessages.map(each => each.message.data.toString());
}

/** Wait for a promise, but not for ever. */
export async function soon(promise, told = () => 'it did not come') {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${LONG} seconds passed: ${told()}`)), LONG * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
