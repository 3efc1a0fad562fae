import type { DemoTurn } from './scripted-turns.ts'
import { call, delegate, read, turns, write } from './scripted-turns.ts'

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

const TOKENS: DemoTurn[] = [
  { toolCalls: [read('src/auth.ts')], delayMs: 900 },
  {
    toolCalls: [
      write('src/reset-token.ts', 'export const TOKEN_MINUTES = 30\nexport const hashes = new Set<string>()\n'),
    ],
    delayMs: 2_300,
  },
  { text: 'Token store: hashes only, one use, 30 minutes.', delayMs: 1_500 },
]

const ENDPOINTS: DemoTurn[] = [
  { toolCalls: [read('src/routes.ts'), read('src/mailer.ts')], delayMs: 1_100 },
  {
    toolCalls: [write('src/reset.ts', "export const paths = ['/reset', '/reset/confirm']\n")],
    delayMs: 2_600,
  },
  {
    text: 'A limit on requests needs a package.',
    toolCalls: [
      read('package.json'),
      call('Edit', {
        file_path: 'package.json',
        old_string: '"type": "module"',
        new_string: '"type": "module",\n  "dependencies": { "rate-limiter-flexible": "7.1.1" }',
      }),
    ],
    delayMs: 1_700,
  },
  { text: 'Endpoints: both answer alike for known and unknown addresses.', delayMs: 1_200 },
]

const FORM: DemoTurn[] = [
  { toolCalls: [call('Glob', { pattern: 'src/**' })], delayMs: 1_400 },
  { toolCalls: [write('src/reset-form.ts', "export const fields = ['address']\n")], delayMs: 3_400 },
  { text: 'Reset form: one field, one message.', delayMs: 1_200 },
]

const REVIEW: DemoTurn[] = [
  {
    toolCalls: [read('src/reset-token.ts'), read('src/reset.ts'), call('Grep', { pattern: 'hashes', path: 'src' })],
    delayMs: 1_500,
  },
  {
    text: 'Changes requested. 1. Tokens are compared with ===, which leaks timing. 2. The form has no test.',
    delayMs: 2_200,
  },
]

const FIX: DemoTurn[] = [
  { toolCalls: [read('src/reset-token.ts')], delayMs: 800 },
  { text: 'Tokens are compared in constant time now.', delayMs: 1_300 },
]

export const taskRules = [
  ...turns('default', 'password reset by e-mail', LEAD),
  ...turns('implementer', 'Token store:', TOKENS),
  ...turns('implementer', 'Endpoints:', ENDPOINTS),
  ...turns('implementer', 'Reset form:', FORM),
  ...turns('implementer', 'Fix:', FIX),
  ...turns('reviewer', 'Review the password reset', REVIEW),
]
