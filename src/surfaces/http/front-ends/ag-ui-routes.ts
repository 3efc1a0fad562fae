import type { GateRow } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { requireScope } from '../auth/authenticate.ts'
import { refuse } from '../checks/refusal.ts'
import { gateIdFrom, interruptIdOf, questionChanged } from '../routes/question-hash.ts'
import type { Route, RouteRequest } from '../routes/route.ts'
import { defineRoute } from '../routes/route.ts'
import { leaveRunning } from '../routes/start-pattern.ts'
import type { AgUiIds } from './ag-ui-events.ts'
import { agUiEvents } from './ag-ui-events.ts'
import type { ChatText } from './conversation-input.ts'
import { conversationText, startFromChat } from './conversation-input.ts'
import { frontEndResponse } from './front-end-response.ts'
import { keepHandle } from './run-stream-items.ts'

const id = z.string().min(1).max(150)
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
const message = z.looseObject({ role: z.string().max(50), content: z.unknown().optional() })
const resumeEntry = z.looseObject({
  interruptId: z.string().min(1).max(300),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
})

const runAgentInput = z.looseObject({
  threadId: id,
  runId: id,
  messages: z.array(message).max(1000),
  context: z
    .array(z.looseObject({ description: z.string(), value: z.string() }))
    .max(100)
    .nullish(),
  forwardedProps: z.unknown().optional(),
  resume: z.array(resumeEntry).max(50).nullish(),
})

type RunAgentInput = z.output<typeof runAgentInput>

const runAgent = defineRoute('POST', '/api/ag-ui/:pattern', {
  summary: 'Start a run, or answer its questions (`resume`), and stream it with the AG-UI protocol.',
  tag: 'front ends',
  scope: 'run',
  body: runAgentInput,
  response: { description: 'AG-UI events. The run goes on when the client disconnects.', type: 'text/event-stream' },
  async handle(request) {
    const { threadId, runId, resume } = request.body
    const ids = { threadId, runId }
    if (resume && resume.length > 0) return answerQuestions(request, resume, ids)
    const text = () => instruction(request.body)
    const { run_id } = await startFromChat(request, givenInput(request.body), { text, thread: threadId })
    return agUiResponse(request, ids, { run_id })
  },
})

/** Answers need the scope `approve`. Questions that the person abandoned stay open. */
async function answerQuestions(
  request: RouteRequest,
  resume: NonNullable<RunAgentInput['resume']>,
  ids: AgUiIds,
): Promise<Response> {
  const { parts, principal } = request
  const { troupe } = parts
  requireScope(principal, 'approve')
  const gates = await Promise.all(resume.map(({ interruptId }) => troupe.getGate(gateIdFrom(interruptId))))
  const run_id = runOf(gates)
  requireOneAnswerEach(resume)
  for (const [index, gate] of gates.entries()) requireSameQuestion(gate, resume[index]?.interruptId ?? '')
  const { head } = await troupe.getRun(run_id)
  const answers = resume.filter(({ status }) => status === 'resolved')
  for (const [index, { interruptId, payload }] of answers.entries()) {
    const isLast = index === answers.length - 1
    const handle = await troupe.answer(gateIdFrom(interruptId), payload, {
      by: principal.name,
      resume: isLast && parts.executes,
    })
    leaveRunning(parts, handle)
    if (isLast && parts.executes) keepHandle(troupe, handle)
  }
  return agUiResponse(request, ids, { run_id, after: head })
}

/** Prevents an answer to a question that was exchanged under the person's hand (TOCTOU): the id names what was shown. */
function requireSameQuestion(gate: GateRow, interruptId: string): void {
  if (interruptId !== interruptIdOf(gate)) throw questionChanged('`interruptId` is the `id` of the interrupt, whole')
}

/** Before anything is answered: an answer that nobody gave cannot be taken back. */
function requireOneAnswerEach(resume: NonNullable<RunAgentInput['resume']>): void {
  const isTwice = new Set(resume.map(({ interruptId }) => gateIdFrom(interruptId))).size < resume.length
  if (isTwice) throw refuse(400, { code: 'invalid_input', message: 'resume: a question is named twice' })
  const isMissing = resume.some(({ status, payload }) => status === 'resolved' && payload === undefined)
  if (!isMissing) return
  throw refuse(400, {
    code: 'invalid_input',
    message: 'resume: a resolved question has no `payload`',
    hint: '`payload` is the answer; the status `cancelled` leaves the question open',
  })
}

function runOf(gates: readonly GateRow[]): string {
  const [run_id = '', ...others] = new Set(gates.map((gate) => gate.run_id))
  if (others.length === 0) return run_id
  throw refuse(400, { code: 'invalid_input', message: 'resume: the questions are from different runs' })
}

function givenInput({ forwardedProps }: RunAgentInput): Record<string, unknown> {
  const parsed = z.looseObject({ input: z.record(z.string(), z.unknown()) }).safeParse(forwardedProps)
  return parsed.success ? parsed.data.input : {}
}

function instruction({ messages, context }: RunAgentInput): string {
  const text = conversationText(messages.map(chatText))
  const facts = (context ?? []).map(({ description, value }) => `${description}: ${value}`)
  return facts.length === 0 ? text : `Context:\n\n${facts.join('\n')}\n\n${text}`
}

function chatText({ role, content: given }: z.output<typeof message>): ChatText {
  const parsed = content.safeParse(given)
  if (!parsed.success) return { role, text: '' }
  if (typeof parsed.data === 'string') return { role, text: parsed.data }
  return { role, text: parsed.data.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n') }
}

function agUiResponse(
  request: RouteRequest,
  ids: AgUiIds,
  { run_id, after }: { run_id: string; after?: number },
): Promise<Response> {
  const start = after === undefined ? [] : agUiEvents({ kind: 'start', run_id }, ids)
  return frontEndResponse(request, {
    run_id,
    ...(after === undefined ? undefined : { after }),
    first: start.map((event) => JSON.stringify(event)),
    encode: (told) => agUiEvents(told, ids).map((event) => JSON.stringify(event)),
  })
}

export const agUiRoutes: readonly Route[] = [runAgent]
