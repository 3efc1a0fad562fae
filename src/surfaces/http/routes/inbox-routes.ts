import { createHash } from 'node:crypto'
import type { GateRow, PanelBlock, Troupe } from '../../../index.ts'
import type { InboxItem } from '../contract.ts'
import { defineRoute } from './route.ts'

const MAX_QUESTIONS = 200

const listQuestions = defineRoute({
  method: 'GET',
  path: '/api/inbox',
  summary: 'List open questions, oldest first.',
  tag: 'inbox',
  scope: 'read',
  response: { description: 'The open questions with everything that is needed to decide (`InboxItem[]`).' },
  async handle({ parts: { troupe } }) {
    const { items } = await troupe.gates({ limit: MAX_QUESTIONS })
    return Promise.all(items.map((gate) => inboxItemFrom(troupe, gate)))
  },
})

async function inboxItemFrom(troupe: Troupe, gate: GateRow): Promise<InboxItem> {
  const { project: _project, ...shown } = gate
  const { run_id, title, pattern } = await troupe.getRun(gate.run_id)
  return { ...shown, run: { run_id, title, pattern }, hash: questionHash(gate), blocks: blocksFrom(gate) }
}

/** Binds an answer to exactly what was shown: an agent must not be able to exchange the question under the person's hand (TOCTOU). */
export function questionHash({ gate_id, question, choices, asked_by, detail }: GateRow): string {
  const shown = JSON.stringify([gate_id, question, choices ?? null, asked_by ?? null, detail ?? null])
  return createHash('sha256').update(shown).digest('hex')
}

function blocksFrom({ detail }: GateRow): PanelBlock[] {
  return detail === undefined || detail === null ? [] : [{ kind: 'json', value: detail }]
}

export const inboxRoutes = [listQuestions]
