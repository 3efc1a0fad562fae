import type { Agent, Tool, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { contributionJson, noopTool } from '../support/collaboration.ts'
import { agent } from '../support/test-troupe.ts'
import { buildScenarios } from './build-scenarios.ts'
import { workspaceOptions } from './golden-workspace.ts'
import type { WireRecorder, WireReplies, WireRequest } from './wire-recorder.ts'
import { createWireRecorder } from './wire-recorder.ts'

/*
 * One run per kind of request. The texts of the scenarios are of no importance; that each kind is sent is.
 */

interface Scenario {
  pattern: string
  input: Record<string, unknown>
  replies: WireReplies
  options?: Partial<TroupeOptions>
  /** Options that need something on disk. */
  createOptions?: () => Partial<TroupeOptions>
  /** A small context window, for compaction. */
  context?: number
}

const ops = { name: 'ops', role: 'operations', focus: 'what breaks at night' }
const dev = { name: 'dev', role: 'development' }
const TASK = 'Should we deploy on Friday?'
const yes = contributionJson('Deploy on Friday morning.', 0.7, {
  concerns: [{ concern: 'nobody is on call', severity: 'moderate' }],
  questions: ['Who is on call?'],
})
const no = contributionJson('Wait until Monday.', 0.6)
const collaboration = (more: Record<string, unknown>) => ({
  task: TASK,
  agents: [ops, dev],
  context: { service: 'shop', users: 1200 },
  ...more,
})
const collaborate = (more: Record<string, unknown>, replies: WireReplies): Scenario => ({
  pattern: 'collaborate',
  input: collaboration(more),
  replies: { ops: [yes], dev: [no], ...replies },
})

const WRITING_TEAM = {
  name: 'Writing',
  description: 'Writes short texts.',
  agents: [
    {
      name: 'writer',
      role: 'drafts and revises',
      instructions: 'Write short sentences.',
      outputs: { quality: 'number' },
      tools: [],
    },
    { name: 'reviewer', role: 'gives feedback, or approves', tools: [] },
  ],
  handoffs: [
    { from_agent: 'writer', to_agent: 'reviewer', condition: 'the draft is complete and {{ quality }} > 5' },
    { from_agent: 'reviewer', to_agent: 'writer', condition: 'the draft needs changes' },
  ],
  after_work_behavior: 'terminate',
}
const team = (replies: WireReplies, input: Record<string, unknown> = {}, definition = WRITING_TEAM): Scenario => ({
  pattern: 'team',
  input: { team: definition, message: 'Write about the sea.', ...input },
  replies: { router: ['{"verdicts":[{"condition":1,"holds":false}]}'], ...replies },
})

const look: Tool = noopTool('look_up', 'read')
const lead: Agent = agent('lead', { tools: ['look_up', 'task'] })
const scout: Agent = agent('scout', { description: 'Finds things.', tools: ['look_up'] })
const single = { agents: [lead, scout], tools: [look] }
const delegate = (input: Record<string, unknown>) => ({
  call: { name: 'task', arguments: JSON.stringify({ agent: 'scout', instruction: 'Find the key.', ...input }) },
})
const answerSchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const task = (input: Record<string, unknown>, replies: WireReplies, context?: number): Scenario => ({
  pattern: 'task',
  input: { agent: 'lead', instruction: 'Open the door.', ...input },
  replies,
  options: single,
  ...(context === undefined ? undefined : { context }),
})
const steps = ['writer', 'reviewer', 'editor', 'printer', 'reader', 'critic', 'archivist', 'clerk']
const longTeam = {
  name: 'Press',
  agents: steps.map((name) => ({ name, tools: [] })),
  handoffs: steps.slice(1).map((to_agent, index) => ({ from_agent: steps[index], to_agent, condition: 'round > 0' })),
  limits: { context_tokens: 600 },
  after_work_behavior: 'terminate',
}

/** The scenario, and the agent and turn whose request is the golden one. */
export const scenarios: Readonly<Record<string, { scenario: Scenario; agent: string; turn?: number }>> = {
  ...buildScenarios,
  'task-root': { scenario: task({}, {}), agent: 'lead' },
  'task-root-workspace': { scenario: workspaceTask(), agent: 'reader' },
  'task-sub-agent': { scenario: task({}, { lead: [delegate({}), 'Done.'] }), agent: 'scout' },
  'task-sub-agent-with-context': {
    scenario: task({}, { lead: [delegate({ context_depth: 'all' }), 'Done.'] }),
    agent: 'scout',
  },
  'task-repair': {
    scenario: task({ output: answerSchema }, { lead: ['Paris, I think.', '{"city":"Paris"}'] }),
    agent: 'lead',
    turn: 2,
  },
  'session-compaction': {
    scenario: task({}, { lead: [...Array(9).fill(lookingUp()), 'Done.'] }, 1500),
    agent: 'summary',
  },
  specialist: { scenario: collaborate({ synthesis: 'merge' }, {}), agent: 'ops' },
  'specialist-categories': {
    scenario: collaborate({ synthesis: 'merge', categories: ['yes', 'no'] }, {}),
    agent: 'dev',
  },
  'specialist-plain-text': { scenario: collaborate({ synthesis: 'merge', structured: false }, {}), agent: 'ops' },
  'specialist-sequential': { scenario: collaborate({ mode: 'sequential', synthesis: 'merge' }, {}), agent: 'dev' },
  'specialist-mediation': {
    scenario: collaborate({ synthesis: 'vote', on_conflict: 'mediate' }, {}),
    agent: 'dev',
    turn: 2,
  },
  divider: { scenario: hierarchy(), agent: 'ops' },
  'divider-correction': { scenario: hierarchy(['{"plan":"-","assignments":[]}']), agent: 'ops', turn: 2 },
  'specialist-hierarchical': { scenario: hierarchy(), agent: 'dev' },
  coordinator: {
    scenario: collaborate({}, { dev: [{ stop: 'refusal' }], coordinator: ['Wait.'] }),
    agent: 'coordinator',
  },
  'coordinator-hierarchical': { scenario: hierarchy(), agent: 'ops', turn: 2 },
  evaluator: { scenario: collaborate({ synthesis: 'best_of' }, { evaluator: [evaluation(1, 2)] }), agent: 'evaluator' },
  extraction: {
    scenario: collaborate(
      { synthesis: 'vote' },
      { ops: ['I would wait until Monday.'], extractor: ['{"answers":[]}'] },
    ),
    agent: 'extractor',
  },
  'extraction-categories': {
    scenario: collaborate(
      { synthesis: 'vote', categories: ['yes', 'no'] },
      { ops: ['I would wait until Monday.'], extractor: ['{"answers":[]}'] },
    ),
    agent: 'extractor',
  },
  'pair-judge': { scenario: paraphrases(), agent: 'judge' },
  'consult-routing': { scenario: consultation(), agent: 'orchestrator' },
  'consult-routing-correction': {
    scenario: consultation('{"needed":"sessions","agents":["guard"],"reason":"","rationale":"","confidence":1}'),
    agent: 'orchestrator',
    turn: 2,
  },
  'consult-specialist': { scenario: consultation(), agent: 'scout' },
  'consult-synthesis': {
    scenario: consultation(
      '{"needed":"sessions","agents":["scout","lead"],"reason":"security_review","rationale":"Both.","confidence":1}',
    ),
    agent: 'orchestrator',
    turn: 2,
  },
  'consult-cycle': { scenario: waitForCycle(), agent: 'orchestrator', turn: 3 },
  'team-member': { scenario: team({ writer: ['{"response":"Blue."}'] }), agent: 'writer' },
  'team-member-later': { scenario: team(approved()), agent: 'reviewer' },
  'team-member-shared-instructions': {
    scenario: team({}, {}, { ...WRITING_TEAM, share_instructions: true } as typeof WRITING_TEAM),
    agent: 'writer',
  },
  'chat-turn': {
    scenario: team(
      {},
      {
        before: [
          { from: 'user', text: 'Hello.', artifacts: [] },
          { from: 'writer', text: 'Hello, what shall I write?', artifacts: ['plan.md@1'] },
        ],
      },
      { ...WRITING_TEAM, handoffs: [] },
    ),
    agent: 'writer',
  },
  router: {
    scenario: team({ writer: ['{"response":"Blue.","variables":[{"name":"quality","value":7}]}'] }),
    agent: 'router',
  },
  'team-summary': {
    scenario: team(Object.fromEntries(steps.map((name) => [name, ['A wave. '.repeat(80)]])), {}, longTeam as never),
    agent: 'summarizer',
  },
}

function workspaceTask(): Scenario {
  const reader = agent('reader', { tools: ['Read'] })
  return { ...task({ agent: 'reader' }, {}), options: { ...workspaceOptions, agents: [reader] } }
}

function lookingUp() {
  const usage = { input: 1400, cache_read: 0, cache_write: 0, output: 10, reasoning: 0 }
  return { text: 'I look it up.', call: { name: 'look_up', arguments: '{}' }, usage }
}

/** Two recommendations in different words, which only the judge can compare. */
function paraphrases(): Scenario {
  const embedder = {
    id: 'golden',
    dimensions: 2,
    threshold: 0.9,
    embed: async () => [
      [1, 0],
      [0.8, 0.6],
    ],
  }
  const replies = { dev: [contributionJson('Ship the release on Friday before noon.')], judge: ['{"pairs":[]}'] }
  return { ...collaborate({ synthesis: 'vote' }, replies), options: { embedder: embedder as never } }
}

function routed(...agents: string[]): string {
  const reason = 'security_review'
  return JSON.stringify({ needed: 'sessions', agents, reason, rationale: 'Knows it.', confidence: 0.8 })
}

/** A question that the orchestrator routes, after these answers that it cannot use. */
function consultation(...first: string[]): Scenario {
  return {
    pattern: 'consult',
    input: {
      question: 'Is this login secure?',
      context: { current_task: 'Build the login.', specific_concern: 'The cookie has no expiry.' },
      consultation_reason: 'security_review',
      suggested_agent: 'scout',
      urgency: 'high',
    },
    replies: { orchestrator: [...first, routed('scout')], scout: ['{"answer":"Yes."}'], lead: ['{"answer":"No."}'] },
    options: {
      agents: [
        { ...lead, tools: ['task'] },
        { ...scout, tools: [] },
      ],
    },
  }
}

function consultCall(input: Record<string, unknown>) {
  return { call: { name: 'consult', arguments: JSON.stringify(input) } }
}

/** The specialist asks the agent that waits for it. */
function waitForCycle(): Scenario {
  const replies = {
    lead: [consultCall({ question: 'Which key opens the door?' }), 'Done.'],
    scout: [
      consultCall({ question: 'Which door is it?', context: { specific_concern: 'There are two.' } }),
      '{"answer":"The red one."}',
    ],
    orchestrator: [routed('scout'), routed('lead'), '{"missing_information":["Which door is it?"]}'],
  }
  return { ...task({}, replies), options: { agents: [lead, scout].map((each) => ({ ...each, tools: ['consult'] })) } }
}

function approved(): WireReplies {
  const verdicts = [{ condition: 1, holds: true }]
  return {
    writer: [JSON.stringify({ response: 'Blue.', verdicts, variables: [{ name: 'quality', value: 7 }], next: null })],
  }
}

function hierarchy(first: string[] = []): Scenario {
  const plan = JSON.stringify({
    plan: 'dev checks the code',
    assignments: [{ agent: 'dev', subtask: 'Check the code.', depends_on: [], model: null }],
  })
  return collaborate({ mode: 'hierarchical' }, { ops: [...first, plan, 'Wait.'] })
}

function evaluation(...answers: number[]): string {
  return JSON.stringify({
    scores: answers.map((answer) => ({ answer, score: 5 + answer, reason: 'clear' })),
    best: answers.at(-1),
    reason: 'clear',
  })
}

/** The runs so far: a scenario is run once, whatever is taken from it. */
const recorders = new Map<Scenario, Promise<WireRecorder>>()

export async function recordRequest(kind: string): Promise<WireRequest> {
  const { scenario, agent: name, turn } = scenarios[kind] as (typeof scenarios)[string]
  const recorder = recorders.get(scenario) ?? recordRun(scenario)
  recorders.set(scenario, recorder)
  return (await recorder).requestOf(name, turn)
}

async function recordRun({
  pattern,
  input,
  replies,
  options,
  createOptions,
  context,
}: Scenario): Promise<WireRecorder> {
  const model = createWireRecorder(replies, context === undefined ? undefined : { context })
  const own = { ...options, ...createOptions?.() }
  const troupe = await createTroupe({ store: 'memory', embedder: false, config: false, model, ...own })
  try {
    await troupe.run(pattern, input)
    return model
  } finally {
    await troupe.close()
  }
}
