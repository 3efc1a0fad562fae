import assert from 'node:assert/strict'
import type { Redactor } from '../kernel/redactor.ts'
import type { TestRunner } from './test-runner.ts'

/** Texts that a redactor has to hide, and others that it must leave alone. */
export interface RedactorHarness {
  redactor: Redactor
  /** Texts with a secret in them, and the secret. */
  secrets: readonly { text: string; secret: string }[]
  /** Texts without secrets. */
  harmless: readonly string[]
}

/** Contract tests for `Redactor`. */
export function redactorContract(name: string, create: () => RedactorHarness, { describe, test }: TestRunner): void {
  describe(`${name} satisfies the redactor contract`, () => {
    test('RD6 a secret is removed wherever it stands in a text', async () => hidesSecrets(create()))
    test('RD6 a text without secrets is returned unchanged', async () => keepsHarmlessTexts(create()))
    test('RD7 redacting again changes nothing: a resumed run redacts recorded results', async () =>
      isIdempotent(create()))
    test('RD14 a large text is redacted whole', async () => redactsLargeTexts(create()))
  })
}

function hidesSecrets({ redactor, secrets }: RedactorHarness): void {
  assert.ok(secrets.length > 0, 'the harness has no secrets')
  for (const { text, secret } of secrets) {
    for (const around of [text, `before\n${text}\nafter`, `${text}\n${text}`])
      assert.ok(!redactor.redact(around, '').includes(secret), `the secret is still in: ${around}`)
  }
}

function keepsHarmlessTexts({ redactor, harmless }: RedactorHarness): void {
  for (const text of ['', ...harmless]) assert.equal(redactor.redact(text, ''), text)
}

function isIdempotent({ redactor, secrets, harmless }: RedactorHarness): void {
  for (const text of [...secrets.map((secret) => secret.text), ...harmless]) {
    const once = redactor.redact(text, '')
    assert.equal(redactor.redact(once, ''), once)
  }
}

function redactsLargeTexts({ redactor, secrets: [first] }: RedactorHarness): void {
  assert.ok(first, 'the harness has no secrets')
  const filling = 'words without secrets\n'.repeat(10_000)
  const redacted = redactor.redact(`${filling}${first.text}\n${filling}`, '')
  assert.ok(!redacted.includes(first.secret))
  assert.ok(redacted.startsWith(filling) && redacted.endsWith(filling))
}
