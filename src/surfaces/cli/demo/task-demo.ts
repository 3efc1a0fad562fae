import type { DemoTurn } from './scripted-turns.ts'
import { call, delegate, edit, read, turns, write } from './scripted-turns.ts'

/* Agents that change a small project in parallel, a question to a person, and a review. */

export const TASK_REQUEST = 'Add password reset by e-mail'

const LEAD: DemoTurn[] = [
  {
    text: 'First the code that is there.',
    toolCalls: [read('src/auth.ts'), read('src/mailer.ts'), call('Grep', { pattern: 'token', path: 'src' })],
    delayMs: 1_200,
  },
  {
    text: 'Three parts that do not touch each other.',
    toolCalls: [
      delegate('implementer', 'Token store: keep a hash of each token, one use, 30 minutes.'),
      delegate('implementer', 'Endpoints: ask for a link and set the password; the same answer for unknown addresses.'),
      delegate('implementer', 'Reset form: one field, and an error that reveals nothing.'),
    ],
    delayMs: 1_600,
  },
  {
    text: 'All parts are there. A review before anybody uses them.',
    toolCalls: [delegate('reviewer', 'Review the password reset: tokens, endpoints, form.')],
    delayMs: 1_300,
  },
  {
    text: 'The first finding is worth a fix.',
    toolCalls: [delegate('implementer', 'Fix: compare tokens in constant time.')],
    delayMs: 1_100,
  },
  {
    text: 'Done. Tokens are hashed and compared in constant time; links hold for 30 minutes and one use.',
    delayMs: 900,
  },
]

const TOKEN_STORE = `import { createHash } from 'node:crypto'

export const TOKEN_MINUTES = 30
export const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')
export const isValid = (token: string, hash: string) => hashOf(token) === hash
`

const TOKENS: DemoTurn[] = [
  { text: 'How sessions are kept now.', toolCalls: [read('src/auth.ts')], delayMs: 900 },
  { toolCalls: [call('Glob', { pattern: 'src/**' })], delayMs: 700 },
  { text: 'Only hashes are stored.', toolCalls: [write('src/reset-token.ts', TOKEN_STORE)], delayMs: 2_100 },
  { toolCalls: [read('src/reset-token.ts')], delayMs: 700 },
  { text: 'Token store: hashes only, one use, 30 minutes.', delayMs: 1_300 },
]

const PATHS = "export const paths = ['/reset', '/reset/confirm']\n"

const ENDPOINTS: DemoTurn[] = [
  { text: 'The routes that are there.', toolCalls: [read('src/routes.ts')], delayMs: 900 },
  { toolCalls: [read('src/mailer.ts'), call('Glob', { pattern: 'docs/**' })], delayMs: 800 },
  { text: 'One answer for all addresses.', toolCalls: [write('src/reset.ts', PATHS)], delayMs: 2_200 },
  {
    text: 'A limit on requests needs a package.',
    toolCalls: [
      read('package.json'),
      edit('package.json', {
        old_string: '"type": "module"',
        new_string: '"type": "module",\n  "dependencies": { "rate-limiter-flexible": "7.1.1" }',
      }),
    ],
    delayMs: 1_400,
  },
  {
    toolCalls: [
      edit('src/routes.ts', { old_string: "'/logout'", new_string: "'/logout', '/reset', '/reset/confirm'" }),
    ],
    delayMs: 1_100,
  },
  { text: 'Endpoints: both answer alike for known and unknown addresses.', delayMs: 1_200 },
]

const FORM: DemoTurn[] = [
  { text: 'Is there a form already?', toolCalls: [read('src/login-form.ts')], delayMs: 1_300 },
  { text: 'There is none.', toolCalls: [call('Glob', { pattern: 'src/**' })], delayMs: 900 },
  { toolCalls: [write('src/reset-form.ts', "export const fields = ['address']\n")], delayMs: 2_600 },
  { text: 'Reset form: one field, one message.', delayMs: 1_200 },
]

const REVIEW: DemoTurn[] = [
  {
    toolCalls: [read('src/reset-token.ts'), read('src/reset.ts'), call('Grep', { pattern: '===', path: 'src' })],
    delayMs: 1_500,
  },
  {
    text: 'Changes requested. 1. Tokens are compared with ===, which leaks timing. 2. The form has no test.',
    delayMs: 2_200,
  },
]

const FIX: DemoTurn[] = [
  { toolCalls: [read('src/reset-token.ts')], delayMs: 800 },
  {
    text: 'Buffers of the same length, compared in constant time.',
    toolCalls: [
      edit('src/reset-token.ts', {
        old_string: 'hashOf(token) === hash',
        new_string: 'timingSafeEqual(Buffer.from(hashOf(token)), Buffer.from(hash))',
      }),
      edit('src/reset-token.ts', { old_string: '{ createHash }', new_string: '{ createHash, timingSafeEqual }' }),
    ],
    delayMs: 1_200,
  },
  { text: 'Tokens are compared in constant time now.', delayMs: 900 },
]

export const taskRules = [
  ...turns('default', 'password reset by e-mail', LEAD),
  ...turns('implementer', 'Token store:', TOKENS),
  ...turns('implementer', 'Endpoints:', ENDPOINTS),
  ...turns('implementer', 'Reset form:', FORM),
  ...turns('implementer', 'Fix:', FIX),
  ...turns('reviewer', 'Review the password reset', REVIEW),
]
