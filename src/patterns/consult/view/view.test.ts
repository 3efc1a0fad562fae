import { expect, test } from 'vitest'
import { answerJson, asker, consultCall } from '../../../../test/support/consult-replies.ts'
import { createConsultTroupe } from '../../../../test/support/consultation.ts'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import { panelLines } from '../../../surfaces/cli/render/block-lines.ts'
import type { ConsultEvent } from '../events.ts'
import type { ConsultationViews } from './consultations.ts'
import { newConsultationViews, reduceConsultation } from './consultations.ts'
import { consultationPanels } from './consultations-panel.ts'
import { consultView } from './view.ts'

const question = 'What fields has the User model?'
const drawn = (views: ConsultationViews) => panelLines(consultationPanels(views, {}), plainStyle(400)).join('\n')
function reduceAll(events: readonly unknown[]): ConsultationViews {
  const views = newConsultationViews()
  for (const event of events as ConsultEvent[]) reduceConsultation(views, event)
  return views
}
const facts = (key: string) => ({
  ...{ key, agent: 'answering', depth: 1, status: 'running' as const, error: null },
  ...{ calls: 0, tokens: 0, started_at: 0, ended_at: null },
})

test('CS72 a consultation at work shows who asks whom and its status, and its sessions have a purpose', async () => {
  const { task, consultEvents } = await createConsultTroupe({
    asking: asker(() => [consultCall(question)]),
    answering: answerJson('id and name'),
  })
  const events = await consultEvents((await task('asking', 'go')).run_id)
  const statuses = events
    .map((_, index) => reduceAll(events.slice(0, index + 1)))
    .map(({ byId }) => [...byId.values()][0])
  expect(statuses.map((view) => view?.status)).toEqual([
    ...['pending', 'routed', 'routed', 'in_progress', 'in_progress', 'responded', 'resolved'],
  ])
  const views = reduceAll(events)
  expect(drawn(views)).toMatch(/asking +answering +data question +resolved +normal +1 /)
  const id = String(events[0]?.data.collaboration_id)
  expect(drawn(views)).toContain(question)
  expect(drawn(views)).toContain(id)
  const asked = events.find(({ type, data }) => type === 'consult:exchange' && data.message_type === 'question')
  const session = String(asked?.data.key).replace(/-question$/, '')
  expect(consultView.session?.(views, facts(session))).toMatchObject({
    purpose: `answers asking: ${question}`,
    result: 'id and name',
  })
  const route = session.replace('specialist/1', 'route/1/router')
  expect(consultView.session?.(views, facts(route))).toMatchObject({ result: 'answering', marked: 'both' })
})

test('CS72 a run that continues a consultation shows it, too', async () => {
  const { troupe, consultEvents } = await createConsultTroupe({
    answering: ({ session }) =>
      session.turn === 1 ? { text: '{"clarification_needed":"Which version?"}' } : answerJson('id'),
  })
  const { output } = await troupe.run('consult', { question })
  expect(output?.note).toContain(`troupe run consult --collaboration-id ${output?.collaboration_id}`)
  const again = await troupe.run('consult', { question: 'Version 2', collaboration_id: output?.collaboration_id })
  const views = reduceAll(await consultEvents(again.run_id))
  expect(drawn(views)).toMatch(/user +answering +resolved +2 /)
  expect(consultView.session?.(views, facts('specialist/continued'))).toMatchObject({ result: 'id' })
})

test('a result of an older version, which was answered from the knowledge after a local match, is shown', () => {
  const output = {
    ...{ collaboration_id: 'c1', status: 'resolved', consulted_agent: 'answering', source: 'knowledge' },
    ...{ response: { answer: 'id and name' }, suggested_next_steps: [] },
    from_knowledge: { collaboration_id: 'c0', age_days: 3, rating: 5 },
  }
  expect(consultView.outputText?.(output)).toContain('id and name')
  const routed = { key: 'route/1/routed', collaboration_id: 'c1', agent: 'answering', method: 'local', hint: 'none' }
  const request = { key: 'request', collaboration_id: 'c1', requesting_agent: 'user', question, context: {} }
  const views = reduceAll([
    { type: 'consult:request', data: { ...request, urgency: 'normal' }, at: 1 },
    { type: 'consult:routed', data: { ...routed, consultation_reason: 'x', rationale: 'y', session_id: 's' }, at: 2 },
  ])
  expect(drawn(views)).toMatch(/user +answering/)
})
