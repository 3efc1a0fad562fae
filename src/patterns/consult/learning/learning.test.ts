import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import { redactField } from '../../../judgement/redaction/redaction.ts'
import type { Readings } from '../../../kernel/context.ts'
import type { Embedder } from '../../../kernel/embedder.ts'
import { knowledgeByProject } from '../../../knowledge/embedded-knowledge.ts'
import type { Store } from '../../../store/store.ts'
import { wordEmbedder } from '../../../testing/word-embedder.ts'
import type { ConsultationRequest } from '../request.ts'
import { findSimilar } from './find-similar.ts'
import type { ConsultationOutcome, LearningContext } from './store-consultation.ts'
import { storeConsultation, storeRating } from './store-consultation.ts'
import type { StoredConsultation } from './stored-consultation.ts'

const DAY = 86_400_000
const NOW = 1000 * DAY

interface TestOptions {
  store?: Store
  embedder?: Embedder
  project?: string
  now?: number
}

function learner({ store = memoryStore(), embedder = wordEmbedder(), project = 'p', now = NOW }: TestOptions = {}) {
  let revision = 0
  const knowledge = knowledgeByProject({ store, embedder, newRevision: () => `${now} ${++revision}` })(project)
  const readings = { now: () => now } as Readings
  const context: LearningContext = {
    knowledge,
    redactor: { redact: (text, field) => redactField(text, field, []) },
    run_id: 'run',
    now: async () => now,
    isRecorded: () => false,
    step: async (_key, effect) => effect(new AbortController().signal, readings),
  }
  return { context, knowledge, store }
}

let count = 0
function request(question: string, more: Partial<ConsultationRequest> = {}): ConsultationRequest {
  return {
    collaboration_id: `c${++count}`,
    request_type: 'agent_consultation',
    requesting_agent: 'frontend',
    question,
    context: {},
    urgency: 'normal',
    ...more,
  }
}

const successful: ConsultationOutcome = { outcome_type: 'successful', resolution_summary: 'Start with page one.' }
const answer = {
  consulted_agent: 'backend',
  response: { answer: 'Start with page one.' },
  suggested_next_steps: [],
  source: 'specialist' as const,
}

async function store(
  context: LearningContext,
  asked: ConsultationRequest,
  outcome: Partial<ConsultationOutcome> & { source?: 'specialist' | 'knowledge' } = {},
) {
  const { source = 'specialist', ...rest } = outcome
  const consultation = { request: asked, agent: 'backend', reason: 'requirements', answer: { ...answer, source } }
  return storeConsultation(context, { consultation, outcome: { ...successful, ...rest }, key: 'store' })
}

const similar = async (context: LearningContext, question: string, more: { agent?: string; reason?: string } = {}) => {
  const query = { request: request(question), agent: 'backend', reason: 'requirements', key: 'similar', ...more }
  return (await findSimilar(context, query)).map(({ document }) => document.id)
}

