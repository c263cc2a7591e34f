import assert from 'node:assert/strict';
import {test} from 'node:test';
import {AckResponses} from '@google-cloud/pubsub';
import {connect, pair, peek, receive} from './support.mjs';

const OPTIONS = {enableExactlyOnceDelivery: true};

test('an acknowledgement is answered when it is final', async t => {
  const {topic, subscription} = await pair(connect(t), OPTIONS);
  await Promise.all(
    Array.from({length: 20}, (_, n) => topic.publishMessage({data: Buffer.from(String(n))}))
  );
  const answers = [];
  await receive(
    subscription,
    () => answers.length === 20,
    async message => answers.push(await message.ackWithResponse())
  );
  assert.deepEqual(answers, Array(20).fill(AckResponses.Success));
  assert.deepEqual(await peek(t, subscription), []);
});

test('an acknowledgement under a lease that is over fails', async t => {
  const {topic, subscription} = await pair(connect(t), OPTIONS);
  await topic.publishMessage({data: Buffer.from('late')});
  const failures = [];
  await receive(
    subscription,
    () => failures.length === 1,
    async message => {
      if (failures.length === 0) {
        await subscription.seek(new Date(Date.now() - 600_000)); // which voids all leases
        await message.ackWithResponse().catch(error => failures.push(error));
      }
    }
  );
  assert.equal(failures[0].errorCode, AckResponses.Invalid);
});
