import assert from 'node:assert/strict';
import {test} from 'node:test';
import {setTimeout} from 'node:timers/promises';
import {connect, pair, peek, receive} from './support.mjs';

test('a message that was given back comes again, with a new ack id', async t => {
  const pubsub = connect(t);
  const {topic, subscription} = await pair(pubsub);
  const id = await topic.publishMessage({data: Buffer.from('again')});

  const received = await receive(
    subscription,
    all => all.length === 3,
    (message, all) => (all.length < 3 ? message.nack() : message.ack())
  );
  assert.deepEqual(received.map(each => each.id), [id, id, id]);
  assert.equal(new Set(received.map(each => each.ackId)).size, 3);
  assert.deepEqual(await peek(t, subscription), []);
});

test('deliveries are counted, and a message that failed too often goes to the dead-letter topic', async t => {
  const pubsub = connect(t);
  const letters = await pair(pubsub);
  const {subscription, topic} = await pair(pubsub, {
    deadLetterPolicy: {deadLetterTopic: letters.topic.name, maxDeliveryAttempts: 5},
  });
  await topic.publishMessage({data: Buffer.from('hopeless'), attributes: {kind: 'letter'}});

  const failed = await receive(subscription, all => all.length === 5, message => message.nack());
  assert.deepEqual(failed.map(each => each.deliveryAttempt), [1, 2, 3, 4, 5]);

  const receiving = receive(letters.subscription, all => all.length === 1);
  let here = false;
  void receiving.finally(() => (here = true)).catch(() => {});
  while (!here) {
    assert.deepEqual(await peek(t, subscription), []); // whoever pulls forwards what is due
    await setTimeout(200);
  }
  const [letter] = await receiving;
  assert.equal(letter.data.toString(), 'hopeless');
  assert.equal(letter.attributes.kind, 'letter');
  assert.equal(letter.attributes.CloudPubSubDeadLetterSourceDeliveryCount, '5');
});