describe('storing', () => {
  test('CS180 a resolved consultation is stored with the fields of the specification, without secrets', async () => {
    const { context, knowledge } = learner()
    const asked = request('Should pagination start with zero? password = hunter2hunter2')
    await store(context, asked, { success_rating: 5, lessons_learned: 'Users read page numbers.' })
    const [document] = await knowledge.list('agent_collaboration')
    expect(document).toMatchObject({
      id: asked.collaboration_id,
      tags: { specialist_agent: 'backend', consultation_reason: 'requirements' },
      outcome: { success: true, rating: 5 },
      data: {
        type: 'agent_collaboration',
        scenario: 'requirements',
        agents_involved: ['frontend', 'backend'],
        resolution_summary: 'Start with page one.',
        outcome: 'successful',
        lessons_learned: 'Users read page numbers.',
        success_rating: 5,
      },
    })
    expect(JSON.stringify(document)).not.toContain('hunter2')
  })

  test('CS180 a loop and an answer from the knowledge are not stored', async () => {
    const { context, knowledge } = learner()
    await store(context, request('a question'), { outcome_type: 'loop_detected' })
    await store(context, request('a question'), { source: 'knowledge' })
    expect(await knowledge.list('agent_collaboration')).toEqual([])
  })

  test('CS181 a later rating and lessons update the entry, and storing again keeps them', async () => {
    const { context, knowledge } = learner()
    const asked = request('Should pagination start with zero?')
    await store(context, asked)
    const rating = {
      collaboration_id: asked.collaboration_id,
      success_rating: 2,
      lessons_learned: 'Ask product first.',
    }
    expect(await storeRating(context, { rating, key: 'rate' })).toBe(true)
    await store(context, asked)
    const documents = await knowledge.list('agent_collaboration')
    expect(documents).toHaveLength(1)
    expect(documents[0]?.data).toMatchObject({ success_rating: 2, lessons_learned: 'Ask product first.' })
    expect(documents[0]?.outcome).toEqual({ success: true, rating: 2 })
    expect(await storeRating(context, { rating: { ...rating, collaboration_id: 'unknown' }, key: 'rate' })).toBe(false)
  })
})

describe('retrieval', () => {
  const question = 'Should pagination start with zero?'

  test('CS182 at most three, of the same specialist and reason, none with a bad rating', async () => {
    const { context, store: shared } = learner()
    for (const success_rating of [5, 4, 1, 2, 3, 5]) await store(context, request(question), { success_rating })
    const found = await findSimilar(context, {
      request: request(question),
      agent: 'backend',
      reason: 'requirements',
      key: 'k',
    })
    expect(found.map(({ document }) => document.outcome?.rating)).toEqual([5, 5, 4])
    expect(await similar(context, question, { agent: 'security' })).toEqual([])
    expect(await similar(context, question, { reason: 'infrastructure' })).toEqual([])
    expect(await similar(context, 'How are database backups encrypted?')).toEqual([])
    expect(await similar(learner({ store: shared, project: 'q' }).context, question)).toEqual([])
  })

  test('CS182 a consultation does not find itself', async () => {
    const { context } = learner()
    const asked = request(question)
    await store(context, asked)
    const query = { request: asked, agent: 'backend', reason: 'requirements', key: 'k' }
    expect(await findSimilar(context, query)).toEqual([])
  })

  test('CS185 with vectors of another embedder, words are compared', async () => {
    const { context, store: shared } = learner()
    await store(context, request(question))
    const { context: other } = learner({ store: shared, embedder: { ...wordEmbedder(), id: 'other' } })
    const found = await findSimilar(other, {
      request: request(question),
      agent: 'backend',
      reason: 'requirements',
      key: 'k',
    })
    expect(found.map(({ method }) => method)).toEqual(['lexical'])
  })
})

test('CS185 vectors of another embedder do not end a consultation: words are compared', async () => {
  const question = 'Should the pagination of search results start with zero?'
  const { context, store: shared } = learner({ now: NOW - DAY })
  await store(context, request(question), { success_rating: 5 })
  const { context: other } = learner({ store: shared, embedder: { ...wordEmbedder(), id: 'other' } })
  const query = { request: request(question), agent: 'backend', reason: 'requirements', key: 'similar' }
  expect(await findSimilar(other, query)).toMatchObject([{ method: 'lexical' }])
})

test('CS180 the stored form is the one that the package reads', async () => {
  const { context, knowledge } = learner()
  await store(context, request('a question'))
  const [document] = await knowledge.list('agent_collaboration')
  const data = document?.data as StoredConsultation
  expect([data.question_summary, data.resolution_summary]).toEqual(['a question', 'Start with page one.'])
})

test('CS186 a consultation that cannot be stored keeps its answer', async () => {
  const { context } = learner()
  const broken = { ...context.knowledge, add: () => Promise.reject(new Error('disk full')) } as typeof context.knowledge
  expect(await store({ ...context, knowledge: broken }, request('a question'))).toBe('disk full')
  expect(await store(context, request('a question'))).toBeNull()
})
