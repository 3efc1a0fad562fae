import { TroupeError } from '../../errors.ts'
import { tokensOf } from '../../kernel/ledger.ts'
import type { Pattern, PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { outOfBudget } from './budget.ts'
import type { Ruling } from './conflict.ts'
import { escalated, inConflict, mediated } from './conflict.ts'
import type { Said } from './gather.ts'
import { gathered } from './gather.ts'
import type { CollaborateConfig, CollaborateInput } from './input.ts'
import { collaborateInput, collaborateInputFor, DEFAULT_CONFIG } from './input.ts'
import type { Job } from './job.ts'
import { jobOf } from './job.ts'
import type { Contribution } from './output.ts'
import { collaborateOutput } from './output.ts'
import { checkAgents } from './specialists.ts'
import type { Stand } from './stand.ts'
import { standOf } from './stand.ts'
import type { Material, Synthesised } from './synthesis.ts'
import { bestOf, coordinated, merged, split, voted } from './synthesis.ts'

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
      checkAgents(
        roster,
        { ...input, mode: input.mode ?? config.default_mode },
        { max_agents: mostAgents(config, input) },
      ),
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
  const error = said.error ?? said.contributions.find(outOfBudget)?.error
  if (error) return brokenOff(job, { ...said, error })
  // A plan without anything done is no answer either.
  const work = mode === 'hierarchical' ? said.contributions.slice(1) : said.contributions
  if (work.every((one) => one.error)) return brokenOff(job, said)
  const settled = await withoutConflict(job, said.contributions)
  const strategy = strategyOf(job, said, settled.stand)
  context.emit('synthesis/start', 'tool:collaborative:synthesis:start', { strategy })
  const material = { shared: job.site.shared, ...settled }
  const made = await synthesised(job, { strategy, material, coordinator: said.coordinator })
  context.emit('synthesis/end', 'tool:collaborative:synthesis:complete', { strategy, tokens: made.tokens })
  return ended(job, { said, ...settled, strategy, made, started })
}

interface Settled {
  contributions: Contribution[]
  stand: Stand
  ruling: Ruling | undefined
}

/** Where everybody stands, after what `on_conflict` wants done about a disagreement. */
async function withoutConflict(job: Job, contributions: Contribution[]): Promise<Settled> {
  const { context, input, grouping, history, clerks, site, specialists, bounds } = job
  // Who worked on different parts was not asked the same: nothing to compare, unless somebody wants it counted.
  const parts = job.mode === 'hierarchical' && job.synthesis !== 'vote'
  const look = (key: string, of: readonly Contribution[]) =>
    standOf(context, parts ? [] : of, { ...grouping, key, history, judge: clerks.judge, agents_count: of.length })
  const stand = await look('stand', contributions)
  if (!inConflict(stand) || input.on_conflict === 'surface') return { contributions, stand, ruling: undefined }
  if (input.on_conflict === 'escalate') {
    return { contributions, stand, ruling: await escalated(context, input, stand) }
  }
  const heard = await mediated(site, stand, { specialists, max_parallel: bounds.max_parallel })
  const after = contributions.map((contribution) => heard.get(contribution) ?? contribution)
  return { contributions: after, stand: await look('stand/mediated', after), ruling: undefined }
}

type Strategy = Exclude<Job['synthesis'], 'auto'> | 'solo'

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
  if (strategy === 'solo') return { result: material.contributions[0]?.response ?? '', tokens: 0 }
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
  const spent = await context.spent('spent', 'here')
  const duration_ms = (await context.now('ended')) - started
  const whole =
    contributions.every(({ status }) => status === 'completed') && !made.failed && said.problems.length === 0
  const status = whole ? ('completed' as const) : ('partial' as const)
  const total_tokens = tokensOf(spent)
  const { agreement_score } = stand.consensus
  const agents_count = specialists.length
  context.emit('end', 'tool:collaborative:complete', { agents_count, total_tokens, status, agreement_score })
  const problems = [...said.problems, ...(made.failed === undefined ? [] : [made.failed])]
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
      ...(problems.length > 0 ? { problems } : undefined),
    },
  }
  return { success: true, output, stop_reason: status }
}

/** With what its voice counted, where it was counted. */
function weighed(contribution: Contribution, { voices }: Stand): Contribution {
  const voice = voices.find(({ of }) => of === contribution)
  return voice ? { ...contribution, weight: voice.weight } : contribution
}

/**
 * Nobody had anything to say, or a limit of the run kept some from it: each reason is told, what was said is kept, and a
 * resumed run tries again where it broke. An answer made of the rest would be final.
 */
function brokenOff({ context, specialists }: Job, { contributions, error }: Said): PatternResult {
  const reasons = contributions.flatMap(({ agent, error: why }) => (why ? [`${agent}: ${why.message}`] : []))
  const [first] = contributions.flatMap(({ error: why }) => why ?? [])
  const detail = error ?? first ?? new TroupeError('internal', 'nobody was asked').toJSON()
  const message = error ? detail.message : `all ${reasons.length} agents failed: ${reasons.join('; ')}`
  const tokens = contributions.reduce((sum, { tokens_used }) => sum + tokens_used, 0)
  const about = { agents_count: specialists.length, total_tokens: tokens, status: 'failed', agreement_score: null }
  context.emit('end', 'tool:collaborative:complete', about)
  const stop = { limit_reached: 'budget', timeout: 'timeout', cancelled: 'cancelled' } as const
  const stop_reason = stop[detail.code as keyof typeof stop] ?? 'failed'
  const steps = contributions.flatMap(({ error: why }) => why?.step ?? [])
  const retry = [...new Set(steps)].filter((step) => step !== detail.step)
  const why = { error: message, detail: { ...detail, message }, retry }
  return { success: false, output: { contributions }, stop_reason, ...why }
}
