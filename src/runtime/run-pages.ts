import { TroupeError, unknownNameError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { ToolSpec } from '../kernel/model.ts'
import { redactJson } from '../kernel/redactor.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { toJsonSchema } from '../schema/schema.ts'
import { toCompactSchema } from '../schema/tool-schema.ts'
import { costPanel } from '../views/cost-panel.ts'
import { boundedValue } from '../views/detail/bounded-value.ts'
import type { Detail } from '../views/detail/detail.ts'
import { DETAIL_KINDS, detailFrom } from '../views/detail/detail-from.ts'
import type { DetailOptions } from '../views/detail/detail-scope.ts'
import type { RequestRecord } from '../views/detail/recorded-requests.ts'
import { recordedRequests } from '../views/detail/recorded-requests.ts'
import { gateBlocks } from '../views/gate-blocks.ts'
import type { Panel, PanelBlock } from '../views/panel.ts'
import { loadPatternViews, patternPanels } from '../views/pattern-views.ts'
import type { LoadedView } from '../views/run-view.ts'
import { runViewFrom } from '../views/run-view.ts'
import type { TimelineRef } from '../views/timeline/timeline.ts'
import type { Queries } from './queries.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/* What is shown about a run beside its timeline, read from its journal. All texts go through the redactor: they leave the machine. */

/** A moment of a run: after this event. Default: now. */
export interface RunMoment {
  seq?: number
}

/** The pages about a run as they are after the event `seq`. */
export interface RunPanels {
  seq: number
  panels: Panel[]
}

interface PageSource {
  parts: RuntimeParts
  queries: Pick<Queries, 'events' | 'getGate'>
}

/** Throws `invalid_input` for a place that the run does not have. */
export async function readDetail(
  { parts, queries }: PageSource,
  { run_id, ref }: { run_id: string; ref: TimelineRef },
  moment: RunMoment = {},
): Promise<Detail> {
  if (!DETAIL_KINDS.includes(ref.kind))
    throw unknownNameError('invalid_input', {
      kind: '`ref.kind`',
      name: String(ref.kind),
      known: DETAIL_KINDS,
    })
  const events = await eventsUpTo(queries, run_id, moment)
  const earlier = ref.kind === 'turn' ? await earlierEvents(parts, events, ref.id) : []
  const detail = detailFrom(events, ref, { ...(await detailOptions(parts)), earlier })
  if (detail) return detail
  throw new TroupeError('invalid_input', `\`ref\`: the run has no ${ref.kind} '${ref.id}'`, {
    hint: 'take `ref` from a row of the timeline; at an earlier `seq` it may not exist yet',
  })
}

/** The views, prices, tools and redaction of this troupe, for details. */
export async function detailOptions(parts: RuntimeParts): Promise<Omit<DetailOptions, 'earlier' | 'cache'>> {
  const { tools } = await parts.registry.get()
  const { redactor } = parts.checkedPorts
  return {
    views: await loadViews(parts),
    prices: await pricesOf(parts),
    ...(redactor ? { redactor } : undefined),
    toolSpecs: (names) =>
      names.flatMap((name): ToolSpec[] => {
        const tool = parts.checkedPorts.tools.get(name) ?? tools.get(name)
        if (!tool) return []
        return [{ name, description: tool.description, input: toCompactSchema(toJsonSchema(tool.input)) }]
      }),
  }
}

export async function readPanels(
  { parts, queries }: PageSource,
  run_id: string,
  moment: RunMoment = {},
): Promise<RunPanels> {
  const events = await eventsUpTo(queries, run_id, moment)
  const { redactor } = parts.checkedPorts
  const cost = costPanel(events, await pricesOf(parts))
  const panels = [...patternPanels(runViewFrom(events, await loadViews(parts))), ...(cost ? [cost] : [])]
  const redacted = redactor ? (redactJson(redactor, panels) as Panel[]) : panels
  return { seq: events.at(-1)?.seq ?? 0, panels: boundedValue(redacted) }
}

/** Throws `invalid_input` for a moment that no run has. */
export function checkMoment({ seq }: RunMoment): void {
  if (seq === undefined || (Number.isSafeInteger(seq) && seq > 0)) return
  throw new TroupeError('invalid_input', `\`seq\` is ${JSON.stringify(seq)}`, {
    hint: 'pass the number of an event, from 1',
  })
}

/** What a person needs to answer a question, whole: read from the session that asks. Throws `unknown_gate`. */
export async function readGateBlocks({ parts, queries }: PageSource, gate_id: string): Promise<PanelBlock[]> {
  const gate = await queries.getGate(gate_id)
  const { run_id, session_id } = gate
  const events = session_id === null ? [] : await queries.events(run_id, { session_id }).all()
  const { redactor } = parts.checkedPorts
  // Redacted before the fields become facts, because secrets are found by the names of fields, too.
  const shown = redactor ? (redactJson(redactor, gate) as typeof gate) : gate
  const blocks = gateBlocks(events, shown)
  return redactor ? (redactJson(redactor, blocks) as PanelBlock[]) : blocks
}

async function eventsUpTo(queries: PageSource['queries'], run_id: string, moment: RunMoment): Promise<Event[]> {
  checkMoment(moment)
  const { seq } = moment
  const events = await queries.events(run_id).all()
  return seq === undefined ? events : events.filter((event) => event.seq <= seq)
}

/** Loaded once: the views of a registry do not change. */
const viewsByRegistry = new WeakMap<object, Promise<LoadedView[]>>()

export async function loadViews({ registry }: RuntimeParts): Promise<LoadedView[]> {
  const patterns = await registry.get()
  const known = viewsByRegistry.get(patterns)
  if (known) return known
  const loading = patterns.complete().then(loadPatternViews)
  viewsByRegistry.set(patterns, loading)
  return loading
}

export async function pricesOf({ checkedPorts }: RuntimeParts): Promise<PriceBook> {
  return checkedPorts.prices ?? (await import('../models/pricing.ts')).loadPrices()
}

/** The model requests of a run, with those of unfinished and damaged journals. */
export async function readRequests({ parts, queries }: PageSource, run_id: string): Promise<RequestRecord[]> {
  const events = await queries.events(run_id).all()
  const sessions = new Set(
    events.flatMap(({ session_id, type }) => (type === 'session:open' && session_id ? [session_id] : [])),
  )
  const earlier = new Map<string, readonly Event[]>()
  for (const session_id of sessions) {
    // The run that the session comes from may be deleted: its part of the conversation is missing then.
    earlier.set(session_id, await eventsInEarlierRuns(parts, events, session_id).catch(() => []))
  }
  const options = await detailOptions(parts)
  return recordedRequests(events, { ...options, earlier: (session_id) => earlier.get(session_id) ?? [] })
}

/** The events of the session of a turn in earlier runs, which this run resumed. */
async function earlierEvents(parts: RuntimeParts, events: readonly Event[], turn: string): Promise<Event[]> {
  const begin = events.find((event) => isEvent(event, 'model:begin') && event.data.key.startsWith(turn))
  return begin?.session_id === undefined ? [] : eventsInEarlierRuns(parts, events, begin.session_id)
}

/** The events of a session in earlier runs, which this run resumed. */
export async function eventsInEarlierRuns(
  { store }: RuntimeParts,
  events: readonly Event[],
  session_id: string,
): Promise<Event[]> {
  const open = events.find((event) => isEvent(event, 'session:open') && event.session_id === session_id)
  const base = isEvent(open, 'session:open') ? open.data.base : undefined
  if (!base || base.run_id === open?.run_id) return []
  const { readSessionEvents } = await import('../engine/session-history.ts')
  return readSessionEvents(store, base.session_id ?? open?.session_id ?? '', { to: base })
}
