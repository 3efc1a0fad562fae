import * as z from '../../../schema/zod.ts'

/* The responses of the API as schemas: the document describes them, and tests check every response of theirs against them. */

const text = z.string()
const count = z.number().int().min(0)
const time = z.number().describe('Milliseconds since 1970.')
const usd = z.number().nullable().describe('Dollars; null if a price is unknown.')
export const status = z.enum(['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'])

const usage = z.object({ input: count, output: count, cache_read: count, cache_write: count })
const spend = usage.extend({ calls: count, usd, known_usd: z.number(), estimated: z.boolean() })

export const runItem = z.strictObject({
  run_id: text,
  pattern: text,
  title: text,
  tags: z.array(text),
  status,
  stop_reason: text.nullable(),
  created_at: time,
  ended_at: time.nullable(),
  head: count.describe('The seq of the last event.'),
  usage: spend,
  open_gates: count,
  running: z.boolean().describe('A live process executes it.'),
  usd,
})

export const runPage = z.strictObject({
  runs: z.array(runItem),
  cursor: text.nullable(),
  counts: z.record(z.string(), count).describe('Runs of the project by status.'),
})

const errorRecord = z.looseObject({ code: text, message: text })

const gate = z.looseObject({
  gate_id: text,
  run_id: text,
  session_id: text.nullable(),
  question: text,
  choices: z.array(text).optional(),
  opened_at: time,
  answered_at: time.nullable(),
  pending_answer_by: text.optional(),
})

export const runResult = z.looseObject({
  run_id: text,
  status,
  stop_reason: text.nullable(),
  output: z.unknown(),
  error: errorRecord.nullable(),
  usage: spend,
  duration_ms: z.number(),
  gates: z.array(gate),
})

export const eventPage = z.strictObject({
  events: z.array(z.looseObject({ run_id: text, seq: count, at: time, type: text, data: z.unknown() })),
  next: count.nullable().describe('Ask again with `after` of this; null after the last event.'),
})

const block = z
  .looseObject({
    kind: z.enum([
      ...(['facts', 'text', 'code', 'table', 'steps', 'shares'] as const),
      ...(['graph', 'matrix', 'messages', 'diff', 'json'] as const),
    ]),
    title: text.optional(),
  })
  .describe('A part of a page, by its kind.')
const fact = z.looseObject({ label: text, value: z.union([text, z.number(), z.boolean()]).nullish() })

export const inbox = z.array(
  gate.extend({
    run: z.strictObject({ run_id: text, title: text, pattern: text }),
    hash: text.describe('Binds an answer to what was shown.'),
    blocks: z.array(block),
  }),
)

export const questionText = z.strictObject({
  text,
  next: count.nullable().describe('Ask again with `from` of this; null after the last part.'),
})

export const artifactItem = z.strictObject({
  name: text,
  version: count,
  checksum: text,
  size: count,
  key: text,
  media_type: text,
  by: text,
  run_id: text,
  at: time,
})
export const artifactPreview = artifactItem.extend({ text, is_cut: z.boolean() })

const sum = z.looseObject({ group: text, calls: count, usage, usd, known_usd: z.number(), failed: count })
export const costPage = z.strictObject({
  by: text,
  groups: z.array(sum),
  total: sum,
  unpriced_models: z.array(text),
})

const reportGroup = z.looseObject({ group: text, figures: z.record(z.string(), z.number().nullable()) })
export const reports = z.array(
  z.looseObject({
    pattern: text,
    by: text,
    columns: z.array(z.looseObject({ name: text, title: text, unit: text })),
    groups: z.array(reportGroup),
    total: reportGroup,
    notes: z.array(text),
  }),
)

export const runSummaries = z.array(
  z.strictObject({
    run_id: text,
    head: count,
    agents: z.array(text),
    lanes: z.array(z.strictObject({ label: text, bars: z.array(z.array(z.number()).length(2)) })),
    last_event: z.strictObject({ at: time, text, tone: z.enum(['neutral', 'bad', 'attention']) }),
    progress: z.strictObject({ text, share: z.number().nullable() }).nullable(),
    stalled: text.nullable(),
    waiting: z.array(
      z.strictObject({
        ...{ session_id: text, agent: text, model: text, since: time, attempt: count },
        state: z.enum(['connecting', 'silent', 'receiving', 'retrying', 'elsewhere']),
        ...{ max_attempts: count.nullable(), last_received_at: time.nullable(), gives_up_at: time.nullable() },
        ...{ retry_at: time.nullable(), reason: text.nullable() },
      }),
    ),
  }),
)

export const panelPage = z.strictObject({
  seq: count,
  panels: z.array(z.looseObject({ id: text, title: text, badge: text.optional(), blocks: z.array(block) })),
})

export const detail = z.strictObject({
  ref: z.strictObject({ kind: text, id: text }),
  kind: text,
  title: text,
  from: text.nullable(),
  to: text.nullable(),
  state: text,
  facts: z.array(fact),
  sections: z.array(z.looseObject({ title: text, note: text.optional(), blocks: z.array(block) })),
  json: z.unknown(),
})

export const pageSession = z.strictObject({
  principal: text,
  scopes: z.array(z.enum(['read', 'run', 'approve'])),
  project: text,
  version: text,
  csrf: text.describe(
    'The half of the session that only the page has: sent back as `x-troupe-csrf` with every request that is authenticated by the cookie.',
  ),
  patterns: z
    .array(z.strictObject({ name: text, description: text, input: z.unknown(), steer: z.boolean() }))
    .describe('Patterns that can be started from here, with the JSON Schema of their input.'),
})

export const runId = z.strictObject({ run_id: text })
export const answeredGate = z.looseObject({ answered_gate: text.nullable().optional() })
export const nothing = z.strictObject({})
export const sessionFile = z.looseObject({})
export const openApi = z.looseObject({ openapi: z.literal('3.1.0') })

export const errorBody = z.strictObject({
  error: z.strictObject({ code: text, message: text, hint: text.optional() }),
})
