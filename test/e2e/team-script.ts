import type { Script, ScriptRule } from '../../src/models/script.ts'
import type { CliFixture, CliProcess } from './cli-fixture.ts'

/* Team files and scripts for tests of the command line. */

/** Writer and reviewer alternate until the reviewer approves; the variable `strict` prevents publishing. */
export const REVIEW_TEAM = `name: Review
agents:
  - { name: writer, role: Writes }
  - { name: reviewer, role: Reads, outputs: { approved: boolean } }
  - { name: publisher, role: Publishes }
handoffs:
  - { from_agent: writer, to_agent: reviewer, condition: "draft is complete" }
  - { from_agent: reviewer, to_agent: publisher, condition: "approved and not strict", priority: 2 }
  - { from_agent: reviewer, to_agent: writer, condition: "not approved" }
context_variables: { strict: false }
after_work_behavior: terminate
`

/** The only handoff needs human approval. */
export const APPROVAL_TEAM = `name: Gate
agents: [{ name: writer }, { name: editor }, { name: lawyer }]
handoffs: [{ from_agent: writer, to_agent: editor, approve: true }]
after_work_behavior: terminate
`

interface ReplyRuleOptions {
  holds?: boolean[]
  sets?: Record<string, unknown>
  /** Matches only after this round. */
  after?: number
  delayMs?: number
}

export function replyRule(
  agent: string,
  response: string,
  { holds = [], sets = {}, after, delayMs }: ReplyRuleOptions = {},
): ScriptRule {
  const verdicts = holds.map((verdict, index) => ({ condition: index + 1, holds: verdict }))
  const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
  const isText = holds.length === 0 && variables.length === 0
  return {
    when: { agent, ...(after === undefined ? undefined : { heard: `"round":${after},` }) },
    reply: {
      ...(isText ? { text: response } : { object: { response, verdicts, variables, next: null } }),
      ...(delayMs === undefined ? undefined : { delayMs }),
    },
  }
}

/** writer → reviewer → writer → reviewer → publisher. */
export function reviewScript(delays: { writer?: number; reviewer?: number } = {}): Script['rules'] {
  const { writer = 0, reviewer = 0 } = delays
  return [
    replyRule('writer', 'The second draft.', { holds: [true], after: 2, delayMs: writer }),
    replyRule('writer', 'The first draft.', { holds: [true], delayMs: writer }),
    replyRule('reviewer', 'Now it is good.', { sets: { approved: true }, after: 3, delayMs: reviewer }),
    replyRule('reviewer', 'More facts, please.', { sets: { approved: false }, delayMs: reviewer }),
    replyRule('publisher', 'It is out.'),
  ]
}

export async function prepareReviewRun(cli: CliFixture, rules = reviewScript()): Promise<string[]> {
  await cli.write('review.yaml', REVIEW_TEAM)
  const model = await cli.script('s.json', rules)
  return ['run', 'team', 'Write it.', '--team', 'review.yaml', '--model', model, '--no-tools']
}

export async function waitForRunId(run: CliProcess): Promise<string> {
  const [, id = ''] = await run.waitFor(/run (r_[0-9a-f]{12}) started/)
  return id
}
