import assert from 'node:assert/strict';
import {test} from 'node:test';
import {connect, pair, peek, receiveCount, texts, unused} from './support.mjs';

const WORDS = ['boarding', 'delayed', 'departed'];

async function drained(t, options) {
  const pubsub = connect(t);
  const {topic, subscription} = await pair(pubsub, options);
  for (const word of WORDS) {
    await topic.publishMessage({data: Buffer.from(word)});
  }
  return {pubsub, topic, subscription};
}

test('a seek to a time brings acknowledged messages back, and one to now acknowledges', async t => {
  const {subscription} = await drained(t, {retainAckedMessages: true});
  await receiveCount(subscription, 3);
  assert.deepEqual(await peek(t, subscription), []);

  await subscription.seek(new Date(Date.now() - 600_000));
  assert.deepEqual(texts(await receiveCount(subscription, 3)), WORDS);

  await subscription.seek(new Date(Date.now() - 600_000));
  await subscription.seek(new Date(Date.now() + 1000));
  assert.deepEqual(await peek(t, subscription), []);
});

test('a seek to a snapshot brings back what it captured, and what was published later', async t => {
  const {pubsub, topic, subscription} = await drained(t);
  const name = unused('snapshot');
  const [snapshot] = await subscription.createSnapshot(name);
  await topic.publishMessage({data: Buffer.from('landed')});
  await receiveCount(subscription, 4);
  assert.deepEqual(await peek(t, subscription), []);

  await subscription.seek(name);
  assert.deepEqual(texts(await receiveCount(subscription, 4)), [...WORDS, 'landed'].sort());

  const [listed] = await pubsub.getSnapshots();
  assert.ok(listed.some(each => each.name === snapshot.name));
  await snapshot.delete();
  const [left] = await pubsub.getSnapshots();
  assert.ok(!left.some(each => each.name === snapshot.name));
  await assert.rejects(subscription.seek(name), {code: 5});
});
