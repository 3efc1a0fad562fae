import { expect, test } from 'vitest'
import { PLANTED_SECRETS, plantedSecrets } from '../../../test/support/planted-secrets.ts'
import { redact } from './redaction.ts'

test('RD9 there are at least 100 planted secrets of 20 kinds', () => {
  expect(Object.keys(PLANTED_SECRETS).length).toBeGreaterThanOrEqual(20)
  expect(plantedSecrets.length).toBeGreaterThanOrEqual(100)
})

test.each(plantedSecrets)('RD9 a secret of the kind $kind is redacted: $text', ({ text, secrets }) => {
  const redacted = redact(text)
  expect(redacted).toContain('[redacted')
  for (const part of secrets) expect(redacted).not.toContain(part)
})

test.each([
  'interface Login {\n  password: string\n  token?: string\n}',
  'const password = readPassword()',
  'const { token } = session',
  'login({ user, password: passwordInput })',
  'this.token = options.token',
  'api_key = os.environ["API_KEY"]',
  `DB_PASSWORD=\${DB_PASSWORD}`,
  'password: {{ vault_password }}',
  'ANTHROPIC_API_KEY=sk-…',
  'export OPENAI_API_KEY=your-key-here',
  '<input type="password" name="password" placeholder="Password">',
  'max_tokens: 4096',
  'token_type: bearer',
  'if (token === null || token === undefined) return',
  'The secret: start early. The key: sleep.',
  'primary_key: user_id',
  'key: value',
  'csrfToken: abc123def456',
  'basic transformations and bearer authentication',
  'tokenizer = AutoTokenizer.from_pretrained(name)',
  'password: "Password"',
  '"pbkdf2-password": "^1.2.1"',
  'errors.password = "Please enter your password."',
  'git commit 3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c',
  'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  'id: 7c9e6679-7425-40de-944b-e07fc1f90ae7',
])('RD10 %j has no secret', (text) => {
  expect(redact(text)).toBe(text)
})
