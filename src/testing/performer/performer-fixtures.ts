import assert from 'node:assert/strict'
import { verifyJournal } from '../../audit/verify-journal.ts'
import type { Event } from '../../kernel/event.ts'
import type { PerformerTurn, PerformerUpdate } from '../../performers/performer.ts'
import type { Troupe } from '../../runtime/troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { openMemory } from '../../store/sqlite.ts'
import type { Store } from '../../store/store.ts'
import type { PerformerAction, PerformerScript } from '../scripted-performer.ts'
import type { PerformerHarness } from './performer-harness.ts'

export const report = (update: PerformerUpdate): PerformerAction => ({ do: 'report', update })
export const text = (value: string): PerformerAction => report({ type: 'text', text: value })
export const finish: PerformerAction = { do: 'finish', result: { stop: 'completed' } }

export function usage(input: number, output: number, usd?: number): PerformerAction {
  const tokens = { input, output, cache_read: 0, cache_write: 0, reasoning: 0 }
  return report({ type: 'usage', usage: tokens, ...(usd === undefined ? undefined : { usd }) })
}

export interface PerformerRun {
  troupe: Troupe
  store: Store
  /** Every turn that the performer was asked to carry out. */
  turns: PerformerTurn[]
}

/** A troupe with the agent `coder`, whose turns the performer carries out. */
export async function openPerformerTroupe(
  harness: PerformerHarness,
  script: PerformerScript,
  { timeout_ms, store = openMemory(), ...options }: TroupeOptions & { timeout_ms?: number; store?: Store } = {},
): Promise<PerformerRun> {
  const performer = harness.createPerformer(script)
  const turns: PerformerTurn[] = []
  const agent = {
    name: 'coder',
    description: 'Writes code.',
    instructions: 'You write code.',
    performer: 'external',
    ...(timeout_ms === undefined ? undefined : { timeout_ms }),
  }
  const troupe = await createTroupe({
    store,
    agents: [agent],
    performers: {
      external: {
        ...(performer.parkable ? { parkable: true as const } : undefined),
        perform(turn, host) {
          turns.push(turn)
          return performer.perform(turn, host)
        },
        close: () => performer.close?.(),
      },
    },
    ...options,
  })
  return { troupe, store, turns }
}

export const INSTRUCTION = { agent: 'coder', instruction: 'do it' }

/** The events of a run, which must be a valid journal. */
export async function verifiedEvents(troupe: Troupe, run_id: string): Promise<Event[]> {
  const events = await troupe.events(run_id).all()
  assert.deepEqual(verifyJournal(events), [])
  return events
}

/** Waits until the journal has an event of this type, and returns the first. */
export async function eventOf(store: Store, run_id: string, type: string): Promise<Event> {
  for (;;) {
    const found = (await store.events(run_id)).find((event) => event.type === type)
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
