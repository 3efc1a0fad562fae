import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { redactorContract } from '../../testing/redactor-contract.ts'
import { findSecrets, redact, redactField, secretEnvValues } from './redaction.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123'
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----'

describe('RD9 secrets in texts', () => {
  test.each([
    ['an OpenAI key', 'use sk-proj-abcdEFGH1234567890 now', 'use [redacted: api-key] now'],
    ['an Anthropic key', 'sk-ant-api03-AAAAbbbbCCCC-dddd_1234', '[redacted: api-key]'],
    ['a GitHub token', 'ghp_0123456789abcdefghijABCDEFGHIJ012345!', '[redacted: github-token]!'],
    ['a GitHub fine-grained token', 'github_pat_11AAAAAAA0123456789_abcdef', '[redacted: github-token]'],
    ['an AWS key id', 'id AKIAIOSFODNN7EXAMPLE.', 'id [redacted: aws-key].'],
    ['a Google key', 'AIzaSyA-1234567890abcdefghijklmnopqrstu', '[redacted: google-key]'],
    ['a Slack token', 'xoxb-123456789012-abcdefghij', '[redacted: slack-token]'],
    ['a JSON web token', `a ${JWT} b`, 'a [redacted: jwt] b'],
    ['a private key', `x\n${PEM}\ny`, 'x\n[redacted: private-key]\ny'],
    ['a private key that was cut off', PEM.slice(0, 50), '[redacted: private-key]'],
    [
      'an authorization header',
      'Authorization: Bearer abcdef1234567890',
      'Authorization: Bearer [redacted: authorization]',
    ],
    [
      'a basic authorization header',
      'authorization: Basic dXNlcjpwYXNzd29yZA==',
      'authorization: Basic [redacted: authorization]',
    ],
    [
      'an authorization header in JSON',
      '{"Authorization":"Token abcdef1234567890"}',
      '{"Authorization":"Token [redacted: authorization]"}',
    ],
    ['an assignment', 'OPENAI_API_KEY=abc123def', 'OPENAI_API_KEY=[redacted: secret]'],
    ['a token in an .env file', 'X=1\nSLACK_TOKEN=abc123def\nY=2', 'X=1\nSLACK_TOKEN=[redacted: secret]\nY=2'],
    ['a password', 'password=hunter22 user=ann', 'password=[redacted: secret] user=ann'],
    ['a quoted password', 'password = "correct horse"', 'password = "[redacted: secret]"'],
    [
      'a password in JSON',
      '{"db_password": "hunter2", "user": "ann"}',
      '{"db_password": "[redacted: secret]", "user": "ann"}',
    ],
    ['a password in a URL', 'postgres://ann:hunter2@db/x', 'postgres://ann:[redacted: password]@db/x'],
  ])('RD9 %s is redacted, and the text around it is kept', (_kind, text, expected) => {
    expect(redact(text)).toBe(expected)
  })

  test.each([
    'task sk-1 is done',
    'the key of the step agents/security/turn/2/model',
    'max_tokens=4096 and tokens: 12',
    'const token = next()',
    'API_KEY=$OTHER and KEY=<yours>',
    'The password is on the note.',
    'authorization: required',
    '0123456789abcdef-fedcba9876543210_coder',
    'a basic question about bearer tokens',
    'ey.ey.ey',
  ])('RD9 %s contains no secret', (text) => {
    expect(redact(text)).toBe(text)
  })
})

test('RD9 known secret values are redacted everywhere, longer values first', () => {
  const values = secretEnvValues({
    MY_TOKEN: 'plain-looking',
    MY_TOKEN_2: 'plain-looking-value',
    SSH_KEY: '/home/ann/.ssh/id',
    SHORT_KEY: 'abc',
    COLOR: 'plain-looking-colour',
    NOTHING_KEY: undefined,
  })
  expect(values).toEqual(['plain-looking-value', 'plain-looking'])
  expect(redact('a plain-looking-value, a plain-looking one', values)).toBe(
    'a [redacted: environment], a [redacted: environment] one',
  )
})

test('RD7 RD9 redaction is idempotent, and every secret is within the text', () => {
  const fragment = fc.oneof(
    fc.string(),
    fc.constantFrom('sk-ant-0123456789abcdef01', JWT, PEM, 'AKIAIOSFODNN7EXAMPLE', 'value-in-env', 'password="'),
    fc.constantFrom(
      'Authorization: ',
      'Bearer ',
      '_KEY=',
      'TOKEN=',
      '"',
      "'",
      '\n',
      ' ',
      '[redacted: api-key]',
      'password',
      ':',
      '@',
      '://',
    ),
  )
  const text = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (whole) => {
      const extra = ['value-in-env', 'password']
      const once = redact(whole, extra)
      expect(redact(once, extra)).toBe(once)
      for (const { start, end } of findSecrets(whole, extra))
        expect(0 <= start && start < end && end <= whole.length).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

test('RD9 the text of a field with a secret name is redacted whole, and only once', () => {
  expect(redactField('x1', 'db_password')).toBe('[redacted: secret]')
  expect(redactField('[redacted: secret]', 'db_password')).toBe('[redacted: secret]')
  expect(redactField('', 'password')).toBe('')
  expect(redactField('postgres://ann:hunter2@db', 'url')).toBe('postgres://ann:[redacted: password]@db')
})

redactorContract(
  'The built-in redactor',
  () => ({
    redactor: { redact: redactField },
    secrets: [
      { text: 'use sk-proj-abcdEFGH1234567890 now', secret: 'sk-proj-abcdEFGH1234567890' },
      { text: `a ${JWT} b`, secret: JWT },
      { text: PEM, secret: 'MIIEow' },
      { text: 'password = "correct horse"', secret: 'correct horse' },
    ],
    harmless: ['The key idea is simple.', 'const token = nextToken()', 'https://example.com/a?b=c'],
  }),
  { describe, test },
)

/** Characters that searches in texts pass over while `action` runs. */
function searchedCharacters(action: () => void): number {
  let count = 0
  const { indexOf, lastIndexOf } = String.prototype
  const spies = [
    vi.spyOn(String.prototype, 'indexOf').mockImplementation(function (this: string, part: string, from = 0) {
      const found = indexOf.call(this, part, from)
      count += (found === -1 ? this.length : found) - from
      return found
    }),
    vi.spyOn(String.prototype, 'lastIndexOf').mockImplementation(function (this: string, part: string, from?: number) {
      const found = lastIndexOf.call(this, part, from ?? this.length)
      count += Math.min(from ?? this.length, this.length) - Math.max(found, 0)
      return found
    }),
  ]
  action()
  for (const spy of spies) spy.mockRestore()
  return count
}

test('RD14 the time for a text is proportional to its length, also without line breaks', () => {
  const searched = (size: number) => searchedCharacters(() => void redact('token=abcdefgh1 '.repeat(size)))
  expect(searched(400)).toBeLessThan(6 * searched(100))
})

test('RD14 the time for a text with encodings of known values is proportional to its length', () => {
  const known = ['a-secret/of+mine']
  const echoed = `${btoa('x:a-secret/of+mine')} ${encodeURIComponent('a-secret/of+mine')} `
  const searched = (size: number) => searchedCharacters(() => void redact(echoed.repeat(size), known))
  expect(searched(400)).toBeLessThan(6 * searched(100))
})
