import type { GateRow, Troupe } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { boundedValue } from '../../../views/detail/bounded-value.ts'
import { firstParts, questionPart } from '../../../views/question-parts.ts'
import { refuse } from '../checks/refusal.ts'
import type { InboxItem } from '../contract.ts'
import { inbox, questionText, runId } from '../openapi/response-schemas.ts'
import { questionChanged, questionHash } from './question-hash.ts'
import { defineRoute, queryNumber } from './route.ts'
import { leaveRunning } from './start-pattern.ts'

const MAX_QUESTIONS = 200

const listQuestions = defineRoute('GET', '/api/inbox', {
  summary: 'List open questions, oldest first.',
  tag: 'inbox',
  scope: 'read',
  response: {
    description: 'The open questions with everything that is needed to decide (`InboxItem[]`).',
    schema: inbox,
  },
  async handle({ parts: { troupe } }) {
    const { items } = await troupe.gates({ limit: MAX_QUESTIONS })
    return Promise.all(items.map((gate) => inboxItemFrom(troupe, gate)))
  },
})

async function inboxItemFrom(troupe: Troupe, gate: GateRow): Promise<InboxItem> {
  const { project: _project, detail, ...shown } = gate
  const [{ run_id, title, pattern }, blocks] = await Promise.all([
    troupe.getRun(gate.run_id),
    troupe.gateBlocks(gate.gate_id),
  ])
  return {
    ...shown,
    ...(detail === undefined ? undefined : { detail: boundedValue(detail) }),
    run: { run_id, title, pattern },
    hash: questionHash(gate),
    blocks: firstParts(blocks),
  }
}

const readRest = defineRoute('GET', '/api/gates/:gate_id/blocks/:block', {
  summary: 'Read the rest of a long block of a question, part by part.',
  tag: 'inbox',
  scope: 'read',
  query: z.strictObject({ from: queryNumber, hash: z.string().max(100) }),
  response: { description: 'The text from the character `from` on (`QuestionPart`).', schema: questionText },
  async handle({ params: { gate_id = '', block = '' }, query: { from, hash }, parts: { troupe } }) {
    requireHash(await troupe.getGate(gate_id), hash)
    const part = questionPart(await troupe.gateBlocks(gate_id), { block: Number(block), from })
    if (!part) throw refuse(404, { code: 'not_found', message: 'the question has no such part' })
    return part
  },
})

const answerQuestion = defineRoute('POST', '/api/gates/:gate_id/answer', {
  summary: 'Answer a question. The first answer wins.',
  tag: 'inbox',
  scope: 'approve',
  body: z.strictObject({ answer: z.unknown(), hash: z.string().max(100) }),
  response: { description: 'The run that goes on: `{ run_id }`.', schema: runId },
  async handle({ params: { gate_id = '' }, body: { answer, hash }, principal, parts }) {
    const { troupe, executes } = parts
    const gate = await troupe.getGate(gate_id)
    requireOpen(gate)
    requireHash(gate, hash)
    const handle = await troupe.answer(gate_id, answer ?? null, { by: principal.name, resume: executes })
    leaveRunning(parts, handle)
    return { run_id: handle.run_id }
  },
})

function requireHash(gate: GateRow, hash: string): void {
  if (hash !== questionHash(gate))
    throw questionChanged('read the question again: `hash` of the inbox names what was shown')
}

function requireOpen({ answered_at, pending_answer_by }: GateRow): void {
  if (answered_at === null && pending_answer_by === undefined) return
  const by = pending_answer_by === undefined ? '' : ` by ${pending_answer_by}`
  throw refuse(409, {
    code: 'gate_answered',
    message: `the question was answered elsewhere${by}`,
    hint: 'read the inbox again',
  })
}

export const inboxRoutes = [listQuestions, readRest, answerQuestion]
