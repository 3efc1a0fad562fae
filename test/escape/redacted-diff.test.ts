import { beforeEach, expect, test } from 'vitest'
import { redact } from '../../src/judgement/redaction/redaction.ts'
import { permissionLines } from '../../src/surfaces/cli/render/permission-question.ts'
import { countEachTest } from '../support/attempt-count.ts'

beforeEach(countEachTest('approvals'))

/* Secrets are redacted in the diff of a permission question: a model that writes code between the marks of a key must not hide it from the person. */

test.each([
  ['a block with an end', '// -----BEGIN PRIVATE KEY-----\nrun("evil")\n// -----END PRIVATE KEY-----\n'],
  ['a block without an end', '// -----BEGIN PRIVATE KEY-----\nrun("evil")\n'],
  ['the value of a secret name', 'const password = "$(evil)1234567890"\n'],
])('PM49 code that looks like a secret is shown: %s', (_, content) => {
  const diff = redact(`@@ -0,0 +1,3 @@\n+${content.trimEnd().replaceAll('\n', '\n+')}`)
  const input = { file_path: 'a.js', content }
  const call = {
    tool: 'Write',
    subject: 'a.js',
    text: 'Write(a.js)',
    answers: ['allow'],
    input,
    change: { path: 'a.js', is_new: true, diff },
  }
  const lines = permissionLines('May x call Write(a.js)?', call as never, { width: 80, ascii: true } as never)
  expect(lines.join('\n')).toContain('evil')
})

test('PM49 a diff without redactions is shown alone', () => {
  const input = { file_path: 'a.js', content: 'fine\n' }
  const change = { path: 'a.js', is_new: true, diff: '@@ -0,0 +1 @@\n+fine' }
  const call = { tool: 'Write', subject: 'a.js', text: 'Write(a.js)', answers: ['allow'], input, change }
  const lines = permissionLines('May x call Write(a.js)?', call as never, { width: 80, ascii: true } as never)
  expect(lines.join('\n').split('fine')).toHaveLength(2)
})
