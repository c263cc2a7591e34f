import assert from 'node:assert/strict';
import {test} from 'node:test';
import {connect, pair, receiveCount, soon} from './support.mjs';

test('the messages of a key come in the order in which they were published', async t => {
  const pubsub = connect(t);
  const {topic, subscription} = await pair(pubsub, {enableMessageOrdering: true});
  topic.setPublishOptions({messageOrdering: true, batching: {maxMessages: 10}});

  const keys = Array.from({length: 50}, (_, n) => `key-${n}`);
  const promises = [];
  for (let n = 0; n < 20; n++) {
    for (const orderingKey of keys) {
      promises.push(topic.publishMessage({data: Buffer.from(String(n)), orderingKey}));
    }
  }
  await soon(Promise.all(promises));

  const received = await receiveCount(subscription, 1000);
  for (const key of keys) {
    const first = new Map(); // a message may come again, after which its later ones do, too
    for (const message of received.filter(each => each.orderingKey === key)) {
      first.set(message.id, first.get(message.id) ?? Number(message.data));
    }
    assert.deepEqual([...first.values()], Array.from({length: 20}, (_, n) => n), key);
  }
});
