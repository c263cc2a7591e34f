import assert from 'node:assert/strict';
import {test} from 'node:test';
import {connect, ids, pair, peek, receiveCount, soon} from './support.mjs';

test('1,000 messages are published in batches, streamed and acknowledged', async t => {
  const pubsub = connect(t);
  const {topic, subscription} = await pair(pubsub);
  topic.setPublishOptions({batching: {maxMessages: 100, maxMilliseconds: 50}});

  const published = await soon(
    Promise.all(
      Array.from({length: 1000}, (_, n) =>
        topic.publishMessage({
          data: Buffer.from(`message ${n}`),
          attributes: {number: String(n), kind: n % 2 ? 'odd' : 'even', 'schlüssel': 'ß'},
        })
      )
    )
  );
  assert.equal(new Set(published).size, 1000);

  const received = await receiveCount(subscription, 1000);
  assert.deepEqual(ids(received), new Set(published));
  for (const message of received) {
    const number = published.indexOf(message.id);
    assert.equal(message.data.toString(), `message ${number}`);
    assert.deepEqual(message.attributes, {
      number: String(number),
      kind: number % 2 ? 'odd' : 'even',
      'schlüssel': 'ß',
    });
    assert.ok(Math.abs(message.publishTime - Date.now()) < 600_000);
  }
  assert.deepEqual(await peek(t, subscription), [], 'what was acknowledged does not come again');
});
