import type { TeamGraph } from '../../judgement/team/graph.ts'
import { buildTeamGraph, nodesInFlowOrder } from '../../judgement/team/graph.ts'
import { teamSchema, USER } from '../../judgement/team/team-schema.ts'
import { pluralize } from '../../views/format-amount.ts'
import type { Panel, PanelBlock, PanelEdge, PanelFact, PanelNode, PanelStep } from '../../views/panel.ts'
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
        handoffTable(team),
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
  return [
    ...(route.length === 0 ? [] : [{ label: 'route', value: formatRoute(route) }]),
    { label: 'rounds', value: end?.rounds ?? rounds, unit: 'count' },
    { label: 'handoffs', value: handoffEvents.length, unit: 'count' },
    { label: 'decided by a model request', value: byModel, unit: 'count' },
    ...(problems.length === 0 ? [] : [{ label: 'problems', value: problems.length, tone: 'attention' as const }]),
    ...(end ? [{ label: 'ended', value: end.reason }] : []),
    // They explain where a team stopped.
    ...problems.slice(-PROBLEMS_SHOWN).map(({ round, from, text }) => ({
      label: `${from}, round ${round}`,
      value: text,
      tone: 'attention' as const,
    })),
  ]
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

function handoffTable({ handoffEvents }: TeamView): PanelBlock {
  return {
    kind: 'table',
    title: 'Handoffs',
    detail: true,
    columns: [
      { key: 'at', title: 'At', unit: 'time' },
      { key: 'round', title: 'Round', unit: 'count' },
      { key: 'from', title: 'From', unit: 'agent' },
      { key: 'to', title: 'To', unit: 'agent' },
      { key: 'by', title: 'Decided by' },
      { key: 'reason', title: 'Because' },
      { key: 'unknown', title: 'Unknown' },
      { key: 'suggested', title: 'Agent suggested', unit: 'agent' },
      { key: 'problems', title: 'Problems' },
    ],
    rows: handoffEvents.map(({ at, data }) => ({
      at,
      round: data.round,
      from: data.from,
      to: data.to ?? END,
      by: handoffSource(data.by),
      reason: data.handoff_reason,
      unknown: unknownParts(data.explanation).join('; ') || null,
      suggested: data.suggested ?? null,
      problems: data.problems?.join('; ') ?? null,
    })),
    empty: 'No handoff yet.',
  }
}

function unknownParts({ rules }: HandoffTrace): string[] {
  return rules.flatMap(({ parts }) => parts.filter(({ value }) => value === 'unknown').map(({ text }) => text))
}

function variableBlocks({ variables }: TeamView, input: unknown): PanelBlock[] {
  const parsed = teamSchema.safeParse((input as { team?: unknown } | undefined)?.team)
  const given = (input as { variables?: Record<string, string | number | boolean> } | undefined)?.variables ?? {}
  const initial = { ...(parsed.success ? parsed.data.context_variables : {}), ...given }
  const names = [...new Set([...Object.keys(initial), ...variables.keys()])]
  if (names.length === 0) return []
  const rows = names.map((name) => ({
    name,
    initial: initial[name] ?? null,
    value: variables.get(name)?.value ?? initial[name] ?? null,
    by: variables.get(name)?.by ?? null,
    round: variables.get(name)?.round ?? null,
  }))
  return [
    {
      kind: 'table',
      title: 'Variables',
      detail: true,
      columns: [
        { key: 'name', title: 'Variable', unit: 'code' },
        { key: 'value', title: 'Value', unit: 'code' },
        { key: 'initial', title: 'At the start', unit: 'code' },
        { key: 'by', title: 'Set by' },
        { key: 'round', title: 'In round', unit: 'count' },
      ],
      rows,
    },
  ]
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
  if (loops.length === 0) return []
  return [
    {
      kind: 'table',
      title: 'Loops',
      columns: [
        { key: 'at', title: 'At', unit: 'time' },
        { key: 'round', title: 'Round', unit: 'count' },
        { key: 'kind', title: 'Kind' },
        { key: 'message', title: 'Found' },
        { key: 'next', title: 'Next', unit: 'agent' },
      ],
      rows: loops.map(({ at, data: { round, kind, message, to } }) => ({ at, round, kind, message, next: to })),
    },
  ]
}

function artifactBlocks(output: unknown): PanelBlock[] {
  const { artifacts } = (typeof output === 'object' && output !== null ? output : {}) as { artifacts?: unknown }
  if (!Array.isArray(artifacts) || artifacts.length === 0) return []
  const rows = artifacts.map((name) => ({ name: typeof name === 'string' ? name : JSON.stringify(name) }))
  return [
    {
      kind: 'table',
      title: 'Artifacts',
      detail: true,
      columns: [{ key: 'name', title: 'Artifact', unit: 'code' }],
      rows,
    },
  ]
}
