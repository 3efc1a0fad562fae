/* The cases of `npm run test:real`: every mode and synthesis of `collaborate` on a closed and an open question, a task, three teams, a chat. */

export interface RealCase {
  name: string
  /** A pattern, or `chat`. */
  pattern: string
  input: object
}

const MODES = ['parallel', 'sequential', 'hierarchical']
const SYNTHESES = ['coordinator', 'vote', 'merge', 'best_of', 'auto']
const QUESTIONS: Readonly<Record<string, object>> = {
  closed: { task: 'Should we deploy on Friday evening?', categories: ['yes', 'no'] },
  open: { task: 'Name one way to make a slow web page faster.' },
}
/** A slow machine is no failure. */
const limits = { agent_timeout: '30m' }
const agents = [
  { name: 'ops', role: 'operations', focus: 'what breaks at night' },
  { name: 'dev', role: 'development', focus: 'simple solutions' },
]

const collaborations = Object.entries(QUESTIONS).flatMap(([kind, question]) =>
  MODES.flatMap((mode) =>
    SYNTHESES.map((synthesis): RealCase => {
      const input = { ...question, agents, mode, synthesis, limits }
      return { name: `collaborate/${kind}/${mode}/${synthesis}`, pattern: 'collaborate', input }
    }),
  ),
)

const member = (name: string, role: string) => ({
  name,
  role,
  instructions: `You are the ${name}. Answer in one sentence.`,
})
const writer = member('writer', 'Writes a draft.')
const reviewer = member('reviewer', 'Reviews the draft.')

function team(name: string, definition: object): RealCase {
  const input = {
    message: 'Write one line about tea.',
    team: { name, after_work_behavior: 'terminate', ...definition },
  }
  return { name: `team/${name}`, pattern: 'team', input }
}

export const REAL_CASES: readonly RealCase[] = [
  {
    name: 'task',
    pattern: 'task',
    input: { agent: 'architect', instruction: 'What is the capital of France? One word.' },
  },
  ...collaborations,
  team('sequence', { agents: [writer, reviewer], handoffs: [{ from_agent: 'writer', to_agent: 'reviewer' }] }),
  team('condition', {
    agents: [writer, reviewer],
    handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'the draft is complete' }],
  }),
  team('consensus', {
    agents: [writer, reviewer, member('editor', 'Corrects the style.')],
    groups: [{ name: 'panel', kind: 'consensus', members: ['reviewer', 'editor'] }],
    handoffs: [{ from_agent: 'writer', to_agent: 'panel' }],
  }),
  { name: 'chat', pattern: 'chat', input: { lines: ['What is tea?', 'And coffee?'] } },
]
