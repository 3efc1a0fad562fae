import type { TeamGraph } from '../../judgement/team/graph.ts'
import { buildTeamGraph, nodesInFlowOrder } from '../../judgement/team/graph.ts'
import { teamSchema, USER } from '../../judgement/team/team-schema.ts'
import { pluralize } from '../../views/format-amount.ts'
import type { Panel, PanelBlock, PanelEdge, PanelFact, PanelNode, PanelStep } from '../../views/panel.ts'
import type { FactEntry } from '../../views/panel-blocks.ts'
import { presentFacts, tableBlock } from '../../views/panel-blocks.ts'
import type { PanelScope } from '../../views/pattern-view.ts'
import type { HandoffTrace, TeamEventOf } from './events.ts'
import { handoffSource, ruleSteps } from './handoff-explanation.ts'
import type { TeamView } from './team-view.ts'
import { briefReason, formatRoute, routeFromOutput, teamDepth } from './team-view.ts'

/* The handoffs of a team as a panel: the graph of its members, and why each handoff was made. */

type Handoff = TeamEventOf<'team:handoff'>

const END = 'end'

export function handoffPanels(team: TeamView, { input, output, end }: PanelScope): readonly Panel[] {
  const route = team.route.length > 0 ? team.route : routeFromOutput(output)
  if (team.turns.size === 0 && team.handoffEvents.length === 0 && route.length === 0) return []
  const badge = team.handoffEvents.length === 0 ? undefined : { badge: String(team.handoffEvents.length) }
  return [
    {
      id: 'handoffs',
      title: 'Handoffs',
      ...badge,
      blocks: [
        { kind: 'facts', facts: teamFacts(team, route) },
        graphBlock(team, graphOf(input), end !== undefined),
        ...handoffTable(team),
        ...variableBlocks(team, input),
        ...explanationBlocks(team),
        ...loopBlocks(team),
        ...artifactBlocks(output),
      ],
    },
  ]
}

/** The team as it is stored with the run; `undefined` where an agent called the team. */
function graphOf(input: unknown): TeamGraph | undefined {
  const parsed = teamSchema.safeParse((input as { team?: unknown } | undefined)?.team)
  return parsed.success ? buildTeamGraph(parsed.data) : undefined
}

const PROBLEMS_SHOWN = 5

function teamFacts({ turns, handoffEvents, end, problems }: TeamView, route: readonly string[]): PanelFact[] {
  const rounds = [...turns].reduce((max, [key, { round }]) => (teamDepth(key) === 0 ? Math.max(max, round) : max), 0)
  const byModel = handoffEvents.filter(({ data }) => data.by === 'model').length
  const entries: FactEntry[] = [
    ['route', route.length === 0 ? undefined : formatRoute(route)],
    ['rounds', end?.rounds ?? rounds, 'count'],
    ['handoffs', handoffEvents.length, 'count'],
    ['decided by a model request', byModel, 'count'],
    ['problems', problems.length === 0 ? undefined : problems.length, '', 'attention'],
    ['ended', end?.reason],
  ]
  // They explain where a team stopped.
  const newest = problems.slice(-PROBLEMS_SHOWN).map(({ round, from, text }): FactEntry => {
    return [`${from}, round ${round}`, text, '', 'attention']
  })
  return presentFacts([...entries, ...newest])
}

function graphBlock(team: TeamView, graph: TeamGraph | undefined, ended: boolean): PanelBlock {
  const edges = takenEdges(team)
  for (const { from, to, condition } of graph?.edges ?? []) {
    if (edges.some((edge) => edge.from === from && edge.to === to && edge.label === condition)) continue
    edges.push({ from, to, ...(condition === '' ? undefined : { label: condition }), count: 0 })
  }
  const nodes = new Map<string, PanelNode>()
  const current = ended ? undefined : [...team.turns.values()].at(-1)?.agent
  const counts = turnCounts(team)
  const add = (name: string, role?: string) => {
    if (nodes.has(name)) return
    const turns = counts.get(name) ?? 0
    const state = name === current ? 'running' : turns > 0 ? 'completed' : 'pending'
    const notes = [...(role === undefined ? [] : [role]), ...(turns > 0 ? [pluralize(turns, 'turn')] : [])]
    const label = name === USER ? 'you' : name
    const isMember = name !== USER && name !== END
    const note = notes.length === 0 ? undefined : { note: notes.join(', ') }
    nodes.set(name, { id: name, label, ...(isMember ? { state } : undefined), ...note })
  }
  for (const { name, role } of graph ? nodesInFlowOrder(graph) : []) add(name, role)
  for (const { from, to } of edges) {
    add(from)
    add(to)
  }
  return { kind: 'graph', title: 'Members and handoffs', detail: true, nodes: [...nodes.values()], edges }
}

