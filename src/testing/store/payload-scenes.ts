import assert from 'node:assert/strict'
import type { Store } from '../../store/store.ts'
import { begin, startEvent } from './stage.ts'

/** Writes each value as a field, alone and in one batch, and reads all of them back. */
async function roundTrips(store: Store, values: readonly unknown[]): Promise<void> {
  const writer = await begin(store, 'r1')
  for (const value of values) await writer.write('custom:note', { key: 'k', value, after: 1 })
  const batch = values.map((value) => writer.event('custom:note', { key: 'k', value, same: value }))
  assert.deepEqual(await writer.try(batch), { ok: true })
  const read = (await store.events('r1')).slice(1)
  const found = read.map(({ data }) => (data as Record<string, unknown>).value)
  assert.deepEqual(found, [...values, ...values])
  assert.deepEqual(Object.keys(read[0]?.data ?? {}), ['key', 'value', 'after'])
}

export async function keepsLarge(store: Store): Promise<void> {
  const text = (bytes: number) => 'lorem ipsum '.repeat(bytes / 12)
  await roundTrips(store, [
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
  const start = startEvent('r1', { input: { instruction: 'long', text: 'z'.repeat(200_000) } })
  await store.createRun(start)
  assert.deepEqual(await store.events('r1'), [start])
}

export async function keepsCharacters(store: Store): Promise<void> {
  const awkward = [
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
  const long = awkward.map((text) => text.repeat(2_000))
  const keys = Object.fromEntries(awkward.map((text) => [text, text]))
  await roundTrips(store, [...awkward, ...long, awkward.join(''), keys])
}

export async function keepsLookalikes(store: Store): Promise<void> {
  const hash = 'a'.repeat(64)
  await roundTrips(store, [
    { $missing: hash, size: 12 },
    { $blob: hash, size: 12 },
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

/** A field named `__proto__` that is large enough to be stored apart must come back as a field. */
export async function keepsProto(store: Store): Promise<void> {
  const writer = await begin(store, 'r1')
  const data = JSON.parse(`{"key": "k", "__proto__": ${JSON.stringify({ text: 'p'.repeat(6_000) })}}`)
  await writer.write('custom:note', data)
  const read = (await store.events('r1'))[1]?.data
  assert.deepEqual(Object.keys(read ?? {}), ['key', '__proto__'])
  assert.equal(JSON.stringify(read), JSON.stringify(data))
}
