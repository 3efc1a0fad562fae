import assert from 'node:assert/strict'
import type { Store } from '../../store/store.ts'
import { EdgeCaseGenerator } from './edge-case-events.ts'
import { createLeasedRun, expectAppendError, sessionEndData, sessionOpenData, testRunStart } from './store-harness.ts'

/** Appends each value alone and in one batch, and compares all of them after reading. */
async function expectRoundTrip(store: Store, values: readonly unknown[]): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  for (const value of values) await writer.append('custom:note', { key: 'k', value, after: 1 })
  const batch = values.map((value) => writer.nextEvent('custom:note', { key: 'k', value, same: value }))
  assert.deepEqual(await writer.tryAppend(batch), { ok: true })
  const read = (await store.events('r1')).slice(1)
  const found = read.map(({ data }) => (data as Record<string, unknown>).value)
  assert.deepEqual(found, [...values, ...values])
  assert.deepEqual(Object.keys(read[0]?.data ?? {}), ['key', 'value', 'after'])
}

export async function keepsLargeValues(store: Store): Promise<void> {
  const text = (bytes: number) => 'lorem ipsum '.repeat(bytes / 12)
  await expectRoundTrip(store, [
    text(5_000),
    text(4_094).padEnd(4_094, '.'),
    text(4_094).padEnd(4_095, '.'),
    'ü'.repeat(2_047),
    'ü'.repeat(2_048),
    { output: text(100_000), list: Array.from({ length: 2_000 }, (_, n) => ({ n })) },
    text(3_000_000),
    [text(70_000)],
  ])
}

export async function keepsLargeInput(store: Store): Promise<void> {
  const start = testRunStart('r1', { input: { instruction: 'long', text: 'z'.repeat(200_000) } })
  await store.createRun(start)
  assert.deepEqual(await store.events('r1'), [start])
}

export async function keepsCharacters(store: Store): Promise<void> {
  const unusual = [
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\udc00x',
    'x\ud83d',
    '🦊',
    'e\u0301',
    '\u2028\u2029',
    '\ufeff',
    '"\\\n',
  ]
  const long = unusual.map((text) => text.repeat(2_000))
  const keys = Object.fromEntries(unusual.map((text) => [text, text]))
  await expectRoundTrip(store, [...unusual, ...long, unusual.join(''), keys])
}

export async function keepsLookalikes(store: Store): Promise<void> {
  const hash = 'a'.repeat(64)
  await expectRoundTrip(store, [
    { $missing: hash, size: 12 },
    { $blob: hash, size: 12 },
    { $blob: hash, size: 12, padding: 'p'.repeat(6_000) },
    { a: [{ $blob: 'b'.repeat(600) }, { $blob: { $blob: null } }], text: 't'.repeat(600) },
    '{"$blob":"x","size":1}',
    { $ref: hash },
    [hash, 12],
    hash,
    0,
    '0',
    null,
    false,
    '',
    [],
    {},
    1e21,
    -0.5,
    { $missing: hash, size: 12, padding: 'p'.repeat(6_000) },
    JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "toString": 2}'),
  ])
}

/** A large `__proto__` field must be read back as an own field (prototype pollution). */
export async function keepsProtoField(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const data = JSON.parse(`{"key": "k", "__proto__": ${JSON.stringify({ text: 'p'.repeat(6_000) })}}`)
  await writer.append('custom:note', data)
  const read = (await store.events('r1'))[1]?.data
  assert.deepEqual(Object.keys(read ?? {}), ['key', '__proto__'])
  assert.equal(JSON.stringify(read), JSON.stringify(data))
}

/** Appends batches of every size and reads them completely, one by one and by session, with the fields in order. */
export async function keepsEdgeCases(store: Store): Promise<void> {
  for (let seed = 1; seed <= 12; seed++) {
    const generator = new EdgeCaseGenerator(seed)
    const writer = await createLeasedRun(store, `r${seed}`)
    const events = generator.events(writer, 60)
    const expected = events.map((event) => JSON.stringify(event))
    for (let offset = 0; offset < events.length; ) {
      const batch = events.slice(offset, offset + generator.batchSize())
      assert.deepEqual(await writer.tryAppend(batch), { ok: true }, `seed ${seed}`)
      offset += batch.length
    }
    const read = async (range: Parameters<Store['events']>[1]) =>
      (await store.events(writer.run_id, range)).map((event) => JSON.stringify(event))
    assert.deepEqual(await read({ after: 1 }), expected, `seed ${seed}`)
    for (const seq of [7, 23, 60]) assert.deepEqual(await read({ after: seq - 1, limit: 1 }), [expected[seq - 2]])
    const ofSession = events.flatMap(({ session_id }, index) => (session_id === 's1' ? [expected[index]] : []))
    assert.deepEqual(await read({ session_id: 's1' }), ofSession, `seed ${seed}`)
  }
}

const REPEATED_TEXT = 'A repeated text is stored only once. '.repeat(20)

/** A model response is repeated in the session result, the tool result of the caller and the run output. */
export async function keepsRepeatedText(store: Store): Promise<void> {
  await store.createRun(testRunStart('r1', { input: { instruction: REPEATED_TEXT } }))
  const writer = await createLeasedRun(store, 'r2')
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
  const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: REPEATED_TEXT }] }
  const events = [
    writer.nextEvent('session:open', sessionOpenData(1), 's1'),
    writer.nextEvent('model:end', { key: 'm', attempt: 1, message, stop: 'end', usage, usd: null }, 's1'),
    writer.nextEvent('session:end', sessionEndData(REPEATED_TEXT), 's1'),
    writer.nextEvent('step:end', {
      key: 's',
      v: 1,
      input_hash: null,
      result: { response: REPEATED_TEXT, list: [REPEATED_TEXT] },
    }),
    writer.nextEvent('run:end', { status: 'completed', stop_reason: 'completed', output: REPEATED_TEXT, error: null }),
  ]
  for (const batch of [events.slice(0, 2), events.slice(2, 3), events.slice(3)]) {
    assert.deepEqual(await writer.tryAppend(batch), { ok: true })
  }
  assert.deepEqual((await store.events('r2')).slice(1), events)
  assert.deepEqual(await store.events('r2', { session_id: 's1', after: 3 }), events.slice(2, 3))
  assert.equal((await store.session('s1'))?.text, REPEATED_TEXT)
}

/** A text of a rejected append is not in the store: later events must not rely on it. */
export async function ignoresTextOfRejectedAppends(store: Store): Promise<void> {
  const writer = await createLeasedRun(store, 'r1')
  const refused = writer.nextEvent('step:drift', { key: REPEATED_TEXT, recorded_hash: 'a', current_hash: 'b' })
  expectAppendError(await writer.tryAppend([refused], { epoch: writer.epoch + 1 }), 'lease_lost')
  const first = {
    ...refused,
    data: { key: 'k', recorded_hash: REPEATED_TEXT, current_hash: REPEATED_TEXT },
  } as typeof refused
  const second = writer.nextEvent('step:drift', { key: REPEATED_TEXT, recorded_hash: REPEATED_TEXT, current_hash: 'b' })
  assert.deepEqual(await writer.tryAppend([first]), { ok: true })
  assert.deepEqual(await writer.tryAppend([second]), { ok: true })
  assert.deepEqual((await store.events('r1')).slice(1), [first, second])
}