function turnCounts({ turns }: TeamView): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [key, { agent }] of turns) if (teamDepth(key) === 0) counts.set(agent, (counts.get(agent) ?? 0) + 1)
  return counts
}

/** The handoffs of the outermost team, counted by members and rule. */
function takenEdges({ handoffEvents }: TeamView): PanelEdge[] {
  const edges = new Map<string, PanelEdge>()
  for (const { data } of handoffEvents) {
    if (teamDepth(data.key) > 0) continue
    const { from, to } = data
    const label = briefReason(data.handoff_reason)
    const id = JSON.stringify([from, to, label])
    const count = (edges.get(id)?.count ?? 0) + 1
    edges.set(id, { from, to: to ?? END, ...(label === '' ? undefined : { label }), count })
  }
  return [...edges.values()]
}

function handoffTable({ handoffEvents }: TeamView): PanelBlock[] {
  return tableBlock({ title: 'Handoffs', detail: true, empty: 'No handoff yet.' }, handoffEvents, {
    at: ['At', ({ at }) => at, 'time'],
    round: ['Round', ({ data }) => data.round, 'count'],
    from: ['From', ({ data }) => data.from, 'agent'],
    to: ['To', ({ data }) => data.to ?? END, 'agent'],
    by: ['Decided by', ({ data }) => handoffSource(data.by)],
    reason: ['Because', ({ data }) => data.handoff_reason],
    unknown: ['Unknown', ({ data }) => unknownParts(data.explanation).join('; ') || null],
    suggested: ['Agent suggested', ({ data }) => data.suggested, 'agent'],
    problems: ['Problems', ({ data }) => data.problems?.join('; ')],
  })
}

function unknownParts({ rules }: HandoffTrace): string[] {
  return rules.flatMap(({ parts }) => parts.filter(({ value }) => value === 'unknown').map(({ text }) => text))
}

function variableBlocks({ variables }: TeamView, input: unknown): PanelBlock[] {
  const parsed = teamSchema.safeParse((input as { team?: unknown } | undefined)?.team)
  const given = (input as { variables?: Record<string, string | number | boolean> } | undefined)?.variables ?? {}
  const initial = { ...(parsed.success ? parsed.data.context_variables : {}), ...given }
  const names = [...new Set([...Object.keys(initial), ...variables.keys()])]
  return tableBlock({ title: 'Variables', detail: true }, names, {
    name: ['Variable', (name) => name, 'code'],
    value: ['Value', (name) => variables.get(name)?.value ?? initial[name], 'code'],
    initial: ['At the start', (name) => initial[name], 'code'],
    by: ['Set by', (name) => variables.get(name)?.by],
    round: ['In round', (name) => variables.get(name)?.round, 'count'],
  })
}

/** Why the newest handoffs were made; the detail of each has its own. */
const EXPLANATIONS_SHOWN = 50

function explanationBlocks({ handoffEvents }: TeamView): PanelBlock[] {
  const steps = handoffEvents.slice(-EXPLANATIONS_SHOWN).map((event) => explanationStep(event))
  return steps.length === 0 ? [] : [{ kind: 'steps', title: 'Explanations', detail: true, steps }]
}

function explanationStep({ data }: Handoff): PanelStep {
  const { round, from, to, handoff_reason, explanation } = data
  return {
    title: `Round ${round}: ${from === USER ? 'you' : from} → ${to === null ? 'the end' : to === USER ? 'you' : to}`,
    state: 'completed',
    note: handoff_reason,
    steps: ruleSteps(explanation),
  }
}

function loopBlocks({ loops }: TeamView): PanelBlock[] {
  return tableBlock({ title: 'Loops' }, loops, {
    at: ['At', ({ at }) => at, 'time'],
    round: ['Round', ({ data }) => data.round, 'count'],
    kind: ['Kind', ({ data }) => data.kind],
    message: ['Found', ({ data }) => data.message],
    next: ['Next', ({ data }) => data.to, 'agent'],
  })
}

function artifactBlocks(output: unknown): PanelBlock[] {
  const { artifacts } = (typeof output === 'object' && output !== null ? output : {}) as { artifacts?: unknown }
  return tableBlock({ title: 'Artifacts', detail: true }, Array.isArray(artifacts) ? artifacts : [], {
    name: ['Artifact', (name: unknown) => (typeof name === 'string' ? name : JSON.stringify(name)), 'code'],
  })
}
