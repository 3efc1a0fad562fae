import type { ErrorRecord } from '../../errors.ts'
import { tokensOf } from '../../kernel/ledger.ts'
import type { Pattern, PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { bestOf } from './best-of.ts'
import { brokenOff } from './broken-off.ts'
import { outOfBudget } from './budget.ts'
import { checkInput } from './check-input.ts'
import type { CollaborateConfig } from './config.ts'
import { DEFAULT_CONFIG } from './config.ts'
import { inConflict, mediated } from './conflict.ts'
import type { Ruling } from './escalate.ts'
import { escalated } from './escalate.ts'
import type { Said } from './gather.ts'
import { gathered } from './gather.ts'
import type { CollaborateInput } from './input.ts'
import { collaborateInput, collaborateInputFor } from './input.ts'
import type { Job } from './job.ts'
import { jobOf, withDefaults } from './job.ts'
import type { Contribution } from './output.ts'
import { collaborateOutput, wordsOf } from './output.ts'
import type { Strategy } from './remarks.ts'
import { unfollowed } from './remarks.ts'
import type { Stand } from './stand.ts'
import { standOf } from './stand.ts'
import type { Material, Synthesised } from './synthesis.ts'
import { coordinated, merged, split, voted } from './synthesis.ts'

/** Several specialists on one task, and one answer that says how far they agree. */
export function collaborateWith(config: CollaborateConfig): Pattern {
  return definePattern<CollaborateInput>({
    name: 'collaborate',
    version: 1,
    description:
      'Put several specialists on one task and get one answer that says how far they agree and who dissents. Use it for ' +
      'what one voice may get wrong: reviews, decisions, plans. It costs one conversation for each specialist.',
    category: 'task_management',
    delegates: true,
    on_request: true,
    input: collaborateInput,
    output: collaborateOutput,
    inputFor: (context) => collaborateInputFor(context.caller?.open.agent.agents ?? context.roster.names),
    subject: ({ agents }) => agents.map((entry) => (typeof entry === 'string' ? entry : entry.name)).join(', '),
    check: (roster, input) =>
      checkInput(roster, withDefaults(config, input), { max_agents: mostAgents(config, input) }),
    execute: async (context, input) => collaborated(await jobOf(context, config, input)),
  })
}

export const collaborate = collaborateWith(DEFAULT_CONFIG)

function mostAgents(config: CollaborateConfig, { limits }: CollaborateInput): number {
  return limits?.max_agents ?? config.max_agents
}

async function collaborated(job: Job): Promise<PatternResult> {
  const { context, input, mode, synthesis, specialists } = job
  const names = specialists.map(({ name }) => name)
  const started = await context.now('started')
  context.emit('start', 'tool:collaborative:start', { task: input.task, agents: names, mode, synthesis })
  const said = await gathered(job)
  const limit = said.error ?? said.contributions.find(outOfBudget)?.error
  if (limit) return brokenOff(job, said.contributions, [limit])
  // A plan without anything done is no answer either.
  const work = mode === 'hierarchical' ? said.contributions.slice(1) : said.contributions
  if (work.every((one) => one.error)) return brokenOff(job, said.contributions)
  const settled = await withoutConflict(job, said)
  if (settled.stopped.length > 0) return brokenOff(job, settled.contributions, settled.stopped)
  const strategy = strategyOf(job, said, settled.stand)
  context.emit('synthesis/start', 'tool:collaborative:synthesis:start', { strategy })
  const material = { shared: job.site.shared, ...settled }
  const made = await synthesised(job, { strategy, material, coordinator: said.coordinator })
  if (made.stopped) return brokenOff(job, settled.contributions, [made.stopped])
  context.emit('synthesis/end', 'tool:collaborative:synthesis:complete', { strategy, tokens: made.tokens })
  return ended(job, { said, ...settled, strategy, made, started })
}

interface Settled {
  contributions: Contribution[]
  stand: Stand
  ruling: Ruling | undefined
  /** What went wrong when they were asked again. */
  problems: string[]
  /** Limits of the run that were in the way. */
  stopped: ErrorRecord[]
}

/** Where everybody stands, after what `on_conflict` wants done about a disagreement. */
async function withoutConflict(job: Job, said: Said): Promise<Settled> {
  const { context, input, grouping, history, clerks, site, specialists, bounds } = job
  const { contributions } = said
  // Who worked on different parts was not asked the same: nothing to compare, unless somebody wants it counted.
  const parts = job.mode === 'hierarchical' && job.synthesis !== 'vote'
  const look = (key: string, of: readonly Contribution[]) =>
    standOf(context, parts ? [] : of, { ...grouping, key, history, judge: clerks.judge, agents_count: heads(of) })
  const stand = await look('stand', contributions)
  const found = { contributions, stand, ruling: undefined, problems: [], stopped: unjudged(stand) }
  const vote = strategyOf(job, said, stand) === 'vote' ? (input.vote?.strategy ?? 'weighted') : undefined
  const calm = !inConflict(stand, contributions, vote) || input.on_conflict === 'surface'
  if (calm || found.stopped.length > 0) return found
  if (input.on_conflict === 'escalate')
    return { ...found, ruling: await escalated(context, { task: input.task, contributions }, stand) }
  const { heard, ...went } = await mediated(site, stand, {
    specialists,
    max_parallel: bounds.max_parallel,
    contributions,
  })
  const after = contributions.map((contribution) => heard.get(contribution) ?? contribution)
  if (went.stopped.length > 0) return { ...found, ...went, contributions: after }
  const now = await look('stand/mediated', after)
  return { contributions: after, stand: now, ruling: undefined, problems: went.problems, stopped: unjudged(now) }
}

/** The limit that kept a model from saying which recommendations come to the same. */
function unjudged({ equivalence: { stopped } }: Stand): ErrorRecord[] {
  return stopped ? [stopped] : []
}

/** Who worked on several parts is one of them. */
function heads(contributions: readonly Contribution[]): number {
  return new Set(contributions.map(({ agent }) => agent)).size
}

/** `auto` counts where most gave something that can be counted; else one writes the answer. */
function strategyOf({ synthesis }: Job, { decision, contributions }: Said, { voices }: Stand): Strategy {
  if (decision?.collaborated === false) return 'solo'
  if (synthesis !== 'auto') return synthesis
  return voices.length > 0 && voices.length * 2 >= split(contributions).heard.length ? 'vote' : 'coordinator'
}

interface Synthesising {
  strategy: Strategy
  material: Material
  coordinator: string | undefined
}

async function synthesised(job: Job, { strategy, material, coordinator }: Synthesising): Promise<Synthesised> {
  const { context, input, clerks } = job
  if (strategy === 'solo') return { result: material.contributions.map(wordsOf)[0] ?? '', tokens: 0 }
  if (strategy === 'merge') return { result: merged(material), tokens: 0 }
  if (strategy === 'vote') return voted(material, input.vote?.strategy ?? 'weighted')
  if (strategy === 'coordinator')
    return coordinated(context, material, { agent: clerks.coordinator, resume: coordinator })
  const criteria = typeof input.criteria === 'string' ? [input.criteria] : (input.criteria ?? [])
  return bestOf(context, material, { evaluator: clerks.evaluator, criteria })
}

interface End extends Settled {
  said: Said
  strategy: Strategy
  made: Synthesised
  started: number
}

async function ended(job: Job, end: End): Promise<PatternResult> {
  const { context, mode, specialists } = job
  const { said, contributions, stand, ruling, strategy, made, started } = end
  const problems = [...said.problems, ...end.problems, ...(made.failed === undefined ? [] : [made.failed])]
  const spent = await context.spent('spent', 'here')
  const duration_ms = (await context.now('ended')) - started
  const whole = contributions.every(({ status }) => status === 'completed') && problems.length === 0
  const status = whole ? ('completed' as const) : ('partial' as const)
  const total_tokens = tokensOf(spent)
  const { agreement_score } = stand.consensus
  const agents_count = specialists.length
  context.emit('end', 'tool:collaborative:complete', { agents_count, total_tokens, status, agreement_score })
  const told = [...problems, ...unfollowed(job, strategy)]
  const output = {
    result: made.result,
    contributions: contributions.map((one) => weighed(one, stand)),
    consensus: stand.consensus,
    ...(made.vote ? { vote: made.vote } : undefined),
    ...(made.best_of ? { best_of: made.best_of } : undefined),
    ...(ruling ? { ruling } : undefined),
    ...(said.decision ? { decision: said.decision } : undefined),
    metadata: {
      agents_count,
      mode,
      synthesis: strategy,
      status,
      duration_ms,
      total_tokens,
      cost: spent.usd,
      ...(said.saved ? { saved: said.saved } : undefined),
      ...(told.length > 0 ? { problems: told } : undefined),
    },
  }
  return { success: true, output, stop_reason: status }
}

/** With what its voice counted, where it was counted. */
function weighed(contribution: Contribution, { voices }: Stand): Contribution {
  const voice = voices.find(({ of }) => of === contribution)
  return voice ? { ...contribution, weight: voice.weight } : contribution
}
