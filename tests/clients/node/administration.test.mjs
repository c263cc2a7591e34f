import assert from 'node:assert/strict';
import {test} from 'node:test';
import {PROJECT, connect, pair, unused} from './support.mjs';

test('what does not exist, or exists already, is told by its code', async t => {
  const pubsub = connect(t);
  const {topic} = await pair(pubsub);
  await assert.rejects(pubsub.topic('absent').getMetadata(), error => {
    assert.equal(error.code, 5); // NOT_FOUND
    assert.match(error.message, new RegExp(`projects/${PROJECT}/topics/absent does not exist`));
    return true;
  });
  await assert.rejects(pubsub.topic('absent').publishMessage({data: Buffer.from('x')}), {code: 5});
  await assert.rejects(pubsub.createTopic(topic.name), {code: 6}); // ALREADY_EXISTS
  await assert.rejects(
    topic.createSubscription(unused('subscription'), {ackDeadlineSeconds: 5}),
    {code: 3} // INVALID_ARGUMENT
  );
});

test('a stream of a subscription that does not exist ends with NOT_FOUND', async t => {
  const subscription = connect(t).subscription('absent');
  const error = await new Promise(resolve => {
    subscription.on('error', resolve);
    subscription.on('message', () => {});
  });
  assert.equal(error.code, 5);
  await subscription.close();
});

test('topics and subscriptions are created, looked at, changed, listed and deleted', async t => {
  const pubsub = connect(t);
  const {topic, subscription} = await pair(pubsub, {
    ackDeadlineSeconds: 60,
    filter: 'attributes.kind = "odd"',
    labels: {env: 'test'},
    retryPolicy: {minimumBackoff: {seconds: 20}},
  });
  const [described] = await subscription.getMetadata();
  assert.equal(described.topic, topic.name);
  assert.equal(described.ackDeadlineSeconds, 60);
  assert.equal(described.filter, 'attributes.kind = "odd"');
  assert.deepEqual(described.labels, {env: 'test'});
  assert.equal(Number(described.retryPolicy.minimumBackoff.seconds), 20);

  await subscription.setMetadata({ackDeadlineSeconds: 90, labels: {env: 'prod'}});
  const [changed] = await subscription.getMetadata();
  assert.equal(changed.ackDeadlineSeconds, 90);
  assert.deepEqual(changed.labels, {env: 'prod'});
  assert.equal(changed.filter, 'attributes.kind = "odd"');

  const [attached] = await topic.getSubscriptions();
  assert.deepEqual(attached.map(each => each.name), [subscription.name]);
  const [all] = await pubsub.getSubscriptions();
  assert.ok(all.some(each => each.name === subscription.name));
  const [topics] = await pubsub.getTopics();
  assert.ok(topics.some(each => each.name === topic.name));

  assert.deepEqual(await subscription.exists(), [true]);
  await subscription.delete();
  assert.deepEqual(await subscription.exists(), [false]);
  await topic.delete();
  assert.deepEqual(await topic.exists(), [false]);
});
