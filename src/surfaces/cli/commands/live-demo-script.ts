/* Scripted runs for the page: agents that change a small project in parallel, a question to a person, a review, and a vote. */

const call = (name: string, input: object) => ({ name, input })
const read = (file_path: string) => call('Read', { file_path })
const write = (file_path: string, content: string) => call('Write', { file_path, content })
const delegate = (agent: string, instruction: string) => call('task', { agent, instruction })

export const LIVE_DEMO_REQUEST = 'Add password reset by e-mail'
export const LIVE_DEMO_VOTE = {
  task: 'Token bucket or sliding window for the limit on reset requests?',
  synthesis: 'vote',
  agents: ['security', 'backend', 'operations', 'product'].map((name) => ({ name, role: `${name} specialist` })),
}

export const LIVE_DEMO_FILES: Readonly<Record<string, string>> = {
  'package.json': '{\n  "name": "portal",\n  "type": "module"\n}\n',
  'src/auth.ts': 'export const sessions = new Map<string, string>()\n',
  'src/mailer.ts': 'export async function send(to: string, text: string): Promise<void> {}\n',
  'src/routes.ts': "export const routes = ['/login', '/logout']\n",
}

interface DemoTurn {
  text?: string
  toolCalls?: { name: string; input: object }[]
  delayMs: number
}

/** One rule per turn of a session that began with these words. */
function turns(agent: string, words: string, replies: readonly DemoTurn[]) {
  return replies.map((reply, index) => ({
    when: { agent, turn: index + 1, ...(index === 0 ? { says: words } : { heard: words }) },
    reply,
    usage: { input: 9_000 + 4_200 * index, output: 380 + 90 * index },
  }))
}

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

const vote = (agent: string, position: readonly [recommendation: string, confidence: number, response: string]) => ({
  when: { agent },
  reply: {
    object: { response: position[2], recommendation: position[0], confidence: position[1], concerns: [] },
    delayMs: 700 + 900 * position[1],
  },
  usage: { input: 1_900, output: 160 },
})

export const liveDemoScript = {
  rules: [
    ...turns('default', 'password reset by e-mail', LEAD),
    ...turns('implementer', 'Token store:', TOKENS),
    ...turns('implementer', 'Endpoints:', ENDPOINTS),
    ...turns('implementer', 'Reset form:', FORM),
    ...turns('implementer', 'Fix:', FIX),
    ...turns('reviewer', 'Review the password reset', REVIEW),
    vote('security', ['Token bucket', 0.9, 'A burst is what an attacker needs; a bucket bounds it per address.']),
    vote('backend', ['Sliding window', 0.7, 'Exact, and our cache already keeps lists of times.']),
    vote('operations', ['Sliding window', 0.6, 'A window is easier to explain when somebody is locked out.']),
    vote('product', ['Token bucket', 0.8, 'People who mistype twice should not have to wait.']),
    { when: { agent: 'judge' }, reply: { object: { pairs: [{ number: 1, same: false }] }, delayMs: 400 } },
  ],
  otherwise: 'error',
}
